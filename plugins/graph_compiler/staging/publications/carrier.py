"""Carry out a publication that is decided: any execution may do it, several may at once, and it may be repeated.

    bring in   the new files appear in the target
    look       all of them are there; otherwise others have removed them, and nothing more is brought in
    remove     the files that the new ones replace
    clear      what was prepared

A carrier is the process that does this. It may die or sleep after each step, and the next carrier continues with what
it finds. These steps are the same for every target. How files appear depends on what its store promises:

    UploadedFiles   `deferred_files`: uploads are completed
    RenamedFiles    `atomic_move`: folders are claimed, and their files are renamed
    FilesOnDisk     the same on a disk, which also has links, mounts and folders that are exchanged (`files_on_disk.py`)

A target that is one file (`Intent.file`) takes the place of the old file: UploadedFile, RenamedFile, FileOnDisk. Its
name does not show whether the new file is there, so its id is compared. Nothing is removed, and nothing taken back.

If what is prepared is removed (by `staging gc`, or by hand) before all files were brought in, they never will be. The
files that were brought in are removed again, as long as it is certain that no reader loses rows: a file could still be
stopped, so the new ones were never all there; or all old ones are there. Old files are never brought back: the names of
new ones contain the execution's id.
"""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from itertools import count

from graph_compiler.errors import PublicationConflictError
from graph_compiler.staging.publications.publications import Intent, NewFile, ended
from graph_compiler.staging.store.deferred_files import DeferredFile, DeferringStore
from graph_compiler.staging.store.read_document import get_document
from graph_compiler.staging.store.staging_store import StagingStore


def carry_out(files: TargetFiles, is_open: Callable[[], bool] = ended) -> None:
    """Bring the new files in, and remove those that they replace; `is_open`: whether no end is recorded.

    Raises PublicationConflictError if the new files are neither prepared nor in the target, PublicationPendingError if
    the store does not carry out a step: a repetition continues from there.
    """
    try:
        for _ in steps(files, uuid.uuid4().hex, is_open):
            pass
    except OSError as error:
        places = " → ".join(str(name) for name in (error.filename, error.filename2) if name)
        raise files.intent.pending(f"{error.strerror or error}{f' ({places})' if places else ''}") from error


def steps(files: TargetFiles, carrier: str, is_open: Callable[[], bool] = ended) -> Iterator[None]:
    """Do the same step by step: at each yield the carrier may die, and other carriers may run."""
    intent = files.intent
    yield from files.bring_in(carrier)
    there = files.look(intent.add)
    if lost := [name for name in intent.add if name not in there]:
        stopped = files.stop(lost)
        yield
        there = files.look((*intent.add, *intent.remove))
        lost = [name for name in intent.add if name not in there]
        no_reader_loses_rows = not stopped.isdisjoint(lost) or there >= set(intent.remove)
        if lost and no_reader_loses_rows and is_open():
            yield from files.remove(intent.add, there)
    if lost:
        raise PublicationConflictError(
            f"{lost[0]} is gone from {intent.prepared}, and is not in {intent.target}: "
            "another execution has published since, or it was removed by hand"
        )
    yield
    yield from files.remove(intent.remove, there)
    files.clear()


@dataclass(frozen=True)
class TargetFiles(ABC):
    """The files of an intent, and how they come into its target and go out of it. Every call raises OSError."""

    intent: Intent
    store: StagingStore

    @abstractmethod
    def bring_in(self, carrier: str) -> Iterator[None]:
        """Let the prepared files appear in the target, under the name of this carrier."""

    def look(self, names: Sequence[str]) -> Set[str]:  # noqa: ARG002  # a listing has all
        """Return the files in the target, at least those of these names."""
        return _names(self.store, self.intent.target)

    def stop(self, names: Sequence[str]) -> Set[str]:  # noqa: ARG002  # for subclasses
        """Make sure that no carrier brings these files in later; return those that one still could have."""
        return frozenset()

    @abstractmethod
    def remove(self, names: Sequence[str], there: Set[str]) -> Iterator[None]:
        """Remove these files from the target; `there` are those that were seen."""

    @abstractmethod
    def clear(self) -> None:
        """Remove what is left of the prepared files, and folders that have become empty."""


class OneFile(TargetFiles):
    """A target that is one file: what is the same in every store."""

    @property
    def new(self) -> NewFile:
        """Return the new file."""
        assert self.intent.file is not None, "the intent of a target that is one file"
        return self.intent.file

    def look(self, names: Sequence[str]) -> Set[str]:
        return frozenset(names) if self.store.file_id(self.intent.target) == self.new.id else frozenset()

    def remove(self, names: Sequence[str], there: Set[str]) -> Iterator[None]:  # noqa: ARG002  # nothing is removed
        """Keep what is there: if it is not the new file, others have written it, or it is the old one."""
        yield from ()


class ClaimedFiles(TargetFiles):
    """Files in folders, which a carrier renames to a name of its own before it changes them.

    Of several carriers one succeeds. If it dies, its claim remains, and the next carrier claims that. If it wakes up,
    or one of its requests arrives late, there is no file under the name of its claim. So a file that others have
    removed since is never brought back.
    """

    def bring_in(self, carrier: str) -> Iterator[None]:
        """Claim one folder after the other, and move its files into the target."""
        for number in count():
            folder = self.find_folder()
            if folder is None:
                return
            yield
            claimed = self.claim(folder, f"{carrier}-{number}")
            if claimed is not None:
                yield
                yield from self.empty(claimed)

    @abstractmethod
    def find_folder(self) -> str | None:
        """Return a folder with prepared files, claimed or not; None if there is none."""

    @abstractmethod
    def claim(self, folder: str, name: str) -> str | None:
        """Rename a folder, and return its path; None if another carrier has claimed it."""

    @abstractmethod
    def empty(self, claimed: str) -> Iterator[None]:
        """Move the new files of a claimed folder into the target, and delete the folder when it has none."""


