"""The files of a staged result that its last manifest names: the rows of other files are never read."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from graph_compiler.declaration.connectors.file_uris import local_path
from graph_compiler.deployment.documents.manifest import DataFile, Manifest
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.errors import DamagedDocumentError, PartitionNotFoundError
from graph_compiler.explain.documents.view_answers import Column, Partition, StagedResult
from graph_compiler.identifiers import IntermediateDataSetId
from graph_compiler.staging.results.manifest_log import ManifestLog, find_damage
from graph_compiler.staging.results.release import find_release
from graph_compiler.staging.store.bounded_read import open_regular
from graph_compiler.staging.store.hadoop_checksums import why_checksums_differ
from graph_compiler.staging.store.stores import store_of

_MOST = 2**62  # no limit: only some pages are read, not the whole file

_MOST_FETCHED = 1 << 26
"""The largest file that is fetched from an object store to show some of its rows."""
_MOST_VOUCHED_FOR = 1 << 30
"""Files up to this size have all their checksums (1/128 of them) checked; in larger ones, only the shown pages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedFiles:
    """One committed epoch, and the folder of its files, which is derived here and not read from a document."""

    manifest: Manifest
    folder: str

    @contextmanager
    def opened_for(self, rows: int) -> Iterator[tuple[tuple[BinaryIO, ...], str | None]]:
        """Yield the files that contain the first rows, in the order of partitions, and why the next one cannot be read.

        The files are open within the block.
        """
        opened: list[BinaryIO] = []
        gone = None
        with ExitStack() as stack:
            for file in (file for file in self.manifest.files if file.rows):
                if rows <= 0:
                    break
                rows -= max(1, file.rows)
                try:
                    opened.append(stack.enter_context(self._open(file)))
                except PartitionNotFoundError as error:
                    gone = str(error)
                    break
            yield tuple(opened), gone

    def _open(self, file: DataFile) -> BinaryIO:
        """Open a file of this folder, or a copy of it if the folder is in an object store."""
        if Path(file.name).name != file.name:
            raise PartitionNotFoundError(f"'{file.name}' is not a file of a staged result")
        return self._open_file(file) if local_path(self.folder) else self._fetch(file)

    def _fetch(self, file: DataFile) -> BinaryIO:
        """Copy a file into this process's memory; raises PartitionNotFoundError if it is too large for that."""
        store, key = store_of(self.folder), f"{self.folder}/{file.name}"
        if file.bytes > _MOST_FETCHED:
            limit = f"more than the {_MOST_FETCHED:,} that are fetched for a page"
            raise self._gone(file, f"has {file.bytes:,} bytes, {limit}")
        if file.checksums is not None and (why := store.why_differs(key, file.checksums)):
            raise self._gone(file, f"cannot be trusted: {why}")
        content = store.get(key, most=_MOST_FETCHED)
        if content is None or len(content) != file.bytes:
            found = "no longer exists" if content is None else f"has {len(content)} bytes"
            raise self._gone(file, f"{found}, not {file.bytes}" if content else found)
        copy = TemporaryFile()  # noqa: SIM115  # the caller's block closes it
        copy.write(content)
        copy.seek(0)
        return copy

    def _open_file(self, file: DataFile) -> BinaryIO:
        """Open a file that is not a link, so that the checked file is the one that is read."""
        path = Path(self.folder, file.name)
        try:
            opened = open_regular(str(path), most=_MOST)
        except DamagedDocumentError as error:
            raise self._gone(file, error.why) from None
        if opened is None:
            raise self._gone(file, "no longer exists")
        found = open(opened, "rb")  # noqa: SIM115  # the caller's block closes it
        if (size := os.fstat(opened).st_size) != file.bytes:
            found.close()
            raise self._gone(file, f"has {size} bytes, not {file.bytes}")
        if why := _why_not_trusted(path, file):
            found.close()
            raise self._gone(file, f"cannot be trusted: {why}")
        return found

    def _gone(self, file: DataFile, words: str) -> PartitionNotFoundError:
        manifest = self.manifest
        return PartitionNotFoundError(
            f"the rows cannot be shown: file {file.name} of epoch {manifest.epoch} of {manifest.result_id} {words}"
        )


def find_rows(layout: StagingLayout, result: str) -> StagedFiles | None:
    """Return the last committed epoch of a result; None if there is none.

    Raises StagingError if it was released or cannot be read, and OSError.
    """
    manifest = find_manifest(layout, result)
    if manifest is None:
        return None
    key = (store_of(layout.root), layout, manifest.result_id, manifest.epoch)
    gone = find_release(*key) or find_damage(*key)
    if gone is not None:
        raise PartitionNotFoundError(gone.words())
    if manifest.result_id != result:
        raise PartitionNotFoundError(f"the manifest of {result} is of {manifest.result_id}")
    folder = layout.data(manifest.result_id, epoch=manifest.epoch, execution_id=manifest.attempt.execution_id)
    return StagedFiles(manifest=manifest, folder=folder)


def _why_not_trusted(path: Path, file: DataFile) -> str | None:
    digest = file.checksums if file.bytes <= _MOST_VOUCHED_FOR else None
    return None if digest is None else why_checksums_differ(path, digest)


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
                rows=sum(file.rows for file in partition.files), bytes=sum(file.bytes for file in partition.files)
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
