"""A staged result as the view shows it, from its last committed manifest, without rows."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from graph_compiler.deployment.documents.manifest import Manifest
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.errors import PartitionNotFoundError
from graph_compiler.explain.documents.view_answers import Column, Partition, StagedResult
from graph_compiler.identifiers import IntermediateDataSetId
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.store.stores import store_of

# The requested id becomes part of a path.
_RESULT_ID = re.compile(r"[0-9a-f]{32}-[0-9]{1,9}")


def find_result(layout: StagingLayout, result: str, *, rows_are_shown: bool) -> StagedResult | None:
    """Return the last commit of a result; None if there is none, or if the id is not valid."""
    manifest = find_manifest(layout, result)
    return None if manifest is None else _view(manifest, rows_are_shown)


def find_manifest(layout: StagingLayout, result: str) -> Manifest | None:
    """Return the last committed manifest of a result; raises StagingError if it cannot be read, and OSError."""
    if _RESULT_ID.fullmatch(result) is None:
        return None
    log = ManifestLog(store=store_of(layout.root), layout=layout)
    return log.latest_or_why_not(IntermediateDataSetId(result))


def _view(manifest: Manifest, rows_are_shown: bool) -> StagedResult:
    return StagedResult(
        result=manifest.result_id,
        schema=tuple(view_column(field) for field in fields_of(manifest)),
        rows=manifest.rows,
        bytes=manifest.bytes,
        epoch=manifest.epoch,
        partitions=tuple(
            Partition(
                rows=sum(file.rows for file in partition.files),
                bytes=sum(file.bytes for file in partition.files),
            )
            for partition in manifest.partitions
        ),
        checksum=manifest.checksum,
        rows_are_shown=rows_are_shown,
    )


def fields_of(manifest: Manifest) -> list[Mapping[str, Any]]:
    """Return the fields of a manifest's schema; raises PartitionNotFoundError if it is not a struct."""
    try:
        fields = json.loads(manifest.schema).get("fields")
        names = [field["name"] for field in fields]
        kinds = [_words(field["type"]) for field in fields]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        names, kinds = [], [""]
    if len(names) != len(kinds) or not all(isinstance(name, str) for name in names):
        raise PartitionNotFoundError(
            f"the manifest of epoch {manifest.epoch} of {manifest.result_id} has a schema that is not a struct"
        )
    return list(fields)


def view_column(field: Mapping[str, Any]) -> Column:
    """Return a column from a field of Spark's schema JSON; nullable unless it says otherwise."""
    nullable = field.get("nullable") is not False
    return Column(name=field["name"], type=_words(field["type"]), nullable=nullable)


def _words(type: Any) -> str:
    """Return the simple string of a type in Spark's schema JSON: `array<struct<a:bigint>>`."""
    match type:
        case {"type": "array", "elementType": element}:
            return f"array<{_words(element)}>"
        case {"type": "map", "keyType": key, "valueType": value}:
            return f"map<{_words(key)},{_words(value)}>"
        case {"type": "struct", "fields": fields}:
            inner = ",".join(f"{field['name']}:{_words(field['type'])}" for field in fields)
            return f"struct<{inner}>"
        case {"type": "udt"}:
            return "a user-defined type"
        case _:
            return str(type)
