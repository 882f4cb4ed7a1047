"""Move an execution's prepared files into their target; any execution may do it, and it may be repeated.

    claim      rename the folder with the files to a name that belongs to this carrier; of several carriers one succeeds
    bring in   exchange it for the folder it replaces, in one step; if the target's store does not promise that, or
               cannot do it with these two, move its files one by one
    clear      a claimed folder without new files holds what came out of the target: delete it

Files that go to another mount are copied there (`moves`). A carrier is the process that does this. If it dies, its
claim remains, and the next carrier claims that. A carrier that wakes and finds its claim gone starts again with what
exists. A folder is only changed under the name under which it was claimed. Old files are never brought back: the names
of new ones contain the execution's id. What cannot be deleted (other users' files) gets a name that no carrier claims,
and stays there until `staging gc`.

If the prepared folder was removed (by `staging gc`, or by hand) before all files were brought in, they never will be.
As long as all old files are there, those new ones that were brought in are removed again.
"""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Set
from contextlib import suppress
from itertools import count
from pathlib import Path

from graph_compiler import program_log
from graph_compiler.errors import PublicationConflictError
from graph_compiler.staging.publications.listing import first_link, has_data_files, is_hidden
from graph_compiler.staging.publications.mounts import has_mount_inside
from graph_compiler.staging.publications.preparations import inside
from graph_compiler.staging.publications.publications import WHOLE, Intent, ended
from graph_compiler.staging.store.conditional_put import ask_again
from graph_compiler.staging.store.local_store import sync_folder
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.store.stores import target_store

LOG = program_log.logger(__name__)

_LEFT = "left-"  # before the name of what came out of the target and could not be deleted


def carry_out(intent: Intent, is_open: Callable[[], bool] = ended) -> None:
    """Bring the new files in, and take the removed ones out; `is_open`: whether no end is recorded.

    Raises PublicationConflictError if the files are neither prepared nor in the target, PublicationPendingError
    if the system refuses a step: a repetition continues from there.
    """
    try:
        for _ in steps(intent, uuid.uuid4().hex, is_open):
            pass
    except OSError as error:
        places = " → ".join(str(name) for name in (error.filename, error.filename2) if name)
        raise intent.pending(f"{error.strerror or error}{f' ({places})' if places else ''}") from error


def steps(intent: Intent, carrier: str, is_open: Callable[[], bool] = ended) -> Iterator[None]:
    """Do the same step by step: at each yield the carrier may die, and other carriers may run."""
    target, prepared = Path(intent.target), Path(intent.prepared)
    store, rooms = target_store(intent.target), _rooms(intent)
    for number in count():
        # First the prepared files, then their copies: see the moves below.
        folder = next((found for room in rooms for found in _folders(room)), None)
        if folder is None:
            break
        yield
        with suppress(FileNotFoundError):  # another carrier has claimed it
            claimed = folder.rename(folder.with_name(f"{carrier}-{number}"))
            yield
            yield from _empty(store, claimed, target, intent)
    if lost := [name for name in intent.add if not (target / name).exists()]:
        yield
        if is_open():
            _take_back(target, intent)
        raise PublicationConflictError(
            f"{lost[0]} is gone from {prepared}, and is not in {target}: "
            "another execution has published since, or it was removed by hand"
        )
    yield
    for name in intent.remove:
        _unlink(target / name)
        yield
    for room in rooms:
        remove_empty(room)
    _remove_empty_folders(target, intent.remove)
    _sync(target, intent)


def _rooms(intent: Intent) -> tuple[Path, ...]:
    """Return the folders that carriers claim: the prepared one, and the copy on another mount."""
    target, prepared = Path(intent.target), Path(intent.prepared)
    places = sorted({(target / name).parent for name in intent.add})
    copied = (room_in(place, prepared.name) for place in places)
    return (prepared, *(room for room in copied if room != prepared))


def remove_empty(prepared: Path) -> None:
    """Remove an execution's folder, and its parent if no other execution prepares rows there."""
    for folder in (prepared, prepared.parent):
        with suppress(OSError):
            folder.rmdir()


def _folders(room: Path) -> Iterator[Path]:
    # A folder that is renamed while names are listed may be missing from every list, so it is looked for again.
    for _ in range(3):
        with suppress(FileNotFoundError, NotADirectoryError):
            yield from sorted(folder for folder in room.iterdir() if not folder.name.startswith(_LEFT))


def _empty(store: StagingStore, claimed: Path, target: Path, intent: Intent) -> Iterator[None]:
    """Move the new files of a claimed folder into place, or delete it if it has none."""
    if not any((claimed / name).exists() for name in intent.add):
        yield
        yield from _clear(claimed, target, intent)
        return
    yield
    if not target.exists() and _holds(claimed, intent.add):
        yield
        if _rename(claimed, target):
            _sync(target, intent)
            return
    by_folder, removed = _by_folder(intent.add), frozenset(intent.remove)
    for folder in intent.replaces:
        if _holds(claimed, by_folder.get(folder, ())):
            yield
            _put_in_place(store, claimed / folder, target / folder, is_target=folder == WHOLE)
            yield
    for name in intent.add:
        if (claimed / name).exists():
            _clear_the_way(target, name, removed)
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            yield
            mine = room_in((target / name).parent, claimed.parent.name) / claimed.name
            yield from move(claimed / name, target / name, mine)
    # What came out is deleted later, so that a reader who has just opened the old folder has time to list it.
    _sync(target, intent)


def _clear(claimed: Path, target: Path, intent: Intent) -> Iterator[None]:
    """Delete what came out of the target. Files that readers do not see are moved back.

    If a link came out, only the link is deleted, not what it leads to.
    """
    for folder in intent.replaces:
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


def _take_back(target: Path, intent: Intent) -> None:
    """Remove the new files, if all that they replace are there."""
    if all((target / name).exists() for name in intent.remove):
        for name in intent.add:
            _unlink(target / name)


def _unlink(path: Path) -> None:
    """Remove a file or a link; a folder that has replaced it is kept."""
    if path.is_symlink() or not path.is_dir():
        with suppress(FileNotFoundError, NotADirectoryError):  # a file is where its folder was
            ask_again(path.unlink)


def _rename(new: Path, place: Path) -> bool:
    """Rename a folder to a free name; False if it is no longer free, or on another mount."""
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


def _sync(target: Path, intent: Intent) -> None:
    for folder in sorted({(target / name).parent for name in intent.add} | {target, target.parent}):
        with suppress(FileNotFoundError):
            sync_folder(folder)


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
