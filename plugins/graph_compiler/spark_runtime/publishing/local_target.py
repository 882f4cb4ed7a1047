"""A target on a disk: rows are written beside it, and renamed into it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pyspark.sql import DataFrame

from graph_compiler.spark_runtime.publishing.links import (
    find_in_the_way,
    names_to_remove,
    why_no_folder,
)
from graph_compiler.spark_runtime.publishing.written_files import (
    FileFormat,
    WrittenFile,
    published_name,
    read_aside,
    write_empty_file,
    write_files,
)
from graph_compiler.staging.publications.intent import Intent
from graph_compiler.staging.publications.on_disk.file_publication import carry_out, remove_empty
from graph_compiler.staging.publications.on_disk.listing import data_files
from graph_compiler.staging.publications.on_disk.mounts import preparation_folder

_WRITTEN, _READY = "written", "ready"  # as Spark wrote it, and under final names
_ASIDE = "aside"  # rows that are not merged yet


@dataclass(frozen=True)
class LocalTarget:
    """A folder of this host's file systems; `_room` is where all executions prepare files for it."""

    target: str

    @cached_property
    def _room(self) -> Path:
        return preparation_folder(Path(self.target))

    def why_unfit(self) -> str | None:
        """Return why it cannot be a folder of files, None if it can."""
        return why_no_folder(Path(self.target))

    def why_not_writable(self) -> str | None:
        """Return why files cannot be created: rows are prepared beside it, so its parent must be writable, too."""
        target = Path(self.target)
        nearest = next(folder for folder in self._room.parents if folder.exists())
        if not nearest.is_dir():
            return f"cannot be made: {nearest} is a file"
        closed = [
            folder for folder in (nearest, target) if folder.exists() and not _is_open(folder)
        ]
        return f"cannot be written: no permission for {closed[0]}" if closed else None

    def data_files(self) -> frozenset[str]:
        """Return the files that readers see now."""
        return data_files(Path(self.target))

    def prepared(self, execution: str) -> str:
        """Return an execution's folder, from which files can be renamed into the target."""
        return str(self._room / execution)

    def set_aside(
        self, execution: str, rows: DataFrame, format: FileFormat
    ) -> tuple[DataFrame, int]:
        """Write rows beside those that are published."""
        folder = f"{self.prepared(execution)}/{_ASIDE}"
        _, count = write_files(rows, folder, FileFormat(name=format.name, options=format.options))
        return read_aside(rows, format, folder), count

    def write(
        self, execution: str, rows: DataFrame, format: FileFormat
    ) -> tuple[tuple[WrittenFile, ...], int]:
        """Write rows, and compare the files with what was written."""
        return write_files(rows, self._written(execution), format)

    def write_empty(
        self, execution: str, rows: DataFrame, format: FileFormat
    ) -> tuple[WrittenFile, ...]:
        """Write a file without rows."""
        return write_empty_file(rows, self._written(execution), format)

    def arrange(
        self, execution: str, files: Sequence[WrittenFile], *, is_marker: bool
    ) -> tuple[str, ...]:
        """Move files under their final names, which contain the execution's, into a folder with nothing else."""
        names = {
            file.name: published_name(file, number, execution, is_marker=is_marker)
            for number, file in enumerate(files)
        }
        _arrange(names, Path(self.prepared(execution)))
        return tuple(names.values())

    def names_to_remove(
        self, gone: frozenset[str], replaces: tuple[str, ...], own: frozenset[str]
    ) -> frozenset[str]:
        """Return the names to unlink: links, if files of a replaced folder are behind them."""
        return names_to_remove(Path(self.target), gone, replaces, own)

    def find_in_the_way(
        self, add: Iterable[str], replaces: tuple[str, ...], remove: frozenset[str]
    ) -> frozenset[str]:
        """Return broken links, and files where folders must be."""
        return find_in_the_way(Path(self.target), add, replaces, remove)

    def carry_out(self, intent: Intent, is_open: Callable[[], bool]) -> None:
        """Rename the files into the target."""
        carry_out(intent, is_open)

    def discard(self, execution: str) -> None:
        """Remove an execution's folder."""
        folder = Path(self.prepared(execution))
        shutil.rmtree(folder, ignore_errors=True)
        remove_empty(folder)

    def _written(self, execution: str) -> str:
        return f"{self.prepared(execution)}/{_WRITTEN}"


def _arrange(names: Mapping[str, str], prepared: Path) -> None:
    ready = prepared / _READY
    ready.mkdir(parents=True)
    for written, name in names.items():
        (ready / name).parent.mkdir(parents=True, exist_ok=True)
        (prepared / _WRITTEN / written).rename(ready / name)
    for name in (_WRITTEN, _ASIDE):
        shutil.rmtree(prepared / name, ignore_errors=True)


def _is_open(folder: Path) -> bool:
    return os.access(folder, os.W_OK | os.X_OK)
