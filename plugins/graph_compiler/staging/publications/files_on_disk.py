"""Files that are carried into a target on a disk, from a folder that a carrier has claimed.

    bring in   exchange the folder for the one that it replaces, in one step; if the target's store does not promise
               that, or cannot do it with these two, move its files one by one
    clear      a claimed folder without new files holds what came out of the target: delete it

A target that is one file is replaced by a rename, in one step.

Files that go to another mount are copied there (`move`). A folder is only changed under the name under which it was
claimed. What cannot be deleted (other users' files) gets a name that no carrier claims, and stays there until
`staging gc`.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from graph_compiler import program_log
from graph_compiler.staging.publications.carrier import ClaimedFiles, OneFile, remove_empty
from graph_compiler.staging.publications.listing import first_link, has_data_files, is_hidden
from graph_compiler.staging.publications.mounts import has_mount_inside
from graph_compiler.staging.publications.preparations import inside
from graph_compiler.staging.publications.publications import WHOLE
from graph_compiler.staging.store.conditional_put import ask_again
from graph_compiler.staging.store.local_store import sync_folder
from graph_compiler.staging.store.staging_store import StagingStore

LOG = program_log.logger(__name__)

_LEFT = "left-"  # before the name of what came out of the target and could not be deleted


class FilesOnDisk(ClaimedFiles):
    """Files for a folder of this host's file systems."""

    @cached_property
    def _target(self) -> Path:
        return Path(self.intent.target)

    @cached_property
    def _rooms(self) -> tuple[Path, ...]:
        """Return the folders in which carriers claim: the prepared one, and those with copies on another mount."""
        prepared = Path(self.intent.prepared)
        places = sorted({(self._target / name).parent for name in self.intent.add})
        copied = (room_in(place, prepared.name) for place in places)
        return (prepared, *(room for room in copied if room != prepared))

    def find_folder(self) -> str | None:
        # First the prepared files, then their copies: see the moves below.
        return next((str(found) for room in self._rooms for found in _folders(room)), None)

    def claim(self, folder: str, name: str) -> str | None:
        with suppress(FileNotFoundError):
            return str(Path(folder).rename(Path(folder).with_name(name)))
        return None

    def empty(self, claimed: str) -> Iterator[None]:
        with suppress(FileNotFoundError):  # another carrier has claimed it
            yield from self._empty(Path(claimed))

    def _empty(self, folder: Path) -> Iterator[None]:
        target, add = self._target, self.intent.add
        if not any((folder / name).exists() for name in add):
            yield
            yield from self._delete(folder)
            return
        yield
        if not target.exists() and _holds(folder, add):
            yield
            if _rename(folder, target):
                self._sync()
                return
        by_folder, removed = _by_folder(add), frozenset(self.intent.remove)
        for replaced in self.intent.replaces:
            if _holds(folder, by_folder.get(replaced, ())):
                yield
                _put_in_place(self.store, folder / replaced, target / replaced, is_target=replaced == WHOLE)
                yield
        for name in add:
            if (folder / name).exists():
                _clear_the_way(target, name, removed)
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                yield
                mine = room_in((target / name).parent, folder.parent.name) / folder.name
                yield from move(folder / name, target / name, mine)
        # What came out is deleted later, so that a reader who has just opened the old folder has time to list it.
        self._sync()

    def look(self, names: Sequence[str]) -> Set[str]:
        """Return those of these names that are there, also behind links."""
        return {name for name in names if (self._target / name).exists()}

    def remove(self, names: Sequence[str], there: Set[str]) -> Iterator[None]:  # noqa: ARG002  # broken links, too
        for name in names:
            _unlink(self._target / name)
            yield

    def clear(self) -> None:
        for room in self._rooms:
            remove_empty(str(room), self.store)
        _remove_empty_folders(self._target, self.intent.remove)
        self._sync()

    def _delete(self, claimed: Path) -> Iterator[None]:
        """Delete what came out of the target. Files that readers do not see are moved back.

        If a link came out, only the link is deleted, not what it leads to.
        """
        target = self._target
        for folder in self.intent.replaces:
            if not (target / folder).is_dir() or (claimed / folder).is_symlink():
                continue
            names = {path.name for path in (claimed / folder).glob("*")}
            for name in sorted(filter(is_hidden, names)):
                is_checksum = name.endswith(".crc") and name[1:-4] in names
                if not is_checksum and not (target / folder / name).exists():
                    yield
                    (claimed / folder / name).rename(target / folder / name)
        yield
        shutil.rmtree(claimed, ignore_errors=True)
        yield
        with suppress(FileNotFoundError):  # it is deleted, or another carrier has claimed the rest
            left = claimed.rename(claimed.with_name(f"{_LEFT}{claimed.name}"))
            words = "%s came out of %s and cannot be deleted by this user: left for `staging gc`"
            LOG.warning(words, left, target)

    def _sync(self) -> None:
        folders = {(self._target / name).parent for name in self.intent.add}
        for folder in sorted(folders | {self._target, self._target.parent}):
            with suppress(FileNotFoundError):
                sync_folder(folder)


