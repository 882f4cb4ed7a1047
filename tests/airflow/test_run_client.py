"""A client for runs: lost answers, what is resumed, and what is refused."""

import shutil
from pathlib import Path

import pytest

from graph_compiler.errors import ParameterError
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.run_client import (
    AirflowUnreachableError,
    RunClient,
    RunNotFoundError,
    RunState,
    RunStateError,
    RunStatus,
)
from graph_compiler.run_client.run_status import DagFacts
from tests.harness.fake_airflow import AFTER, BEFORE, FakeAirflow, task
from tests.harness.staging_trees import FIRST, OUT, SECOND, Run

pytestmark = pytest.mark.airflow


@pytest.fixture
def airflow() -> FakeAirflow:
    return FakeAirflow()


@pytest.fixture
def client(airflow: FakeAirflow, tmp_path: Path) -> RunClient:
    return airflow.client(tmp_path / "staging")


def test_a_run_is_named_after_its_date_and_two_runs_differ(client: RunClient, airflow: FakeAirflow) -> None:
    run = client.submit("sales", params={"least": 3}, date="2013-01-01")
    assert run.run_id.startswith("manual__2013-01-01__")
    assert airflow.dates == {"2013-01-01T00:00:00+00:00": run.run_id}
    assert airflow.confs == [{"least": 3}]
    assert client.submit("sales").run_id != client.submit("sales").run_id


@pytest.mark.parametrize("lost", [[AFTER], [BEFORE], [BEFORE, AFTER], [BEFORE, BEFORE, BEFORE]], ids=str)
def test_a_lost_answer_starts_one_run(lost: list[str | None], client: RunClient, airflow: FakeAirflow) -> None:
    airflow.lost = lost
    run = client.submit("sales", date="2013-01-01")
    assert list(airflow.runs) == [run.run_id]


def test_a_lost_answer_and_a_lost_look_start_one_run(client: RunClient, airflow: FakeAirflow) -> None:
    airflow.lost, airflow.silent_looks = [AFTER], 1
    run = client.submit("sales", date="2013-01-01")
    assert (list(airflow.runs), airflow.requests) == ([run.run_id], 2)


def test_an_airflow_that_stays_silent_leaves_the_name_of_the_run(client: RunClient, airflow: FakeAirflow) -> None:
    airflow.lost = [BEFORE] * 10
    with pytest.raises(AirflowUnreachableError, match="whether run 'mine' of 'sales' was started"):
        client.submit("sales", run_id="mine")
    assert airflow.requests == 4


def test_a_run_that_was_started_is_named_though_airflow_is_silent_afterwards(
    client: RunClient, airflow: FakeAirflow
) -> None:
    airflow.silent_looks = 1
    with pytest.raises(AirflowUnreachableError, match="run 'manual__2013-01-01__.* was started"):
        client.submit("sales", date="2013-01-01")
    assert len(airflow.runs) == 1


def test_a_date_that_has_a_run_is_refused_with_that_run(client: RunClient, airflow: FakeAirflow) -> None:
    first = client.submit("sales", date="2013-01-01")
    with pytest.raises(RunStateError, match=f"already has a run of 2013.*: '{first.run_id}'"):
        client.submit("sales", date="2013-01-01")
    with pytest.raises(RunStateError, match=f"already has a run '{first.run_id}'"):
        client.submit("sales", run_id=first.run_id)
    assert len(airflow.runs) == 1


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (DagFacts(is_paused=True, has_import_errors=False), "airflow dags unpause sales"),
        (DagFacts(is_paused=False, has_import_errors=True), "cannot be imported"),
    ],
)
def test_a_dag_that_would_not_run_is_refused(
    facts: DagFacts, words: str, client: RunClient, airflow: FakeAirflow
) -> None:
    airflow.dags["sales"] = facts
    with pytest.raises(RunStateError, match=words):
        client.submit("sales")
    assert airflow.requests == 0


def test_what_does_not_exist_is_reported(client: RunClient) -> None:
    with pytest.raises(RunNotFoundError, match="no Dag 'sale'"):
        client.submit("sale")
    with pytest.raises(RunNotFoundError, match="no Dag 'sale'"):
        client.status("sale")
    with pytest.raises(RunNotFoundError, match="has no runs"):
        client.status("sales")
    with pytest.raises(RunNotFoundError, match="has no run 'x'"):
        client.cancel("sales", "x")
    with pytest.raises(ParameterError, match="allowed: a day"):
        client.submit("sales", date="yesterday")


def test_a_run_is_canceled_once(client: RunClient, airflow: FakeAirflow) -> None:
    airflow.run("a", "running", task("first", "running"))
    assert client.cancel("sales", "a").state is RunState.FAILED
    with pytest.raises(RunStateError, match="is over: it is FAILED"):
        client.cancel("sales", "a")
    with pytest.raises(RunStateError, match="cancels only whole runs"):
        client.cancel("sales@many:emea", "a")


def test_what_did_not_finish_runs_again_and_nothing_else(client: RunClient, airflow: FakeAirflow) -> None:
    states = ("success", "failed", "upstream_failed", "skipped", None, "removed", "success")
    airflow.run("a", "failed", *(task(f"t{n}", state) for n, state in enumerate(states)))
    resumed = client.resume("sales", "a")
    assert airflow.cleared == ["t1", "t2", "t3", "t4"] == [one.task_id for one in resumed]
    with pytest.raises(RunStateError, match="it is CREATED|is CREATED"):
        client.resume("sales", "a")


