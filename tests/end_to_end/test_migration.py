"""The Dag of docs/migrate.md before, after each step, and back again, under one scheduler: the same rows and mails."""

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from graph_compiler.testing.pytest_plugin import SHORT_LIVED
from tests.end_to_end.conftest import Home
from tests.harness.mail_server import MailServer, mail_server, part
from tests.harness.shop import Rows, deploy, published, write_orders, write_tables
from tests.harness.standalone import Api, standalone, until

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.long,  # 29 applications; tests/airflow/test_migration_steps.py holds the Dags
]

DAG = "nightly_sales"
RUNS = f"/api/v2/dags/{DAG}/dagRuns"
TEAM = ("wait_for_orders", "total", "mail_or_not", "mail", "no_sales")
SCRIPTS = {"daily_revenue", "customer_ranking", "order_history"}
STEPS = {
    "before": {"clean_orders", "enrich_orders", *SCRIPTS},
    "step_1": {"sales.rejected", *SCRIPTS},
    "step_2": {"sales.rejected"},
    "step_3": {"sales.joins", "sales.reports"},
}
"""The tasks of each step that are Spark applications."""
FULL, EMPTY, MISSING = "full", "empty", "missing"
ORDERS = {FULL: 400, EMPTY: 0}
SLOTS = 2
Instance = dict[str, Any]


@dataclass
class Outcome:
    """What must be the same before and after: rows, states of the team's own tasks, mails, and noted failures."""

    rows: dict[str, dict[str, Rows]] = field(default_factory=dict)
    states: dict[str, list[str]] = field(default_factory=dict)
    mails: list[str] = field(default_factory=list)
    failures: int = 0


@dataclass(frozen=True)
class Shop:
    """A project with its data, under a scheduler."""

    project: Path
    api: Api
    server: MailServer
    events: Path

    @property
    def data(self) -> Path:
        return self.project / "shop"

    def applications(self) -> int:
        """Return how many Spark applications have run so far."""
        return len(list(self.events.iterdir()))

    def failures(self) -> list[str]:
        notes = self.data / "failures.txt"
        return notes.read_text().splitlines() if notes.exists() else []

    def deploy(self, step: str) -> None:
        """Deploy a step, and wait until Airflow has parsed its Dag."""
        deploy(step, self.project)
        unschedule(self.project)

        def is_parsed() -> bool:
            found = self.api.attempt("GET", f"/api/v2/dags/{DAG}/tasks") or {"tasks": []}
            return {task["task_id"] for task in found["tasks"]} == {*TEAM, *STEPS[step]}

        until(is_parsed, f"the tasks of {step}")

    def run(self, run_id: str, day: str) -> dict[str, Instance]:
        """Run the Dag for a day, and return its task instances."""
        self.api.call("POST", RUNS, {"dag_run_id": run_id, "logical_date": f"{day}T00:00:00Z"})

        def has_ended() -> bool:
            found = self.api.attempt("GET", f"{RUNS}/{run_id}")
            return found is not None and found["state"] in ("success", "failed")

        until(has_ended, f"{run_id} to end", seconds=900)
        found = self.api.call("GET", f"{RUNS}/{run_id}/taskInstances")
        return {instance["task_id"]: instance for instance in found["task_instances"]}


def unschedule(project: Path) -> None:
    """Let only the test start runs."""
    file = project / "dags" / f"{DAG}.py"
    source = file.read_text()
    assert source.count('schedule="@daily"') == 1
    file.write_text(source.replace('schedule="@daily"', "schedule=None"))


def days_of(step: str) -> dict[str, str]:
    """Return a day of each kind; no two steps have the same."""
    first = 3 * list(STEPS).index(step) + 1
    return {kind: f"2026-02-{first + after:02}" for after, kind in enumerate((FULL, EMPTY, MISSING))}


