"""A document's relative links lead to existing files and headings, and its lines fit into 120 columns."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

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


@cache
def anchors(document: Path) -> set[str]:
    """Return the anchors of a document's headings, as GitHub makes them."""
    headings = HEADING.findall(FENCED.sub("", document.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def resolves(document: Path, target: str) -> bool:
    """Whether there is the file, and the heading in it."""
    file, _, anchor = target.partition("#")
    found = document.parent / file if file else document
    return found.exists() and (not anchor or anchor in anchors(found))


def test_every_link_resolves() -> None:
    found = [(document, target) for document in DOCUMENTS for target in sorted(set(links(document)))]
    assert len(found) > 50
    assert [
        f"{document.relative_to(ROOT)}: {target}" for document, target in found if not resolves(document, target)
    ] == []


def test_lines_fit_into_120_columns() -> None:
    long = [
        f"{document.relative_to(ROOT)}: {line}"
        for document in DOCUMENTS
        for line in FENCED.sub("", document.read_text()).splitlines()
        if len(line) > 120 and not line.startswith(("|", "#"))
        if SPAN.sub("", line).strip(" .,;")  # a code span cannot be wrapped
    ]
    assert long == []
