"""A test holds every promise of the documents, and that test exists."""

import re
from pathlib import Path

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


def test_the_tests_of_each_promise_exist() -> None:
    files = {path.name: path.read_text() for path in (ROOT / "tests").rglob("test_*.py")}
    pages = {path.stem: promises(path.read_text()) for path in sorted((ROOT / "docs").glob("*.md"))}
    assert {page for page, found in pages.items() if found} >= {"connectors", "sinks", "threats"}
    for page, found in pages.items():
        for promise in found:
            tests = re.findall(r"`(test_\w+\.py)(?:::(test_\w+))?`", promise)
            assert tests, f"{page}: which test holds it? {promise}"
            for file, name in tests:
                assert f"def {name}" in files.get(file, ""), f"{page}: {promise}"
