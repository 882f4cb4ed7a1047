"""A target on a disk: rows are written beside it, and renamed into it."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from pyspark.sql import DataFrame

from graph_compiler.errors import PublicationError
from graph_compiler.spark_runtime.publishing.one_file import OneFileTarget
from graph_compiler.spark_runtime.publishing.partition_names import Partition, partition_of
from graph_compiler.spark_runtime.publishing.written_files import (
    FileFormat,
    WrittenFile,
    published_name,
    read_aside,
    write_empty_file,
    write_files,
)
from graph_compiler.staging.publications.carrier import carry_out, remove_empty
from graph_compiler.staging.publications.files_on_disk import FileOnDisk, FilesOnDisk
from graph_compiler.staging.publications.listing import data_files, first_link
from graph_compiler.staging.publications.mounts import is_mounted, preparation_folder
from graph_compiler.staging.publications.preparations import NAME_BYTES
from graph_compiler.staging.publications.publications import WHOLE, Intent, NewFile
from graph_compiler.staging.store.stores import target_store

_WRITTEN, _READY = "written", "ready"  # as Spark wrote it, and under final names
_ASIDE = "aside"  # rows that are not merged yet


@dataclass(frozen=True)
class LocalTarget:
    """A folder of this host's file systems; `_room` is where all executions prepare files for it."""

    is_file: ClassVar[bool] = False
    target: str

    @cached_property
    def _room(self) -> Path:
        return preparation_folder(Path(self.target))

    def why_unfit(self) -> str | None:
        """Return why it cannot be a folder of files, None if it can."""
        return why_no_folder(Path(self.target))

    def why_not_writable(self) -> str | None:
        """Return why files cannot be created: rows are prepared beside it, so its parent must be writable, too."""
        nearest = next(folder for folder in self._room.parents if folder.exists())
        if not nearest.is_dir():
            return f"cannot be made: {nearest} is a file"
        closed = [folder for folder in (nearest, *self._changed) if folder.exists() and not _is_open(folder)]
        return f"cannot be written: no permission for {closed[0]}" if closed else None

    @property
    def _changed(self) -> tuple[Path, ...]:
        """Return the folders in which names change, besides the nearest one around it that exists."""
        return (Path(self.target),)

    def data_files(self) -> frozenset[str]:
        """Return the files that readers see now."""
        return data_files(Path(self.target))

    def holds(self, intent: Intent) -> bool:
        """Whether an intent is one of a folder: its names are its own."""
        return intent.file is None

    def prepared(self, execution: str) -> str:
        """Return an execution's folder, from which files can be renamed into the target."""
        return str(self._room / execution)

    def set_aside(self, execution: str, rows: DataFrame, format: FileFormat) -> tuple[DataFrame, int]:
        """Write rows beside those that are published."""
        folder = f"{self.prepared(execution)}/{_ASIDE}"
        _, count = write_files(rows, folder, FileFormat(name=format.name, options=format.options))
        return read_aside(rows, format, folder), count

    def write(self, execution: str, rows: DataFrame, format: FileFormat) -> tuple[tuple[WrittenFile, ...], int]:
        """Write rows, and compare the files with what was written."""
        return write_files(rows, self._written(execution), format)

    def write_empty(self, execution: str, rows: DataFrame, format: FileFormat) -> tuple[WrittenFile, ...]:
        """Write a file without rows."""
        return write_empty_file(rows, self._written(execution), format)

    def arrange(self, execution: str, files: Sequence[WrittenFile], *, is_marker: bool) -> tuple[str, ...]:
        """Move files under their final names, which contain the execution's, into a folder with nothing else."""
        names = {
            file.name: published_name(file, number, execution, is_marker=is_marker) for number, file in enumerate(files)
        }
        _arrange(names, Path(self.prepared(execution)))
        return tuple(names.values())

    def new_file(self, execution: str) -> NewFile | None:  # noqa: ARG002  # for LocalFile
        """Return None: names show which files are new."""
        return None

    def names_to_remove(self, gone: frozenset[str], replaces: tuple[str, ...], own: frozenset[str]) -> frozenset[str]:
        """Return the names to unlink: links, if files of a replaced folder are behind them."""
        return names_to_remove(Path(self.target), gone, replaces, own)

    def find_in_the_way(self, add: Iterable[str], replaces: tuple[str, ...], remove: frozenset[str]) -> frozenset[str]:
        """Return broken links, and files where folders must be."""
        return find_in_the_way(Path(self.target), add, replaces, remove)

    def carry_out(self, intent: Intent, is_open: Callable[[], bool]) -> None:
        """Rename the files into the target."""
        carry_out(FilesOnDisk(intent, target_store(intent.target)), is_open)

    def discard(self, execution: str) -> None:
        """Remove an execution's folder."""
        folder = self.prepared(execution)
        shutil.rmtree(folder, ignore_errors=True)
        remove_empty(folder, target_store(self.target))

    def _written(self, execution: str) -> str:
        return f"{self.prepared(execution)}/{_WRITTEN}"