def test_rows_mails_branch_and_callbacks_are_the_same_before_and_after(home: Home, tmp_path: Path) -> None:
    project, events = tmp_path / "project", tmp_path / "events"
    events.mkdir()
    write_tables(project / "shop")
    deploy("before", project)
    unschedule(project)
    source = (project / "dags" / f"{DAG}.py").read_text()
    with mail_server() as server:
        environment = partial(home.environment, **settings(project, events, server.port))
        with standalone(environment, project, {DAG: source}) as api:
            command = ("-m", "airflow", "pools", "set", "spark", str(SLOTS), "Spark of the shop")
            pool = home.command(*command, environment=environment())
            assert pool.returncode == 0, pool.stderr
            shop = Shop(project, api, server, events)
            outcomes = {step: outcome_of(shop, step) for step in STEPS}
            go_back(shop, outcomes["before"])
    before = outcomes["before"]
    assert {step: outcome for step, outcome in outcomes.items() if outcome != before} == {}
    assert {report: len(rows) for report, rows in before.rows[FULL].items() if len(rows) < 5} == {}
    assert not any(before.rows[EMPTY].values())
    assert before.states == {
        FULL: ["success", "success", "success", "success", "skipped"],
        EMPTY: ["success", "success", "success", "skipped", "success"],
        MISSING: ["failed", *["upstream_failed"] * 4],
    }
    assert len(before.mails) == before.failures == 1
    for step in STEPS:  # no step has changed the days of another
        assert published(project / "shop", days_of(step)[FULL]) == before.rows[FULL]


def settings(project: Path, events: Path, smtp_port: int) -> dict[str, str]:
    smtp = {"disable_ssl": True, "disable_tls": True, "from_email": "airflow@shop.example"}
    logged = f"-Dspark.eventLog.enabled=true -Dspark.eventLog.dir=file:{events}"
    python_path = [str(project), *Home(project).environment()["PYTHONPATH"].split(":")]
    connections = {
        "smtp_default": {
            "conn_type": "smtp", "host": "127.0.0.1", "port": smtp_port, "extra": smtp,
        },
        "fs_default": {"conn_type": "fs", "extra": {"path": "/"}},
        "spark_default": {
            "conn_type": "spark", "host": "local[1]", "extra": {"deploy-mode": "client"},
        },
    }  # fmt: skip
    return {
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "2",
        "PYTHONPATH": ":".join(python_path),
        "SHOP_DATA": str(project / "shop"),
        "SHOP_PATIENCE": "1",
        "SPARK_SUBMIT_OPTS": f"{SHORT_LIVED} {logged}",
    } | {f"AIRFLOW_CONN_{name.upper()}": json.dumps(it) for name, it in connections.items()}


def outcome_of(shop: Shop, step: str) -> Outcome:
    """Deploy a step, and run it on a day with orders, on one without, and on one whose file is missing."""
    shop.deploy(step)
    outcome, failures = Outcome(), len(shop.failures())
    for kind, day in days_of(step).items():
        if kind in ORDERS:
            write_orders(shop.data, day, ORDERS[kind])
        ran, mails = shop.applications(), len(shop.server.mails)
        instances = shop.run(f"{step}_{kind}", day)
        applications = [instances[task] for task in STEPS[step]]
        if kind in ORDERS:
            assert shop.applications() - ran == len(STEPS[step])
            assert {(it["pool"], it["try_number"]) for it in applications} == {("spark", 1)}
            assert most_at_once(applications) <= SLOTS
            outcome.rows[kind] = published(shop.data, day)
        outcome.states[kind] = [instances[task]["state"] for task in TEAM]
        for mail in shop.server.mails[mails:]:
            shown = f"{mail['To']}: {mail['Subject']}: {part(mail, 'html').strip()}"
            outcome.mails.append(shown.replace(day, "<day>"))
    until(lambda: len(shop.failures()) > failures, "the callback of the Dag")
    outcome.failures = len(shop.failures()) - failures
    return outcome


def most_at_once(instances: Iterable[Instance]) -> int:
    """Return how many of these ran at the same time, at most."""
    spans: list[tuple[str, str]] = [(it["start_date"], it["end_date"]) for it in instances]
    return max(sum(start <= at < end for start, end in spans) for at, _ in spans)


def go_back(shop: Shop, before: Outcome) -> None:
    """Run the scripts again, on the day that the last step has published."""
    last = list(STEPS)[-1]
    day = days_of(last)[FULL]
    names = {path.name for path in (shop.data / "out").rglob("part-*")}
    with suppress(ValueError):  # the answer is empty
        shop.api.call("DELETE", f"{RUNS}/{last}_{FULL}")  # of two runs, only one may have the day
    shop.deploy("before")
    ran = shop.applications()
    instances = shop.run("back", day)
    assert [instances[task]["state"] for task in TEAM] == before.states[FULL]
    assert shop.applications() - ran == len(STEPS["before"])
    assert published(shop.data, day) == before.rows[FULL]
    written = {path.name for path in (shop.data / "out").glob(f"*/day={day}/**/part-*")}
    assert written.isdisjoint(names)
