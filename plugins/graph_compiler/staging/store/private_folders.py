"""Folders that only their owner may access: staged rows are data, and a staging root is often shared by many users."""

from __future__ import annotations

import os
from pathlib import Path


def make_private_folder(folder: Path) -> None:
    """Create a folder with mode 0700, and its missing parents, too.

    `Path.mkdir` sets its mode only on the last one. Folders that Spark creates below have Hadoop's mode, and are
    protected by these.
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