def test_a_run_without_a_failure_is_not_resumed(client: RunClient, airflow: FakeAirflow) -> None:
    airflow.run("a", "success", task("first", "success"))
    with pytest.raises(RunStateError, match="all its tasks finished"):
        client.resume("sales", "a")
    assert airflow.requests == 0


def test_a_lost_answer_to_resume_clears_once(client: RunClient, airflow: FakeAirflow) -> None:
    airflow.run("a", "failed", task("first", "failed"))
    airflow.lost = [AFTER]
    client.resume("sales", "a")
    airflow.run("b", "failed", task("first", "failed"))
    airflow.lost = [BEFORE]
    client.resume("sales", "b")
    assert airflow.cleared == ["first", "first"]


def test_one_pipeline_of_a_dag_is_resumed_alone(client: RunClient, airflow: FakeAirflow) -> None:
    airflow.dags["many"] = DagFacts(is_paused=False, has_import_errors=False)
    tasks = (
        task("emea.first", "failed"),
        task("each.first", "failed", map_index=0),
        task("each.first", "failed", map_index=1),
        task("mail", "upstream_failed"),
    )
    for run_id in ("a", "b"):
        airflow.run(run_id, "failed", *tasks, dag_id="many")
    client.resume("p@many:emea", "a")
    client.resume("p@many:each:1", "b")
    assert airflow.cleared == ["emea.first", "each.first[1]"]
    assert [one.name for one in client.status("p@many:each:1", "b").tasks] == ["each.first[1]"]


@pytest.mark.parametrize(
    ("lost", "failed", "again"),
    [
        ((SECOND,), {OUT}, [SECOND, OUT]),
        ((FIRST,), {OUT}, [OUT]),  # no task that runs again reads it
        ((FIRST, SECOND), {OUT}, [FIRST, SECOND, OUT]),
        ((), {OUT}, [OUT]),
    ],
    ids=str,
)
def test_a_finished_task_runs_again_if_its_rows_are_lost_and_needed(
    lost: tuple[str, ...], failed: set[str], again: list[str], airflow: FakeAirflow, tmp_path: Path
) -> None:
    run = Run(tmp_path, "a")
    folders = {}
    for number, region in enumerate((FIRST, SECOND)):
        run.end(region, f"e{number}")
        folders[region] = run.commit(run.result(region), 0, f"e{number}")
    run.end(OUT, "e2", ExecutionState.FAILED)
    for region in lost:
        shutil.rmtree(folders[region])
    airflow.dags["p"] = DagFacts(is_paused=False, has_import_errors=False)
    states = {region: "failed" if region in failed else "success" for region in (FIRST, SECOND, OUT)}
    airflow.run("a", "failed", *(task(name, state) for name, state in states.items()), dag_id="p")
    client = airflow.client(tmp_path)
    assert [one.task_id for one in client.resume("p", "a")] == again


def test_rows_that_were_released_are_not_lost(airflow: FakeAirflow, tmp_path: Path) -> None:
    run = Run(tmp_path, "a")
    run.end(FIRST, "e0")
    shutil.rmtree(run.commit(run.result(FIRST), 0, "e0"))
    run.release(run.result(FIRST), 0)
    airflow.dags["p"] = DagFacts(is_paused=False, has_import_errors=False)
    airflow.run("a", "failed", task(FIRST, "success"), task(SECOND, "failed"), dag_id="p")
    client = airflow.client(tmp_path)
    assert [one.task_id for one in client.resume("p", "a")] == [SECOND]


def test_it_waits_through_a_short_silence(client: RunClient, airflow: FakeAirflow) -> None:
    airflow.run("a", "running", task("first", "running"))
    looks = list[RunStatus]()

    def look(run: RunStatus) -> None:
        looks.append(run)
        airflow.run("a", "success", task("first", "success"))

    airflow.silent_looks = 3
    assert client.wait("sales", "a", on_look=look).state is RunState.FINISHED
    assert [run.state for run in looks] == [RunState.RUNNING, RunState.FINISHED]
    airflow.silent_looks = 100
    with pytest.raises(AirflowUnreachableError):
        client.wait("sales", "a")
    airflow.silent_looks = 0
    airflow.run("b", "running")
    with pytest.raises(TimeoutError, match="not over after 0 s"):
        client.wait("sales", "b", seconds=0)


def test_a_run_that_left_nothing_here_is_reported(client: RunClient, airflow: FakeAirflow) -> None:
    airflow.run("a", "success", task("first", "success"))
    with pytest.raises(RunNotFoundError, match="another staging root"):
        client.result("sales", "a")


def test_a_failure_is_part_of_the_result(airflow: FakeAirflow, tmp_path: Path) -> None:
    run = Run(tmp_path, "a", dag_id="many", group_path="emea")
    run.end(OUT, "e0", ExecutionState.FAILED)
    client = airflow.client(tmp_path)
    for dag in ("many", "p@many:emea"):
        assert client.result(dag, "a").failures == (f"pipeline 'p@many:emea', region '{OUT}': broken",)
    with pytest.raises(RunNotFoundError):
        client.result("p@many:apac", "a")
