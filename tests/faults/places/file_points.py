"""Recognize where a driver is by the files that it is about to make: `sys.addaudithook` sees every one.

Only documented places count (`deployment/documents/staging_layout.py`), not the product's functions:

    <run>/manifests/<data set id>/<epoch>.json      a result is committed
    <root>/.targets/<target>/<n>.intent.json        it is decided what will be published
    <output>/<target>[/<file>]                      rows become visible
    <root>/.positions/<pipeline>/<uid>/<n>.json     it is decided what is new of a source
    …/<n>.end.json                                  nobody else may publish it
    …/sinks/<n>-<operator id>.done.json             a sink has published it
    …/_temporary/0/_temporary/<attempt>/part-…      Spark is writing a partition
"""

from __future__ import annotations

import glob
import os
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graph_compiler.staging.publications.listing import is_hidden
from tests.faults.plan import Point

_INTENT = r"/\.targets/[^/]+/\d+\.intent\.json$"
_POSITION = r"/\.positions/[^/]+/[^/]+/"
_BEFORE = (Point.BEFORE_MANIFEST, Point.BEFORE_INTENT, Point.BEFORE_POSITION)
_WRITING = "_temporary/0/_temporary/*/part-*"


class FilePoints:
    """An audit hook that calls `fire` once, from the thread that is at the point.

    What happens before the file `since` is there does not count.
    """

    def __init__(self, point: Point, run: Path, output: Path, fire: Callable[[], None], *, since: Path) -> None:
        self._point = point
        self._since = str(since)
        self._document = _document_of(point, run)
        self._output = output
        self._fire = fire
        self._awaited: str | None = None
        self._is_armed = True

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Handle an event of the interpreter before it happens."""
        if self._is_armed and self._is_there(event, arguments):
            self._is_armed = False
            self._fire()

    def _is_there(self, event: str, arguments: tuple[Any, ...]) -> bool:
        if self._awaited is not None:  # what was about to be made: has it been?
            return os.path.exists(self._awaited)
        made = made_file(event, arguments)
        if made is None or not os.path.exists(self._since):
            return False
        if not (re.search(self._document, made) if self._document else is_visible(Path(made), self._output)):
            return False
        if self._point in _BEFORE:
            return True
        self._awaited = made
        return False


def _document_of(point: Point, run: Path) -> str | None:
    """Return the pattern of the document that shows a point, None if it is visible rows."""
    manifest = rf"^{re.escape(str(run))}/manifests/[^/]+/\d+\.json$"
    return {
        Point.BEFORE_MANIFEST: manifest,
        Point.AFTER_MANIFEST: manifest,
        Point.BEFORE_INTENT: _INTENT,
        Point.AFTER_INTENT: _INTENT,
        Point.AFTER_ENTRY: rf"{_POSITION}\d+\.json$",
        Point.AFTER_CLAIM: rf"{_POSITION}\d+\.end\.json$",
        Point.BEFORE_POSITION: rf"{_POSITION}sinks/[^/]+\.done\.json$",
        Point.MID_PUBLISH: None,
    }[point]


def made_file(event: str, arguments: tuple[Any, ...]) -> str | None:
    """Return the path that an event is about to make."""
    if event in ("os.link", "os.rename"):
        return os.fsdecode(arguments[1])
    if event == "open":
        path, _, flags = arguments
        if isinstance(path, str | bytes) and isinstance(flags, int) and flags & os.O_CREAT:
            return os.fsdecode(path)
    return None


def is_visible(file: Path, output: Path) -> bool:
    """Whether Spark's readers of a target below `output` see a file."""
    if not file.is_relative_to(output):
        return False
    return not any(is_hidden(part) for part in file.relative_to(output).parts)


def watch_partitions(folders: tuple[Path, ...], fire: Callable[[], None], *, since: Path) -> None:
    """Call `fire` from a separate thread as soon as Spark has opened a partition's file below a folder.

    What happens before the file `since` is there does not count.
    """

    def look() -> None:
        while not since.exists() or not any(
            glob.glob(f"{folder}/**/{_WRITING}", recursive=True, include_hidden=True) for folder in folders
        ):
            time.sleep(0.002)
        fire()

    threading.Thread(target=look, daemon=True).start()
