"""The metrics of the attempts that a task's try has ended, from their documents.

    attempt 1   started ── running ── ended ┐
                   up_time: running to ended │
                                             │ restarting_time: to started of attempt 2
                                             │ down_time: to running of attempt 2
    attempt 2                                └ started ── running ── ended

An attempt whose worker was killed has reported nothing: the next one does so for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from graph_compiler.deployment.documents.stream import PublishedBatch
from graph_compiler.staging.attempts.task_attempt import TimedAttempt

# The metrics of a pipeline, under names of Airflow's kind, and the values that they get.
#
# Times are milliseconds, as in Airflow and in Flink. No tag is the id of a run: the number of series depends on what is
# declared, not on how often it runs.


class MetricName(StrEnum):
    """The metrics, without the prefix of the installation (`airflow.`)."""

    FINISH = "graph_compiler.execution.finish"
    DURATION = "graph_compiler.execution.duration"
    RESTARTS = "graph_compiler.restarts"
    RESTARTING_TIME = "graph_compiler.restarting_time"
    DOWN_TIME = "graph_compiler.down_time"
    UP_TIME = "graph_compiler.up_time"
    SINK_ROWS = "graph_compiler.sink.rows"
    SINK_BYTES = "graph_compiler.sink.bytes"
    STAGED_ROWS = "graph_compiler.staged.rows"
    STAGED_BYTES = "graph_compiler.staged.bytes"
    RECOMPUTATIONS = "graph_compiler.recomputations"
    VIOLATIONS = "graph_compiler.contract.violations"
    BATCHES = "graph_compiler.stream.batches"
    ROWS_IN = "graph_compiler.stream.rows_in"
    LATE_ROWS = "graph_compiler.stream.late_rows"
    STATE_ROWS = "graph_compiler.stream.state_rows"
    STATE_BYTES = "graph_compiler.stream.state_bytes"
    WATERMARK = "graph_compiler.stream.watermark"
    BEHIND = "graph_compiler.stream.behind"
    WAITED = "graph_compiler.stream.waited"

    @property
    def is_timing(self) -> bool:
        """Whether it is sent as a timing."""
        return self is MetricName.DURATION

    @property
    def is_gauge(self) -> bool:
        """Whether it is a value that replaces the one before; all others are timings and counters."""
        return self in _GAUGES

    @property
    def own_tag(self) -> str | None:
        """The tag it has besides those of its task, None if it has no other."""
        return _OWN_TAGS.get(self)


_OWN_TAGS = {
    MetricName.FINISH: "state",
    MetricName.DURATION: "state",
    MetricName.SINK_ROWS: "output",
    MetricName.SINK_BYTES: "output",
    MetricName.STAGED_ROWS: "output",
    MetricName.STAGED_BYTES: "output",
    MetricName.RECOMPUTATIONS: "output",
    MetricName.VIOLATIONS: "contract",
}
_GAUGES = {MetricName.STATE_ROWS, MetricName.STATE_BYTES, MetricName.WATERMARK, MetricName.BEHIND, MetricName.WAITED}
TASK_TAGS = ("dag_id", "task_id", "pipeline")
"""The tags of every metric."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One value: what to add to a counter, a timing, or that of a gauge; `own` is the value of its own tag."""

    name: MetricName
    value: int
    own: str | None = None

    def tags(self, task: Mapping[str, str]) -> Mapping[str, str]:
        """Return all its tags, those of its task first."""
        tag = self.name.own_tag
        return dict(task) if tag is None or self.own is None else {**task, tag: self.own}


_OUTPUTS = {
    "sink": (MetricName.SINK_ROWS, MetricName.SINK_BYTES),
    "staged": (MetricName.STAGED_ROWS, MetricName.STAGED_BYTES),
}


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
            if before is not None and not before.execution.is_finished and id not in restarted:
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
    for output in execution.outputs:
        rows, bytes_written = _OUTPUTS[output.kind]
        yield Metric(rows, output.rows, output.name)
        yield Metric(bytes_written, output.bytes, output.name)
    if execution.report is not None:
        for again in execution.report.recomputed:
            yield Metric(MetricName.RECOMPUTATIONS, 1, again.result_id)
        for count in execution.report.contracts:
            if count.violations:
                yield Metric(MetricName.VIOLATIONS, count.violations, count.contract)
        if execution.report.batches:
            yield from _of_stream(execution.report.batches)


def _of_stream(batches: Sequence[PublishedBatch]) -> Iterator[Metric]:
    """Yield the sums of batches, and where the stream is behind the last one that Spark has reported."""
    known = [each.progress for each in batches if each.progress is not None]
    yield Metric(MetricName.BATCHES, len(batches))
    yield Metric(MetricName.ROWS_IN, sum(each.rows_in or 0 for each in known))
    if late := sum(each.late for each in batches):
        yield Metric(MetricName.LATE_ROWS, late)
    for last in known[-1:]:
        watermark = None if last.watermark is None else round(datetime.fromisoformat(last.watermark).timestamp() * 1000)
        gauges = {
            MetricName.STATE_ROWS: last.state_rows,
            MetricName.STATE_BYTES: last.state_bytes,
            MetricName.WATERMARK: watermark,
            MetricName.BEHIND: last.behind,
            MetricName.WAITED: None if last.waited is None else round(last.waited * 1000),
        }
        yield from (Metric(name, value) for name, value in gauges.items() if value is not None)


def _of_restart(before: TimedAttempt, attempt: TimedAttempt) -> Iterator[Metric]:
    running = attempt.ended if attempt.running is None else attempt.running
    yield Metric(MetricName.RESTARTS, 1)
    yield Metric(MetricName.RESTARTING_TIME, _milliseconds(attempt.execution.started, since=before.ended))
    yield Metric(MetricName.DOWN_TIME, _milliseconds(running, since=before.ended))


def _milliseconds(time: float, *, since: float) -> int:
    """Clocks of two hosts may differ: a counter takes no negative value."""
    return max(0, round((time - since) * 1000))
