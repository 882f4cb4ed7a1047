"""Spark's settings in a properties file, as Java reads them."""

from __future__ import annotations

import re
from pathlib import Path

_CONTINUED = re.compile(r"(?<!\\)(?:\\\\)*\\$")
_PAIR = re.compile(r"((?:\\.|[^\\\s:=])+)\s*[:=\s]\s*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def read_defaults(file: Path) -> dict[str, str]:
    """Return the settings of a file, none if it is not there; raises OSError or UnicodeDecodeError."""
    if not file.is_file():
        return {}
    return parse_properties(file.read_text("utf-8"))


def parse_properties(text: str) -> dict[str, str]:
    """Return the pairs of a properties file; values without white space at their ends, as Spark takes them."""
    found = {}
    for line in _logical_lines(text):
        pair = _PAIR.fullmatch(line) or _PAIR.fullmatch(f"{line} ")
        if pair is not None:
            found[_plain(pair[1])] = _plain(pair[2]).strip()
    return found


def _logical_lines(text: str) -> list[str]:
    """Return lines without comments; one that ends with a backslash continues on the next."""
    lines, begun = [], ""
    for raw in text.splitlines():
        line = raw.lstrip()
        if not begun and (not line or line[0] in "#!"):
            continue
        if _CONTINUED.search(line):
            begun += line[:-1]
            continue
        lines.append(begun + line)
        begun = ""
    return [*lines, begun] if begun else lines


def _plain(text: str) -> str:
    return _ESCAPE.sub(lambda found: _character(found[1]), text)


def _character(escape: str) -> str:
    if len(escape) == 5:
        return chr(int(escape[1:], 16))
    return _CONTROL.get(escape, escape)