class RenamedFiles(ClaimedFiles):
    """Files in a store that renames: into the target, one by one, or with their folder if there is no target yet.

    Two folders are not exchanged. So readers see old and new files together for a while, and never fewer rows than one
    version has.
    """

    def find_folder(self) -> str | None:
        return next((f"{self.intent.prepared}/{name}" for name in self.store.folders(self.intent.prepared)), None)

    def claim(self, folder: str, name: str) -> str | None:
        claimed = f"{self.intent.prepared}/{name}"
        return claimed if self.store.move(folder, claimed) else None

    def empty(self, claimed: str) -> Iterator[None]:
        target, add = self.intent.target, frozenset(self.intent.add)
        names = _names(self.store, claimed) & add
        yield
        if names == add and not self.store.is_there(target):
            yield
            with suppress(FileExistsError):  # others have made it meanwhile
                if self.store.move(claimed, target):
                    return
        for name in sorted(names):
            yield
            if not self.store.move(f"{claimed}/{name}", f"{target}/{name}"):
                return  # another carrier has claimed the folder
        yield
        # No other carrier uses this name: what it has claimed has its own.
        if not _names(self.store, claimed) & add:
            self.store.delete(claimed)

    def remove(self, names: Sequence[str], there: Set[str]) -> Iterator[None]:
        for name in names:
            if name in there and not self.store.delete(f"{self.intent.target}/{name}"):
                raise OSError(f"{self.intent.target}/{name} cannot be removed")
            yield

    def clear(self) -> None:
        for folder in {name.rpartition("/")[0] for name in self.intent.remove}:
            around = folder
            while around:
                self.store.discard_empty(f"{self.intent.target}/{around}")
                around = around.rpartition("/")[0]
        remove_empty(self.intent.prepared, self.store)


class RenamedFile(OneFile, RenamedFiles):
    """One file in a store that renames: it replaces the old one in the same step."""

    def empty(self, claimed: str) -> Iterator[None]:
        (name,) = self.intent.add
        yield
        self.store.replace(f"{claimed}/{name}", self.intent.target)
        yield
        if not _names(self.store, claimed):  # another carrier may have claimed it
            self.store.delete(claimed)


@dataclass(frozen=True)
class UploadedFiles(TargetFiles):
    """Files in a store where they appear when their upload is completed (decision 47).

    Nothing is claimed. Completing an upload a second time changes nothing, so a carrier that wakes up after a later
    publication has removed the file does not bring it back.
    """

    store: DeferringStore

    def bring_in(self, carrier: str) -> Iterator[None]:  # noqa: ARG002  # nothing is claimed
        written = get_document(self.store, files_document(self.intent.prepared), DeferredFiles)
        yield
        if written is None:
            return
        there = self.look(self.intent.add)
        missing = {f"{self.intent.target}/{name}" for name in self.intent.add if name not in there}
        yield
        self.store.complete([file for file in written.files if file.key in missing])
        yield

    def stop(self, names: Sequence[str]) -> Set[str]:
        """Abort what is left of uploads to these files; return those that had one, none if it may not be asked."""
        keys = {f"{self.intent.target}/{name}": name for name in names}
        try:
            return frozenset(keys[key] for key in self.store.abort_uploads(self.intent.target, keys))
        except PermissionError:
            return frozenset()

    def remove(self, names: Sequence[str], there: Set[str]) -> Iterator[None]:
        """Remove them in as few requests as the store allows."""
        self.store.delete_files(f"{self.intent.target}/{name}" for name in sorted(there & set(names)))
        yield

    def clear(self) -> None:
        self.store.delete(self.intent.prepared)


class UploadedFile(OneFile, UploadedFiles):
    """One file in a store of objects: its upload replaces the old object when it is completed, and only once.

    The intent has the upload; without the document in the execution's folder, it is not completed either.
    """

    def bring_in(self, carrier: str) -> Iterator[None]:  # noqa: ARG002  # nothing is claimed
        is_prepared = self.store.is_there(files_document(self.intent.prepared))
        yield
        if is_prepared:
            self.store.complete(self._uploads)
        yield

    def stop(self, names: Sequence[str]) -> Set[str]:  # noqa: ARG002  # there is one
        """Abort the upload; those of other executions to the same name stay."""
        self.store.abort(self._uploads)
        return frozenset()

    @property
    def _uploads(self) -> list[DeferredFile]:
        return [self.new.upload] if self.new.upload is not None else []


@dataclass(frozen=True, slots=True, kw_only=True)
class DeferredFiles:
    """The document in an execution's folder with the files that are to appear."""

    files: tuple[DeferredFile, ...]


def files_document(prepared: str) -> str:
    """Return the key of the document in an execution's folder."""
    return f"{prepared}/files.json"


def remove_empty(prepared: str, store: StagingStore) -> None:
    """Remove an execution's folder, and its parent if no other execution prepares rows there."""
    for folder in (prepared, prepared.rpartition("/")[0]):
        store.discard_empty(folder)


def _names(store: StagingStore, folder: str) -> frozenset[str]:
    return frozenset(file.key.removeprefix(f"{folder}/") for file in store.files(folder))
