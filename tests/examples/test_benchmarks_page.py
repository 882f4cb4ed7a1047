"""docs/benchmarks.md is what its results say."""

import json

import pytest

from benchmarks.parts import PARTS
from benchmarks.report.goals import GOALS
from benchmarks.report.page import DOCS, RESULTS, pages

pytestmark = pytest.mark.installed


def test_the_page_and_its_picture_are_made_from_the_results() -> None:
    found = pages()
    assert found.keys() == {"benchmarks.md", "benchmarks.svg"}
    for name, text in found.items():
        assert (DOCS / name).read_text() == text, "python -m benchmarks --only"


def test_every_part_has_results_of_a_known_commit() -> None:
    found = {file.stem: json.loads(file.read_text()) for file in RESULTS.glob("*.json")}
    assert found.keys() == PARTS.keys()
    assert not [name for name, part in found.items() if "dirty" in part["conditions"]["commit"]]
    assert {goal.part for goal in GOALS} <= found.keys()
