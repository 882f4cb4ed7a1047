"""Wait for what another thread or process does."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path


def wait_until(condition: Callable[[], object], *, seconds: float = 60, shows: Callable[[], str] = str) -> None:
    """Wait until a condition holds; raises AssertionError with what `shows` returns if it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s\n{shows()}"
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    """Whether a process is running; one that has ended but was not waited for is not."""
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"
