"""Find the line in the user's file that declares something."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from graph_compiler.errors import SourceLocation

# As Python loaded it, and as frames have it: through a symbolic link, or from an archive as ./code.zip/graph_compiler.
_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
_DECLARING: ContextVar[SourceLocation | None] = ContextVar("declaring", default=None)


@contextmanager
def declaring_at(location: SourceLocation) -> Iterator[None]:
    """Set the location of all declarations inside the block, for a file that is read and not run."""
    token = _DECLARING.set(location)
    try:
        yield
    finally:
        _DECLARING.reset(token)


def caller_location() -> SourceLocation | None:
    """Return the innermost frame outside this package, None if there is none; inside `declaring_at`, its location."""
    if (location := _DECLARING.get()) is not None:
        return location
    frame = sys._getframe(1)
    while frame is not None:
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            return SourceLocation(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back  # type: ignore[assignment]  # typeshed: None at the outermost frame
    return None
