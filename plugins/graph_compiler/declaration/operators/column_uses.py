"""The columns that operators say they read: by name, or in an expression."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnUse:
    """A column, or an expression over columns, that an operator reads of some of its inputs.

    `also` are names that an expression may use beside columns: those of its operator's own columns. `is_condition`: the
    expression is true or false. `of_types` are the types that a column may have; none are any.
    """

    text: str
    is_name: bool = False
    inputs: tuple[int, ...] = (0,)
    also: tuple[str, ...] = ()
    is_condition: bool = False
    of_types: tuple[str, ...] = ()


TIMES = ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ")
"""Types of times, to which an interval can be added."""
HOW_TO_MAKE_TIMES = (
    "compute one before: to_timestamp(…) with the pattern of a text, timestamp_seconds(…) or timestamp_millis(…) of a "
    "number"
)
READ_AS_TIMES = (*TIMES, "STRING", "CHAR", "VARCHAR", "STRUCT")
"""Types that Spark's windows take: it casts text, and takes the windows of another aggregate."""


def named(columns: Iterable[str], number: int = 0) -> tuple[ColumnUse, ...]:
    """Return columns of an input, by name."""
    return tuple(ColumnUse(text=column, is_name=True, inputs=(number,)) for column in columns)


def time_named(column: str, number: int = 0, *, of_types: tuple[str, ...] = TIMES) -> ColumnUse:
    """Return a column of an input that is a time."""
    return ColumnUse(text=column, is_name=True, inputs=(number,), of_types=of_types)


def computed(
    expressions: Iterable[str], *, inputs: tuple[int, ...] = (0,), also: Iterable[str] = (), is_condition: bool = False
) -> tuple[ColumnUse, ...]:
    """Return expressions over inputs."""
    names = tuple(also)
    return tuple(ColumnUse(text=text, inputs=inputs, also=names, is_condition=is_condition) for text in expressions)
