"""Operators on one row at a time. Spark fuses them into their stage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import ClassVar

from graph_compiler.declaration.operators.base_operator import Operator
from graph_compiler.declaration.operators.column_uses import ColumnUse, computed, named
from graph_compiler.declaration.operators.known_columns import (
    Columns,
    Known,
    KnownColumn,
    named_columns,
    names_that_are_there,
    names_twice,
)
from graph_compiler.declaration.sql_text import name_at, tokens_of
from graph_compiler.declaration.sql_types.spark_types import has_length, longest_text, type_of_cast
from graph_compiler.declaration.windows import duration_of, wrong_interval
from graph_compiler.errors import Problem
from graph_compiler.identifiers import shown

_COLUMNS = "names of columns, at least one"


@dataclass(frozen=True, slots=True)
class Filter(Operator):
    """Keeps rows for which `condition` is true; the others (false, NULL) go to the side output `rejects`, if named."""

    default_name: ClassVar[str] = "Filter"
    sees_single_rows: ClassVar[bool] = True
    keeps_order: ClassVar[bool] = True
    condition: str
    rejects: str | None = None

    def columns_after(self, inputs: Sequence[Known]) -> Known:
        return inputs[0]

    def columns_aside(self, inputs: Sequence[Known]) -> Known:
        return inputs[0]

    def columns_used(self) -> tuple[ColumnUse, ...]:
        return computed([self.condition], is_condition=True)

    def expressions(self) -> tuple[str, ...]:
        return (self.condition,)

    def output_tags(self) -> tuple[str, ...]:
        rejects = () if self.rejects is None else (self.rejects,)
        return (*rejects, *self.attributes.output_tags)


@dataclass(frozen=True, slots=True)
class ColumnOperator(Operator):
    """The base class: column names and their expressions, in order."""

    sees_single_rows: ClassVar[bool] = True
    keeps_order: ClassVar[bool] = True
    columns: tuple[tuple[str, str], ...]

    def columns_used(self) -> tuple[ColumnUse, ...]:
        """Return its expressions; they may use its own columns, too."""
        return computed(self.expressions(), also=[name for name, _ in self.columns])

    def expressions(self) -> tuple[str, ...]:
        return tuple(expression for _, expression in self.columns)

    def problems(self) -> Iterator[Problem]:
        if not self.columns:
            yield Problem(message="it has no columns", allowed='at least one: late="delay > 15"')
        yield from names_twice([name for name, _ in self.columns])


@dataclass(frozen=True, slots=True)
class Select(ColumnOperator):
    """Returns exactly these columns: (name, expression) in order."""

    default_name: ClassVar[str] = "Select"

    def columns_after(self, inputs: Sequence[Known]) -> Known:
        return named_columns(self.columns, inputs[0])

    def keeps_column(self, name: str) -> bool:
        return any(new.lower() == name.lower() and _is_column(name, expression) for new, expression in self.columns)


def _is_column(name: str, expression: str) -> bool:
    """Whether an expression is a column as it is; `a.b` without quotes is a field of another one."""
    tokens = tokens_of(expression)
    return len(tokens) == 1 and name_at(expression, tokens[0]).lower() == name.lower()


@dataclass(frozen=True, slots=True)
class WithColumns(ColumnOperator):
    """Adds these columns, or replaces those of the same name: (name, expression)."""

    default_name: ClassVar[str] = "With Columns"

    def columns_after(self, inputs: Sequence[Known]) -> Known:
        """Return the columns of its input, with these in their places or at the end."""
        if inputs[0] is None:
            return None
        new = {each.name.lower(): each for each in named_columns(self.columns, inputs[0])}
        kept = [new.pop(each.name.lower(), each) for each in inputs[0]]
        return (*kept, *new.values())

    def keeps_column(self, name: str) -> bool:
        return name.lower() not in {new.lower() for new, _ in self.columns}


@dataclass(frozen=True, slots=True)
class TimestampsAndWatermarks(Operator):
    """Says which column is the event time of rows, and by how much they come out of order at most.

    On a stream, the watermark is the latest time so far, less that. What is older is late. A batch has all its rows,
    and nothing is late there.
    """

    default_name: ClassVar[str] = "Timestamps/Watermarks"
    sees_single_rows: ClassVar[bool] = True
    keeps_order: ClassVar[bool] = True
    time: str
    max_out_of_orderness: str

    def columns_after(self, inputs: Sequence[Known]) -> Known:
        return inputs[0]

    def columns_used(self) -> tuple[ColumnUse, ...]:
        return named([self.time])

    def problems(self) -> Iterator[Problem]:
        """Yield a length that is no interval, or with which Spark would leave out rows of the latest time."""
        message = f"its max_out_of_orderness is {self.max_out_of_orderness!r}"
        if allowed := wrong_interval(self.max_out_of_orderness):
            yield Problem(message=message, allowed=allowed)
        elif duration_of(self.max_out_of_orderness) < timedelta(milliseconds=1):
            hint = "with less, rows would be late that have the same time as the latest one"
            yield Problem(message=message, allowed="at least 1 millisecond", hint=hint)


@dataclass(frozen=True, slots=True)
class Drop(Operator):
    """Removes these columns; a missing one is an error."""

    default_name: ClassVar[str] = "Drop"
    sees_single_rows: ClassVar[bool] = True
    keeps_order: ClassVar[bool] = True
    columns: tuple[str, ...]

    def columns_after(self, inputs: Sequence[Known]) -> Known:
        gone = {column.lower() for column in self.columns}
        return inputs[0] and tuple(each for each in inputs[0] if each.name.lower() not in gone)

    def columns_used(self) -> tuple[ColumnUse, ...]:
        return named(self.columns)

    def keeps_column(self, name: str) -> bool:
        return name.lower() not in {column.lower() for column in self.columns}

    def problems(self) -> Iterator[Problem]:
        if not self.columns:
            yield Problem(message="it names no columns", allowed=_COLUMNS)


@dataclass(frozen=True, slots=True)
class Rename(Operator):
    """Renames columns, in their places: (old, new). A missing one is an error."""

    default_name: ClassVar[str] = "Rename"
    sees_single_rows: ClassVar[bool] = True
    keeps_order: ClassVar[bool] = True
    names: tuple[tuple[str, str], ...]

    def columns_after(self, inputs: Sequence[Known]) -> Known:
        new = {old.lower(): name for old, name in self.names}
        return inputs[0] and tuple(KnownColumn(new.get(each.name.lower(), each.name), each.type) for each in inputs[0])

    def columns_used(self) -> tuple[ColumnUse, ...]:
        return named(old for old, _ in self.names)

    def column_problems(self, inputs: Sequence[Columns]) -> Iterator[Problem]:
        """Yield a new name that another column has."""
        old = {name.lower() for name, _ in self.names}
        kept = [each.name for each in inputs[0] if each.name.lower() not in old]
        yield from names_that_are_there(kept, [new for _, new in self.names], "renames a column to")

    def keeps_column(self, name: str) -> bool:
        """Whether neither an old nor a new name is that of the column."""
        return name.lower() not in {one.lower() for pair in self.names for one in pair}

    def problems(self) -> Iterator[Problem]:
        """Yield missing columns, and columns that would have the same name."""
        if not self.names:
            yield Problem(message="it names no columns", allowed="old names to new: {'a': 'b'}")
        yield from names_twice([new for _, new in self.names])


@dataclass(frozen=True, slots=True)
class Cast(Operator):
    """Changes the types of columns, in their places: (column, Spark type). A value that does not fit is an error.

    With CHAR(n) and VARCHAR(n), a column is a STRING whose values have at most n characters; no length is checked
    within another type.
    """

    default_name: ClassVar[str] = "Cast"
    sees_single_rows: ClassVar[bool] = True
    keeps_order: ClassVar[bool] = True
    types: tuple[tuple[str, str], ...]

    def columns_after(self, inputs: Sequence[Known]) -> Known:
        types = {name.lower(): type_of_cast(kind) for name, kind in self.types}
        return inputs[0] and tuple(
            KnownColumn(each.name, types.get(each.name.lower(), each.type)) for each in inputs[0]
        )

    def columns_used(self) -> tuple[ColumnUse, ...]:
        return named(column for column, _ in self.types)

    def keeps_column(self, name: str) -> bool:
        """Whether it does not change the type of the column."""
        return name.lower() not in {column.lower() for column, _ in self.types}

    def expressions(self) -> tuple[str, ...]:
        return tuple(type for _, type in self.types)

    def problems(self) -> Iterator[Problem]:
        if not self.types:
            yield Problem(message="it names no columns", allowed="columns and types: day='DATE'")
        for name, kind in self.types:
            if longest_text(kind) is None and has_length(kind):
                yield Problem(
                    message=f"Spark would not check the length of texts in {shown(name)}, which is {shown(kind)}",
                    allowed="VARCHAR(n) and CHAR(n) as the type of a column; STRING within another type",
                    hint=f'check it before: expect("short", "forall({name}, text -> char_length(text) <= 2)")',
                )


@dataclass(frozen=True, slots=True)
class FlatMap(Operator):
    """Returns a row for each row of the generator (`explode(items)`), its values in `columns` after the row's own.

    `outer`: a row without generated rows is kept, with NULLs.
    """

    default_name: ClassVar[str] = "Flat Map"
    sees_single_rows: ClassVar[bool] = True
    keeps_order: ClassVar[bool] = True
    generator: str
    columns: tuple[str, ...]
    outer: bool = False

    def columns_after(self, inputs: Sequence[Known]) -> Known:
        """Return the columns of its input and of the generator."""
        return inputs[0] and (*inputs[0], *map(KnownColumn, self.columns))

    def columns_used(self) -> tuple[ColumnUse, ...]:
        return computed([self.generator])

    def column_problems(self, inputs: Sequence[Columns]) -> Iterator[Problem]:
        yield from names_that_are_there([each.name for each in inputs[0]], self.columns, "adds a column")

    def expressions(self) -> tuple[str, ...]:
        return (self.generator,)

    def problems(self) -> Iterator[Problem]:
        if not self.columns:
            yield Problem(message="it names no output columns", allowed=_COLUMNS)
        yield from names_twice(self.columns)


@dataclass(frozen=True, slots=True)
class Sample(Operator):
    """Keeps about this share (0 to 1) of the rows; with a seed, the same rows as long as the files are the same."""

    default_name: ClassVar[str] = "Sample"
    keeps_order: ClassVar[bool] = True
    fraction: float
    seed: int | None = None

    def columns_after(self, inputs: Sequence[Known]) -> Known:
        return inputs[0]

    def problems(self) -> Iterator[Problem]:
        """Yield a fraction that is not between 0 and 1."""
        if not 0 <= self.fraction <= 1:
            yield Problem(
                message=f"its fraction is {self.fraction}, not between 0 and 1",
                allowed="a number from 0 to 1, such as 0.1 for a tenth of the rows",
            )

    def why_unrepeatable(self) -> str | None:
        """Return a reason if there is no seed: each sample differs."""
        return "it samples without a seed" if self.seed is None else None


class StorageLevel(StrEnum):
    """Where cached rows are stored; Spark's names."""

    MEMORY_ONLY = "MEMORY_ONLY"
    MEMORY_AND_DISK = "MEMORY_AND_DISK"
    DISK_ONLY = "DISK_ONLY"


@dataclass(frozen=True, slots=True)
class Cache(Operator):
    """Keeps its rows in the application while several consumers read them.

    It only saves time: lost blocks are recomputed. Rows that must not be recomputed are staged.
    """

    default_name: ClassVar[str] = "Cache"
    keeps_order: ClassVar[bool] = True
    level: StorageLevel = StorageLevel.MEMORY_AND_DISK

    def columns_after(self, inputs: Sequence[Known]) -> Known:
        return inputs[0]