class LocalFile(OneFileTarget, LocalTarget):
    """One file in a folder of this host's file systems, in which nothing else is changed."""

    def why_unfit(self) -> str | None:
        """Return why it cannot be one file, None if it can."""
        return why_no_file(Path(self.target))

    @property
    def _changed(self) -> tuple[Path, ...]:
        return ()

    def data_files(self) -> frozenset[str]:
        """Return its name if there is a file."""
        return frozenset({self.name} if os.path.lexists(self.target) else ())

    def arrange(self, execution: str, files: Sequence[WrittenFile], *, is_marker: bool) -> tuple[str, ...]:  # noqa: ARG002  # it has no folders
        """Return its name, which the file has now, in a folder with nothing else; it is flushed to the disk."""
        prepared = Path(self.prepared(execution))
        _arrange({self.only(files).name: self.name}, prepared)
        with (prepared / _READY / self.name).open("rb") as file:
            os.fsync(file.fileno())
        return (self.name,)

    def new_file(self, execution: str) -> NewFile:
        """Return the file that is prepared, by a digest of its bytes."""
        ready = f"{self.prepared(execution)}/{_READY}/{self.name}"
        id = target_store(self.target).file_id(ready)
        assert id is not None, "it was arranged"
        return NewFile(id=id)

    def carry_out(self, intent: Intent, is_open: Callable[[], bool]) -> None:
        """Rename the file to its place."""
        carry_out(FileOnDisk(intent, target_store(intent.target)), is_open)


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


# What can be replaced in a target, and what blocks its new files; checked before anything is decided.
#
# Nothing behind a link inside a target is replaced or deleted, except what this run has put there: it may belong to
# others, and anyone who may write the target can create a link to any place. If a link's rows are replaced, the link is
# removed.


def why_no_folder(target: Path) -> str | None:
    """Return why a target cannot be a folder of files; None if it can."""
    if wrong := _why_no_name(target):
        return wrong
    if target.is_symlink() and not target.exists():
        return f"is a link to {os.readlink(target)}, which does not exist"
    return "is a file" if target.exists() and not target.is_dir() else None


def why_no_file(target: Path) -> str | None:
    """Return why a target cannot be one file, None if it can: only a file is replaced by it."""
    if (wrong := _why_no_name(target)) or not os.path.lexists(target):
        return wrong
    found, around = target.lstat(), target.parent.stat()
    if stat.S_ISLNK(found.st_mode):
        wrong = f"is a link to {os.readlink(target)}, and no file takes the place of a link"
    elif stat.S_ISDIR(found.st_mode):
        wrong = "is a folder"
    elif not stat.S_ISREG(found.st_mode):
        wrong = "is a device, a pipe or a socket"
    elif is_mounted(target):
        wrong = "is mounted there, so that no file can take its place"
    elif around.st_mode & stat.S_ISVTX and os.geteuid() not in (0, found.st_uid, around.st_uid):
        wrong = "belongs to another user, in a folder in which only owners may replace files"
    return wrong


def _why_no_name(target: Path) -> str | None:
    if not target.name:
        return "is the root of the file system"
    if any(len(os.fsencode(part)) > NAME_BYTES for part in target.parts):
        return f"has a name of more than {NAME_BYTES} bytes"
    return None


def names_to_remove(
    target: Path, gone: frozenset[str], replaces: tuple[str, ...], own: frozenset[str]
) -> frozenset[str]:
    """Return the names to unlink to remove these files: links, if files of a replaced folder are behind them.

    Raises PublicationError if files of others are behind a link that stays.
    """
    replaced = {partition_of(folder) for folder in replaces}
    return frozenset(_name_to_remove(target, name, replaced, own) for name in gone)


def find_in_the_way(
    target: Path, add: Iterable[str], replaces: tuple[str, ...], remove: frozenset[str]
) -> frozenset[str]:
    """Return what else must be removed so that new files' folders can be made: broken links, and files.

    Raises PublicationError if it belongs to a partition that stays.
    """
    found, replaced = set(), {partition_of(folder) for folder in replaces}
    for folder in sorted({str(Path(name).parent) for name in add} - {WHOLE}):
        for around in (*list(reversed(Path(folder).parents))[1:], Path(folder)):
            place, name = target / around, str(around)
            if name in remove or not os.path.lexists(place) or place.is_dir():
                continue
            if not _is_replaced(name, replaced):
                what = "a broken link" if place.is_symlink() else "a file"
                raise PublicationError(
                    f"its target has {what} where the partition folder {folder} must be: {place}\n"
                    "  hint: remove it, or write to another path"
                )
            found.add(name)
    return frozenset(found)


def _name_to_remove(target: Path, name: str, replaced: Set[Partition], own: frozenset[str]) -> str:
    link = first_link(target, name)
    if link is not None and _is_replaced(link, replaced):
        return link
    if link is None or name in own:
        return name
    raise PublicationError(
        f"it would replace {Path(name).parent} in {target}, but {link} is a link, and files behind a link "
        "are never replaced\n"
        "  hint: put a folder in its place, or remove it"
    )


def _is_replaced(folder: str, replaced: Set[Partition]) -> bool:
    """Whether a folder or one that contains it is replaced."""
    found = partition_of(folder)
    return any(found[:depth] in replaced for depth in range(len(found) + 1))
