"""How an execution was submitted, kept beside its descriptor so that it can be replayed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """The command as it was run, and as it may be shown; `environment` has the variables added to the worker's own.

    `host` is the worker it was run on.
    """

    command: tuple[str, ...]
    shown: str
    environment: tuple[tuple[str, str], ...]
    host: str
