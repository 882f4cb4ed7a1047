"""Folders that only their owner may enter: staged rows are data, and a staging root is often shared by many users."""

from __future__ import annotations

import os
from pathlib import Path


def make_private_folder(folder: Path) -> None:
    """Make a folder with mode 0700, and so every one above it that is missing.

    `Path.mkdir` gives its mode to the last one only. What Spark makes below has Hadoop's mode, and is shut by these.
    """
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for path in reversed(missing):
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            if not path.is_dir():
                raise
