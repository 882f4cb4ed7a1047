"""Read a text file by a user's path: a regular file of limited size, optionally only below a folder."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from graph_compiler.identifiers import PIPELINES


def read_file_bytes(path: Path, *, most: int) -> bytes:
    """Return a file's content; raises OSError, and ValueError for a special or oversized file.

    A FIFO or a device does not block.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):  # opening a device may have side effects
        raise ValueError("it is not a regular file")
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"it has more than {most} bytes")
    return content


def file_below(folder: Path, name: str) -> Path:
    """Return the path for a name in a file of declarations; raises ValueError if it is in another place.

    It must be in the folder of that file, or anywhere in its pipelines folder, after following links.
    """
    if name.startswith("~") or Path(name).is_absolute():
        raise ValueError("it is not a relative path")
    here = Path(os.path.realpath(folder))
    home = next((one for one in reversed((here, *here.parents)) if one.name == PIPELINES), here)
    found = Path(os.path.realpath(here / name))
    if not found.is_relative_to(home):
        raise ValueError(f"it is outside {home}")
    return found
