"""Operators that sort rows, or keep some of them. An order is Spark SQL: `mean_delay DESC NULLS LAST`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from graph_compiler.declaration.operators.base_operator import Operator
from graph_compiler.declaration.operators.column_uses import ColumnUse, computed
from graph_compiler.declaration.operators.known_columns import Known
from graph_compiler.errors import Problem

_NO_ORDER = Problem(message="it has no order", allowed='columns or expressions: "mean_delay DESC NULLS LAST"')


@dataclass(frozen=True, slots=True)
class Sort(Operator):
    """Sorts all rows, across all partitions."""

    default_name: ClassVar[str] = "Sort"
    waits_for_end: ClassVar[bool] = True
    order_by: tuple[str, ...]

    def columns_after(self, inputs: Sequence[Known]) -> Known:
        return inputs[0]

    def columns_used(self) -> tuple[ColumnUse, ...]:
        return computed(self.order_by)

    def expressions(self) -> tuple[str, ...]:
        return self.order_by

    def sorts_by(self) -> tuple[str, ...]:
        return self.order_by

    def problems(self) -> Iterator[Problem]:
        if not self.order_by:
            yield _NO_ORDER
        from graph_compiler.declaration.sql_text import order_problems  # no driver needs it

        yield from order_problems(self.order_by)


@dataclass(frozen=True, slots=True)
class TopN(Operator):
    """Keeps the first `n` rows of an order, in that order."""

    default_name: ClassVar[str] = "Top N"
    waits_for_end: ClassVar[bool] = True
    gathers: ClassVar[bool] = True
    is_non_parallel: ClassVar[bool] = True
    n: int
    order_by: tuple[str, ...]

    def columns_after(self, inputs: Sequence[Known]) -> Known:
        return inputs[0]

    def columns_used(self) -> tuple[ColumnUse, ...]:
        return computed(self.order_by)

    def expressions(self) -> tuple[str, ...]:
        return self.order_by

    def sorts_by(self) -> tuple[str, ...]:
        return self.order_by

    def problems(self) -> Iterator[Problem]:
        """Yield a missing order, mistakes in it, and an `n` below 1."""
        yield from _count_problems(self.n)
        if self.n == 0:
            yield Problem(message="it keeps 0 rows", allowed="1 or more")
        if not self.order_by:
            yield _NO_ORDER
        from graph_compiler.declaration.sql_text import order_problems  # no driver needs it

        yield from order_problems(self.order_by)

    def why_unrepeatable(self) -> str | None:
        """Return a reason: any of the rows that are equal in the order may be kept."""
        return "it keeps arbitrary rows among those that are equal in its order"


@dataclass(frozen=True, slots=True)
class Limit(Operator):
    """Keeps any `n` rows."""

    default_name: ClassVar[str] = "Limit"
    gathers: ClassVar[bool] = True
    is_non_parallel: ClassVar[bool] = True
    n: int

    def columns_after(self, inputs: Sequence[Known]) -> Known:
        return inputs[0]

    def problems(self) -> Iterator[Problem]:
        yield from _count_problems(self.n)

    def why_unrepeatable(self) -> str | None:
        return "it keeps arbitrary rows: top_n(…) keeps the same ones each time"


def _count_problems(n: int) -> Iterator[Problem]:
    if n < 0:
        yield Problem(message=f"it keeps {n} rows", allowed="0 or more")
