"""The metrics of the attempts that a task's try has ended, from their documents.

    attempt 1   started ── running ── ended ┐
                   up_time: running to ended │
                                             │ restarting_time: to started of attempt 2
                                             │ down_time: to running of attempt 2
    attempt 2                                └ started ── running ── ended

An attempt whose worker was killed has reported nothing: the next one does so for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.report import ExecutionReport
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.staging.executions.region_execution import RegionExecution
from graph_compiler.staging.metrics.metric import Metric, MetricName

_OUTPUTS = {
    "sink": (MetricName.SINK_ROWS, MetricName.SINK_BYTES),
    "staged": (MetricName.STAGED_ROWS, MetricName.STAGED_BYTES),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedAttempt:
    """An attempt at a region, with times in seconds since the epoch.

    `running`: when Spark was up and began with the region, None if it never did. `ended`: its end, or its last sign of
    life if it died. `is_reported`: its metrics were reported before.
    """

    execution: RegionExecution
    running: float | None
    ended: float
    is_reported: bool

    @property
    def was_reached(self) -> bool:
        """Whether the try has come to its region before it ended."""
        return self.running is not None or self.execution.state is not ExecutionState.CANCELED


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedRegion:
    """An execution that has just ended, and the attempts at its region up to it, first to last."""

    execution: TaskDeploymentDescriptor
    attempts: tuple[TimedAttempt, ...]


def attempt_metrics(regions: Sequence[Sequence[TimedAttempt]]) -> tuple[Metric, ...]:
    """Return the metrics of the attempts at the regions of a task that are not reported yet.

    A restart is counted for each try, not for each of its regions. A region that a try has not reached is left out.
    """
    found: list[Metric] = []
    restarted: set[str] = set()
    for region in regions:
        attempts = [attempt for attempt in region if attempt.was_reached]
        for number, attempt in enumerate(attempts):
            if attempt.is_reported:
                continue
            found += _of_one(attempt)
            before = attempts[number - 1] if number else None
            id = attempt.execution.execution_id
            if before is not None and not _is_finished(before) and id not in restarted:
                restarted.add(id)
                found += _of_restart(before, attempt)
    return tuple(found)


def _of_one(attempt: TimedAttempt) -> Iterator[Metric]:
    execution = attempt.execution
    state = execution.state.value
    yield Metric(MetricName.FINISH, 1, state)
    yield Metric(MetricName.DURATION, _milliseconds(attempt.ended, since=execution.started), state)
    if attempt.running is not None:
        yield Metric(MetricName.UP_TIME, _milliseconds(attempt.ended, since=attempt.running))
    if execution.report is not None:
        yield from _of_report(execution.report, is_finished=_is_finished(attempt))


def _of_report(report: ExecutionReport, *, is_finished: bool) -> Iterator[Metric]:
    for output in report.outputs if is_finished else ():
        rows, bytes_written = _OUTPUTS[output.kind]
        yield Metric(rows, output.rows, output.name)
        yield Metric(bytes_written, output.bytes, output.name)
    for again in report.recomputed:
        yield Metric(MetricName.RECOMPUTATIONS, 1, again.result_id)
    for count in report.contracts:
        if count.violations:
            yield Metric(MetricName.VIOLATIONS, count.violations, count.contract)


def _of_restart(before: TimedAttempt, attempt: TimedAttempt) -> Iterator[Metric]:
    running = attempt.ended if attempt.running is None else attempt.running
    yield Metric(MetricName.RESTARTS, 1)
    yield Metric(
        MetricName.RESTARTING_TIME, _milliseconds(attempt.execution.started, since=before.ended)
    )
    yield Metric(MetricName.DOWN_TIME, _milliseconds(running, since=before.ended))


def _is_finished(attempt: TimedAttempt) -> bool:
    return attempt.execution.state is ExecutionState.FINISHED


def _milliseconds(time: float, *, since: float) -> int:
    """Clocks of two hosts may differ: a counter takes no negative value."""
    return max(0, round((time - since) * 1000))
