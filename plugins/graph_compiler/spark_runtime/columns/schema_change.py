"""Differences between expected and found columns, and how each policy handles them.

    expected  carrier STRING, delay INT        found  carrier STRING, delay BIGINT, gate STRING
    →  delay WIDENED, gate ADDED               fail: refused   evolve: as found   ignore: carrier, delay (as INT)

Fields of structs are compared like columns, at every depth: `pos.lat`, `items.element.price`, `prices.value.net`.
`OnSchemaChange` documents each policy for a source and for a sink.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import chain

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql.functions import col
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from graph_compiler.declaration.connectors import OnSchemaChange
from graph_compiler.declaration.connectors.connector import ChangeKind
from graph_compiler.errors import SchemaChangedError
from graph_compiler.identifiers import listing, quoted
from graph_compiler.spark_runtime.columns.alignment import align, as_nullable, by_name, merged
from graph_compiler.spark_runtime.columns.declared_schema import ddl, type_words
from graph_compiler.spark_runtime.columns.exact_casts import is_wider


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaChange:
    """One column that differs, by its dotted path; `expected` or `found` is None if there is no such column."""

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

    @property
    def is_of_type(self) -> bool:
        """Whether the column is there, with another type."""
        return self.kind in (ChangeKind.WIDENED, ChangeKind.NARROWED, ChangeKind.RETYPED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where rows come from, for a refusal: `file_with` returns a file that has a change, None if that is not known.

    `place` is named if no file is: a folder or a table.
    """

    file_with: Callable[[SchemaChange], str | None] = lambda _: None
    notes: tuple[str, ...] = ()
    place: str | None = None


