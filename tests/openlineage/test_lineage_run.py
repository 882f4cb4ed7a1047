"""The lineage of a run under real Airflow, read from a file: two regions share a task, and one of them is repeated."""

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.conftest import ROOT, Home, home, migrated, migrated_home, shared_classes
from tests.end_to_end.test_shared_task_retries import reports_project
from tests.openlineage.conftest import provider_packages

__all__ = ["home", "migrated", "migrated_home", "shared_classes"]
pytestmark = pytest.mark.openlineage
Event = dict[str, Any]


@pytest.mark.usefixtures("migrated_home")
def test_each_region_is_a_run_below_its_task(home: Home, tmp_path: Path) -> None:
    project = reports_project(tmp_path / "project")
    file = tmp_path / "events"
    transport = {"type": "file", "log_file_path": str(file), "append": True}
    done = subprocess.run(
        [sys.executable, "-m", "graph_compiler", "run", "reports", "--date", "2024-01-01"],
        cwd=project,
        env=home.environment(
            PYTHONPATH=os.pathsep.join([str(project), f"{ROOT}/plugins", str(provider_packages())]),
            AIRFLOW__CORE__DAGS_FOLDER=str(project / "dags"),
            AIRFLOW__OPENLINEAGE__TRANSPORT=json.dumps(transport),
            AIRFLOW__OPENLINEAGE__NAMESPACE="prod",
        ),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]
    events: list[Event] = [json.loads(line) for line in file.read_text().splitlines()]
    runs = by_job(events)

    assert {job: [types for _, types in found] for job, found in runs.items()} == {
        "reports": [["COMPLETE"]],
        "reports.clean": [["START", "COMPLETE"]],
        "reports.clean.clean": [["START", "COMPLETE"]],
        "reports.sums_out": [["START", "FAIL"], ["START", "COMPLETE"]],
        "reports.sums_out.sums_out": [["START", "FAIL"], ["START", "COMPLETE"]],
        "reports.sums_out.large_out": [["START", "COMPLETE"]],
    }
    tries = [run for run, _ in runs["reports.sums_out"]]
    assert parents(events, "reports.sums_out.sums_out") == tries
    assert parents(events, "reports.sums_out.large_out") == tries[:1], "the retry has kept it"
    ((dag_run, _),) = runs["reports"]
    roots = {
        event["run"]["facets"]["parent"]["root"]["run"]["runId"]
        for event in events
        if event["job"]["name"].count(".") == 2
    }
    assert roots == {dag_run}

    staged = f"{home.staging}/reports/clean/"
    stage = columns(last(events, "reports.clean.clean"))
    (result,) = [name for name in stage["outputs"] if name.startswith(staged)]
    orders = [("id", "integer"), ("region", "string")]
    assert stage == {"inputs": {f"{project}/orders.csv": orders}, "outputs": {result: orders}}
    sums = [("region", "string"), ("orders", "long")]
    assert columns(last(events, "reports.sums_out.sums_out")) == {
        "inputs": {result: orders},
        "outputs": {f"{project}/out/sums": sums},
    }
    large = {f"{project}/out/large": orders}
    assert columns(last(events, "reports.sums_out.large_out")) == {"inputs": {result: orders}, "outputs": large}
    assert columns(last(events, "reports.sums_out")) == {
        "inputs": {result: orders},
        "outputs": {f"{project}/out/sums": sums, **large},
    }, "those of its regions, kept or not"
    (failed,) = [
        event for event in events if (event["eventType"], event["job"]["name"]) == ("FAIL", "reports.sums_out.sums_out")
    ]
    assert "ConnectionError: the first time" in failed["run"]["facets"]["errorMessage"]["message"]
    assert failed["outputs"] == []


def by_job(events: list[Event]) -> dict[str, list[tuple[str, list[str]]]]:
    """Return the runs of each job, in order, with the types of their events."""
    found: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for event in events:
        types = found[event["job"]["name"]].setdefault(event["run"]["runId"], [])
        types.append(event["eventType"])
    return {job: list(runs.items()) for job, runs in found.items()}


def parents(events: list[Event], job: str) -> list[str]:
    """Return the parents of a job's runs, in order."""
    return [
        event["run"]["facets"]["parent"]["run"]["runId"]
        for event in events
        if event["job"]["name"] == job and event["eventType"] == "START"
    ]


def last(events: list[Event], job: str) -> Event:
    return [event for event in events if event["job"]["name"] == job][-1]


def columns(event: Event) -> dict[str, dict[str, list[tuple[str, str]]]]:
    """Return the datasets of an event with their columns."""
    return {
        side: {
            each["name"]: [(field["name"], field["type"]) for field in each["facets"]["schema"]["fields"]]
            for each in event[side]
        }
        for side in ("inputs", "outputs")
    }
