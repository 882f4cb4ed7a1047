"""The ratio of two variants that ran in each round, and its confidence interval."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

_RESAMPLES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """The median of the rounds' ratios, with a 90 % bootstrap interval."""

    pairs: int
    median: float
    low: float
    high: float

    def __str__(self) -> str:
        """Write `0.98 (0.96–1.01)`; of a single pair, only its ratio."""
        if self.pairs == 1:
            return f"{self.median:.2f}"
        return f"{self.median:.2f} ({self.low:.2f}–{self.high:.2f})"


def paired_ratio(ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
    """Return ours over theirs, paired by round, so that changes from round to round cancel out."""
    ratios = [one / other for one, other in zip(ours, theirs, strict=True)]
    draw = random.Random(0)
    medians = sorted(median(draw.choices(ratios, k=len(ratios))) for _ in range(_RESAMPLES))
    return Ratio(
        pairs=len(ratios), median=median(ratios), low=medians[_RESAMPLES // 20], high=medians[_RESAMPLES * 19 // 20 - 1]
    )
