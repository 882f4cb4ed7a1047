"""Columns and their types, as far as a declaration shows them without Spark: declared schemas, and what follows.

    Csv(path, schema="id INT, amount DECIMAL(9,2)")   →  id INT, amount DECIMAL(9,2)
    .with_columns(late="amount > 5", other="f(id)")   →  id INT, amount DECIMAL(9,2), late BOOLEAN, other (unknown)

Operators say in `columns_after` which columns they return. What is not certain is None: a type, or all columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from graph_compiler.declaration.sql_text import Token, name_at, tokens_of
from graph_compiler.declaration.sql_types.spark_types import type_of_text
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

_AFTER_TYPE = frozenset({"NOT", "COMMENT", "DEFAULT", "GENERATED"})
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


def named_columns(columns: Iterable[tuple[str, str]], known: Known) -> Columns:
    """Return columns by name and expression, over the columns that are known."""
    types = types_by_name(known or ())
    return tuple(KnownColumn(name, type_of_expression(text, types)) for name, text in columns)


def type_of_expression(text: str, types: Mapping[str, str | None]) -> str | None:
    """Return the type of an expression over columns with types by name, None if it is not certain."""
    # Here: drivers import this module, and ask for no type.
    from graph_compiler.declaration.sql_types.inference import ColumnTypes, type_of_node
    from graph_compiler.declaration.sql_types.syntax import tree_of

    node = tree_of(text)
    return None if node is None else type_of_node(node, ColumnTypes(types))


def types_by_name(*inputs: Columns) -> Mapping[str, str | None]:
    """Return the types of columns by names in lower case; None where two inputs have other types for one name."""
    found: dict[str, str | None] = {}
    for column in (column for columns in inputs for column in columns):
        name = column.name.lower()
        found[name] = column.type if found.get(name, column.type) == column.type else None
    return found


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


def only_in_one(one: Iterable[str], other: Iterable[str]) -> list[str]:
    """Return the names that only one of two inputs has, sorted; names ignore case."""
    first, second = ({name.lower(): name for name in names} for names in (one, other))
    return sorted((first | second)[name] for name in first.keys() ^ second.keys())


def names_that_are_there(known: Iterable[str], new: Iterable[str], verb: str) -> Iterator[Problem]:
    """Yield a problem for the first name that an operator adds and its input has already; names ignore case."""
    there = {name.lower() for name in known}
    for name in new:
        if name.lower() in there:
            yield Problem(
                message=f"it {verb} '{name}', and its input already has a column '{name}'",
                hint=f'choose another name, or drop("{name}") first',
            )
            return


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
