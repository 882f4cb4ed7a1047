"""Texts are in plain English: the words that readers stumbled over (plain_words.py) do not come back."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.plain_words import OPENINGS, PLAIN_WORDS

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "web/README.md"])
MODULES = sorted((ROOT / "plugins").rglob("*.py"))
OTHERS = sorted(
    path
    for folder in ("benchmarks", "dags", "pipelines", "tests")
    for path in (ROOT / folder).rglob("*.py")
    if "bad_input" not in path.parts
)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def stumbles(text: str) -> Iterator[str]:
    """Yield each line of a text that has one of the words, with the better ones."""
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, better in PLAIN_WORDS:
            if found := re.search(pattern, line, re.IGNORECASE):
                yield f"line {number}: '{found[0]}'; better: {better}"


def opening_stumbles(source: str) -> Iterator[str]:
    """Yield each docstring of a module that begins with a word to avoid."""
    for node in ast.walk(ast.parse(source)):
        docstring = ast.get_docstring(node) if isinstance(node, DOCUMENTED) else None
        for pattern, better in OPENINGS:
            if docstring is not None and (found := re.match(pattern, docstring)):
                yield f"'{docstring[:40]}' begins with '{found[0].strip()}'; better: {better}"


def test_texts_are_in_plain_words() -> None:
    found = {str(path.relative_to(ROOT)): list(stumbles(path.read_text())) for path in [*DOCUMENTS, *MODULES]}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_docstrings_begin_plainly() -> None:
    found = {str(path.relative_to(ROOT)): list(opening_stumbles(path.read_text())) for path in [*MODULES, *OTHERS]}
    assert {path: openings for path, openings in found.items() if openings} == {}


def test_the_words_are_found() -> None:
    text = "The join is dear.\nIts rows would be others, whoever reads it.\nA plain line."
    assert [one.partition("; ")[0] for one in stumbles(text)] == [
        "line 1: 'dear'",
        "line 2: 'whoever'",
        "line 2: 'would be others'",
    ]


def test_the_openings_are_found() -> None:
    source = 'def rows() -> int:\n    """Give the rows."""\n\n\ndef more() -> int:\n    """Return more."""\n'
    assert list(opening_stumbles(source)) == ["'Give the rows.' begins with 'Give'; better: Return …, Yield …"]
