"""Signals that end a command without an exception in Python: its children must not outlive it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

_ENDS = (signal.SIGTERM, signal.SIGHUP)
"""What schedulers send to cancel a job, and a terminal when it is closed."""


@contextmanager
def ended_as_by_ctrl_c() -> Iterator[None]:
    """Let these signals raise KeyboardInterrupt, as Ctrl-C does; one that is ignored (nohup) stays ignored."""
    before = {
        number: signal.signal(number, signal.default_int_handler)
        for number in _ENDS
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
