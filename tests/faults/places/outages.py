"""Remove the staging root while an execution runs, and restore it when that has ended.

The root must be a separate mount (`own_file_system`), so that nothing else is affected.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.faults.plan import Fault

_FILLER = ".filler"
_SIZE = "size=512m"
_LONGEST = 40
"""Seconds; an execution that goes on all the same gets its root back then."""
_RESTORES = {
    Fault.ROOT_FULL: f'rm -f "$1/{_FILLER}"',
    Fault.ROOT_READ_ONLY: 'mount -o remount,rw "$1"',
    Fault.ROOT_GONE: 'umount "$1" || umount -l "$1"',
}
_WAIT = f"""
for _ in $(seq {_LONGEST}); do
  kill -0 "$2" 2>/dev/null || break
  sleep 1
done
sleep 3
"""


@contextmanager
def own_file_system(root: Path) -> Iterator[bool]:
    """Mount a separate file system at a staging root, and unmount it; False if this user may not mount."""
    root.mkdir(parents=True, exist_ok=True)
    mounted = os.geteuid() == 0 and _succeeds("mount", "-t", "tmpfs", "-o", _SIZE, "tmpfs", str(root))
    try:
        yield mounted
    finally:
        while mounted and os.path.ismount(root):
            subprocess.run(["umount", "-l", str(root)], check=True)


def begin_outage(fault: Fault, root: Path, driver: int) -> None:
    """Remove the root, and start a process that restores it three seconds after the driver has died."""
    match fault:
        case Fault.ROOT_FULL:
            _fill(root / _FILLER)
        case Fault.ROOT_READ_ONLY:
            _make_read_only(root)
        case Fault.ROOT_GONE:
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(root)], check=True)
        case _:
            raise AssertionError(f"{fault} is not an outage")
    subprocess.Popen(
        ["bash", "-c", _WAIT + _RESTORES[fault], "restore", str(root), str(driver)],
        start_new_session=True,
        stdout=sys.stderr,
    )


def _make_read_only(root: Path) -> None:
    """Remount; that is refused while a file is open for writing (progress is, about once in a second)."""
    for _ in range(50):
        if _succeeds("mount", "-o", "remount,ro", str(root)):
            return
        time.sleep(0.1)
    raise AssertionError(f"{root} stays busy, and cannot be made read-only")


def _fill(filler: Path) -> None:
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(b"\0" * 1024 * 1024)


def _succeeds(*command: str) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
