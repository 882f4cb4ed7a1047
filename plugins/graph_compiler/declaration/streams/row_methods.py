"""Methods on one row at a time, and methods that keep some of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from graph_compiler.declaration.call_checks import held_to_signatures
from graph_compiler.declaration.operators import (
    Cache,
    Cast,
    Drop,
    Filter,
    FlatMap,
    Limit,
    Rename,
    Sample,
    Select,
    Sort,
    StorageLevel,
    TopN,
    WithColumns,
)
from graph_compiler.declaration.partitioners import RangePartitioner
from graph_compiler.declaration.streams.stream import Stream
from graph_compiler.identifiers import did_you_mean, listing, quoted

if TYPE_CHECKING:
    from graph_compiler.declaration.streams.data_stream import DataStream


@held_to_signatures
class RowMethods(Stream):
    """Narrow operators, and order. Expressions are Spark SQL; `:name` in them is a parameter."""

    def filter(self, condition: str, *, rejects: str | None = None) -> DataStream:
        """Keep the rows for which `condition` is true; the others are available as `get_side_output(rejects)`."""
        return self._one_input(Filter(condition, rejects))

    def select(self, *columns: str, **expressions: str) -> DataStream:
        """Keep these columns, and add each named expression: `select("carrier", late="arr_delay > 15")`."""
        named = tuple((column, quoted(column)) for column in columns)
        return self._one_input(Select(named + tuple(expressions.items())))

    def with_columns(self, columns: Mapping[str, str] | None = None, /, **expressions: str) -> DataStream:
        """Add or replace columns: `with_columns(late="arr_delay > 15")`; a mapping for names Python cannot write."""
        return self._one_input(WithColumns((*(columns or {}).items(), *expressions.items())))

    def drop(self, *columns: str) -> DataStream:
        """Remove columns; unlike in Spark, a missing column is an error."""
        return self._one_input(Drop(columns))

    def rename(self, names: Mapping[str, str]) -> DataStream:
        """Rename columns, old to new: `rename({"tailnum": "plane"})`; a missing column is an error."""
        return self._one_input(Rename(tuple(names.items())))

    def cast(self, types: Mapping[str, str] | None = None, /, **columns: str) -> DataStream:
        """Change the types of columns: `cast(day="DATE")`. A value that does not fit fails the task (ANSI)."""
        return self._one_input(Cast((*(types or {}).items(), *columns.items())))

    def flat_map(self, generator: str, *columns: str, outer: bool = False) -> DataStream:
        """Return a row for each row that a generator makes: `flat_map("posexplode(items)", "position", "item")`.

        `outer` keeps rows without generated rows, with NULLs.
        """
        return self._one_input(FlatMap(generator, columns, outer))

    def sample(self, fraction: float, *, seed: int | None = None) -> DataStream:
        """Keep about this share (0 to 1) of the rows."""
        return self._one_input(Sample(float(fraction), seed))

    def sort(self, *order_by: str) -> DataStream:
        """Sort all rows: `sort("carrier", "mean_delay DESC NULLS LAST")`. Sinks keep the order, across their files."""
        return self._partition(RangePartitioner(order_by))._one_input(Sort(order_by))

    def top_n(self, n: int, *order_by: str) -> DataStream:
        """Keep the first `n` rows of an order, in that order."""
        return self._one_input(TopN(n, order_by))

    def limit(self, n: int) -> DataStream:
        """Keep any `n` rows; `top_n` keeps the same ones each time."""
        return self._one_input(Limit(n))

    def cache(self, level: Literal["MEMORY_ONLY", "MEMORY_AND_DISK", "DISK_ONLY"] = "MEMORY_AND_DISK") -> DataStream:
        """Cache the rows in the application, if several operators read them and recomputing them costs more."""
        if level not in set(StorageLevel):
            self.refuse(
                f"there is no storage level '{level}'",
                allowed=listing(StorageLevel),
                hint=did_you_mean(level, StorageLevel),
            )
        return self._one_input(Cache(StorageLevel(level)))
