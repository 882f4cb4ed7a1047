"""A document's relative links lead to existing files and headings, and its lines fit into 120 columns."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "web").glob("*.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`[^`\n]*`")
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def links(document: Path) -> Iterator[str]:
    """Yield the targets of links that lead to files."""
    for target in LINK.findall(CODE.sub("", document.read_text())):
        if not re.match(r"[a-z]+:", target):
            yield target


def anchors(document: Path) -> set[str]:
    """Return the anchors of a document's headings, as GitHub makes them."""
    headings = HEADING.findall(FENCED.sub("", document.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


LINKS = [
    pytest.param(document, target, id=f"{document.relative_to(ROOT)}: {target}")
    for document in DOCUMENTS
    for target in sorted(set(links(document)))
]


@pytest.mark.parametrize(("document", "target"), LINKS)
def test_every_link_resolves(document: Path, target: str) -> None:
    file, _, anchor = target.partition("#")
    found = document.parent / file if file else document
    assert found.exists()
    if anchor:
        assert anchor in anchors(found)


def test_there_are_links() -> None:
    assert len(LINKS) > 50


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_lines_fit_into_120_columns(document: Path) -> None:
    lines = FENCED.sub("", document.read_text()).splitlines()
    wrapped = [line for line in lines if not line.startswith(("|", "#"))]
    # a code span cannot be wrapped
    assert [line for line in wrapped if len(line) > 120 and SPAN.sub("", line).strip(" .,;")] == []
