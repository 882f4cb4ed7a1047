"""Whose publications those of a target are, and what becomes of those that were not carried out. No Spark."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from graph_compiler.deployment.commit_store import LocalCommitStore
from graph_compiler.deployment.publications import Publication
from graph_compiler.deployment.staging_layout import StagingLayout
from graph_compiler.errors import DecisionLostError, PublicationError
from graph_compiler.identifiers import OperatorId
from graph_compiler.spark_runtime.carry_out import carry_out
from graph_compiler.spark_runtime.intent import Intent
from graph_compiler.spark_runtime.ledger import Ledger
from tests.spark.folders import SINK, prepare

MOVED = OperatorId("cd" * 16)
"""The same sink's id, or another sink's: it depends on the plan."""


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    layout = StagingLayout(root=str(tmp_path / "staging"), pipeline="p", run_id="r")
    return Ledger(store=LocalCommitStore(), layout=layout, plan_id="plan")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "out"


def settle(ledger: Ledger, target: Path, sink: OperatorId = SINK) -> int:
    def bring_in(publication: Publication) -> None:
        assert isinstance(publication, Intent)
        carry_out(publication)
        ledger.finish(publication)

    return ledger.settle(str(target), sink, bring_in)


def decided(ledger: Ledger, target: Path, execution_id: str, sink: OperatorId = SINK) -> Intent:
    """Let an execution of the ledger's run and plan prepare one file to append, and decide."""
    number = settle(ledger, target, sink)
    prepared = prepare(target, add=[f"part-{execution_id}"], execution_id=execution_id)
    intent = replace(
        prepared,
        number=number,
        run_id=ledger.layout.run_id,
        plan_id=ledger.plan_id,
        operator_id=sink,
    )
    ledger.decide(intent)
    return intent


def publish(ledger: Ledger, target: Path, execution_id: str, sink: OperatorId = SINK) -> None:
    decided(ledger, target, execution_id, sink)
    settle(ledger, target, sink)


def own(ledger: Ledger, target: Path, sink: OperatorId) -> list[str]:
    found = ledger.of_this_run(str(target), sink, settle(ledger, target, sink))
    return [publication.execution_id for publication in found]


def test_a_sink_whose_id_a_redeploy_moved_knows_what_its_run_published(
    ledger: Ledger, target: Path
) -> None:
    publish(ledger, target, "first")
    redeployed = replace(ledger, plan_id="changed")
    assert own(redeployed, target, MOVED) == ["first"]
    publish(redeployed, target, "second", MOVED)
    assert own(redeployed, target, MOVED) == ["first", "second"]


def test_it_knows_them_too_where_another_run_has_published_in_between(
    ledger: Ledger, target: Path
) -> None:
    publish(ledger, target, "first")
    publish(replace(ledger, layout=replace(ledger.layout, run_id="other")), target, "others")
    assert own(replace(ledger, plan_id="changed"), target, MOVED) == ["first"]


@pytest.mark.parametrize("in_between", [False, True])
def test_another_sink_of_the_plan_is_refused(
    in_between: bool, ledger: Ledger, target: Path
) -> None:
    publish(ledger, target, "first")
    if in_between:
        publish(replace(ledger, layout=replace(ledger.layout, run_id="other")), target, "others")
    with pytest.raises(PublicationError, match="was written by another sink of this run"):
        own(ledger, target, MOVED)


def test_what_was_decided_and_then_removed_by_hand_is_given_up_once(
    ledger: Ledger, target: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    carry_out(decided(ledger, target, "killed"))
    shutil.rmtree(target)
    for _ in range(2):
        assert settle(ledger, target) == 1
    assert own(ledger, target, SINK) == []
    assert capsys.readouterr().err.count("gave up what execution killed of run r") == 1
    publish(ledger, target, "retry")
    assert own(ledger, target, SINK) == ["retry"]


def test_files_that_are_left_of_what_was_given_up_are_still_its_runs(
    ledger: Ledger, target: Path
) -> None:
    intent = decided(ledger, target, "killed")
    shutil.rmtree(intent.prepared)
    number = settle(ledger, target)
    (left,) = ledger.of_this_run(str(target), SINK, number, given_up=True)
    assert isinstance(left, Intent)
    assert left.add == ("part-killed",)


def test_what_another_execution_finished_meanwhile_is_not_given_up(
    ledger: Ledger, target: Path
) -> None:
    intent = decided(ledger, target, "slow")

    def finished_and_replaced(_: Publication) -> None:
        carry_out(intent)
        ledger.finish(intent)
        shutil.rmtree(target)
        carry_out(intent)

    assert ledger.settle(str(target), SINK, finished_and_replaced) == 1
    assert own(ledger, target, SINK) == ["slow"]


def test_a_decision_is_lost_to_another_and_not_to_ones_own_answer_that_was_lost(
    ledger: Ledger, target: Path
) -> None:
    intent = decided(ledger, target, "first")
    ledger.decide(intent)
    with pytest.raises(DecisionLostError, match="nothing of this one is visible"):
        ledger.decide(replace(intent, execution_id="second"))
