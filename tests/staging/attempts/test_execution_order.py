"""Which of a region's executions is the last, whatever the clocks say."""

import os
from pathlib import Path

import pytest

from graph_compiler.deployment.documents.descriptor import VERSION, ExecutionAttempt, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.errors import DamagedDocumentError
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import RegionId
from graph_compiler.staging.attempts.attempts import (
    executions,
    is_superseded,
    last_descriptor,
    last_execution,
    regions_of,
)
from graph_compiler.staging.attempts.execution_order import begin
from graph_compiler.staging.store.local_store import LocalStore
from tests.harness.staging_trees import FIRST, REGIONS, Run

REGION = RegionId(FIRST)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def task(run: Run, execution_id: str, number: int) -> TaskDeploymentDescriptor:
    return TaskDeploymentDescriptor(
        version=VERSION,
        identity=RunIdentity.own(REGIONS[FIRST].pipeline, run.run_id),
        region=REGIONS[FIRST],
        attempt=ExecutionAttempt(execution_id=execution_id, attempt_number=number),
        staging_root=str(run.root),
        parameters=(),
    )


def deploy(run: Run, execution_id: str, number: int, at: float) -> None:
    """Begin an execution when the clock says `at`."""
    assert begin(LocalStore(), task(run, execution_id, number))
    os.utime(run.layout.descriptor(REGION, execution_id), (at, at))


def names(run: Run) -> list[str]:
    return [one.execution_id for one in executions(LocalStore(), run.layout, REGION)]


def test_a_clock_that_is_set_back_does_not_revive_an_old_attempt(run: Run) -> None:
    deploy(run, "hangs", 0, at=2_000)
    deploy(run, "valid", 1, at=1_000)
    assert is_superseded(LocalStore(), run.layout, REGION, "hangs")
    assert not is_superseded(LocalStore(), run.layout, REGION, "valid")
    assert names(run) == ["hangs", "valid"]
    last = last_descriptor(LocalStore(), run.layout, REGION)
    assert last is not None
    assert last.attempt.execution_id == "valid"
    hangs, valid = executions(LocalStore(), run.layout, REGION)
    assert (hangs.state, valid.state) == (ExecutionState.FAILED, ExecutionState.DEPLOYING)


def test_a_recreated_run_comes_after_the_deleted_one(run: Run) -> None:
    for number in range(3):
        deploy(run, f"former{number}", number, at=5_000 + number)
    deploy(run, "again", 0, at=1_000)
    last = last_execution(LocalStore(), run.layout, REGION)
    assert last is not None
    assert last.execution_id == "again"
    assert is_superseded(LocalStore(), run.layout, REGION, "former2")


def test_executions_of_an_earlier_version_come_before_all_others(run: Run) -> None:
    for name, at in (("z", 7_000), ("y", 8_000)):
        run.begin(FIRST, name)
        os.utime(run.layout.descriptor(REGION, name), (at, at))
    deploy(run, "a", 0, at=1_000)
    assert names(run) == ["z", "y", "a"]
    assert regions_of(LocalStore(), run.layout) == (REGION,)


def test_an_execution_that_is_started_twice_keeps_its_turn(run: Run) -> None:
    deploy(run, "first", 0, at=1)
    deploy(run, "second", 1, at=2)
    assert not begin(LocalStore(), task(run, "first", 0))
    assert names(run) == ["first", "second"]


def test_an_unreadable_turn_is_not_guessed(run: Run) -> None:
    deploy(run, "first", 0, at=1)
    deploy(run, "second", 1, at=2)
    turn = Path(run.layout.order(REGION), "1.json")
    turn.write_text("")
    with pytest.raises(DamagedDocumentError, match="is empty\n  hint: remove it, and clear"):
        is_superseded(LocalStore(), run.layout, REGION, "first")
    turn.unlink()
    deploy(run, "third", 2, at=3)
    assert is_superseded(LocalStore(), run.layout, REGION, "first")
    assert is_superseded(LocalStore(), run.layout, REGION, "second")
