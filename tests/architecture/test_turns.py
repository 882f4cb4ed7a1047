"""Slow tests take turns in CI, and none is left out for long."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.harness.turns import LONG_TABLE, TURNS, is_its_turn, left_to_others

ROOT = Path(__file__).parents[2]
PARTS = 3
"""As many turns has what runs beside the tests."""
TABLE = f"""
import pytest

@pytest.mark.spark
@pytest.mark.ci
@pytest.mark.parametrize("case", range({LONG_TABLE * 6}))
def test_long(case): pass

@pytest.mark.spark
@pytest.mark.ci
@pytest.mark.parametrize("case", range({LONG_TABLE - 1}))
def test_short(case): pass

@pytest.mark.spark
@pytest.mark.parametrize("case", range({LONG_TABLE * 6}))
def test_quick(case): pass

@pytest.mark.spark
@pytest.mark.ci
def test_single(): pass

@pytest.mark.airflow
@pytest.mark.ci
def test_other(): pass

@pytest.mark.ci
def test_pure(): pass
"""


@pytest.mark.parametrize("number", range(50))
def test_each_case_has_one_turn(number: int) -> None:
    assert sum(is_its_turn(f"tests/a.py::test[{number}]", turn) for turn in range(7, 7 + TURNS)) == 1


def test_each_test_of_ci_has_a_turn_and_quick_ones_have_all(tmp_path: Path) -> None:
    (tmp_path / "test_table.py").write_text(TABLE)
    found: list[pytest.Item] = []

    class Collected:
        def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
            found.extend(items)

    words = ["--collect-only", "-q", "--rootdir", str(tmp_path), "-c", str(ROOT / "pyproject.toml"), str(tmp_path)]
    assert pytest.main([*words, "-p", "no:cacheprovider"], plugins=[Collected()]) == 0
    assert left_to_others(found, None) == set()
    left = {turn: left_to_others(found, str(turn)) for turn in range(TURNS)}
    run = {turn: Counter(item.name.partition("[")[0] for item in found if item not in left[turn]) for turn in left}
    assert all((each["test_quick"], each["test_pure"]) == (LONG_TABLE * 6, 1) for each in run.values())
    assert sum(each["test_long"] for each in run.values()) == LONG_TABLE * 6
    assert min(each["test_long"] for each in run.values()) > 0
    for name, cases in {"test_short": LONG_TABLE - 1, "test_single": 1, "test_other": 1}.items():
        assert sorted(each[name] for each in run.values()) == [0] * (TURNS - 1) + [cases]


def test_ci_takes_turns() -> None:
    assert "TURN=$(git rev-list --count HEAD)\nexport TURN\n" in (ROOT / ".ci/run").read_text()


def test_what_runs_beside_the_tests_has_a_turn_that_does_not_depend_on_theirs() -> None:
    """Otherwise a test in a part that takes turns, with another turn than the part, would never run."""
    text = (ROOT / ".ci/run").read_text()
    assert f"case $((TURN / {TURNS} % {PARTS})) in" in text
    assert f"TURN=$((TURN / {TURNS * PARTS})) make test-lake" in text, "its tests take turns, too"
    turns = re.findall(r"^    (\d)\)\n((?:      .*make .*\n)+)", text, re.MULTILINE)
    assert [int(turn) for turn, _ in turns] == list(range(PARTS))
    parts = re.findall(r"make ([\w-]+)", "".join(commands for _, commands in turns))
    assert len(parts) == len(set(parts)) > PARTS
