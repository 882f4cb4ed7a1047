"""Differences between expected and found columns, and how each policy handles them.

    expected  carrier STRING, delay INT        found  carrier STRING, delay BIGINT, gate STRING
    →  delay WIDENED, gate ADDED               fail: refused   evolve: as found   ignore: carrier, delay (as INT)

`OnSchemaChange` documents each policy for a source and for a sink.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import col, lit
from pyspark.sql.types import DataType, StructField, StructType

from graph_compiler.declaration.connectors import OnSchemaChange
from graph_compiler.errors import SchemaChangedError
from graph_compiler.identifiers import quoted
from graph_compiler.spark_runtime.columns.declared_schema import type_words
from graph_compiler.spark_runtime.columns.type_widening import is_wider


class ChangeKind(StrEnum):
    """How a found column differs from the expected one; the value is the verb of the message."""

    ADDED = "was added"
    DROPPED = "is gone"
    RENAMED = "was renamed"
    WIDENED = "was widened"
    NARROWED = "was narrowed"
    RETYPED = "has another type"
    NULLABLE = "may be NULL now"


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaChange:
    """One column that differs; `expected` or `found` is None if there is no such column."""

    kind: ChangeKind
    column: str
    expected: StructField | None
    found: StructField | None

    def __str__(self) -> str:
        """Return the difference in one line."""
        found, expected = _type(self.found), _type(self.expected)
        if self.kind is ChangeKind.RENAMED and self.found is not None:
            found = f"'{self.found.name}' {found}"
        if self.kind is ChangeKind.NULLABLE:
            expected += " NOT NULL"
        return f"column '{self.column}' {self.kind}: found {found}; expected {expected}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """The expected columns of a DataFrame: where they come from, and what may differ under EVOLVE."""

    schema: StructType
    whose: str
    policy: OnSchemaChange
    evolves: frozenset[ChangeKind]
    follows: frozenset[ChangeKind] = frozenset()
    """The tolerated type changes that keep the found type; otherwise rows are cast to the expected type."""


SOURCE_EVOLVES = frozenset(
    {ChangeKind.ADDED, ChangeKind.WIDENED, ChangeKind.NARROWED, ChangeKind.NULLABLE}
)
FILES_EVOLVE = frozenset({ChangeKind.ADDED, ChangeKind.NARROWED, ChangeKind.NULLABLE})
TABLES_EVOLVE = frozenset({ChangeKind.NARROWED})


def find_changes(expected: StructType, found: StructType) -> tuple[SchemaChange, ...]:
    """Return every column that differs: the expected ones in their order, then the additional ones in theirs."""
    there = {field.name.lower(): field for field in found}
    here = {field.name.lower(): field for field in expected}
    added = [field for field in found if field.name.lower() not in here]
    changes: list[SchemaChange] = []
    for position, field in enumerate(expected):
        other = there.get(field.name.lower())
        if other is not None:
            changes.extend(_of_column(field, other))
        elif (renamed := _renamed(field, position, added, found)) is not None:
            added.remove(renamed)
            changes.append(_change(ChangeKind.RENAMED, field, renamed))
        else:
            changes.append(_change(ChangeKind.DROPPED, field, None))
    return (*changes, *(_change(ChangeKind.ADDED, None, field) for field in added))


def conform(
    rows: DataFrame, expectation: Expectation, found: StructType, kept: Sequence[str] = ()
) -> DataFrame:
    """Return the rows with the expected columns and those in `kept`; raises SchemaChangedError with all problems.

    `found` is the rows' schema, or a more exact one (with NOT NULL). Expected columns come first, under their
    expected names and in their order.
    """
    changes = find_changes(expectation.schema, found)
    if refused := [change for change in changes if not _is_tolerated(change, expectation)]:
        raise SchemaChangedError(_refusal(refused, expectation))
    taken = changes if expectation.policy is OnSchemaChange.EVOLVE else ()
    follow = {change.column.lower() for change in taken if change.kind in expectation.follows}
    columns = [
        _column(field, found, follows=field.name.lower() in follow) for field in expectation.schema
    ]
    added = [col(quoted(change.column)) for change in taken if change.kind is ChangeKind.ADDED]
    return rows.select(*columns, *added, *kept)


def ddl(schema: StructType) -> str:
    """Return a schema as Spark DDL: `carrier STRING NOT NULL, delay INT`."""
    return ", ".join(
        f"{field.name} {_type(field)}{'' if field.nullable else ' NOT NULL'}" for field in schema
    )


def _of_column(expected: StructField, found: StructField) -> Iterator[SchemaChange]:
    if found.dataType != expected.dataType and not _same_but_null(
        found.dataType, expected.dataType
    ):
        if is_wider(found.dataType, expected.dataType):
            kind = ChangeKind.WIDENED
        elif is_wider(expected.dataType, found.dataType):
            kind = ChangeKind.NARROWED
        else:
            kind = ChangeKind.RETYPED
        yield _change(kind, expected, found)
    if found.nullable and not expected.nullable:
        yield _change(ChangeKind.NULLABLE, expected, found)


def _renamed(
    expected: StructField, position: int, added: list[StructField], found: StructType
) -> StructField | None:
    """Guess the new name of a column: a new one of its type at its position, or the only new one of its type."""
    alike = [field for field in added if field.dataType == expected.dataType]
    in_place = [field for field in alike if found.fields.index(field) == position]
    return next(iter(in_place or (alike if len(alike) == 1 else ())), None)


def _is_tolerated(change: SchemaChange, expectation: Expectation) -> bool:
    if expectation.policy is OnSchemaChange.FAIL:
        return False
    if expectation.policy is OnSchemaChange.EVOLVE:
        return change.kind in expectation.evolves
    gone = change.kind in (ChangeKind.DROPPED, ChangeKind.RENAMED)
    return not (gone and change.expected is not None and not change.expected.nullable)


def _column(expected: StructField, found: StructType, *, follows: bool) -> Column:
    names = {field.name.lower(): field for field in found}
    field = names.get(expected.name.lower())
    if field is None:
        return lit(None).cast(expected.dataType).alias(expected.name)
    column = col(quoted(field.name))
    if not follows and field.dataType != expected.dataType:
        column = column.cast(expected.dataType)
    return column.alias(expected.name)


def _refusal(refused: list[SchemaChange], expectation: Expectation) -> str:
    lines = [f"its columns are not those {expectation.whose}"]
    lines += [f"  {change}" for change in refused]
    lines.append(
        f"  allowed: {ddl(expectation.schema)} (on_schema_change={expectation.policy.value!r})"
    )
    kinds = {change.kind for change in refused}
    if expectation.policy is OnSchemaChange.FAIL and kinds <= expectation.evolves:
        lines.append("  hint: on_schema_change='evolve' accepts these changes")
    elif expectation.policy is not OnSchemaChange.IGNORE:
        lines.append("  hint: on_schema_change='ignore' keeps exactly the expected columns")
    return "\n".join(lines)


def _change(
    kind: ChangeKind, expected: StructField | None, found: StructField | None
) -> SchemaChange:
    field = expected or found
    assert field is not None
    return SchemaChange(kind=kind, column=field.name, expected=expected, found=found)


def _type(field: StructField | None) -> str:
    return "no such column" if field is None else type_words(field.dataType)


def _same_but_null(one: DataType, other: DataType) -> bool:
    """Whether nested types differ only in nullability: Spark's readers make everything nested nullable."""
    return one.simpleString() == other.simpleString()
