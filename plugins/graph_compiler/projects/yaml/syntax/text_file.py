"""Read a text file that somebody names: a regular file of a bounded size, and where asked, below a folder."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from graph_compiler.identifiers import PIPELINES


def read_bytes(path: Path, *, most: int) -> bytes:
    """Return a file's content; raises OSError, and ValueError for what is no file, or has more bytes.

    A FIFO or a device is not waited for.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):  # to open a device may do something
        raise ValueError("it is not a regular file")
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"it has more than {most} bytes")
    return content


def file_below(folder: Path, name: str) -> Path:
    """Return the file that a name in a file of declarations means; raises ValueError for one that lies elsewhere.

    It lies in the folder of that file, or anywhere in the pipelines folder it is in, links followed.
    """
    if name.startswith("~") or Path(name).is_absolute():
        raise ValueError("it is not a relative path")
    here = Path(os.path.realpath(folder))
    home = next((one for one in reversed((here, *here.parents)) if one.name == PIPELINES), here)
    found = Path(os.path.realpath(here / name))
    if not found.is_relative_to(home):
        raise ValueError(f"it is outside {home}")
    return found
