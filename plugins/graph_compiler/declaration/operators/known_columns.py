"""Columns and their types, as far as a declaration shows them without Spark: declared schemas, and what follows.

    Csv(path, schema="id INT, amount DECIMAL(9,2)")   →  id INT, amount DECIMAL(9,2)
    .with_columns(late="amount > 5", other="f(id)")   →  id INT, amount DECIMAL(9,2), late BOOLEAN, other (unknown)

Operators say in `columns_after` which columns they return. What is not certain is None: a type, or all columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from graph_compiler.declaration.sql_text import Token, name_at, tokens_of
from graph_compiler.errors import Problem


@dataclass(frozen=True, slots=True)
class KnownColumn:
    """A column; `type` is Spark DDL, None if it is unknown."""

    name: str
    type: str | None = None

    def __str__(self) -> str:
        """Return name and type; the name alone if the type is unknown."""
        return self.name if self.type is None else f"{self.name} {self.type}"


Columns: TypeAlias = tuple[KnownColumn, ...]
Known: TypeAlias = "Columns | None"
"""Columns in their order, None if they are unknown."""

_SAME = {
    **dict.fromkeys(("INTEGER",), "INT"),
    **dict.fromkeys(("LONG",), "BIGINT"),
    **dict.fromkeys(("SHORT",), "SMALLINT"),
    **dict.fromkeys(("BYTE",), "TINYINT"),
    **dict.fromkeys(("REAL",), "FLOAT"),
    **dict.fromkeys(("TIMESTAMP_LTZ",), "TIMESTAMP"),
    **dict.fromkeys(("DECIMAL", "DEC", "NUMERIC"), "DECIMAL(10,0)"),
}
_DECIMAL = re.compile(r"(?:DECIMAL|DEC|NUMERIC)\((\d+)(?:,(\d+))?\)")
_AFTER_TYPE = frozenset({"NOT", "COMMENT", "DEFAULT", "GENERATED"})
_WHOLE = frozenset({"TINYINT", "SMALLINT", "INT", "BIGINT"})
_REAL = frozenset({"FLOAT", "DOUBLE"})
_LOGICAL = frozenset("= < > AND OR NOT IS LIKE ILIKE RLIKE IN BETWEEN".split())  # noqa: SIM905  # shorter
_OTHER_GRAMMAR = frozenset({"CASE", "->", "|>", "?"})
_OPENING, _CLOSING = "([<", ")]>"


def columns_of_schema(schema: str | None) -> Known:
    """Return the columns of a Spark DDL; None without one, and for text that is not understood."""
    if schema is None or "${" in schema or "{{" in schema:
        return None
    found = []
    for part in _split(tokens_of(schema)):
        if not part or not (part[0].text.isidentifier() or part[0].text.startswith("`")):
            return None
        name, *rest = part
        rest = rest[1:] if rest and rest[0].text == ":" else rest
        end = next((n for n, each in enumerate(rest) if each.text in _AFTER_TYPE), len(rest))
        if not rest[:end]:
            return None
        found.append(KnownColumn(name_at(schema, name), type_of_text(schema[rest[0].start : rest[end - 1].end])))
    return tuple(found)


def type_of_text(text: str) -> str:
    """Return a type in one form: `decimal( 9, 2 )` is DECIMAL(9,2). Types with fields stay as they are written."""
    one_line = " ".join(text.split())
    if "<" in one_line:
        return one_line
    plain = one_line.upper().replace(" (", "(").replace("( ", "(").replace(" )", ")")
    plain = plain.replace(", ", ",").replace(" ,", ",")
    if decimal := _DECIMAL.fullmatch(plain):
        return f"DECIMAL({decimal[1]},{decimal[2] or 0})"
    return _SAME.get(plain, plain)


def named_columns(columns: Iterable[tuple[str, str]], known: Known) -> Columns:
    """Return columns by name and expression, over the columns that are known."""
    return tuple(KnownColumn(name, type_of_expression(text, known or ())) for name, text in columns)


def type_of_expression(text: str, known: Columns) -> str | None:
    """Return the type of an expression over columns, None if it is not certain."""
    tokens = tokens_of(text)
    if not tokens or "${" in text:
        return None
    if len(tokens) == 1:
        return _type_of_word(tokens[0], known)
    called = _type_of_call(tokens, text, known)
    return called or ("BOOLEAN" if _is_condition(tokens) else None)


def type_of(name: str, known: Columns) -> str | None:
    """Return the type of a column by its name, in any case."""
    return next((each.type for each in known if each.name.lower() == name.lower()), None)


def common(inputs: Sequence[Known], *, fills: bool = False) -> Known:
    """Return the columns of several inputs: types stay where all agree. `fills`: an input may lack some."""
    first, *others = inputs or [None]
    if first is None:
        return None
    found = {each.name.lower(): each for each in first}
    for other in others:
        if other is None:
            return None
        names = {each.name.lower() for each in other}
        if not fills and names != set(found):
            return None
        for each in other:
            mine = found.setdefault(each.name.lower(), each)
            if mine.type != each.type:
                found[each.name.lower()] = KnownColumn(mine.name)
    return tuple(found.values())


def joined(left: Known, right: Known, on: Sequence[tuple[str, str]], how: str) -> Known:
    """Return the columns of a join: keys with the same name once, then the others of left and right."""
    if left is None or right is None:
        return None
    keys = [one for one, other in on if one.lower() == other.lower()]
    shared = {key.lower() for key in keys}
    found = []
    for key in keys:
        one, other = type_of(key, left), type_of(key, right)
        kind = {"right": other, "full": one if one == other else None}.get(how, one)
        found.append(KnownColumn(key, kind))
    found += [each for each in left if each.name.lower() not in shared]
    if how not in ("semi", "anti"):
        found += [each for each in right if each.name.lower() not in shared]
    return tuple(found)


def _split(tokens: Sequence[Token]) -> list[list[Token]]:
    """Return the tokens between commas that are in no brackets."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        is_plain = not token.is_quoted
        depth += is_plain and token.text in _OPENING
        depth -= is_plain and token.text in _CLOSING
        if is_plain and token.text == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _type_of_word(token: Token, known: Columns) -> str | None:
    if token.is_quoted:
        text = token.text
        is_name = text.startswith("`")
        return type_of(text[1:-1].replace("``", "`"), known) if is_name else "STRING"
    if token.text in ("TRUE", "FALSE"):
        return "BOOLEAN"
    return type_of(token.text, known)


