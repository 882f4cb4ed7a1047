"""Find the line of the user's file that declares something."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from graph_compiler.errors import SourceLocation

# As Python loaded it: behind a symbolic link, frames carry the link's path.
_PACKAGE = str(Path(__file__).parents[1]) + os.sep


def caller_location() -> SourceLocation | None:
    """Give the innermost frame outside this package, or None when there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            return SourceLocation(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back  # type: ignore[assignment]  # typeshed: None at the outermost frame
    return None
