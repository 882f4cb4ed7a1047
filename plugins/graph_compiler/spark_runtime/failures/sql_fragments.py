"""The part of the user's SQL that caused an error, and its position; SQL that is added around it is not shown.

v > > 1
^
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_OURS = "graph_compiler_"
_TABLE = re.compile(r"`graph_compiler_(\w+)`")
_CARET = re.compile(r"^-*\^+\s*$")
_PLACE = re.compile(r"\(line \d+, pos \d+\)")
"""A message without it marks the whole query, since Spark has already filled in the parameters."""
_QUERY = "== SQL =="


def marked(message: str, expressions: Sequence[str]) -> list[str]:
    """Return the expression in which a parser stopped, with a caret below the place; all expressions if not found.

    `message` is that of Spark's ParseException, which ends with the query and a line with the caret.
    """
    lines = message.partition(_QUERY)[2].strip("\n").splitlines()
    at = next((number for number, line in enumerate(lines) if _CARET.match(line)), 0)
    if at and _PLACE.search(message):
        query = [own_names(line, expressions) for line in lines[:at]]
        before = lines[at - 1][: lines[at].index("^")]
        column = len(own_names(before, expressions))
        for expression in expressions:
            if found := _below(expression, query, query[-1], column):
                return [found]
    return list(expressions)


def own_names(text: str, expressions: Sequence[str]) -> str:
    """Return a query with the tables as its author wrote them, `{orders}`: in Spark they have generated names."""

    def own(found: re.Match[str]) -> str:
        name = f"{{{found[1]}}}"
        return name if any(name in expression for expression in expressions) else found[0]

    return _TABLE.sub(own, text)


def _below(expression: str, query: list[str], line: str, column: int) -> str | None:
    """Put a caret below the line of the expression where the query ends, or below its end if only added SQL follows."""
    own = expression.splitlines()
    before = query[:-1]
    if line in own and before[len(before) - own.index(line) :] == own[: own.index(line)]:
        number = own.index(line)
        end = " it ends here" if line == own[-1] and column >= len(line) else ""
        return "\n".join([*own[: number + 1], f"{' ' * column}^{end}", *own[number + 1 :]])
    if line.startswith(")") and before[-len(own) :] == own:  # after the end of the expression
        return "\n".join([*own, f"{' ' * len(own[-1])}^ it ends here"])
    return None


def own_fragments(fragments: Sequence[str], expressions: Sequence[str]) -> list[str]:
    """Return fragments of the user's SQL; for a fragment of added SQL, return the operator's expressions instead."""
    found = [
        piece
        for fragment in fragments
        if fragment
        for piece in (expressions if _OURS in fragment else (fragment,))
    ]
    return list(dict.fromkeys(found))
