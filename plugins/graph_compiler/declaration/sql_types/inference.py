"""The type of an SQL expression over known columns, and what Spark refuses in it, as far as both are certain.

    amount + 1       →  INT, if amount is INT
    upper(tags)      →  a problem, if tags is ARRAY<STRING>

Spark was asked what functions and operators take, with and without its ANSI mode (`spark_functions`). A value without a
known type (a parameter, a lambda, a column of an undeclared source) may have each type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from graph_compiler.declaration.sql_types.spark_functions import SparkFunction, spark_function
from graph_compiler.declaration.sql_types.syntax import (
    UNKNOWN,
    SqlCall,
    SqlCast,
    SqlLiteral,
    SqlName,
    SqlNode,
    inner_nodes,
)
from graph_compiler.errors import Problem
from graph_compiler.identifiers import counted, listing, shown

_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
_CONDITIONS = frozenset({"AND", "OR", "NOT", "=", "<", "IN", "LIKE", "RLIKE"})
_ONE_OF_ALL = frozenset({"min", "max"})
"""Functions that return one of their values, of whichever type it is."""
_MOST_DIGITS = 38
_MORE_DIGITS = 10
"""A sum has 10 digits more than its values."""


@dataclass(frozen=True, slots=True)
class ColumnTypes:
    """Types of the columns that an expression may read, by names in lower case; `sides` are those of a join."""

    all: Mapping[str, str | None]
    sides: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)

    def of(self, name: SqlName) -> str | None:
        """Return the type of a column, None if it is unknown."""
        columns = self.all if name.side is None else self.sides.get(name.side, {})
        return columns.get(name.column.lower())


def type_of_node(node: SqlNode, columns: ColumnTypes) -> str | None:
    """Return the type of an expression as Spark DDL, None if it is not certain."""
    match node:
        case SqlLiteral(type=kind) | SqlCast(type=kind):
            return kind
        case SqlName():
            return columns.of(node)
        case SqlCall(function=name, arguments=arguments):
            return _returned(name, [type_of_node(each, columns) for each in arguments])


def _returned(name: str, types: Sequence[str | None]) -> str | None:
    if name in _CONDITIONS or name == "count":
        return "BOOLEAN" if name in _CONDITIONS else "BIGINT"
    if (name in _ONE_OF_ALL and len(types) == 1) or (name == "CASE" and len(set(types)) == 1):
        return types[0]
    if name == "sum" and types[0] and (decimal := _DECIMAL.fullmatch(types[0])):
        return f"DECIMAL({min(_MOST_DIGITS, int(decimal[1]) + _MORE_DIGITS)},{decimal[2]})"
    function = spark_function(name)
    return None if function is None else function.returns(types)


def type_refusals(node: SqlNode, columns: ColumnTypes) -> Iterator[Problem]:
    """Yield what Spark refuses in an expression: of calls in each other, the inner ones."""
    if isinstance(node, SqlCall) and node.function == "[]" and node.arguments[0] == UNKNOWN:
        return  # it may be NULL, of which Spark looks at no index
    found = [problem for each in inner_nodes(node) for problem in type_refusals(each, columns)]
    yield from dict.fromkeys(found)
    if isinstance(node, SqlCall) and not found and (function := spark_function(node.function)) is not None:
        types = [type_of_node(each, columns) for each in node.arguments]
        if node.function == "IN" and len(set(types[1:])) == 1:  # of other types, Spark finds a common one
            types = types[:2]
        yield from _refusals_of_call(node, function, types)


def _refusals_of_call(call: SqlCall, function: SparkFunction, types: Sequence[str | None]) -> Iterator[Problem]:
    if not function.may_have(len(types)):
        yield Problem(
            message=f"{shown(call.text)} gives {function.name} {counted(len(types), 'argument')}",
            allowed=function.counts_words,
        )
    elif not function.takes(types):
        yield Problem(
            message=f"{shown(call.text)}: {function.words} does not take {' with '.join(map(str, types))}",
            allowed=_allowed(function, types),
        )


def _allowed(function: SparkFunction, types: Sequence[str | None]) -> str | None:
    """Return what may stand in place of the last argument."""
    taken = function.taken_beside(types)
    if not taken:
        return None
    first = f"{types[0]} with " if len(types) > 1 else ""
    return f"{first}{listing(taken)}"
