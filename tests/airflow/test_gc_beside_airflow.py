"""`staging gc` asks Airflow: tasks that are deferred or wait for a retry, and runs that are started again."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.staging.gc.collection import Collection, Policy, collect
from graph_compiler.staging.gc.liveness import AirflowRunState, RunOfAirflow
from graph_compiler.staging.gc.removal import remove
from graph_compiler.staging.gc.survey import survey
from graph_compiler.staging.store.local_store import LocalStore
from tests.airflow.test_tasks_elsewhere import IN_GROUPS, PIPELINE, build_dags
from tests.airflow.web_server import forget, make_database, set_task, start_run, store
from tests.harness.staging_trees import FIRST, Run, age

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]
STORE = LocalStore()
YEAR = 365 * 86400.0
RUN = "r"
OWNERS = [PIPELINE, *IN_GROUPS]
PREFIXES = dict(zip(OWNERS, ["", "emea.", "asia.", "mapped.inner.", "mapped.inner."], strict=True))
STATES = ["deferred", "up_for_retry", "up_for_reschedule", "queued", "scheduled", "running", "restarting", None]


def runs_in(root: Path, state: ExecutionState = ExecutionState.FAILED) -> dict[str, Run]:
    """Return one run for each placement of the pipeline: a result of `first`, and a later attempt that has ended."""
    runs = {}
    for owner in OWNERS:
        named = RunIdentity.named(owner, RUN)
        run = Run(root, RUN, dag_id=named.dag_id, group_path=named.group_path, map_index=named.map_index)
        run.end(FIRST, "e1")
        run.commit(run.result(FIRST), 0, "e1")
        run.end(FIRST, "e2", state)
        runs[owner] = run
    age(root, time.time(), YEAR)
    return runs


@pytest.fixture(scope="module")
def database() -> Iterator[None]:
    make_database()
    for dag in build_dags().values():
        store(dag)
        start_run(dag.dag_id, run_id=RUN)
    yield
    fail_all()
    for dag_id in (PIPELINE, "many"):
        forget(dag_id)


@pytest.fixture
def runs(database: None, tmp_path: Path) -> dict[str, Run]:  # noqa: ARG001  # only set up
    """Let all runs have failed a year ago."""
    fail_all()
    return runs_in(tmp_path)


def set_states(owner: str, state: str | None) -> None:
    named = RunIdentity.named(owner, RUN)
    for name in ("first", "last"):
        set_task(named.dag_id, PREFIXES[owner] + name, run_id=RUN, index=named.map_index, state=state)


def fail_all() -> None:
    """Fail all tasks, and the runs of both Dags."""
    for owner in OWNERS:
        set_states(owner, "failed")
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        for run in session.scalars(select(DagRun).where(DagRun.run_id == RUN)):
            run.state = "failed"


def clear(owner: str) -> None:
    """Clear a placement's tasks, as `resume`, the UI and `airflow tasks clear` do."""
    from airflow.models.taskinstance import TaskInstance, clear_task_instances
    from airflow.utils.session import create_session
    from sqlalchemy import select

    named = RunIdentity.named(owner, RUN)
    ids = [PREFIXES[owner] + name for name in ("first", "last")]
    with create_session() as session:
        found = session.scalars(
            select(TaskInstance).where(
                TaskInstance.dag_id == named.dag_id,
                TaskInstance.run_id == RUN,
                TaskInstance.task_id.in_(ids),
                TaskInstance.map_index == named.map_index,
            )
        ).all()
        assert len(found) == len(ids)
        clear_task_instances(list(found), session)


def decide(root: Path) -> Collection:
    """Ask Airflow, and decide what is older than its ttl."""
    from graph_compiler.airflow_backend.installation.run_states import run_states

    inventory = survey(STORE, str(root))
    asked = [run.identity for run in inventory.runs]
    states = zip(asked, run_states(asked), strict=True)
    known = {run: AirflowRunState(state) for run, state in states if state is not None}
    assert len(known) == len(OWNERS)
    return collect(inventory, Policy(now=time.time(), airflow=known))


def carry_out(decided: Collection, root: Path) -> None:
    list(remove(STORE, decided, str(root)))


def test_runs_that_failed_a_year_ago_are_removed(runs: dict[str, Run], tmp_path: Path) -> None:
    carry_out(decide(tmp_path), tmp_path)
    assert not [owner for owner, run in runs.items() if run.path.exists()]


@pytest.mark.parametrize("owner", OWNERS)
def test_a_run_with_a_task_that_waits_is_kept_at_any_age(owner: str, runs: dict[str, Run], tmp_path: Path) -> None:
    clear(owner)
    set_states(owner, "success")
    named = RunIdentity.named(owner, RUN)
    for state in STATES:
        set_task(named.dag_id, PREFIXES[owner] + "last", run_id=RUN, index=named.map_index, state=state)
        kept = decide(tmp_path).kept
        assert [(each.run, each.state) for each in kept] == [(named, RunOfAirflow.LIVE)], state
    carry_out(decide(tmp_path), tmp_path)
    assert [owner for owner, run in runs.items() if run.path.exists()] == [owner]


@pytest.mark.parametrize("owner", OWNERS)
def test_a_run_that_is_started_again_is_kept_before_a_task_has_begun(
    owner: str, runs: dict[str, Run], tmp_path: Path
) -> None:
    clear(owner)
    carry_out(decide(tmp_path), tmp_path)
    assert [owner for owner, run in runs.items() if run.path.exists()] == [owner]


@pytest.mark.parametrize("owner", OWNERS)
def test_a_run_whose_task_begins_while_it_is_removed_is_kept(owner: str, runs: dict[str, Run], tmp_path: Path) -> None:
    decided = decide(tmp_path)
    clear(owner)
    runs[owner].begin(FIRST, "e3")
    carry_out(decided, tmp_path)
    assert [owner for owner, run in runs.items() if run.path.exists()] == [owner]


@pytest.mark.parametrize("owner", OWNERS)
def test_a_run_that_was_removed_begins_again_and_is_kept(owner: str, runs: dict[str, Run], tmp_path: Path) -> None:
    carry_out(decide(tmp_path), tmp_path)
    clear(owner)
    runs[owner].begin(FIRST, "e3")
    age(tmp_path, time.time(), YEAR)
    (kept,) = survey(STORE, str(tmp_path)).runs
    assert kept.identity == RunIdentity.named(owner, RUN)
    assert not [result for result in kept.results if result.epochs]
