"""Operators that group rows by key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from graph_compiler.declaration.operators.base_operator import Operator
from graph_compiler.declaration.operators.column_uses import READ_AS_TIMES, ColumnUse, computed, named, time_named
from graph_compiler.declaration.operators.known_columns import Known, KnownColumn, named_columns, names_twice, type_of
from graph_compiler.declaration.windows import Window
from graph_compiler.errors import Problem
from graph_compiler.extensions import UNSAID

_NO_AGGREGATES = Problem(message="it has no columns", allowed='at least one, by name: flights="count(*)"')


@dataclass(frozen=True, slots=True)
class Aggregate(Operator):
    """One row for each key: the key columns, then (name, aggregate expression) in order.

    With `grouping_sets`, one row for each key of each set, with NULL in the columns that the set leaves out.
    """

    default_name: ClassVar[str] = "Aggregate"
    keeps_state: ClassVar[bool] = True
    keys: tuple[str, ...]
    aggregates: tuple[tuple[str, str], ...]
    grouping_sets: tuple[tuple[str, ...], ...] | None = None

    def columns_after(self, inputs: Sequence[Known]) -> Known:
        known = inputs[0] or ()
        keys = [KnownColumn(key, type_of(key, known)) for key in self.keys]
        return (*keys, *named_columns(self.aggregates, known))

    def columns_used(self) -> tuple[ColumnUse, ...]:
        """Return its keys, and its expressions, which may use its own columns, too."""
        return (*named(self.keys), *computed(self.expressions(), also=[name for name, _ in self.aggregates]))

    def expressions(self) -> tuple[str, ...]:
        return tuple(expression for _, expression in self.aggregates)

    def problems(self) -> Iterator[Problem]:
        """Yield missing aggregates, sets with columns that are not keys, and duplicate names."""
        known = {key.lower() for key in self.keys}
        odd = sorted({key for keys in self.grouping_sets or () for key in keys if key.lower() not in known})
        if odd:
            yield Problem(
                message=f"its grouping sets use {', '.join(odd)}, which key_by does not name",
                allowed=f"sets of {', '.join(self.keys)}",
            )
        if not self.aggregates:
            yield _NO_AGGREGATES
        yield from names_twice([*self.keys, *(name for name, _ in self.aggregates)])


@dataclass(frozen=True, slots=True)
class AggregateAll(Operator):
    """One row for all rows: (name, aggregate expression) in order."""

    default_name: ClassVar[str] = "Aggregate All"
    gathers: ClassVar[bool] = True
    is_non_parallel: ClassVar[bool] = True
    aggregates: tuple[tuple[str, str], ...]

    def columns_after(self, inputs: Sequence[Known]) -> Known:
        return named_columns(self.aggregates, inputs[0])

    def columns_used(self) -> tuple[ColumnUse, ...]:
        return computed(self.expressions(), also=[name for name, _ in self.aggregates])

    def expressions(self) -> tuple[str, ...]:
        return tuple(expression for _, expression in self.aggregates)

    def problems(self) -> Iterator[Problem]:
        if not self.aggregates:
            yield _NO_AGGREGATES
        yield from names_twice([name for name, _ in self.aggregates])


@dataclass(frozen=True, slots=True)
class WindowAggregate(Operator):
    """One row for each key and window: the keys, `window_start`, `window_end`, then the aggregates.

    On a stream, rows of which all windows are complete go to the side output `late_data`, if it is named.
    """

    default_name: ClassVar[str] = "Window"
    keeps_state: ClassVar[bool] = True
    gathers: ClassVar[bool] = True
    keys: tuple[str, ...]
    window: Window
    aggregates: tuple[tuple[str, str], ...]
    late_data: str | None = field(default=None, metadata={UNSAID: True})

    def columns_aside(self, inputs: Sequence[Known]) -> Known:
        return inputs[0]

    def output_tags(self) -> tuple[str, ...]:
        late = () if self.late_data is None else (self.late_data,)
        return (*late, *self.attributes.output_tags)

    def columns_after(self, inputs: Sequence[Known]) -> Known:
        known = inputs[0] or ()
        keys = [KnownColumn(key, type_of(key, known)) for key in self.keys]
        window = (KnownColumn("window_start"), KnownColumn("window_end"))
        return (*keys, *window, *named_columns(self.aggregates, known))

    def columns_used(self) -> tuple[ColumnUse, ...]:
        """Return its keys, its time, and its expressions, which may use its own columns and the window, too."""
        own = ["window", "window_start", "window_end", *(name for name, _ in self.aggregates)]
        time = time_named(self.window.time, of_types=READ_AS_TIMES)
        return (*named(self.keys), time, *computed(self.expressions(), also=own))

    def expressions(self) -> tuple[str, ...]:
        return tuple(expression for _, expression in self.aggregates)

    def problems(self) -> Iterator[Problem]:
        yield from self.window.problems()
        if not self.aggregates:
            yield _NO_AGGREGATES
        names = [name for name, _ in self.aggregates]
        yield from names_twice([*self.keys, "window_start", "window_end", *names])


@dataclass(frozen=True, slots=True)
class Deduplicate(Operator):
    """Keeps one row for each key: the first by `order_by`, with ties broken by the other columns; else any row.

    Without keys, rows that are equal in all columns become one. On a stream, the row of a key that arrives first is
    kept, and a key is forgotten once the watermark has passed it.
    """

    default_name: ClassVar[str] = "Deduplicate"
    keeps_state: ClassVar[bool] = True
    keys: tuple[str, ...] = ()
    order_by: tuple[str, ...] = ()

    def columns_after(self, inputs: Sequence[Known]) -> Known:
        return inputs[0]

    def columns_used(self) -> tuple[ColumnUse, ...]:
        return (*named(self.keys), *computed(self.order_by))

    def expressions(self) -> tuple[str, ...]:
        return self.order_by

    def problems(self) -> Iterator[Problem]:
        """Yield an order without keys, since equal rows have no order, and mistakes in it."""
        if self.order_by and not self.keys:
            yield Problem(
                message="it has an order but no keys: rows that are equal in all columns have no order",
                hint='name the keys, to keep one row of each: deduplicate("user", order_by="seen DESC")',
            )
        from graph_compiler.declaration.sql_text import order_problems  # no driver needs it

        yield from order_problems(self.order_by)

    def why_unrepeatable(self) -> str | None:
        """Return a reason if there is no order: any row of a key may be kept."""
        if self.keys and not self.order_by:
            return "it keeps an arbitrary row of each key: set order_by to keep the same one each time"
        return None
