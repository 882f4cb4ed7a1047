"""The files of a staged result, as its last manifest names them: no other file is ever opened for its rows."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from graph_compiler.airflow_backend.web.staged_result import find_manifest
from graph_compiler.deployment.commit_store import LocalCommitStore
from graph_compiler.deployment.damage import find_damage
from graph_compiler.deployment.hadoop_checksums import why_checksums_differ
from graph_compiler.deployment.manifest import DataFile, Manifest
from graph_compiler.deployment.release import find_release
from graph_compiler.deployment.staging_layout import StagingLayout
from graph_compiler.errors import PartitionNotFoundError

_MOST_VOUCHED_FOR = 1 << 30
"""Bytes of a file whose checksums are read, 1/128 of it; of larger ones only the pages that are shown are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedFiles:
    """One committed epoch, and the folder its files lie in, which is named here and not read from a document."""

    manifest: Manifest
    folder: Path

    def paths(self) -> Iterator[Path]:
        """Give the files that hold rows, in the order of partitions, each looked at when it is asked for.

        Raises PartitionNotFoundError for one that is not as it was committed, and OSError.
        """
        for file in self.manifest.files:
            if file.rows:
                yield self._path(file)

    def _path(self, file: DataFile) -> Path:
        if Path(file.name).name != file.name:
            raise PartitionNotFoundError(f"'{file.name}' is no file of a staged result")
        try:
            path = (self.folder / file.name).resolve(strict=True)
            status = path.stat()
        except FileNotFoundError:
            raise self._gone(file, "is not there any more") from None
        if path.parent != self.folder.resolve() or not stat.S_ISREG(status.st_mode):
            raise self._gone(file, "lies elsewhere")
        if status.st_size != file.bytes:
            raise self._gone(file, f"has {status.st_size} bytes, not {file.bytes}")
        digest = file.checksums if file.bytes <= _MOST_VOUCHED_FOR else None
        if digest is not None and (why := why_checksums_differ(path, digest)):
            raise self._gone(file, f"cannot be trusted: {why}")
        return path

    def _gone(self, file: DataFile, words: str) -> PartitionNotFoundError:
        manifest = self.manifest
        return PartitionNotFoundError(
            f"the rows cannot be shown: file {file.name} of epoch {manifest.epoch} of {manifest.result_id} {words}"
        )


def find_rows(layout: StagingLayout, result: str) -> StagedFiles | None:
    """Give the last committed epoch of a result, None where there is none.

    Raises PartitionNotFoundError for one that was released, DescriptorError, OSError.
    """
    manifest = find_manifest(layout, result)
    if manifest is None:
        return None
    key = (LocalCommitStore(), layout, manifest.result_id, manifest.epoch)
    gone = find_release(*key) or find_damage(*key)
    if gone is not None:
        raise PartitionNotFoundError(gone.words())
    if manifest.result_id != result:
        raise PartitionNotFoundError(f"the manifest of {result} is of {manifest.result_id}")
    folder = layout.data(
        manifest.result_id, epoch=manifest.epoch, execution_id=manifest.attempt.execution_id
    )
    return StagedFiles(manifest=manifest, folder=Path(folder))
