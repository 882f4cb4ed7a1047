"""What a command's exit code says; docs/cli.md has the same table."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """One meaning for all commands."""

    DONE = 0
    """It is done, and there is nothing to see to."""
    LEFT_TO_DO = 1
    """A run failed, Spark found something, or something is left for a person to do."""
    WRONG = 2
    """A declaration, or the call itself, is wrong; nothing was run."""
