"""spark-submit as a process of this host: how much of its output is logged, and how all of its group ends.

The provider's hook signals only spark-submit, and the driver, a child process of its JVM, would continue and commit. If
Airflow's task process itself is killed, a shell that waits for its end does the same: otherwise the driver would run
beside its successor's.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

GRACE_SECONDS = 5
"""Seconds between TERM and KILL."""
PATIENCE_SECONDS = 30
"""Seconds before TERM for a driver that was asked to end behind its batch."""
BEGINNING = 16 * 1024 * 1024
"""The number of characters at the beginning of the output that are logged immediately."""
LAST_LINES = 2_000
LONGEST_LINE = 64 * 1024


def limited(lines: Iterable[str], *, beginning: int = BEGINNING) -> Iterator[str]:
    """Yield lines up to a number of characters, then the last lines; a line between says how many are left out.

    All lines are read.
    """
    left, last, skipped = beginning, deque[str](maxlen=LAST_LINES), 0
    for whole in lines:
        line = whole if len(whole) <= LONGEST_LINE else f"{whole[:LONGEST_LINE]} …\n"
        if left > 0:
            left -= len(line)
            yield line
            continue
        if len(last) == LAST_LINES:
            skipped += 1
        last.append(line)
    if skipped:
        yield f"graph_compiler: {skipped:,} lines are left out here\n"
    yield from last


def end_driver(leader: subprocess.Popen[str] | None, *, is_elsewhere: bool, patience: int = 0) -> bool:
    """End a process of spark-submit; False if its driver runs on another host, or nothing runs.

    With patience, a driver of this host may first end by itself, for so many seconds; this does not wait.
    """
    if leader is None:
        return False
    # A driver on another host outlives it long: by then, its number may be that of another process.
    if not is_elsewhere or leader.poll() is None:
        end_group(leader, patience=0 if is_elsewhere else patience)
    return not is_elsewhere


def end_group(leader: subprocess.Popen[str], grace_seconds: float = GRACE_SECONDS, *, patience: int = 0) -> None:
    """Send TERM to a leader's group, and KILL to the remaining processes later, without waiting.

    TERM is sent now, or after so many seconds of patience if the group has not ended by then.

    A separate process sends the KILL, since Airflow's supervisor kills this one five seconds after asking it to end.
    """
    group = leader.pid  # the leader started its own session
    if patience:
        _shell(f"({_waiting(group, patience)} {_ending(group, grace_seconds)}) &").wait()
        return
    try:
        os.killpg(group, signal.SIGTERM)
    except ProcessLookupError:
        return
    _shell(_killing(group, grace_seconds)).wait()


@contextmanager
def ended_unless_done(group: int, grace_seconds: float = GRACE_SECONDS, patience: int = 0) -> Iterator[None]:
    """End a group if this block raises, or this process dies in it: either closes its end of a pipe.

    With patience, the group may first end by itself.
    """
    end = f"{_waiting(group, patience)} {_ending(group, grace_seconds)}"
    waits, says = os.pipe()
    shell = _shell(f"read -r done || {{ {end} }}", stdin=waits)
    os.close(waits)
    try:
        yield
        with suppress(BrokenPipeError):  # the shell was ended
            os.write(says, b"done\n")
    finally:
        os.close(says)
        shell.wait()


def _waiting(group: int, patience: int) -> str:
    if not patience:
        return ""
    return f"n=0; while [ $n -lt {patience} ] && kill -0 -{group} 2>/dev/null; do sleep 1; n=$((n+1)); done;"


def _ending(group: int, grace_seconds: float) -> str:
    return f"kill -TERM -{group} && {_killing(group, grace_seconds)}"


def _killing(group: int, grace_seconds: float) -> str:
    return f"(sleep {grace_seconds}; kill -KILL -{group}) &"


def _shell(program: str, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    """Start a shell that outlives this process."""
    return subprocess.Popen(
        ["/bin/sh", "-c", program],
        start_new_session=True,
        stdin=stdin,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
