"""The tables of docs/migrate.md: what scripts have, and the calls for it."""

import re
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/migrate.md"
KINDS = {
    "in the old session": "changed",
    "reader": "read",
    "DataFrame": "rows",
    "writer": "write",
    "script or operator": "around",
}
"""The kind of a table, by the title of its first column."""


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a table: Python of the script, and of a pipeline."""

    kind: str
    script: str
    call: str


def lines() -> list[Line]:
    """Return the rows of all tables, with a call in their second column."""
    found, kind = list[Line](), ""
    for text in PAGE.read_text().splitlines():
        cells = text.strip("|").split(" | ")
        if not text.startswith("| "):
            kind = ""
        elif not kind:
            kind = KINDS.get(cells[0].strip(), "other")
        elif kind != "other" and not text.startswith("| ---"):
            script, call = (re.fullmatch(r" *`(.+)` *", cell) for cell in cells[:2])
            assert script is not None, text
            assert call is not None, text
            found.append(Line(kind, script[1], call[1]))
    return found


def lines_of(kind: str) -> list[Line]:
    return [line for line in lines() if line.kind == kind]
