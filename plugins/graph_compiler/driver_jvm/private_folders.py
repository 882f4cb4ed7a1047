"""Folders in which no other user can put a file, or something else in place of one.

/home/me/.cache                     of this user or of root; others cannot rename what is in it
/home/me/.cache/graph-compiler/…    of this user, who alone can write to it

What does not exist yet is made below a folder of this user only.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from graph_compiler.driver_jvm.installation import DriverStartError

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
