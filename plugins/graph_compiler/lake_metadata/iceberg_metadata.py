"""A table of Iceberg, by pyiceberg: its catalog is asked, or the newest metadata file of one on this disk is read.

A snapshot has the columns that the table had when it was made, and a source reads one by them. What readers see of a
new table, and what a sink writes, has the columns of the table as it is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
from pyiceberg.schema import Schema
from pyiceberg.table import StaticTable, Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.types import IcebergType, ListType, MapType, StructType

from graph_compiler.declaration.connectors.file_uris import local_path
from graph_compiler.declaration.connectors.iceberg import Iceberg, partitions_words
from graph_compiler.lake_metadata.catalog_properties import catalog_kind, pyiceberg_properties
from graph_compiler.lake_metadata.column_types import column_ddl
from graph_compiler.lake_metadata.table_state import NoTable, NotAskedError, TableAnswer, TableState

_METADATA = re.compile(r"v(\d+)(\.gz)?\.metadata\.json(\.gz)?")
_MAIN = "main"
_SPARKS = {
    "long": "BIGINT",
    "uuid": "STRING",
    "timestamp": "TIMESTAMP_NTZ",
    "timestamptz": "TIMESTAMP",
    "unknown": "VOID",
}
"""Iceberg's types that Spark calls otherwise."""
_FIXED = re.compile(r"fixed\[\d+\]")


def state_of(connector: Iceberg, properties: Mapping[str, str]) -> TableAnswer:
    """Ask a table; raises NotAskedError, and errors of pyiceberg, of the database and of files."""
    table = _table(connector, properties)
    if table is None:
        return NoTable()
    current = table.current_snapshot()
    snapshot, missing_version = _asked_for(connector, table, current)
    since = "" if connector.since is None else str(connector.since)
    if since and not since.isdigit() and table.snapshot_by_name(since) is None:  # an id may have expired
        missing_version = since
    schema = _schema_of(table, snapshot)
    return TableState(
        id=str(table.metadata.table_uuid),
        commit=None if current is None else current.snapshot_id,
        columns=_ddl(table.schema()),
        read=None if missing_version is not None or schema is None else _ddl(schema),
        partitions=partitions_words(
            (str(each.transform), str(table.schema().find_column_name(each.source_id))) for each in table.spec().fields
        ),
        versions=tuple(sorted({_MAIN, *table.refs()})),
        missing_version=missing_version,
        numbers_commits=table.format_version > 1,
    )


def _table(connector: Iceberg, properties: Mapping[str, str]) -> Table | None:
    _, *names = connector.name.split(".")
    if catalog_kind(properties) == "hadoop":
        return _table_on_disk(names, properties)
    catalog = _catalog(connector.catalog_name, tuple(sorted(pyiceberg_properties(properties).items())))
    try:
        return catalog.load_table(tuple(names))
    except (NoSuchTableError, NoSuchNamespaceError):
        return None


@cache
def _catalog(name: str, properties: tuple[tuple[str, str], ...]) -> Catalog:
    """Return a catalog; its name is Spark's, by which a catalog in a database finds its tables."""
    return load_catalog(name, **dict(properties))


def _table_on_disk(names: list[str], properties: Mapping[str, str]) -> Table | None:
    """Return a table of a Hadoop catalog: the newest of its metadata files, since a commit creates the next one."""
    warehouse = local_path(properties.get("warehouse", ""))
    if warehouse is None:
        raise NotAskedError("its catalog is of type hadoop, and its warehouse is not on a disk")
    folder = Path(warehouse, *names, "metadata")
    try:
        files = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return None
    found = {int(match[1]): match[0] for match in map(_METADATA.fullmatch, files) if match}
    if not found:
        return None
    return StaticTable.from_metadata(str(folder / found[max(found)]))


def _asked_for(connector: Iceberg, table: Table, current: Snapshot | None) -> tuple[Snapshot | None, str | None]:
    """Return the snapshot that a source reads, and the version that it asks for in vain."""
    if connector.timestamp is not None:
        moment = datetime.fromisoformat(connector.timestamp)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        is_past = moment <= datetime.now(UTC)  # a driver refuses a time to come
        found = table.snapshot_as_of_timestamp(round(moment.timestamp() * 1000)) if is_past else None
        return found, connector.timestamp if found is None else None
    if connector.version is None:
        return current, None
    version = str(connector.version)
    found = table.snapshot_by_name(version)
    if found is None and version.isdigit():
        found = table.snapshot_by_id(int(version))
    return found, version if found is None else None


def _schema_of(table: Table, snapshot: Snapshot | None) -> Schema | None:
    """Return the columns of a snapshot, None if the table has forgotten them; those of a table without one."""
    if snapshot is None or snapshot.schema_id is None:
        return table.schema()
    return table.schemas().get(snapshot.schema_id)


def _ddl(schema: Schema) -> str:
    return ", ".join(column_ddl(each.name, _type(each.field_type), is_required=each.required) for each in schema.fields)


def _type(type: IcebergType) -> str:
    """Return Spark's type of an Iceberg type; one that Spark does not have as Iceberg calls it."""
    match type:
        case StructType():
            fields = (
                column_ddl(each.name, _type(each.field_type), is_required=each.required, between=": ")
                for each in type.fields
            )
            return f"STRUCT<{', '.join(fields)}>"
        case ListType():
            return f"ARRAY<{_type(type.element_type)}>"
        case MapType():
            return f"MAP<{_type(type.key_type)}, {_type(type.value_type)}>"
    name = str(type)
    return "BINARY" if _FIXED.fullmatch(name) else _SPARKS.get(name, name.replace(" ", "").upper())
