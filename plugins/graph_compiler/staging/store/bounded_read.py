"""Read files and folders that others can write: only regular files of limited size, and folders of limited length.

a name that is not there            None, or no names
a FIFO, device, socket, folder,     DamagedDocumentError, without being opened
link, or a file that is too large
denied, I/O error, stale handle     OSError: nothing is known, so this is never taken for "not there"
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from graph_compiler.errors import DamagedDocumentError
from graph_compiler.staging.store.staging_store import MOST_BYTES, MOST_ENTRIES

_KINDS = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def read_bytes(path: str, *, most: int = MOST_BYTES) -> bytes | None:
    """Return the content of a regular file, None if it does not exist.

    Raises DamagedDocumentError for anything but a regular file of at most `most` bytes, OSError if that cannot be
    found out.
    """
    opened = open_regular(path, most=most)
    if opened is None:
        return None
    with open(opened, "rb") as file:
        content = file.read(most + 1)
    if len(content) > most:  # it has grown since it was opened
        raise DamagedDocumentError(path, f"has more than {most:,} bytes")
    return content


def open_regular(path: str, *, most: int) -> int | None:
    """Return a file descriptor to read a regular file; the rest as in `read_bytes`.

    The file that is checked is the opened one: a name that is replaced in between is refused. Opening never blocks.
    """
    try:
        _check(path, os.lstat(path), most)
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        _check(path, os.fstat(opened), most)
    except BaseException:
        os.close(opened)
        raise
    return opened


def names_in(folder: str, *, most: int = MOST_ENTRIES) -> list[str]:
    """Return the names in a folder, except those that begin with a dot; none if the folder does not exist.

    Raises DamagedDocumentError if there are too many, OSError if the folder cannot be read.
    """
    names = (entry.name for entry in _entries(folder, most))
    return [name for name in names if not name.startswith(".")]


def folders_in(folder: str, *, most: int = MOST_ENTRIES) -> list[str]:
    """Return the names of the folders in a folder, including hidden ones, without links; otherwise like `names_in`."""
    return sorted(entry.name for entry in _entries(folder, most) if entry.is_dir(follow_symlinks=False))


def _entries(folder: str, most: int) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            for number, entry in enumerate(entries):
                if number >= most:
                    raise DamagedDocumentError(folder, f"has more than {most:,} entries")
                yield entry
    except FileNotFoundError:
        return


def _check(path: str, status: os.stat_result, most: int) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = next((kind for is_one, kind in _KINDS if is_one(status.st_mode)), "no file")
        raise DamagedDocumentError(path, f"is {kind}")
    if status.st_size > most:
        raise DamagedDocumentError(path, f"has {status.st_size:,} bytes, more than {most:,}")
