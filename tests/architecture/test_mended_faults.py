"""The faults and mutants that tests must notice: each still has its lines in the code, its tests, and its row."""

import ast
import re
from pathlib import Path

import pytest

from tests.conformance.mutants import MUTANTS
from tests.machine.mended_faults import FAULTS, Fault
from tests.mutants import changed_files, misplaced

ROOT = Path(__file__).parents[2]
MACHINES = {f"machine: {name}" for name in ("files", "tables", "staging", "bucket", "results", "hdfs", "rows", "hosts")}
DOCS = (ROOT / "docs" / "machine.md").read_text().partition("## Faults it found")[2]
ROWS = {int(number): found_by for number, found_by in re.findall(r"^\| (\d+) \|[^|]+\| (.*) \|$", DOCS, re.MULTILINE)}
BY_NAME = [pytest.param(fault, id=f"{fault.item}: {fault.what}") for fault in FAULTS]


def test_each_edit_matches_one_place() -> None:
    edits = [edit for fault in FAULTS for edit in fault.edits]
    assert misplaced([*edits, *(mutant.edit for mutant in MUTANTS)]) == []


@pytest.mark.parametrize("fault", BY_NAME)
def test_each_edit_leaves_valid_python(fault: Fault) -> None:
    for text in changed_files(fault.edits).values():
        ast.parse(text)


@pytest.mark.parametrize("fault", BY_NAME)
def test_the_tests_that_find_a_fault_exist(fault: Fault) -> None:
    assert fault.found_by
    for finder in set(fault.found_by) - MACHINES:
        file, _, name = finder.partition("::")
        assert f"\ndef {name.partition('[')[0]}(" in (ROOT / "tests" / file).read_text()


def test_each_fault_of_the_tables_can_be_put_back() -> None:
    assert {fault.item for fault in FAULTS} == set(ROWS)


@pytest.mark.parametrize("item", sorted(ROWS))
def test_the_documentation_names_what_finds_each(item: int) -> None:
    finders = {finder for fault in FAULTS if fault.item == item for finder in fault.found_by}
    tests = {Path(finder.partition("[")[0]).name for finder in finders - MACHINES}
    row = ROWS[item]
    assert set(re.findall(r"`(test_\w+\.py::\w+)`", row)) == tests
    assert {f"machine: {name}" for name in re.findall(r"machine: (\w+)", row)} == finders & MACHINES
