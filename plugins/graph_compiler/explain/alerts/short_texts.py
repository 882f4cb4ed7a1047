"""Names and causes as they may appear in a message: without control characters, without Java's stack, not too long."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from graph_compiler.identifiers import listing

MOST_OF_NAME = 250
MOST_OF_CAUSE = 2_000
MOST_LINES = 30
MOST_NAMES = 12
_COLORS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_JAVA_FRAME = re.compile(r"\s*(at [\w.$<>/@-]+\(.*\)|\.\.\. \d+ (more|common frames omitted))\s*")


def one_line(text: str, most: int = MOST_OF_NAME) -> str:
    """Return a text in one line, of printable characters: no line break of a name may begin a header of a mail."""
    line = " ".join(_printable(_COLORS.sub("", text)).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def short_cause(text: str, most: int = MOST_OF_CAUSE) -> str:
    """Return a cause without the frames of Java's stack; its last line says how much was cut."""
    kept = [line for line in _COLORS.sub("", text).splitlines() if not _JAVA_FRAME.fullmatch(line)]
    lines = [_printable(line).rstrip() for line in kept]
    whole = "\n".join(lines).strip("\n")
    short = "\n".join(whole.split("\n")[:MOST_LINES])[:most].rstrip()
    left = len(whole) - len(short)
    return f"{short}\n… ({left:,} more characters are in the log)" if left else short


def some(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """Return names as a list in a sentence, the first ones if there are many."""
    if len(names) <= most:
        return listing(names)
    return f"{', '.join(names[:most])} and {len(names) - most:,} more"


def _printable(text: str) -> str:
    return "".join(map(_shown, text))


def _shown(letter: str) -> str:
    if letter.isspace():
        return " "
    return "\N{REPLACEMENT CHARACTER}" if unicodedata.category(letter)[0] == "C" else letter
