"""What the exit codes of commands mean; docs/cli.md has the same table."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes, with one meaning for all commands."""

    DONE = 0
    """The command succeeded, and nothing needs attention."""
    LEFT_TO_DO = 1
    """A run failed, Spark found something, or something is left for a person to do."""
    WRONG = 2
    """A declaration, or the command line itself, is wrong; nothing was run."""
