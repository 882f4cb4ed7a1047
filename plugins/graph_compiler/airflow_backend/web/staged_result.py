"""A staged result as the view shows it: what its last committed manifest says. No rows."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graph_compiler.deployment.commit_store import LocalCommitStore
from graph_compiler.deployment.manifest import Manifest
from graph_compiler.deployment.manifest_log import ManifestLog
from graph_compiler.deployment.staging_layout import StagingLayout
from graph_compiler.identifiers import IntermediateDataSetId

# What is asked for becomes a part of a path.
_RESULT_ID = re.compile(r"[0-9a-f]{32}-[0-9]{1,9}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewColumn:
    """One column; `type` in Spark's own words."""

    name: str
    type: str
    nullable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewPartition:
    """One partition."""

    rows: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewResult:
    """One committed epoch of a result. `rows_are_shown` to who asks, if they ask for them."""

    result: IntermediateDataSetId
    schema: tuple[ViewColumn, ...]
    rows: int
    bytes: int
    epoch: int
    partitions: tuple[ViewPartition, ...]
    checksum: str | None
    rows_are_shown: bool


def find_result(layout: StagingLayout, result: str, *, rows_are_shown: bool) -> ViewResult | None:
    """Give what the last commit of a result holds, None where there is none, or no such result can be."""
    manifest = find_manifest(layout, result)
    return None if manifest is None else _view(manifest, rows_are_shown)


def find_manifest(layout: StagingLayout, result: str) -> Manifest | None:
    """Give the last committed manifest of a result."""
    if _RESULT_ID.fullmatch(result) is None:
        return None
    log = ManifestLog(store=LocalCommitStore(), layout=layout)
    return log.latest(IntermediateDataSetId(result))


def _view(manifest: Manifest, rows_are_shown: bool) -> ViewResult:
    return ViewResult(
        result=manifest.result_id,
        schema=tuple(view_column(field) for field in json.loads(manifest.schema)["fields"]),
        rows=manifest.rows,
        bytes=manifest.bytes,
        epoch=manifest.epoch,
        partitions=tuple(
            ViewPartition(
                rows=sum(file.rows for file in partition.files),
                bytes=sum(file.bytes for file in partition.files),
            )
            for partition in manifest.partitions
        ),
        checksum=manifest.checksum,
        rows_are_shown=rows_are_shown,
    )


def view_column(field: Mapping[str, Any]) -> ViewColumn:
    """Give a field of Spark's schema JSON."""
    return ViewColumn(name=field["name"], type=_words(field["type"]), nullable=field["nullable"])


def _words(type: Any) -> str:
    """Write a type of Spark's schema JSON as its simple string: `array<struct<a:bigint>>`."""
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
