"""Problems of sources and sinks with the tables that are there: what a driver would refuse, before there is one.

Each is a pure function of the declaration and of what the table has answered. Columns are compared as the driver
compares them (`OnSchemaChange`), except for casts that Spark does not have.
"""

from __future__ import annotations

from collections.abc import Iterator

from graph_compiler.declaration.connectors import OnSchemaChange
from graph_compiler.declaration.connectors.connector import (
    FILES_EVOLVE,
    SOURCE_EVOLVES,
    ChangeKind,
    Connector,
    other_partitions,
)
from graph_compiler.declaration.connectors.delta import Delta, computed_columns, no_change_feed
from graph_compiler.declaration.connectors.iceberg import Iceberg, no_target, unnumbered_commits
from graph_compiler.declaration.operators import Operator, Sink, Source
from graph_compiler.declaration.operators.known_columns import Known
from graph_compiler.declaration.operators.merge import ENDS, STARTS
from graph_compiler.errors import Problem
from graph_compiler.identifiers import listing
from graph_compiler.lake_metadata.column_types import (
    ColumnDifference,
    StructOf,
    TypedColumn,
    UnreadDdlError,
    as_nullable_ddl,
    find_differences,
    known_struct,
    parse_columns,
    with_columns_added,
)
from graph_compiler.lake_metadata.table_state import NoTable, TableAnswer, TableState

_ONLY_SPARK_READS = "only Spark can read the form of its schema="
_OF_CHANGES = (
    TypedColumn("_change_type", "STRING", is_required=True),
    TypedColumn("_commit_version", "BIGINT", is_required=True),
)
"""Columns of a source that reads changes; whether they may be NULL is not compared."""


def table_problems(operator: Operator, answer: TableAnswer, given: Known) -> Iterator[Problem]:
    """Yield the problems of a source or a sink with its table; `given` are the columns of a sink's rows."""
    match operator, answer:
        case Source(connector=connector), NoTable():
            yield Problem(message=f"{connector.place} does not exist", hint=_create_hint(connector))
        case Source(), TableState():
            yield from _source_problems(operator, answer)
        case Sink(connector=Iceberg() as connector), NoTable() if not connector.create_if_missing:
            yield no_target(connector)
        case Sink(), TableState():
            yield from _sink_problems(operator, answer, given)


def why_not_compared(operator: Operator, answer: TableAnswer, given: Known) -> str | None:
    """Return why the columns of a table that has answered were not compared; None if they were, or need not be."""
    if not isinstance(answer, TableState) or answer.missing_version is not None:
        return None
    if isinstance(operator, Sink):
        is_known = _written(operator, given) is not None
        return None if is_known else "without schema=, only Spark knows the columns of its rows"
    if not isinstance(operator, Source) or operator.connector.schema is None:
        return None
    if answer.read is None:
        return "it is not known here which version it reads"
    return None if _declared(operator.connector) is not None else _ONLY_SPARK_READS


def _declared(connector: Connector) -> StructOf | None:
    """Return the declared columns; None without them, and if only Spark can read their form."""
    try:
        return None if connector.schema is None else parse_columns(connector.schema)
    except UnreadDdlError:
        return None


def _create_hint(connector: Connector) -> str:
    writes = f"a sink with {type(connector).__name__} creates it"
    return f"{writes}, with create_if_missing=True" if isinstance(connector, Iceberg) else writes


def _source_problems(source: Source, table: TableState) -> Iterator[Problem]:
    connector = source.connector
    if table.missing_version is not None:
        first, last = table.versions[0], table.versions[-1]
        of_delta = f"{first} to {last}"
        refs = f"{listing(table.versions)}, or the id of a snapshot that it still has"
        allowed = of_delta if isinstance(connector, Delta) else refs
        yield Problem(message=f"{connector.place} has no version {table.missing_version}", allowed=allowed)
    reads_changes = bool(getattr(connector, "changes", False))
    if reads_changes and isinstance(connector, Iceberg) and not table.numbers_commits:
        yield unnumbered_commits(connector)
    is_behind = getattr(connector, "since", None) is not None or source.has_position
    if reads_changes and isinstance(connector, Delta) and is_behind and not table.records_changes:
        yield no_change_feed(connector)
    declared = _declared(connector)
    if declared is None or table.read is None:
        return
    found = with_columns_added(parse_columns(table.read), _OF_CHANGES if reads_changes else ())
    for each in find_differences(declared, found):
        if not _is_tolerated(each, connector, is_sink=False):
            yield Problem(
                message=f"{each} ({connector.place}, compared with its schema=)",
                allowed=f"{table.read} (on_schema_change={_policy(connector).value!r})",
                hint=_evolve_hint(each, connector, is_sink=False),
            )


def _sink_problems(sink: Sink, table: TableState, given: Known) -> Iterator[Problem]:
    connector = sink.connector
    declared = connector.partitions if isinstance(connector, Iceberg) else getattr(connector, "partitioned_by", ())
    if wrong := other_partitions(connector.place, sink.mode, there=table.partitions, declared=declared):
        yield wrong
    if table.computed and isinstance(connector, Delta):
        yield computed_columns(connector, table.computed)
    written = _written(sink, given)
    if written is None:
        return
    held = as_nullable_ddl(parse_columns(table.columns))
    flag = None if sink.merge is None else sink.merge.apply_as_deletes
    for each in find_differences(held, written):
        if each.column != flag and not _is_tolerated(each, connector, is_sink=True):
            yield Problem(
                message=f"{each} (its rows, compared with {connector.place})",
                allowed=f"{table.columns} (on_schema_change={_policy(connector).value!r})",
                hint=_evolve_hint(each, connector, is_sink=True),
            )


def _written(sink: Sink, given: Known) -> StructOf | None:
    """Return the columns that a sink writes: the declared ones, else those of its rows; None if they are not known."""
    columns = _declared(sink.connector)
    if sink.connector.schema is None and given is not None:
        columns = known_struct(given)
    if columns is None or sink.merge is None or not sink.merge.keeps_history:
        return columns
    return with_columns_added(columns, [TypedColumn(STARTS, None), TypedColumn(ENDS, None)])


def _policy(connector: Connector) -> OnSchemaChange:
    return OnSchemaChange(connector.on_schema_change or OnSchemaChange.FAIL)


def _is_tolerated(difference: ColumnDifference, connector: Connector, *, is_sink: bool) -> bool:
    match _policy(connector):
        case OnSchemaChange.FAIL:
            return False
        case OnSchemaChange.EVOLVE:
            return difference.kind in (FILES_EVOLVE if is_sink else SOURCE_EVOLVES)
    expected = difference.expected
    return not (difference.kind is ChangeKind.DROPPED and expected is not None and expected.is_required)


def _evolve_hint(difference: ColumnDifference, connector: Connector, *, is_sink: bool) -> str | None:
    evolves = FILES_EVOLVE if is_sink else SOURCE_EVOLVES
    if _policy(connector) is OnSchemaChange.FAIL and difference.kind in evolves:
        return "on_schema_change='evolve' accepts this change"
    return None
