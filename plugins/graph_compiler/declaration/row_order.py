"""The order in which a sink gets its rows: that of the last sort before it, if only row by row operators follow.

    rows.sort("day", "delay DESC").filter("delay > 0").sink_to(Csv(path), files=3)   →   day, delay DESC
    rows.sort("day").rebalance().sink_to(…)                                          →   none

In Spark, such operators keep the order of rows in memory. A number of files, a parallelism and a staged result do not:
there the sink sorts again, which needs the columns that the order names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from graph_compiler.declaration.operators import Operator, Sink
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.transformations import (
    PartitionTransformation,
    PhysicalTransformation,
    SideOutputTransformation,
    SinkTransformation,
    Transformation,
)

_NO_COLUMN = re.compile(
    r"""'(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | --[^\n]* | /\*.*?\*/     # text and comments
    | (?::|\.)\s*`?\w+`? | `?\w+`?\s*\( | \b\d\w*                      # parameters, fields, functions, numbers
    | \bNULLS\s+(?:FIRST|LAST)\b | (?<=\s)(?:ASC|DESC)\b
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_NAME = re.compile(r"`((?:[^`]|``)+)`|(\w+)")
_OF_CASE = frozenset(("case", "when", "then", "else", "end"))
_WORDS = frozenset(
    ("and", "as", "between", "cast", "distinct", "false", "in", "is", "like", "not", "null", "or", "true")
)
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
    found = _NAME.findall(_NO_COLUMN.sub(" ", item))
    plain = {name.lower() for _, name in found}
    words = _WORDS if len(found) > 1 else frozenset()
    words |= _OF_CASE if {"case", "end"} <= plain else frozenset()
    names = (quoted.replace("``", "`") or name for quoted, name in found if name.lower() not in words)
    return list(dict.fromkeys(names))


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
