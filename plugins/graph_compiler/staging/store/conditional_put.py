"""Write an object on the condition that there is none, though an answer may be lost (decision 46).

    answered                     this write has made the object
    refused, or not answered     the object shows whose write has made it: each has an id of its own
    and there is no object       the request was lost, or is delayed: it is sent again, with the same id

A delayed request that arrives last is refused because of its own successor. One that arrives after all is the put of an
execution that has failed: it counts, as if the execution had ended right after it.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import TypeVar

PUT_ID = "graph-compiler-put"
"""The name of an object's metadata with the id of its write; S3's header is `x-amz-meta-graph-compiler-put`."""
TURNS = 4
"""How often a request is sent if none is answered."""
_PAUSE = 0.5
"""Seconds before it is sent again; twice as many before each further time."""

Answer = TypeVar("Answer")


def put_once(write: Callable[[str], None], written_by: Callable[[], str | None]) -> bool:
    """Write with an id; False if there is an object of another write.

    `write` raises OSError if it was refused or not answered. `written_by` returns the id of the object, "" if it has
    none, and None if there is no object. Raises OSError if neither tells, and if the write is denied.
    """
    own = uuid.uuid4().hex
    for pause in _pauses():
        try:
            write(own)
        except OSError as error:
            if (found := written_by()) is not None:
                return found == own
            if pause is None or isinstance(error, PermissionError):
                raise
            time.sleep(pause)
        else:
            return True
    raise AssertionError("the last turn returns or raises")


def ask_repeatedly(request: Callable[[], Answer]) -> Answer:
    """Send a request that changes nothing when it is repeated; raises OSError if none is answered."""
    for pause in _pauses():
        try:
            return request()
        except (FileNotFoundError, PermissionError):
            raise
        except OSError:
            if pause is None:
                raise
            time.sleep(pause)
    raise AssertionError("the last turn returns or raises")


def _pauses() -> tuple[float | None, ...]:
    """Return the seconds to wait after each turn, None after the last."""
    return (*(_PAUSE * 2**turn for turn in range(TURNS - 1)), None)


def ask_again(call: Callable[[], Answer]) -> Answer:
    """Return what a call to the file system returns; raises FileNotFoundError only if it does so twice."""
    try:
        return call()
    except FileNotFoundError:
        return call()
