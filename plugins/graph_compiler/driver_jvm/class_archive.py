"""A user's cache of class archives on this host: what a JVM maps into memory in place of loading and checking classes.

    ~/.cache/graph-compiler/class-archives/<host>/<key>-<bytes>-<digest>.jsa     or below XDG_CACHE_HOME

An archive is code that a driver runs: only what this user alone can write is used. It is never changed: a new one is
renamed into its place, and JVMs that have mapped the old one keep it. On a network file system that is so only for JVMs
of the host that renames; so each host has a folder. A JVM dies if its archive is shorter than it was when it was
written, so the name has the size. It does not check the bytes: if some have changed, each driver may die. So after a
driver that died, its archive is compared with the digest, which would take too long before each start.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import socket
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from graph_compiler.driver_jvm.installation import DriverStartError, saying_why
from graph_compiler.identifiers import path_segment

_NAME = re.compile(r"(?P<key>[0-9a-f]{32})-(?P<bytes>\d+)(-(?P<digest>[0-9a-f]{32}))?\.jsa")
_LOCK = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
_FOLDERS = ("graph-compiler", "class-archives")
UNUSED_SECONDS = 30 * 24 * 60 * 60
"""After this time without use, an archive is removed when another one is made."""
KEPT = 8
"""How many archives stay at most: of that many Java and Spark versions in use on a host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An archive that is being written."""

    file: Path
    lock: int
    """The descriptor of the lock: other makers wait as long as any process has it, as a child that inherits it."""


@dataclass(frozen=True, slots=True)
class ArchiveCache:
    """The folder of all archives of this host."""

    folder: Path

    def find(self, key: str) -> Path | None:
        """Return the archive of a class path, None if there is none; raises DriverStartError.

        It counts as used now.
        """
        with saying_why(self.folder):
            if not self.folder.exists():
                return None
            self._check()
            for file in _archives(self.folder):
                found = _NAME.fullmatch(file.name)
                if found is not None and found["key"] == key and _is_whole(file, found["bytes"]):
                    with suppress(OSError):
                        os.utime(file)
                    return file
        return None

    def remove_if_damaged(self, words: str) -> Path | None:
        """Remove the archive that options of a JVM name if its bytes have changed; return it, None if it stays.

        For after a driver that died. Archives of earlier versions have no digest, and are removed. Raises
        DriverStartError.
        """
        with saying_why(self.folder):
            for file in _archives(self.folder):
                found = _NAME.fullmatch(file.name)
                if str(file) in words and (found is None or found["digest"] != _digest(file)):
                    file.unlink(missing_ok=True)
                    return file
        return None

    @contextmanager
    def new_archive(self, key: str) -> Iterator[Draft | None]:
        """Yield where to write an archive, which takes its place at the end if it is there.

        None is yielded if another process is making one. Raises DriverStartError.
        """
        with saying_why(self.folder):
            self._make()
            lock = os.open(self.folder / "lock", _LOCK, 0o600)
        try:
            if not _take(lock):
                yield None
                return
            draft = self.folder / "draft.jsa"  # of the process that holds the lock
            try:
                with saying_why(draft):
                    draft.unlink(missing_ok=True)
                yield Draft(file=draft, lock=lock)
                with saying_why(draft):
                    self._put(draft, key)
            finally:
                with suppress(OSError):
                    draft.unlink(missing_ok=True)
        finally:
            os.close(lock)

    def is_due(self, key: str) -> bool:
        """Whether to make an archive that a driver would have used: if one before it would have, too.

        So a host that lives for one task, as a pod does, makes none. False if no cache can be written here.
        """
        with suppress(OSError, DriverStartError):
            self._make()
            return self._notes.is_due(key)
        return False

    def has_failed(self, key: str) -> str | None:
        """Return why an archive could not be made within the last day, None if it was not tried."""
        return self._notes.failure(key)

    def note_failure(self, key: str, why: str) -> None:
        """Keep the reason for a day, if that can be written."""
        with suppress(OSError, DriverStartError):
            self._make()
            self._notes.note_failure(key, why)

    @property
    def _notes(self) -> ArchiveNotes:
        return ArchiveNotes(self.folder)

    def _make(self) -> None:
        make_private(self.folder)
        self._check()

    def _check(self) -> None:
        """Check that no other user can put an archive here, or a folder in place of one of these."""
        ours = (self.folder, *self.folder.parents[: len(_FOLDERS)])
        check_private(ours[::-1])

    def _put(self, draft: Path, key: str) -> None:
        if not draft.exists():
            return
        with draft.open("rb") as written:
            os.fsync(written.fileno())
        draft.chmod(0o400)
        place = self.folder / f"{key}-{draft.stat().st_size}-{_digest(draft)}.jsa"
        draft.replace(place)
        self._notes.remove(key)
        for file in _superfluous([each for each in _archives(self.folder) if each != place], key):
            file.unlink(missing_ok=True)


def archive_cache(environment: Mapping[str, str]) -> ArchiveCache:
    """Return the cache of this user; raises DriverStartError if there is no folder for it."""
    home = environment.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(home):  # the specification says to ignore others
        user = environment.get("HOME", "")
        if not os.path.isabs(user):
            raise DriverStartError("HOME is not set")
        home = os.path.join(user, ".cache")
    if ":" in home:  # Java separates archives by it
        raise DriverStartError(f"{home} has a colon")
    home = os.path.realpath(home)  # others may change a link above it
    return ArchiveCache(Path(home, *_FOLDERS, path_segment(socket.gethostname() or "localhost")))


def _archives(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.jsa"))


def _superfluous(archives: list[Path], key: str) -> list[Path]:
    """Return which of the older archives to remove: of the same key, long unused, and then the longest unused."""
    others = [file for file in archives if not file.name.startswith(key)]
    last_use = {file: file.stat().st_mtime for file in others if file.exists()}
    latest = sorted(last_use, key=lambda file: last_use[file], reverse=True)
    since = time.time() - UNUSED_SECONDS
    kept = [file for file in latest[: KEPT - 1] if last_use[file] >= since]
    return [file for file in archives if file not in kept]


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()[:32]


def _take(lock: int) -> bool:
    with saying_why("the lock of the class archives"):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _is_whole(file: Path, size: str) -> bool:
    try:
        found = file.lstat()
    except FileNotFoundError:  # it was removed in this moment
        return False
    if not stat.S_ISREG(found.st_mode) or not is_private(found) or not os.access(file, os.R_OK):
        raise DriverStartError(f"{file} is not a file that only this user can write to")
    return found.st_size == int(size)


# Notes in the cache of class archives, for archives that are not there.
#
#     <key>.wanted     a driver would have used it
#     <key>.tried      a background process was started to make it
#     <key>.failed     why it could not be made
#
# The last two count for a day, so what was in the way may go away.

_DAY = 24 * 60 * 60
_NEW_FILE = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class ArchiveNotes:
    """The notes in a folder that only this user can write to."""

    folder: Path

    def is_due(self, key: str) -> bool:
        """Whether to make an archive that a driver would have used: if one before it would have, too.

        It is due once a day. Raises OSError.
        """
        wanted, tried = self._place(key, "wanted"), self._place(key, "tried")
        if self.failure(key) is not None or _is_of_today(tried):
            return False
        if not os.path.lexists(wanted) and not os.path.lexists(tried):
            _write(wanted, "")
            return False
        if os.path.lexists(wanted):
            wanted.replace(tried)
        os.utime(tried, follow_symlinks=False)
        return True

    def failure(self, key: str) -> str | None:
        """Return why an archive could not be made, None if that is unknown or was more than a day ago."""
        note = self._place(key, "failed")
        try:
            return note.read_text("utf-8", "replace") if _is_of_today(note) else None
        except OSError:
            return None

    def note_failure(self, key: str, why: str) -> None:
        """Keep the reason, so that it is not tried at every run; raises OSError."""
        note = self._place(key, "failed")
        note.unlink(missing_ok=True)
        _write(note, why)

    def remove(self, key: str) -> None:
        """Remove the notes of an archive that is there; raises OSError."""
        for kind in ("wanted", "tried", "failed"):
            self._place(key, kind).unlink(missing_ok=True)

    def _place(self, key: str, kind: str) -> Path:
        return self.folder / f"{key}.{kind}"


def _write(note: Path, text: str) -> None:
    with suppress(FileExistsError):  # of another process, at the same moment
        descriptor = os.open(note, _NEW_FILE, 0o600)
        with open(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)


def _is_of_today(note: Path) -> bool:
    try:
        return abs(time.time() - note.lstat().st_mtime) < _DAY
    except FileNotFoundError:
        return False


# Folders in which no other user can put a file, or something else in place of one.
#
# /home/me/.cache                     of this user or of root; others cannot rename what is in it
# /home/me/.cache/graph-compiler/…    of this user, who alone can write to it
#
# What does not exist yet is made below a folder of this user only.

_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def make_private(folder: Path) -> None:
    """Create a folder and its missing parents with mode 0700, whatever the umask is.

    Raises OSError, or DriverStartError if they would be in a folder of another user, as that of a foreign HOME.
    """
    missing = []
    there = folder
    while not os.path.lexists(there):
        missing.append(there)
        there = there.parent
    if missing and there.stat().st_uid != os.geteuid():
        raise DriverStartError(f"{there} belongs to another user")
    for each in reversed(missing):
        with suppress(FileExistsError):  # another process was faster
            each.mkdir(0o700)


def check_private(folders: Sequence[Path]) -> None:
    """Check folders from the outermost to the innermost, and that no other user can rename the first or one above it.

    Raises OSError, or DriverStartError.
    """
    for folder in folders:
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or not is_private(found):
            raise DriverStartError(f"{folder} is not a folder that only this user can write to")
    above = Path(os.path.realpath(folders[0].parent))
    for folder in (above, *above.parents):
        found = folder.stat()
        if found.st_uid not in (0, os.geteuid()) or (
            found.st_mode & _OTHERS_MAY_WRITE and not found.st_mode & stat.S_ISVTX
        ):
            raise DriverStartError(f"others can rename folders in {folder}")


def is_private(found: os.stat_result) -> bool:
    """Whether a file or folder is of this user, who alone can write to it."""
    return found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_MAY_WRITE
