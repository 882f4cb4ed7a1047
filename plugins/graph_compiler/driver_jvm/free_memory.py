"""How much memory another process may use here, without another one being ended for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def free_memory(
    meminfo: Path = Path("/proc/meminfo"), group: Path = Path("/sys/fs/cgroup")
) -> int | None:
    """Return the bytes that the host has available and the container may still use, None if neither is known."""
    return min((*_of_host(meminfo), *_of_group(group)), default=None)


def _of_host(meminfo: Path) -> Iterator[int]:
    with suppress(OSError):
        if found := re.search(r"^MemAvailable:\s+(\d+) kB", meminfo.read_text(), re.MULTILINE):
            yield int(found[1]) * 1024


def _of_group(group: Path) -> Iterator[int]:
    """Yield what a container with cgroup v2 may still use; files that Linux keeps in memory count as used."""
    with suppress(OSError, ValueError):
        yield int((group / "memory.max").read_text()) - int((group / "memory.current").read_text())
