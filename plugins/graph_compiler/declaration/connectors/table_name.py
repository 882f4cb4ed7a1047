"""The name of a table as users write it: parts between dots, plain or quoted.

    public.Orders        two plain parts: the database folds their case
    "Sales"."My Orders"  two quoted parts: taken as they are; `…` and […] quote too

Anything else (a subquery, a table with hints) has no parts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_$#]*")
_PART = re.compile(
    r'(?P<plain>[^\W][\w$#@-]*)|"(?P<double>(?:[^"]|"")+)"|`(?P<back>(?:[^`]|``)+)`|\[(?P<square>(?:[^]]|]])+)]'
)
_CLOSES = {"double": '"', "back": "`", "square": "]"}
_EXPRESSION = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_NOT_IN_A_NAME = frozenset("\"'`[]\\;")
_MOST_PARTS = 3
_LONGEST_PART = 128
_FOLDS: dict[str, Callable[[str], str]] = {
    **dict.fromkeys(("postgresql", "redshift"), str.lower),
    **dict.fromkeys(("oracle", "db2", "derby", "snowflake"), str.upper),
    **dict.fromkeys(("mysql", "sqlserver"), str),
}
"""How each kind of database stores a plain name; other databases are assumed to store it as written."""


@dataclass(frozen=True, slots=True)
class NamePart:
    """A part of a name, without its quotes."""

    text: str
    is_quoted: bool

    @property
    def is_plain(self) -> bool:
        """Whether every database accepts the part without quotes."""
        return not self.is_quoted and _PLAIN.fullmatch(self.text) is not None

    def folded(self, database: str) -> str | None:
        """Return the part as a kind of database (`postgresql`) stores it, None if that is not known."""
        if not self.is_plain:
            return self.text
        fold = _FOLDS.get(database)
        return None if fold is None else fold(self.text)


def parse_table_name(text: str) -> tuple[NamePart, ...] | None:
    """Return the parts of a name, None if the text is not a name."""
    parts: list[NamePart] = []
    text, position = text.strip(), 0
    while found := _PART.match(text, position):
        kind = found.lastgroup
        assert kind is not None, "one of the groups has matched"
        closes = _CLOSES.get(kind, "")
        content = found[kind].replace(closes * 2, closes) if closes else found[kind]
        parts.append(NamePart(content, is_quoted=bool(closes)))
        position = found.end()
        if position == len(text):
            return tuple(parts)
        if text[position] != ".":
            return None
        position += 1
    return None


def holds_a_name(declared: str) -> bool:
    """Whether a text with templates is one name, if its templates render to parts of names."""
    return "{%" in declared or parse_table_name(_EXPRESSION.sub("x", declared)) is not None


def why_no_table(declared: str, rendered: str) -> str | None:
    """Return why a rendered text is not the name of one table, None if it is."""
    parts = parse_table_name(rendered)
    if parts is None:
        return "it is not the name of one table"
    if len(parts) > _MOST_PARTS:
        return f"it has {len(parts)} parts"
    wanted = _parts_declared(declared)
    if wanted is not None and len(parts) != wanted:
        return f"it has {len(parts)} parts, and {declared} has {wanted}"
    return next((reason for part in parts if (reason := _why_no_part(part.text))), None)


def with_quotes_where_needed(rendered: str) -> str:
    """Return a name with its parts in double quotes, except those that every database accepts without."""
    parts = parse_table_name(rendered)
    if parts is None:
        return rendered
    return ".".join(part.text if part.is_plain else f'"{part.text}"' for part in parts)


def _parts_declared(declared: str) -> int | None:
    """Return how many parts a rendered name must have; None if templates also decide that."""
    if "{%" in declared or _EXPRESSION.sub("", declared).strip() == "":
        return None
    parts = parse_table_name(_EXPRESSION.sub("x", declared))
    return None if parts is None else len(parts)


def _why_no_part(text: str) -> str | None:
    if len(text) > _LONGEST_PART:
        return f"a part of it has {len(text)} letters, more than {_LONGEST_PART}"
    if not text.strip():
        return "a part of it is blank"
    if odd := [letter for letter in text if letter in _NOT_IN_A_NAME or _is_control(letter)]:
        return f"a part of it holds {odd[0]!r}"
    return None


def _is_control(letter: str) -> bool:
    return unicodedata.category(letter)[0] == "C" or unicodedata.category(letter) in ("Zl", "Zp")