def _type_of_call(tokens: Sequence[Token], text: str, known: Columns) -> str | None:
    """Return the type of a whole text that is one call: of CAST, or of a common aggregate."""
    word, *rest = tokens
    inside = rest[1:-1]
    if not rest or rest[0].text != "(" or _end_of_brackets(rest) != len(rest) - 1 or not inside:
        return None
    if word.text == "CAST":
        depths = list(_depths(inside))
        places = [n for n, each in enumerate(inside) if each.text == "AS" and depths[n] == 0]
        if len(places) != 1 or places[0] == len(inside) - 1:
            return None
        return type_of_text(text[inside[places[0] + 1].start : inside[-1].end])
    if word.text == "COUNT":
        return "BIGINT"
    return _type_of_aggregate(word.text, _type_of_column(inside, known))


def _type_of_column(tokens: Sequence[Token], known: Columns) -> str | None:
    return _type_of_word(tokens[0], known) if len(tokens) == 1 else None


def _type_of_aggregate(name: str, kind: str | None) -> str | None:
    if kind is None:
        return None
    if name in ("MIN", "MAX"):
        return kind
    if name == "SUM" and kind in _WHOLE:
        return "BIGINT"
    if name == "SUM" and (decimal := _DECIMAL.fullmatch(kind)):
        return f"DECIMAL({min(38, int(decimal[1]) + 10)},{decimal[2]})"
    is_double = kind in _REAL or (name != "SUM" and kind in _WHOLE)
    return "DOUBLE" if name in ("SUM", "AVG", "MEAN") and is_double else None


def _is_condition(tokens: Sequence[Token]) -> bool:
    """Whether an expression compares, or combines conditions, and does nothing with the result."""
    plain = ["" if token.is_quoted else token.text for token in tokens]
    if _OTHER_GRAMMAR & set(plain) or any(
        one.end == other.start and one.text + other.text in ("->", ">>", "<<", "=>", "::")
        for one, other in pairwise(tokens)
    ):
        return False
    outside = [text for text, depth in zip(plain, _depths(tokens), strict=True) if depth == 0]
    return bool(_LOGICAL & set(outside))


def _depths(tokens: Sequence[Token]) -> Iterable[int]:
    """Yield in how many round and square brackets each token is; a bracket is in its own."""
    depth = 0
    for token in tokens:
        opens = not token.is_quoted and token.text in "(["
        closes = not token.is_quoted and token.text in ")]"
        depth += opens
        yield depth
        depth -= closes


def _end_of_brackets(tokens: Sequence[Token]) -> int | None:
    """Return the place of the bracket that closes the first one."""
    for place, depth in enumerate(_depths(tokens)):
        if depth == 1 and not tokens[place].is_quoted and tokens[place].text == ")":
            return place
    return None


def names_twice(names: Sequence[str]) -> Iterator[Problem]:
    """Yield a problem for each name that equals an earlier one; as in Spark, case is ignored."""
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            yield Problem(
                message=f"two of its columns are called '{name}'",
                hint="Spark treats names that differ only in case as the same",
            )
            return
        seen.add(name.lower())
