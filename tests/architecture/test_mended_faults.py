"""The faults and mutants that tests must notice: each still has its lines in the code, its tests, and its row."""

import ast
import re
from pathlib import Path

from tests.conformance.mutants import MUTANTS
from tests.machine.mended_faults import FAULTS
from tests.mutants import changed_files, misplaced

ROOT = Path(__file__).parents[2]
MACHINES = {
    f"machine: {name}"
    for name in ("files", "tables", "staging", "bucket", "results", "hdfs", "stream", "rows", "hosts")
}
DOCS = (ROOT / "docs" / "machine.md").read_text().partition("## Faults it found")[2]
ROWS = {int(number): found_by for number, found_by in re.findall(r"^\| (\d+) \|[^|]+\| (.*) \|$", DOCS, re.MULTILINE)}


def test_each_edit_matches_one_place() -> None:
    edits = [edit for fault in FAULTS for edit in fault.edits]
    assert misplaced([*edits, *(mutant.edit for mutant in MUTANTS)]) == []


def test_each_edit_leaves_valid_python() -> None:
    for fault in FAULTS:
        for path, text in changed_files(fault.edits).items():
            ast.parse(text, f"{path}, with {fault.item}: {fault.what}")


def test_the_tests_that_find_a_fault_exist() -> None:
    assert [fault.what for fault in FAULTS if not fault.found_by] == []
    finders = sorted({finder for fault in FAULTS for finder in fault.found_by} - MACHINES)
    assert [finder for finder in finders if not exists(finder)] == []


def exists(finder: str) -> bool:
    """Whether there is the test that `file::name[parameters]` names."""
    file, _, name = finder.partition("::")
    return f"\ndef {name.partition('[')[0]}(" in (ROOT / "tests" / file).read_text()


def test_each_fault_of_the_tables_can_be_put_back() -> None:
    assert {fault.item for fault in FAULTS} == set(ROWS)


def test_the_documentation_names_what_finds_each() -> None:
    named = {
        item: {*re.findall(r"`(test_\w+\.py::\w+)`", row), *re.findall(r"machine: \w+", row)}
        for item, row in ROWS.items()
    }
    finders = {item: {finder for fault in FAULTS if fault.item == item for finder in fault.found_by} for item in ROWS}
    assert named == {
        item: {one if one in MACHINES else Path(one.partition("[")[0]).name for one in found}
        for item, found in finders.items()
    }
