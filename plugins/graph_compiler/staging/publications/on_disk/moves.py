"""Move a file to its place, even from one mount to another.

    mine/                  a folder only of this carrier, in the room beside the file's place
    look for the file      in the folder this carrier has claimed: if another has claimed it since, it is not there
    copy, flush            into mine/, where no reader looks
    rename                 to its place, in one step

A carrier that claims the file then also claims everything in the room. So a carrier that sleeps at any point before
the last finds its folder gone when it wakes, or did not find the file: a copy never appears after another carrier has
finished.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from graph_compiler.staging.publications.preparations import inside


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
