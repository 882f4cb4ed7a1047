"""Staged results with rows, written by Arrow instead of Spark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from graph_compiler.deployment.documents.descriptor import ExecutionAttempt
from graph_compiler.deployment.documents.manifest import VERSION, DataFile, Manifest, ManifestPartition
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.identifiers import IntermediateDataSetId
from graph_compiler.staging.store.local_store import LocalStore

RESULT = IntermediateDataSetId("ab" * 16 + "-0")
EXECUTION = "e0"


def schema_of(*fields: tuple[str, Any]) -> str:
    """Return Spark's schema JSON."""
    columns = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in fields]
    return json.dumps({"type": "struct", "fields": columns})


def stage_rows(
    layout: StagingLayout, schema: str, tables: Sequence[pa.Table], *, epoch: int = 0, row_group_size: int | None = None
) -> Manifest:
    """Write one partition for each table, and commit them."""
    folder = Path(layout.data(RESULT, epoch=epoch, execution_id=EXECUTION))
    folder.mkdir(parents=True)
    partitions = []
    for index, table in enumerate(tables):
        path = folder / f"part-{index:05}-x.snappy.parquet"
        parquet.write_table(table, path, row_group_size=row_group_size)
        file = DataFile(name=path.name, rows=table.num_rows, bytes=path.stat().st_size)
        partitions.append(ManifestPartition(index=index, files=(file,)))
    manifest = Manifest(
        version=VERSION,
        result_id=RESULT,
        epoch=epoch,
        parent_epoch=None,
        attempt=ExecutionAttempt(execution_id=EXECUTION, attempt_number=0),
        plan_id="plan",
        fingerprint="f",
        location=str(folder),
        schema=schema,
        partitions=tuple(partitions),
        checksum=None,
        contracts=(),
    )
    commit(layout, manifest)
    return manifest


def commit(layout: StagingLayout, manifest: Manifest) -> None:
    """Store a manifest under its epoch."""
    key = layout.manifest(RESULT, manifest.epoch)
    assert LocalStore().put_if_absent(key, to_json(manifest).encode())


def recommit(layout: StagingLayout, manifest: Manifest, **changed: Any) -> None:
    """Replace a manifest, as no program of ours does; `files` are those of its only partition."""
    if files := changed.pop("files", None):
        changed["partitions"] = (ManifestPartition(index=0, files=files),)
    Path(layout.manifest(RESULT, manifest.epoch)).unlink()
    commit(layout, replace(manifest, **changed))
