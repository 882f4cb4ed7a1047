"""Ends of a command that Python would not see: its children must not outlive them."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

_ENDS = (signal.SIGTERM, signal.SIGHUP)
"""What anyone who cancels a job sends, and what a terminal sends when it is closed."""


@contextmanager
def ended_as_by_ctrl_c() -> Iterator[None]:
    """Let these signals raise KeyboardInterrupt, as Ctrl-C does; one that is ignored (nohup) stays so."""
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
