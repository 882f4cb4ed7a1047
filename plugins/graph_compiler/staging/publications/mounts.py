"""Mounts: nothing can be renamed from one to another, and a folder that contains one must not be moved."""

from __future__ import annotations

import os
import re
from pathlib import Path

from graph_compiler.staging.publications.preparations import beside, inside

_MOUNTS = Path("/proc/self/mountinfo")
_ESCAPED = re.compile(rb"\\([0-7]{3})")


def preparation_folder(target: Path) -> Path:
    """Return the folder for prepared rows of a target: beside it, or in it if the target is a mount point.

    A target may be a mount point, or a link to another disk; nothing can be renamed from one mount to another.
    """
    if target.is_dir() and _mount(target) != _mount(target.parent):
        return inside(target)
    return beside(target)


def has_mount_inside(folder: Path) -> bool:
    """Whether something is mounted below a folder; the mount would move with the folder."""
    below = os.fsencode(os.path.realpath(folder)) + b"/"
    return any(point.startswith(below) for point in _mount_points())


def is_mounted(file: Path) -> bool:
    """Whether a file is itself a mount point, as those that containers get one by one."""
    return os.fsencode(os.path.realpath(file)) in _mount_points()


def _mount_points() -> list[bytes]:
    if not _MOUNTS.exists():  # not Linux: it has no mounts of files, and cannot exchange folders
        return []
    return [_ESCAPED.sub(_letter, line.split(b" ")[4]) for line in _MOUNTS.read_bytes().splitlines()]


def _letter(found: re.Match[bytes]) -> bytes:
    return bytes([int(found[1], 8)])


def _mount(folder: Path) -> tuple[int, str]:
    """Return the identity of a mount: the device, and Linux's mount id (one device may have several)."""
    descriptor = os.open(folder, getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY)
    try:
        device, known = os.fstat(descriptor).st_dev, Path(f"/proc/self/fdinfo/{descriptor}")
        lines = known.read_text().splitlines() if known.exists() else []
        return device, next((line for line in lines if line.startswith("mnt_id:")), "")
    finally:
        os.close(descriptor)
