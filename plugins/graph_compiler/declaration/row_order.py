"""The order in which a sink gets its rows: that of the last sort before it, if only row by row operators follow.

    rows.sort("day", "delay DESC").filter("delay > 0").sink_to(Csv(path), files=3)   →   day, delay DESC
    rows.sort("day").rebalance().sink_to(…)                                          →   none

In Spark, such operators keep the order of rows in memory. A number of files, a parallelism and a staged result do not:
there the sink sorts again, which needs the columns that the order names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from graph_compiler.declaration.operators import Operator, Sink
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.sql_text import Token, name_at, tokens_of
from graph_compiler.declaration.transformations import (
    PartitionTransformation,
    PhysicalTransformation,
    SideOutputTransformation,
    SinkTransformation,
    Transformation,
)

_OF_CASE = frozenset(("CASE", "WHEN", "THEN", "ELSE", "END"))
_WORDS = frozenset(
    ("AND", "AS", "BETWEEN", "CAST", "DISTINCT", "FALSE", "IN", "IS", "LIKE", "NOT", "NULL", "OR", "TRUE")
)
_PLACES = ("FIRST", "LAST")
_NUMBER = re.compile(r"\d+(?:E\d*)?(?:[LSYFD]|BD)?")
_BY_PLACE = re.compile(r"\s*(\d+|ALL)\s*(ASC|DESC)?\s*(NULLS\s+(FIRST|LAST))?\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RowOrder:
    """An order, as Spark SQL, and the operators between the sort, which is the first, and a sink.

    `lost_at` is the operator after which the order cannot be computed again: a column of it is gone, or has other
    values.
    """

    order_by: tuple[str, ...]
    operators: tuple[PhysicalTransformation, ...]
    lost_at: PhysicalTransformation | None


def row_order(sink: SinkTransformation, transformation: Callable[[int], Transformation | None]) -> RowOrder | None:
    """Return the order in which a sink gets its rows; None if they are in none. `transformation` finds one by id."""
    operators: list[PhysicalTransformation] = []
    for before in _before(sink, transformation):
        operators.insert(0, before)
        if order_by := before.operator.sorts_by():
            lost = (each for each in operators[1:] if not _keeps(each, order_by))
            return RowOrder(order_by, tuple(operators), next(lost, None))
        if not before.operator.keeps_order:
            return None
    return None


def row_orders(pipeline: Pipeline) -> Iterator[tuple[SinkTransformation, RowOrder]]:
    """Yield every sink that writes its rows in an order."""
    by_id = {each.id: each for each in pipeline.transformations}
    for sink in pipeline.transformations:
        if not isinstance(sink, SinkTransformation) or not isinstance(sink.operator, Sink):
            continue
        if sink.operator.writes_in_order() and (order := row_order(sink, by_id.get)):
            yield sink, order


def columns_of(item: str) -> list[str]:
    """Return the names in an item of an order that may be columns: more than there are, never fewer."""
    tokens = tokens_of(item)
    found = [token for place, token in enumerate(tokens) if _may_be_column(tokens, place)]
    plain = {token.text for token in found if not token.is_quoted}
    words = _WORDS if len(found) > 1 else frozenset()
    words |= _OF_CASE if {"CASE", "END"} <= plain else frozenset()
    names = (name_at(item, token) for token in found if token.is_quoted or token.text not in words)
    return list(dict.fromkeys(names))


def _may_be_column(tokens: Sequence[Token], place: int) -> bool:
    """Whether a token is a name, and neither a parameter, a field, a function nor the direction of the order."""
    token, before, after = tokens[place], _plain(tokens, place - 1), _plain(tokens, place + 1)
    if before in (":", ".") or after == "(":
        return False
    if token.is_quoted:
        return token.text.startswith("`")
    is_word = token.text.replace("_", "a").isalnum()
    return is_word and not _NUMBER.fullmatch(token.text) and not _is_direction(tokens, place)


def _is_direction(tokens: Sequence[Token], place: int) -> bool:
    """Whether a word belongs to ASC, DESC, NULLS FIRST or NULLS LAST, and is no column of that name."""
    word, before, after = tokens[place].text, _plain(tokens, place - 1), _plain(tokens, place + 1)
    if word in _PLACES:
        return before == "NULLS"
    if word == "NULLS":
        return after in _PLACES
    is_behind_operand = place > 0 and (tokens[place - 1].is_quoted or before[-1].isalnum() or before[-1] in "_)]")
    return word in ("ASC", "DESC") and is_behind_operand


def _plain(tokens: Sequence[Token], place: int) -> str:
    """Return the word or symbol at a place, empty if there is none or it is quoted."""
    is_there = 0 <= place < len(tokens) and not tokens[place].is_quoted
    return tokens[place].text if is_there else ""


def _before(
    sink: SinkTransformation, transformation: Callable[[int], Transformation | None]
) -> Iterator[PhysicalTransformation]:
    """Yield the operators before a sink, as long as each has one input, and no call redistributes the rows."""
    at: Transformation | None = sink
    seen: set[int] = set()  # another check reports a cycle, and an input that does not exist
    while at is not None and len(at.inputs) == 1 and at.id not in seen:
        seen.add(at.id)
        at = transformation(at.inputs[0])
        if isinstance(at, PhysicalTransformation):
            yield at
        elif not isinstance(at, SideOutputTransformation) and not (
            isinstance(at, PartitionTransformation) and (at.partitioner is None or at.partitioner.is_forward)
        ):
            return


def _keeps(after: PhysicalTransformation, order_by: tuple[str, ...]) -> bool:
    """Whether an operator has every column of an order; items by place (`1`, `ALL`) need all columns as they were."""
    if any(map(_BY_PLACE.fullmatch, order_by)):
        return type(after.operator).keeps_column is Operator.keeps_column
    return all(after.operator.keeps_column(name) for item in order_by for name in columns_of(item))
