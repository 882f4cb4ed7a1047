"""A user's cache of class archives on this host: what a JVM maps into memory in place of loading and checking classes.

    ~/.cache/graph-compiler/class-archives/<key>-<bytes>.jsa        or below XDG_CACHE_HOME

An archive is code that a driver runs: only what this user alone can write is used. It is never changed: a new one is
renamed into its place, and JVMs that have mapped the old one keep it. A JVM dies if its archive is shorter than it was
when it was written, so the name has the size. Everything else that does not fit, the JVM itself notices.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from graph_compiler.driver_jvm.installation import DriverStartError

_NAME = re.compile(r"(?P<key>[0-9a-f]{32})-(?P<bytes>\d+)\.jsa")
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
KEPT = 3
"""How many archives stay: of that many Java and Spark versions in use on a host."""


@dataclass(frozen=True, slots=True)
class ArchiveCache:
    """The folder of all archives."""

    folder: Path

    def find(self, key: str) -> Path | None:
        """Return the archive of a class path, None if there is none; raises DriverStartError."""
        if not self.folder.exists():
            return None
        self._check_folders()
        for file in self._archives():
            found = _NAME.fullmatch(file.name)
            if found is not None and found["key"] == key and _is_whole(file, int(found["bytes"])):
                return file
        return None

    @contextmanager
    def new_archive(self, key: str) -> Iterator[Path | None]:
        """Yield where to write an archive, which takes its place at the end if it is there.

        None is yielded if another process is making one. Raises DriverStartError.
        """
        try:
            self._make_folders()
            self._check_folders()
            lock = os.open(
                self.folder / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
            )
        except OSError as error:
            raise DriverStartError(f"{error.filename}: {error.strerror}") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            yield None
            return
        draft = self.folder / "draft.jsa"  # of the process that holds the lock
        try:
            draft.unlink(missing_ok=True)
            yield draft
            if draft.exists():
                self._put(draft, key)
        finally:
            draft.unlink(missing_ok=True)
            os.close(lock)

    def is_due(self, key: str) -> bool:
        """Whether to make an archive that a driver would have used: if one before it would have, too.

        So a host that lives for one task, as a pod does, makes none.
        """
        if self.has_failed(key):
            return False
        note = self.folder / f"{key}.wanted"
        try:
            if note.exists():
                return True
            self._make_folders()
            note.touch(mode=0o600)
        except OSError:
            pass  # no cache can be written here
        return False

    def has_failed(self, key: str) -> str | None:
        """Return why an archive could not be made, None if it was not tried."""
        try:
            return (self.folder / f"{key}.failed").read_text("utf-8", "replace")
        except OSError:
            return None

    def note_failure(self, key: str, why: str) -> None:
        """Keep the reason, so that it is not tried at every run."""
        (self.folder / f"{key}.failed").write_text(why, "utf-8")

    def _put(self, draft: Path, key: str) -> None:
        with draft.open("rb") as written:
            os.fsync(written.fileno())
        draft.chmod(0o400)
        older = [file for file in self._archives() if file.name.startswith(key)]
        place = self.folder / f"{key}-{draft.stat().st_size}.jsa"
        draft.replace(place)
        for note in ("failed", "wanted"):
            (self.folder / f"{key}.{note}").unlink(missing_ok=True)
        newest = sorted(self._archives(), key=lambda file: file.stat().st_mtime, reverse=True)
        for file in {*older, *newest[KEPT:]} - {place}:
            file.unlink(missing_ok=True)

    def _archives(self) -> list[Path]:
        return sorted(self.folder.glob("*.jsa"))

    def _make_folders(self) -> None:
        self.folder.parents[1].mkdir(parents=True, exist_ok=True)
        for folder in (self.folder.parent, self.folder):
            folder.mkdir(mode=0o700, exist_ok=True)

    def _check_folders(self) -> None:
        """Check that no other user can put an archive here, or a folder in place of one of these."""
        for folder in (self.folder, self.folder.parent):
            found = folder.lstat()
            if not stat.S_ISDIR(found.st_mode) or not _is_mine(found):
                raise DriverStartError(f"{folder} is not a folder that only this user can write to")
        above = self.folder.parents[1].stat()
        if above.st_uid not in (0, os.geteuid()) or (
            above.st_mode & _OTHERS_MAY_WRITE and not above.st_mode & stat.S_ISVTX
        ):
            raise DriverStartError(f"others can rename folders in {self.folder.parents[1]}")


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
    return ArchiveCache(Path(home, "graph-compiler", "class-archives"))


def _is_whole(file: Path, size: int) -> bool:
    found = file.lstat()
    if not stat.S_ISREG(found.st_mode) or not _is_mine(found) or not os.access(file, os.R_OK):
        raise DriverStartError(f"{file} is not a file that only this user can write to")
    return found.st_size == size


def _is_mine(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_MAY_WRITE
