"""docs/benchmarks.md is what its template and the measured figures give."""

import json
import re
from typing import Any

import pytest

from benchmarks.parts import PARTS
from benchmarks.report.goals import GOALS, goals_table
from benchmarks.report.page import DOCS, RESULTS, pages
from benchmarks.report.paired_ratios import paired_ratio

pytestmark = pytest.mark.e2e
FILES = {file.stem: file for file in sorted(RESULTS.glob("*.json"))}
FOUND: dict[str, dict[str, Any]] = {
    name: json.loads(file.read_text()) for name, file in FILES.items()
}


def test_every_part_has_figures() -> None:
    assert FILES.keys() == PARTS.keys()


@pytest.mark.parametrize("name", ["benchmarks.md", "benchmarks.svg"])
def test_the_page_has_the_measured_figures(name: str) -> None:
    assert (DOCS / name).read_text() == pages()[name], "run `make bench`, or write_pages() alone"


@pytest.mark.parametrize("part", sorted(FOUND))
def test_figures_say_where_and_when_they_were_measured(part: str) -> None:
    assert FOUND[part]["conditions"].keys() == {"commit", "date", "machine", "versions"}
    assert not FOUND[part]["conditions"]["commit"].endswith("-dirty")
    assert not re.search(r"/(root|home|work|tmp|Users)/", FILES[part].read_text())


def test_every_goal_is_measured_in_ten_pairs_unless_one_side_takes_minutes() -> None:
    slow = {"spark-pipelines": 3, "hand-steps": 1}
    pairs = {goal.words: goal.ratio(FOUND[goal.part]).pairs for goal in GOALS}
    assert all(pairs[goal.words] >= slow.get(goal.other, 10) for goal in GOALS), pairs


def test_goals_are_compared_with_the_median_of_the_ratios() -> None:
    runs = [
        {"round": round, "variant": variant, "cost": {"cpu": cpu}}
        for variant, seconds in {
            "start": (10.0, 20.0, 30.0),
            "start-tuned": (5.0, 10.0, 30.0),
        }.items()
        for round, cpu in enumerate(seconds)
    ]
    start = {"words": {}, "runs": runs}
    goal = next(goal for goal in GOALS if (goal.part, goal.field) == ("start", "cpu"))
    assert goal.ratio(start).median == 0.5
    assert goal.ratio({"words": {}, "runs": runs[::-1]}).median == 0.5


def test_goals_that_were_not_reached_are_called_missed() -> None:
    parse = {"seconds": {"dags/flights.py": [0.3, 0.3], "by hand": [0.1, 0.1]}}
    assert "| 3.00 (3.00–3.00) | 2 | missed |" in goals_table({"parse": parse})
    parse = {"seconds": {"dags/flights.py": [0.1, 0.1], "by hand": [0.1, 0.1]}}
    assert "| 1.00 (1.00–1.00) | 2 | held |" in goals_table({"parse": parse})


def test_a_ratio_is_paired_by_round() -> None:
    ratio = paired_ratio([1.0, 20.0, 300.0], [1.0, 10.0, 100.0])
    assert (ratio.median, ratio.pairs) == (2.0, 3)
    assert ratio.low == 1.0
    assert ratio.high == 3.0
    assert str(paired_ratio([1.0], [2.0])) == "0.50"
