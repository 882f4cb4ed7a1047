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
from enum import StrEnum

from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import RegionId
from graph_compiler.staging.attempts.attempt import Attempt, read_attempt
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments
from graph_compiler.staging.attempts.execution_order import in_order

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

    @property
    def is_timing(self) -> bool:
        """Whether it is sent as a timing; all others are counters."""
        return self is MetricName.DURATION

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
TASK_TAGS = ("dag_id", "task_id", "pipeline")
"""The tags of every metric."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One value: what to add to a counter, or a timing; `own` is the value of its own tag."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedAttempt:
    """An attempt at a region, with times in seconds since the epoch.

    `running`: when Spark was up and began with the region, None if it never did. `ended`: its end, or its last sign of
    life if it died. `is_reported`: its metrics were reported before.
    """

    execution: Attempt
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


def _of_restart(before: TimedAttempt, attempt: TimedAttempt) -> Iterator[Metric]:
    running = attempt.ended if attempt.running is None else attempt.running
    yield Metric(MetricName.RESTARTS, 1)
    yield Metric(MetricName.RESTARTING_TIME, _milliseconds(attempt.execution.started, since=before.ended))
    yield Metric(MetricName.DOWN_TIME, _milliseconds(running, since=before.ended))


def _milliseconds(time: float, *, since: float) -> int:
    """Clocks of two hosts may differ: a counter takes no negative value."""
    return max(0, round((time - since) * 1000))


_MOST = 16
"""The maximum number of attempts that are looked at: their documents are read when a try ends."""


def timed_attempts(layout: StagingLayout, region_id: RegionId, own: AttemptDocuments) -> tuple[TimedAttempt, ...]:
    """Return the attempts at a region, first to last, up to its own.

    Not reported are this one, and those directly before it that have no outcome. One that has kept the work of an
    earlier one is no attempt, and reports only those before it.
    """
    begun = in_order(own.store, layout, region_id)
    names = [one.folder for one in begun]
    if own.folder not in names:
        return ()
    looked_at = begun[: names.index(own.folder) + 1][-_MOST:]
    unreported = {own.folder}
    for documents in reversed(looked_at[:-1]):
        if documents.has_outcome():
            break
        unreported.add(documents.folder)
    found = (
        _timed(documents, is_reported=documents.folder not in unreported)
        for documents in looked_at
        if not documents.is_kept()
    )
    return tuple(attempt for attempt in found if attempt is not None)


def _timed(documents: AttemptDocuments, *, is_reported: bool) -> TimedAttempt | None:
    attempt = read_attempt(documents, is_last=False)
    if attempt is None:
        return None
    ended = attempt.ended
    if ended is None:
        ended = documents.last_sign() or attempt.started
    running = documents.claimed()
    return TimedAttempt(execution=attempt, running=running, ended=ended, is_reported=is_reported)
