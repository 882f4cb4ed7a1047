"""Where to prepare what a folder will hold: in a place from which it can be renamed into it."""

from __future__ import annotations

import os
from pathlib import Path

from graph_compiler.deployment.preparations import beside, inside


def preparation_folder(target: Path) -> Path:
    """Return the folder of what executions prepare for a target: beside it, or in it where that is another mount.

    A target may be a mount point, or a link to another disk; nothing can be renamed from one mount to another.
    """
    if target.is_dir() and _mount(target) != _mount(target.parent):
        return inside(target)
    return beside(target)


def _mount(folder: Path) -> tuple[int, str]:
    """Return what tells mounts apart: the device, and Linux's number of the mount (one device may have several)."""
    descriptor = os.open(folder, getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY)
    try:
        device, known = os.fstat(descriptor).st_dev, Path(f"/proc/self/fdinfo/{descriptor}")
        lines = known.read_text().splitlines() if known.exists() else []
        return device, next((line for line in lines if line.startswith("mnt_id:")), "")
    finally:
        os.close(descriptor)
