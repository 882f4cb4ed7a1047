"""A table of Delta Lake on a disk that this process sees, by deltalake: its log is read, and no file with rows."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from graph_compiler.declaration.connectors.delta import CHANGE_FEED, COMPUTED, Delta
from graph_compiler.declaration.connectors.file_uris import local_path, why_not_local
from graph_compiler.lake_metadata.column_types import column_ddl
from graph_compiler.lake_metadata.table_state import NoTable, NotAskedError, TableAnswer, TableState

_LOG = "_delta_log"
_SPARKS = {"long": "BIGINT", "integer": "INT", "short": "SMALLINT", "byte": "TINYINT"}
"""Names of types in the log that SQL calls otherwise."""


def state_of(connector: Delta, properties: Mapping[str, str]) -> TableAnswer:  # noqa: ARG001  # it has no catalog
    """Ask a table; raises NotAskedError, deltalake's errors and OSError."""
    if connector.is_named:
        raise NotAskedError("only Spark's catalog knows where it is")
    folder = local_path(connector.path)
    if folder is None:
        raise NotAskedError(f"{why_not_local(connector.path)}, and only tables on a disk are asked")
    try:
        entries = os.listdir(Path(folder, _LOG))  # deltalake says the same of a missing folder and of missing rights
    except (FileNotFoundError, NotADirectoryError):
        return NoTable()
    if not any(name.endswith((".json", ".parquet")) for name in entries):
        return NoTable()
    table = DeltaTable(str(folder))
    metadata, fields = table.metadata(), _fields(table)
    last = table.version()
    asked = connector.version if connector.since is None else max(connector.since, connector.version or 0)
    missing_version = None if asked is None or asked <= last else str(asked)
    return TableState(
        id=str(metadata.id),
        commit=last,
        columns=_ddl(fields),
        read=_read(connector, str(folder), fields, missing_version),
        partitions=tuple(metadata.partition_columns),
        versions=("0", str(last)),
        missing_version=missing_version,
        records_changes=metadata.configuration.get(CHANGE_FEED, "").lower() == "true",
        computed=tuple(
            str(each["name"]) for each in fields if any(key in each.get("metadata", {}) for key in COMPUTED)
        ),
    )


def _read(connector: Delta, folder: str, current: list[Any], missing_version: str | None) -> str | None:
    """Return the columns of the version that a source reads; None if it is not known which one that is."""
    if missing_version is not None or connector.timestamp is not None:  # Delta's own rule finds the version of a time
        return None
    if connector.version is None:
        return _ddl(current)
    return _ddl(_fields(DeltaTable(folder, version=connector.version)))


def _fields(table: DeltaTable) -> list[Any]:
    fields: list[Any] = json.loads(table.schema().to_json())["fields"]
    return fields


def _ddl(fields: list[Any], between: str = " ") -> str:
    return ", ".join(
        column_ddl(each["name"], _type(each["type"]), is_required=not each["nullable"], between=between)
        for each in fields
    )


def _type(type: Any) -> str:
    """Return Spark's type of one in the log, which is JSON."""
    match type:
        case {"type": "struct", "fields": fields}:
            return f"STRUCT<{_ddl(fields, ': ')}>"
        case {"type": "array", "elementType": element}:
            return f"ARRAY<{_type(element)}>"
        case {"type": "map", "keyType": key, "valueType": value}:
            return f"MAP<{_type(key)}, {_type(value)}>"
    name = str(type)
    return _SPARKS.get(name, name.upper())
