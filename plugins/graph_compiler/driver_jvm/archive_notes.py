"""Notes in the cache of class archives, for archives that are not there.

    <key>.wanted     a driver would have used it
    <key>.tried      a background process was started to make it
    <key>.failed     why it could not be made

The last two count for a day, so what was in the way may go away.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

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
