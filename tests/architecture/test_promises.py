"""A test holds every promise of the documents, and that test exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def promises(text: str) -> list[str]:
    """Return the rows of all tables whose last column is `held by`."""
    found, is_promised = list[str](), False
    for line in text.splitlines():
        if not line.startswith("| "):
            is_promised = False
        elif line.endswith("| held by |"):
            is_promised = True
        elif is_promised and not line.startswith("| ---"):
            found.append(line)
    return found


PROMISES = [
    pytest.param(line, id=f"{path.stem}: {line.split('|')[1].strip()}")
    for path in sorted((ROOT / "docs").glob("*.md"))
    for line in promises(path.read_text())
]
FILES = {path.name: path.read_text() for path in (ROOT / "tests").rglob("test_*.py")}


@pytest.mark.parametrize("promise", PROMISES)
def test_the_tests_of_a_promise_exist(promise: str) -> None:
    tests = re.findall(r"`(test_\w+\.py)(?:::(test_\w+))?`", promise)
    assert tests, "which test holds it?"
    for file, name in tests:
        assert f"def {name}" in FILES[file], name


def test_there_are_promises_of_every_kind() -> None:
    pages = {str(promise.id).partition(":")[0] for promise in PROMISES}
    assert pages >= {"connectors", "sinks", "threats"}
