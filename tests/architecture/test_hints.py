"""Hints lose no rows in silence: one that leaves rows out, or removes some, says so."""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "plugins" / "graph_compiler"
LOSING = re.compile(
    r"filter (?:\w+ )*out|filter these rows|overwrite the target|\boverwrite it\b|drop the rows|"
    r"delete (?:the|its) rows|deduplicate\("
)
SAYS = re.compile(r"not written|sets? .*aside|keeps? (?:one|the first)|to keep one|removes? all rows")


def hints(source: str) -> list[str]:
    """Return the texts of a module that are hints: those after `hint:`, and arguments named hint."""
    found = []
    tree = ast.parse(source)
    parts = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
        if part is not node
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in parts:
            text = ast.unparse(node)
            found += [text] if "hint: " in text else []
        if isinstance(node, ast.keyword) and node.arg == "hint":
            found.append(ast.unparse(node.value))
    return found


def silent(source: str) -> list[str]:
    """Return the hints of a module that would lose rows and do not say so."""
    return [hint for hint in hints(source) if LOSING.search(hint) and not SAYS.search(hint)]


def test_no_hint_loses_rows_in_silence() -> None:
    wrong = {
        str(path.relative_to(PACKAGE)): found
        for path in sorted(PACKAGE.rglob("*.py"))
        if (found := silent(path.read_text()))
    }
    assert wrong == {}


@pytest.mark.parametrize(
    "hint",
    [
        'Problem(hint="filter them out")',
        'raise ValueError("no\\n  hint: write to another path, or overwrite the target")',
        'raise ValueError(f"no\\n  hint: deduplicate({keys}) before the sink, and filter out NULL")',
    ],
)
def test_a_hint_that_loses_rows_in_silence_is_found(hint: str) -> None:
    assert len(silent(hint)) == 1
