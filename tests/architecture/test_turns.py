"""Cases of long tables take turns in CI, and none is left out for long."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.turns import LONG_TABLE, TURNS, is_its_turn, left_to_others

ROOT = Path(__file__).parents[2]
TABLE = f"""
import pytest

@pytest.mark.spark
@pytest.mark.ci
@pytest.mark.parametrize("case", range({LONG_TABLE * 3}))
def test_long(case): pass

@pytest.mark.spark
@pytest.mark.ci
@pytest.mark.parametrize("case", range({LONG_TABLE - 1}))
def test_short(case): pass

@pytest.mark.spark
@pytest.mark.parametrize("case", range({LONG_TABLE * 3}))
def test_quick(case): pass

@pytest.mark.spark
@pytest.mark.ci
def test_single(): pass
"""


@pytest.mark.parametrize("number", range(50))
def test_each_case_has_one_of_three_turns(number: int) -> None:
    assert sum(is_its_turn(f"tests/a.py::test[{number}]", turn) for turn in range(7, 7 + TURNS)) == 1


def test_only_long_tables_of_ci_take_turns(tmp_path: Path) -> None:
    (tmp_path / "test_table.py").write_text(TABLE)
    found: list[pytest.Item] = []

    class Collected:
        def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
            found.extend(items)

    words = ["--collect-only", "-q", "--rootdir", str(tmp_path), "-c", str(ROOT / "pyproject.toml"), str(tmp_path)]
    assert pytest.main([*words, "-p", "no:cacheprovider"], plugins=[Collected()]) == 0
    assert left_to_others(found, None) == set()
    left = {turn: left_to_others(found, str(turn)) for turn in range(TURNS)}
    assert {item.name.partition("[")[0] for each in left.values() for item in each} == {"test_long"}
    run = [sum("test_long" in item.name and item not in each for item in found) for each in left.values()]
    assert sum(run) == LONG_TABLE * 3
    assert min(run) > 0


def test_ci_takes_turns() -> None:
    assert "TURN=$(git rev-list --count HEAD)\nexport TURN\n" in (ROOT / ".ci/run").read_text()
