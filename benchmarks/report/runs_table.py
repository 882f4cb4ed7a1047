"""Runs of several variants as a table: medians, and ratios within a round."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.report.paired_ratios import Ratio, paired_ratio


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of one part, as its JSON has them; `words` say what each variant is."""

    words: Mapping[str, str]
    runs: Sequence[Mapping[str, Any]]

    def seconds(self, variant: str, field: str) -> Mapping[int, float]:
        """Return a cost by round; `field` is one of `Cost`, and unknown seconds are NaN."""
        found = (run for run in self.runs if run["variant"] == variant)
        return {run["round"]: math.nan if (cost := run["cost"][field]) is None else cost for run in found}

    def middle(self, variant: str, field: str) -> float:
        """Return the median of a cost."""
        return median(self.seconds(variant, field).values())

    def applications(self, variant: str) -> int:
        """Return how many applications a variant starts."""
        return next(int(run["applications"]) for run in self.runs if run["variant"] == variant)

    def ratio(self, variant: str, other: str, field: str) -> Ratio:
        """Return the ratio of two variants, in the rounds that both have run."""
        ours, theirs = self.seconds(variant, field), self.seconds(other, field)
        rounds = sorted(ours.keys() & theirs.keys())
        return paired_ratio([ours[n] for n in rounds], [theirs[n] for n in rounds])

    def table(self, variants: Sequence[str]) -> str:
        """Return a Markdown table; ratios are to the first variant."""
        first = variants[0]
        head = ["", "applications", "rounds", "CPU s", "wall s", "CPU, ratio", "wall, ratio"]
        works = not first.startswith("start")  # which does no work
        head += ["CPU without starts, ratio"] if works else []
        lines = [head, ["---"] * len(head)]
        for variant in variants:
            fields = ["cpu", "wall", *(["work_cpu"] if works else [])]
            lines.append(
                [
                    f"{self.words[variant]} (`{variant}`)",
                    str(self.applications(variant)),
                    str(len(self.seconds(variant, "cpu"))),
                    f"{self.middle(variant, 'cpu'):.1f}",
                    f"{self.middle(variant, 'wall'):.1f}",
                    *(self._cell(variant, first, field) for field in fields),
                ]
            )
        return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)

    def _cell(self, variant: str, first: str, field: str) -> str:
        if variant == first:
            return "1"
        if math.isnan(self.middle(variant, field)):
            return ""
        return str(self.ratio(variant, first, field))
