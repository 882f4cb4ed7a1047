"""The metrics of attempts at regions: what each attempt adds to them."""

from dataclasses import replace

from graph_compiler.deployment.documents.manifest import ContractCount
from graph_compiler.deployment.documents.report import ExecutionReport, Output, RecomputedResult
from graph_compiler.deployment.documents.stream import PublishedBatch, StreamProgress
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import IntermediateDataSetId, RegionId
from graph_compiler.staging.attempts.attempt import Attempt
from graph_compiler.staging.attempts.attempt_metrics import attempt_metrics
from graph_compiler.staging.attempts.task_attempt import TimedAttempt
from tests.harness.reports import bare_report

FAILED, FINISHED = ExecutionState.FAILED, ExecutionState.FINISHED


def attempt(
    number: int,
    state: ExecutionState,
    *,
    started: float,
    running: float | None,
    ended: float,
    report: ExecutionReport | None = None,
    is_reported: bool = False,
) -> TimedAttempt:
    execution = Attempt(
        execution_id=f"e{number}",
        attempt_number=number,
        state=state,
        host="here",
        started=started,
        ended=ended,
        reason=None,
        report=report,
        progress=None,
    )
    return TimedAttempt(execution=execution, running=running, ended=ended, is_reported=is_reported)


def shown(*regions: list[TimedAttempt]) -> list[str]:
    return [
        f"{metric.name.removeprefix('graph_compiler.')} {metric.value} {metric.own or ''}".rstrip()
        for metric in attempt_metrics(regions)
    ]


def first(*, is_reported: bool = False) -> TimedAttempt:
    return attempt(0, FAILED, started=100, running=104, ended=110, is_reported=is_reported)


def second(state: ExecutionState = FINISHED) -> TimedAttempt:
    return attempt(1, state, started=130, running=135.5, ended=140)


OF_SECOND = ["execution.finish 1 FINISHED", "execution.duration 10000 FINISHED", "up_time 4500"]
OF_RESTART = ["restarts 1", "restarting_time 20000", "down_time 25500"]
OF_FIRST = ["execution.finish 1 FAILED", "execution.duration 10000 FAILED", "up_time 6000"]


def test_a_first_attempt_restarts_nothing() -> None:
    assert shown([first()]) == OF_FIRST


def test_an_attempt_after_one_that_failed_is_a_restart() -> None:
    assert shown([first(is_reported=True), second()]) == OF_SECOND + OF_RESTART


def test_what_died_is_reported_by_the_next() -> None:
    assert shown([first(), second()]) == OF_FIRST + OF_SECOND + OF_RESTART


def test_an_attempt_after_one_that_finished_is_no_restart() -> None:
    """A person has cleared the task, perhaps days later."""
    before = attempt(0, FINISHED, started=1, running=2, ended=3, is_reported=True)
    assert shown([before, second()]) == OF_SECOND


def test_one_try_of_several_regions_is_one_restart() -> None:
    regions = [[first(is_reported=True), second()], [first(is_reported=True), second()]]
    assert shown(*regions) == OF_SECOND + OF_RESTART + OF_SECOND


def test_an_attempt_without_spark_was_never_up() -> None:
    lost = attempt(1, FAILED, started=130, running=None, ended=131)
    assert shown([first(is_reported=True), lost]) == [
        "execution.finish 1 FAILED",
        "execution.duration 1000 FAILED",
        "restarts 1",
        "restarting_time 20000",
        "down_time 21000",
    ]


def test_no_value_is_negative_where_clocks_differ() -> None:
    early = attempt(1, FINISHED, started=90, running=91, ended=89)
    assert shown([first(is_reported=True), early])[1:] == [
        "execution.duration 0 FINISHED",
        "up_time 0",
        "restarts 1",
        "restarting_time 0",
        "down_time 0",
    ]


def test_a_region_that_a_try_did_not_reach_is_left_out() -> None:
    """And the next try, which reaches it, does not restart it."""
    canceled = attempt(0, ExecutionState.CANCELED, started=100, running=None, ended=110, is_reported=False)
    assert shown([canceled]) == []
    assert shown([canceled, second()]) == OF_SECOND


def report() -> ExecutionReport:
    return replace(
        bare_report(),
        outputs=(
            Output(kind="sink", name="to disk", location="/out", rows=3, bytes=30),
            Output(kind="staged", name="kept", location="/staging", rows=5, bytes=50),
        ),
        contracts=(
            ContractCount(contract="positive", on_violation="warn", rows=8, violations=2),
            ContractCount(contract="known", on_violation="warn", rows=8, violations=0),
        ),
        recomputed=(
            RecomputedResult(
                result_id=IntermediateDataSetId("lost"),
                producer=RegionId("r"),
                epoch=2,
                operators=("a",),
                rows=7,
                seconds=1.0,
                reason="it was removed",
            ),
        ),
    )


def test_a_stream_has_sums_of_its_batches_and_gauges_of_the_last_one() -> None:
    progress = StreamProgress(
        state_rows=5, state_bytes=900, watermark="2024-01-01T00:22:00.000Z", behind=0, rows_in=7, waited=0.5
    )
    batches = (
        PublishedBatch(number=3, rows=2, seconds=1.5, late=2, progress=replace(progress, state_rows=9)),
        PublishedBatch(number=4, rows=4, seconds=0.5, progress=progress),
    )
    ended = attempt(0, FINISHED, started=0, running=1, ended=2, report=replace(bare_report(), batches=batches))
    assert shown([ended])[3:] == [
        "stream.batches 2",
        "stream.rows_in 14",
        "stream.late_rows 2",
        "stream.state_rows 5",
        "stream.state_bytes 900",
        "stream.watermark 1704068520000",
        "stream.behind 0",
        "stream.waited 500",
    ]
    plain = replace(batches[0], late=0, progress=None)
    ended = attempt(0, FINISHED, started=0, running=1, ended=2, report=replace(bare_report(), batches=(plain,)))
    assert shown([ended])[3:] == ["stream.batches 1", "stream.rows_in 0"]


def test_rows_count_when_an_attempt_has_finished() -> None:
    ended = attempt(0, FINISHED, started=0, running=1, ended=2, report=report())
    assert shown([ended])[3:] == [
        "sink.rows 3 to disk",
        "sink.bytes 30 to disk",
        "staged.rows 5 kept",
        "staged.bytes 50 kept",
        "recomputations 1 lost",
        "contract.violations 2 positive",
    ]
    failed = attempt(0, FAILED, started=0, running=1, ended=2, report=report())
    assert shown([failed])[3:] == ["recomputations 1 lost", "contract.violations 2 positive"]