UNKNOWN = Origin()


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """The expected columns of a DataFrame, and what may differ under EVOLVE.

    `target` names a sink's target whose columns they are; None if they are declared.
    """

    schema: StructType
    policy: OnSchemaChange
    evolves: frozenset[ChangeKind]
    follows: frozenset[ChangeKind] = frozenset()
    """The tolerated type changes that keep the found type; otherwise rows are cast to the expected type."""
    target: str | None = None
    is_sink: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Rows with their schema, which may be more exact than that of the DataFrame (with NOT NULL)."""

    rows: DataFrame
    schema: StructType


def find_changes(expected: StructType, found: StructType) -> tuple[SchemaChange, ...]:
    """Return every column and field that differs: the expected ones in their order, then the additional ones.

    Added fields of a struct come after those that are expected in it.
    """
    return tuple(_in_struct(expected, found, ""))


def conform(parts: Sequence[Part], expectation: Expectation, origin: Origin = UNKNOWN) -> DataFrame:
    """Return the rows of all parts with the expected columns; raises SchemaChangedError with all problems.

    The parts' columns may differ in type only. Expected columns come first, under their expected names and in their
    order; so do the fields of structs.
    """
    schemas = [part.schema for part in parts]
    changes = _distinct(find_changes(expectation.schema, schema) for schema in schemas)
    refused = [change for change in changes if not _is_tolerated(change, expectation)]
    wanted = expectation.schema
    if expectation.policy is OnSchemaChange.EVOLVE:
        for schema in schemas:
            wanted = followed(wanted, schema, expectation.follows)
        refused = refused or _distinct(map(partial(_irreconcilable, wanted), schemas))
    if refused:
        raise SchemaChangedError(_refusal(refused, changes, schemas, expectation, origin))
    try:
        aligned = [align(part.rows, wanted) for part in parts]
        if expectation.target is not None:
            aligned = [_with_nullable_fields(rows) for rows in aligned]
    except AnalysisException as error:
        if not (error.getCondition() or "").startswith("DATATYPE_MISMATCH"):
            raise
        refused = [change for change in changes if change.kind is ChangeKind.RETYPED]
        no_cast = f"on_schema_change={expectation.policy.value!r} casts, and Spark has no cast between these types"
        origin = replace(origin, notes=(*origin.notes, no_cast))
        said = _refusal(refused, changes, schemas, expectation, origin)
        raise SchemaChangedError(said) from None
    return reduce(DataFrame.union, aligned)


def _with_nullable_fields(rows: DataFrame) -> DataFrame:
    """Return rows whose structs have no NOT NULL inside: some files of the target may not have these fields.

    Spark reads them as NULL in any case; pyarrow refuses a REQUIRED field that another file does not have. Only
    nullability differs between the types, so Spark's cast changes no value.
    """
    structs = {
        field.name: col(quoted(field.name)).cast(as_nullable(field.dataType))
        for field in rows.schema
        if field.dataType != as_nullable(field.dataType)
    }
    return rows.withColumns(structs) if structs else rows


def common_schema(schemas: Sequence[StructType]) -> StructType | None:
    """Return the columns of all schemas, each with the widest of its types; None if no type is the widest."""
    common = reduce(partial(followed, follows=frozenset({ChangeKind.WIDENED})), schemas)
    return None if any(_irreconcilable(common, schema) for schema in schemas) else common


def _irreconcilable(common: StructType, schema: StructType) -> tuple[SchemaChange, ...]:
    """Return the columns whose values a common type does not hold."""
    changes = find_changes(common, schema)
    return tuple(one for one in changes if one.kind in (ChangeKind.WIDENED, ChangeKind.RETYPED))


def followed(expected: StructType, found: StructType, follows: frozenset[ChangeKind]) -> StructType:
    """Return the expected columns, then the added ones, at every depth; a WIDENED type that is followed as found."""
    there = by_name(found)
    fields = []
    for field in expected:
        other = there.pop(field.name.lower(), None)
        kind = field.dataType
        if other is not None:
            kind = _followed(kind, other.dataType, follows)
        fields.append(StructField(field.name, kind, field.nullable))
    return StructType([*fields, *there.values()])


def _followed(expected: DataType, found: DataType, follows: frozenset[ChangeKind]) -> DataType:
    if isinstance(expected, StructType) and isinstance(found, StructType):
        return followed(expected, found, follows)
    if isinstance(expected, ArrayType) and isinstance(found, ArrayType):
        return ArrayType(_followed(expected.elementType, found.elementType, follows))
    if isinstance(expected, MapType) and isinstance(found, MapType):
        return MapType(
            _followed(expected.keyType, found.keyType, follows), _followed(expected.valueType, found.valueType, follows)
        )
    return found if ChangeKind.WIDENED in follows and is_wider(found, expected) else expected


def _in_struct(expected: StructType, found: StructType, path: str) -> Iterator[SchemaChange]:
    there, here = by_name(found), by_name(expected)
    added = _Added.of(found, here)
    for position, field in enumerate(expected):
        other = there.get(field.name.lower())
        if other is not None:
            yield from _of_column(f"{path}{field.name}", field, other)
        elif (renamed := added.pick(field, position)) is not None:
            yield _change(ChangeKind.RENAMED, path, field, renamed)
        else:
            yield _change(ChangeKind.DROPPED, path, field, None)
    yield from (_change(ChangeKind.ADDED, path, None, field) for field in added.left())


def _of_column(path: str, expected: StructField, found: StructField) -> Iterator[SchemaChange]:
    one, other = expected.dataType, found.dataType
    if isinstance(one, StructType) and isinstance(other, StructType):
        yield from _in_struct(one, other, f"{path}.")
    elif isinstance(one, ArrayType) and isinstance(other, ArrayType):
        yield from _of_inner(f"{path}.element", one.elementType, other.elementType)
    elif isinstance(one, MapType) and isinstance(other, MapType):
        yield from _of_inner(f"{path}.key", one.keyType, other.keyType)
        yield from _of_inner(f"{path}.value", one.valueType, other.valueType)
    elif one != other:
        kind = ChangeKind.RETYPED
        if is_wider(other, one):
            kind = ChangeKind.WIDENED
        elif is_wider(one, other):
            kind = ChangeKind.NARROWED
        yield SchemaChange(kind=kind, column=path, expected=expected, found=found)
    if found.nullable and not expected.nullable:
        yield SchemaChange(kind=ChangeKind.NULLABLE, column=path, expected=expected, found=found)


def _of_inner(path: str, expected: DataType, found: DataType) -> Iterator[SchemaChange]:
    """Compare elements, keys or values: whether they may be NULL is not compared, since DDL cannot declare it."""
    name = path.rpartition(".")[2]
    yield from _of_column(path, StructField(name, expected), StructField(name, found))


@dataclass(frozen=True, slots=True)
class _Added:
    """New columns by their types, each with its position: thousands are looked up in the time of thousands."""

    by_type: dict[str, dict[int, StructField]]

    @classmethod
    def of(cls, found: StructType, expected: Container[str]) -> _Added:
        by_type: dict[str, dict[int, StructField]] = {}
        for position, field in enumerate(found):
            if field.name.lower() not in expected:
                by_type.setdefault(field.dataType.json(), {})[position] = field
        return cls(by_type)

    def pick(self, expected: StructField, position: int) -> StructField | None:
        """Guess the new name of a column: a new one of its type at its position, or the only new one of its type."""
        alike = self.by_type.get(expected.dataType.json(), {})
        if position in alike:
            return alike.pop(position)
        return alike.popitem()[1] if len(alike) == 1 else None

    def left(self) -> list[StructField]:
        """Return those that were not picked, in their order."""
        left = {at: field for alike in self.by_type.values() for at, field in alike.items()}
        return [left[at] for at in sorted(left)]


def _distinct(found: Iterable[tuple[SchemaChange, ...]]) -> list[SchemaChange]:
    return list({str(change): change for change in chain.from_iterable(found)}.values())


def _is_tolerated(change: SchemaChange, expectation: Expectation) -> bool:
    if expectation.policy is OnSchemaChange.FAIL:
        return False
    if expectation.policy is OnSchemaChange.EVOLVE:
        return change.kind in expectation.evolves
    return not _never_ignored(change)


def _never_ignored(change: SchemaChange) -> bool:
    """Whether a column is missing that must not be NULL."""
    gone = change.kind in (ChangeKind.DROPPED, ChangeKind.RENAMED)
    return gone and change.expected is not None and not change.expected.nullable


def _refusal(
    refused: Sequence[SchemaChange],
    changes: Sequence[SchemaChange],
    schemas: Sequence[StructType],
    expectation: Expectation,
    origin: Origin,
) -> str:
    target, policy = expectation.target, expectation.policy
    lines = [line for change in refused for line in _lines(change, origin)]
    if origin.place is not None and len(lines) == len(refused):
        lines.append(f"  read from: {origin.place}")
    whose = "that are declared" if target is None else f"that {target} has"
    return "\n".join(
        [
            f"its columns are not those {whose}",
            *lines,
            f"  allowed: {ddl(expectation.schema)} (on_schema_change={policy.value!r})",
            *(f"  {note}" for note in origin.notes),
            *(f"  hint: {hint}" for hint in _hints(changes, schemas, expectation)),
        ]
    )


def _lines(change: SchemaChange, origin: Origin) -> Iterator[str]:
    yield f"  {change}"
    if file := origin.file_with(change):
        yield f"    file: {file}"


def _hints(changes: Sequence[SchemaChange], schemas: Sequence[StructType], expectation: Expectation) -> Iterator[str]:
    """Yield ways to accept the changes that lose nothing, and what 'ignore' does to the rows.

    'ignore' is not proposed for a column that was renamed: it would be NULL, and its values lost.
    """
    kinds, policy = {change.kind for change in changes}, expectation.policy
    common = common_schema(schemas)
    if policy is OnSchemaChange.FAIL and kinds <= expectation.evolves:
        yield "on_schema_change='evolve' accepts these changes"
    elif expectation.target is not None:
        yield from _hints_of_target(changes, expectation)
    elif common is not None:
        also = ", and on_schema_change='evolve'" if len(schemas) > 1 else ""
        yield f'to accept them, declare schema="{ddl(_accepting(expectation.schema, common))}"{also}'
    if policy is OnSchemaChange.IGNORE or ChangeKind.RENAMED in kinds:
        return
    if not any(map(_never_ignored, changes)):
        yield f"on_schema_change='ignore' {_and(_losses(changes, expectation))}"


def _hints_of_target(changes: Sequence[SchemaChange], expectation: Expectation) -> Iterator[str]:
    """Yield what to do before the sink, or to its target."""
    renamed = {
        change.found.name: change.column
        for change in changes
        if change.kind is ChangeKind.RENAMED and change.found is not None
    }
    if renamed and not any("." in column for column in renamed.values()):
        yield f"before the sink, give columns the names they have in the target: rename({json.dumps(renamed)})"
    added = [change.column for change in changes if change.kind is ChangeKind.ADDED]
    if added and ChangeKind.ADDED not in expectation.evolves:
        yield (
            f"a table is never altered here: add {listing(added)} to it (ALTER TABLE … ADD COLUMN), "
            "and the next try writes all columns"
        )
    yield "change the rows before the sink (select, cast), or write them to another target"


def _losses(changes: Sequence[SchemaChange], expectation: Expectation) -> Iterator[str]:
    """Yield what 'ignore' does to the rows."""
    to_target = expectation.target is not None
    if extra := [change.column for change in changes if change.expected is None]:
        lost = ", whose values are not written" if expectation.is_sink else ""
        yield f"leaves out {listing(extra)}{lost}"
    if gone := [change.column for change in changes if change.found is None]:
        over = " (mode merge: over the values that the target has)" if to_target else ""
        yield f"{'writes' if expectation.is_sink else 'reads'} {listing(gone)} as NULL{over}"
    if cast := [change.column for change in changes if change.is_of_type]:
        yield f"casts {listing(cast)}, and fails if a value does not fit"
    if null := [change.column for change in changes if change.kind is ChangeKind.NULLABLE]:
        yield f"takes NULL in {listing(null)}"


def _and(words: Iterator[str]) -> str:
    *first, last = words
    return f"{', '.join(first)}, and {last}" if first else last


def _accepting(expected: StructType, found: StructType) -> StructType:
    """Return what would have to be declared: the expected columns that are there, then the others, as found."""
    there = by_name(found)
    kept = [
        StructField(field.name, _type_accepting(field.dataType, other.dataType), field.nullable or other.nullable)
        for field in expected
        if (other := there.pop(field.name.lower(), None))
    ]
    return StructType([*kept, *there.values()])


def _type_accepting(expected: DataType, found: DataType) -> DataType:
    return merged(expected, found, _accepting, lambda _expected, theirs: theirs)


def _change(kind: ChangeKind, path: str, expected: StructField | None, found: StructField | None) -> SchemaChange:
    field = expected or found
    assert field is not None
    return SchemaChange(kind=kind, column=f"{path}{field.name}", expected=expected, found=found)


def _type(field: StructField | None) -> str:
    return "no such column" if field is None else type_words(field.dataType)