class FileOnDisk(OneFile, FilesOnDisk):
    """One file in a folder of this host's file systems; nothing else in that folder is changed."""

    def _empty(self, folder: Path) -> Iterator[None]:
        target, (name,) = self._target, self.intent.add
        if (folder / name).exists():
            yield
            with suppress(FileNotFoundError):
                _make_alike(folder / name, target)
            # Hadoop's readers would compare the new file with the checksums of the old one.
            _unlink(target.with_name(f".{name}.crc"))
            yield
            self.store.replace(str(folder / name), str(target))
            self._sync()
        yield
        shutil.rmtree(folder, ignore_errors=True)

    def clear(self) -> None:
        remove_empty(self.intent.prepared, self.store)

    def _sync(self) -> None:
        sync_folder(self._target.parent)


def _folders(room: Path) -> Iterator[Path]:
    # A folder that is renamed while names are listed may be missing from every list, so it is looked for again.
    for _ in range(3):
        with suppress(FileNotFoundError, NotADirectoryError):
            yield from sorted(folder for folder in room.iterdir() if not folder.name.startswith(_LEFT))


def _put_in_place(store: StagingStore, new: Path, place: Path, *, is_target: bool) -> None:
    """Put a folder in the place of another, or in a free place; if that fails, leave both unchanged.

    A target that is a link stays a link; a link inside the target is replaced by the folder.
    """
    if place.is_symlink():
        if is_target or _exchange(store, new, place):
            return
        place.unlink()
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        if _rename(new, place) or not place.exists():
            return
    if has_mount_inside(place):
        return
    _make_alike(new, place)
    _exchange(store, new, place)


def _exchange(store: StagingStore, new: Path, place: Path) -> bool:
    """Exchange two folders if their store promises to; False if their files must be moved one by one."""
    return store.promises.atomic_exchange and store.exchange(str(new), str(place))


def _clear_the_way(target: Path, name: str, remove: Set[str]) -> None:
    """Remove a link or a file where a folder must go, if the intent removes it anyway."""
    for folder in list(reversed(Path(name).parents))[1:]:
        if str(folder) in remove:
            _unlink(target / folder)


def _unlink(path: Path) -> None:
    """Remove a file or a link; a folder that has replaced it is kept."""
    if path.is_symlink() or not path.is_dir():
        with suppress(FileNotFoundError, NotADirectoryError):  # a file is where its folder was
            ask_again(path.unlink)


def _rename(new: Path, place: Path) -> bool:
    """Rename a folder; False if something has the new name by now, or it is on another mount."""
    try:
        new.rename(place)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.EXDEV):
            raise
        return False
    return True


def _make_alike(new: Path, place: Path) -> None:
    """Copy owner, mode and access list from the replaced folder, as far as this process may."""
    there = place.stat()
    for owner in ((there.st_uid, -1), (-1, there.st_gid)):
        with suppress(PermissionError):
            os.chown(new, *owner)
    shutil.copystat(place, new)
    os.utime(new)


def _holds(folder: Path, names: Collection[str]) -> bool:
    return all((folder / name).exists() for name in names)


def _by_folder(names: Collection[str]) -> dict[str, Collection[str]]:
    """Return the names in each folder; all of them are in the target."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(str(Path(name).parent), []).append(name)
    return {**found, WHOLE: names}


def _remove_empty_folders(target: Path, names: Iterable[str]) -> None:
    """Remove the folders of removed files, and those around them, that hold no data; checksums may be left in them.

    Each folder once, the innermost first, so that thousands of partitions take no longer than their folders. File by
    file, since others may bring new ones in meanwhile. Nothing behind a link is removed.
    """
    folders = {folder for name in names for folder in list(Path(name).parents)[:-1]}
    for each in sorted(folders, key=lambda folder: len(folder.parts), reverse=True):
        folder = target / each
        if first_link(target, str(each / "_")) or has_data_files(folder):
            continue
        for path in folder.glob("*"):
            if path.is_file() and is_hidden(path.name):
                path.unlink(missing_ok=True)
        with suppress(OSError):
            folder.rmdir()


# Move a file to its place, even from one mount to another.
#
#     mine/                  a folder only of this carrier, in the room beside the file's place
#     look for the file      in the folder this carrier has claimed: if another has claimed it since, it is not there
#     copy, flush            into mine/, where no reader looks
#     rename                 to its place, in one step
#
# A carrier that claims the file then also claims everything in the room. So a carrier that sleeps at any point before
# the last finds its folder gone when it wakes, or did not find the file: a copy never appears after another carrier has
# finished.


def room_in(folder: Path, execution: str) -> Path:
    """Return where carriers copy an execution's files to, if needed: a hidden folder in the target."""
    return inside(folder) / execution


def move(file: Path, place: Path, mine: Path) -> Iterator[None]:
    """Rename a file, or copy it if that fails; the folder `mine`, named after the claim, is created only for a copy.

    Each yield is a step. Raises FileNotFoundError if another carrier has claimed the file.
    """
    try:
        file.rename(place)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        yield from _copy(file, place, mine)
    yield


def _copy(file: Path, place: Path, mine: Path) -> Iterator[None]:
    mine.mkdir(parents=True, exist_ok=True)
    yield
    copied = mine / "copying"
    with file.open("rb") as source:
        yield
        with copied.open("wb") as copy:
            shutil.copyfileobj(source, copy, length=1 << 20)
            shutil.copymode(file, copied)
            copy.flush()
            os.fsync(copy.fileno())
    yield
    copied.rename(place)
    yield
    file.unlink()
    mine.rmdir()
