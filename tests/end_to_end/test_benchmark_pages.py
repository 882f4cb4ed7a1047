"""docs/benchmarks.md is what `make bench` writes from its results, and its picture too."""

import re

import pytest

from benchmarks.parts import PARTS
from benchmarks.report.goals import GOALS
from benchmarks.report.page import DOCS, RESULTS, pages
from benchmarks.report.paired_ratios import paired_ratio

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("name", ["benchmarks.md", "benchmarks.svg"])
def test_the_page_is_made_from_the_results(name: str) -> None:
    assert (DOCS / name).read_text() == pages()[name]


def test_every_part_has_a_result() -> None:
    assert {file.stem for file in RESULTS.glob("*.json")} == set(PARTS)
    assert {goal.part for goal in GOALS} <= set(PARTS)


def test_results_name_no_place_of_the_machine() -> None:
    texts = {file.name: file.read_text() for file in RESULTS.glob("*.json")}
    assert not [name for name, text in texts.items() if re.search(r"\"/\w+/", text)]


def test_a_ratio_is_the_median_of_the_pairs() -> None:
    found = paired_ratio([1.0, 4.0, 9.0], [1.0, 2.0, 3.0])
    assert (found.median, found.pairs) == (2.0, 3)
    assert 1.0 <= found.low <= 2.0 <= found.high <= 3.0
