"""Whether a host has room for a process that makes a class archive, beside what else runs on it.

    free memory below 2 GiB                              never
    up to 2 cores, or less than 4 GiB of free memory     only alone: no other Spark process or Airflow task, of any user
    more                                                 beside others

The maker takes up to 1.8 GiB and one to three minutes of two cores, at the lowest priority. Below 4 GiB, a driver of
Spark's default size would not fit beside it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from graph_compiler.driver_jvm.start_settings import available_cores


def free_memory(meminfo: Path = Path("/proc/meminfo"), group: Path = Path("/sys/fs/cgroup")) -> int | None:
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


_NEEDED = 2 << 30
_SMALL_CORES, _SMALL_MEMORY = 2, 4 << 30
_AT_WORK = (
    (b"org.apache.spark.deploy.SparkSubmit", "a Spark driver"),
    (b"org.apache.spark.executor.", "a Spark executor"),
    (b"airflow worker -- ", "an Airflow task"),
)
"""What the command of a process contains, and what it then is."""
_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Processes:
    """The processes of all users, as Linux lists them in a folder."""

    folder: Path = Path("/proc")

    def other_work(self, own: int) -> str | None:
        """Return what else is at work, None if nothing is; not what process `own` comes from, nor what it started.

        If the processes of other users are hidden, that is an answer, too.
        """
        if self._parent(1) is None:
            return "it is not known what else runs: processes are hidden"
        before = self._line(own)
        for pid in self._pids():
            if (what := self._what(pid)) and pid not in before and own not in self._line(pid):
                return f"{what} (process {pid}) runs"
        return None

    def _pids(self) -> Iterator[int]:
        yield from sorted(int(each.name) for each in self.folder.iterdir() if each.name.isdecimal())

    def _what(self, pid: int) -> str | None:
        with suppress(OSError):
            command = (self.folder / str(pid) / "cmdline").read_bytes()
            return next((what for part, what in _AT_WORK if part in command), None)
        return None

    def _line(self, pid: int) -> set[int]:
        """Return a process, and those it comes from."""
        line: set[int] = set()
        at: int | None = pid
        while at and at not in line:
            line.add(at)
            at = self._parent(at)
        return line

    def _parent(self, pid: int) -> int | None:
        with suppress(OSError, ValueError, IndexError):
            stat = (self.folder / str(pid) / "stat").read_text(errors="replace")
            return int(stat.rpartition(")")[2].split()[1])  # a name may have brackets
        return None


def why_no_room(
    own: int | None = None,
    processes: Processes = Processes(),  # it is a value
    free: Callable[[], int | None] = free_memory,
    cores: Callable[[], float] = available_cores,
) -> str | None:
    """Return why process `own`, by default this one, is not to make a class archive now; None if it may."""
    memory = free()
    if memory is not None and memory < _NEEDED:
        return "less than 2 GiB of memory are free"
    return why_not_alone(own, processes, memory, cores())


def why_not_alone(
    own: int | None = None,
    processes: Processes = Processes(),  # it is a value
    free: int | None = None,
    cores: float = 0,
) -> str | None:
    """Return what runs beside process `own` on a small host; None if nothing does, or the host is larger."""
    is_small = cores <= _SMALL_CORES or (free is not None and free < _SMALL_MEMORY)
    work = processes.other_work(own or os.getpid()) if is_small else None
    memory = "" if free is None else f", {free / _GIB:.1f} GiB free"
    return f"{work} on this small host ({cores:g} cores{memory})" if work else None
