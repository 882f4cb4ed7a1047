"""What the figures should be, and whether they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.report.paired_ratios import Ratio, paired_ratio
from benchmarks.report.runs_table import Runs


@dataclass(frozen=True, slots=True)
class Goal:
    """A ratio of two variants of a part that should be at most `limit`; `field` is one of `Cost`."""

    words: str
    part: str
    variant: str
    other: str
    field: str
    limit: float

    def ratio(self, part: Mapping[str, Any]) -> Ratio:
        """Return what was measured."""
        if "runs" in part:
            return Runs(part["words"], part["runs"]).ratio(self.variant, self.other, self.field)
        return paired_ratio(part["seconds"][self.variant], part["seconds"][self.other])


GOALS = (
    Goal("one task: CPU of the one written by hand", "fourteen", "declared", "hand", "cpu", 0.6),
    Goal("one task: wall time of it", "fourteen", "declared", "hand", "wall", 0.8),
    Goal("one task: CPU of Spark Declarative Pipelines", "fourteen", "declared", "spark-pipelines", "cpu", 0.55),
    Goal("start of a task: CPU of plain spark-submit", "start", "start-tuned", "start", "cpu", 0.4),
    Goal("start of a task: wall time of it", "start", "start-tuned", "start", "wall", 0.6),
    Goal(
        "both fan-outs staged in the same task: CPU of the one by hand",
        "fourteen",
        "declared-same-task",
        "hand",
        "cpu",
        1.0,
    ),
    Goal("one stage and six readers: wall time of before", "six", "six", "six-before", "wall", 0.4),
    Goal("one task: CPU of one task a step", "fourteen", "declared", "hand-steps", "cpu", 1 / 7),
    Goal(
        "retry after a failure in the last region: CPU of running all again",
        "retry",
        "retried",
        "declared-same-task",
        "cpu",
        0.28,
    ),
    Goal("four reports of the same rows: CPU of the ones by hand", "subplans", "4-once", "4-hand", "cpu", 0.5),
    Goal("parsing a Dag file: CPU of one written by hand", "parse", "dags/flights.py", "by hand", "cpu", 1.4),
)


def goals_table(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a Markdown table of the goals whose parts have been measured."""
    lines = ["| | goal | measured | pairs | |", "| --- | --- | --- | --- | --- |"]
    for goal in GOALS:
        if goal.part not in found:
            continue
        ratio = goal.ratio(found[goal.part])
        held = "held" if ratio.median <= goal.limit else "missed"
        lines.append(f"| {goal.words} | ≤ {goal.limit:.2f} | {ratio} | {ratio.pairs} | {held} |")
    return "\n".join(lines)
