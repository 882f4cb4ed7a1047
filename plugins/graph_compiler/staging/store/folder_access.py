"""Who may enter the folders that are created: staged rows are data, and a staging root is often shared by many users.

    0700     their owner only
    2770     a group, if that is the mode of the folder around: for tasks and executors of two users

So the staging root's own mode decides for everything below it, and each process sees the decision.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

Done = TypeVar("Done")

_OF_A_GROUP = stat.S_ISGID | stat.S_IRWXG
_PRIVATE, _SHARED = 0o700, 0o2770
MOST_REMOVALS = 20
"""How often a folder is created again that others have removed while it was empty."""


def is_open_to_group(folder: Path) -> bool:
    """Whether a folder belongs to a group: with the set-group-ID bit, and closed to all others.

    False if there is no such folder.
    """
    try:
        mode = folder.stat().st_mode
    except FileNotFoundError:
        return False
    return (mode & (_OF_A_GROUP | stat.S_IRWXO)) == _OF_A_GROUP


def make_private_folder(folder: Path) -> None:
    """Create a folder that only its owner may enter, and its missing parents, too.

    `Path.mkdir` sets its mode only on the last one.
    """
    for path in _missing(folder):
        try:
            os.mkdir(path, _PRIVATE)
        except FileExistsError:
            if not path.is_dir():
                raise


def make_staging_folder(folder: Path) -> None:
    """Create a folder and its missing parents, for those who may enter the folder around them.

    Folders that Spark creates below have Hadoop's modes, and are protected by these.
    """
    in_staging_folder(folder, lambda: None)


def in_staging_folder(folder: Path, do: Callable[[], Done]) -> Done:
    """Create a folder as `make_staging_folder` does, and do something in it.

    Other processes remove folders while they are empty: if one removes it in between, it is created again. Raises
    FileNotFoundError if it disappears each time.
    """
    for _ in range(MOST_REMOVALS):
        with suppress(FileNotFoundError):
            _make_missing(folder)
            return do()
    _make_missing(folder)
    return do()


def _make_missing(folder: Path) -> None:
    missing = _missing(folder)
    if missing and not is_open_to_group(missing[0].parent):
        make_private_folder(folder)
        return
    for path in missing:
        # Under its name it has its mode from the start: the other user may already be waiting for it.
        aside = tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            os.chmod(aside, _SHARED)
            os.rename(aside, path)
        except OSError:  # another process has created it, and has put something there
            with suppress(FileNotFoundError):
                os.rmdir(aside)
            if not path.is_dir():
                raise


def _missing(folder: Path) -> list[Path]:
    """Return the folders that do not exist, the outermost first."""
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    return missing[::-1]
