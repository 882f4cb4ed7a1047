"""The metrics of a pipeline, under names of Airflow's kind, and the values that they get.

Times are milliseconds, as in Airflow and in Flink. No tag is the id of a run: the number of series depends on what is
declared, not on how often it runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


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
