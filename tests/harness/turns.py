"""Which cases of long tables a run of CI leaves to the next two runs (decision 68): it sets TURN to a number."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from zlib import crc32

import pytest

TURNS = 3
LONG_TABLE = 8
"""From so many cases on, the cases of a test take turns."""


def left_to_others(items: Sequence[pytest.Item], turn: str | None = os.environ.get("TURN")) -> set[pytest.Item]:
    """Return the cases whose turn it is not; none without a turn."""
    if not turn:
        return set()
    cases = [item for item in items if hasattr(item, "callspec") and _starts_jobs(item)]
    sizes = Counter(map(_test, cases))
    return {case for case in cases if sizes[_test(case)] >= LONG_TABLE and not is_its_turn(case.nodeid, int(turn))}


def is_its_turn(case: str, turn: int) -> bool:
    """Whether a case is run in a turn: in each third one."""
    return crc32(case.encode()) % TURNS == turn % TURNS


def _starts_jobs(item: pytest.Item) -> bool:
    """Whether a test of CI computes with Spark, which takes seconds for each case."""
    has = {name for name in ("ci", "spark", "lake") if item.get_closest_marker(name) is not None}
    return has >= {"ci", "spark"} or "lake" in has


def _test(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]
