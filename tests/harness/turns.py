"""Which tests with Spark or Airflow a run of CI leaves to the next six (decision 68): it sets TURN to a number."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from zlib import crc32

import pytest

TURNS = 7
LONG_TABLE = 8
"""From so many cases on, the cases of a test take turns, each by itself: with fewer, they have one turn."""


def left_to_others(items: Sequence[pytest.Item], turn: str | None = os.environ.get("TURN")) -> set[pytest.Item]:
    """Return the tests whose turn it is not; none without a turn. Quick tests take no turns."""
    if not turn:
        return set()
    found = [item for item in items if _starts_jobs(item)]
    sizes = Counter(map(_test, found))

    def name(item: pytest.Item) -> str:
        return item.nodeid if sizes[_test(item)] >= LONG_TABLE else _test(item)

    return {item for item in found if not is_its_turn(name(item), int(turn))}


def is_its_turn(name: str, turn: int) -> bool:
    """Whether a test, or a case, is run in a turn: in each seventh one."""
    return crc32(name.encode()) % TURNS == turn % TURNS


def _starts_jobs(item: pytest.Item) -> bool:
    """Whether a test of CI computes with Spark, or has tasks in Airflow, which takes seconds."""
    has = {mark.name for mark in item.iter_markers()}
    return "lake" in has or ("ci" in has and not has.isdisjoint({"spark", "airflow", "e2e", "installed"}))


def _test(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]
