"""A file that is not found is looked for again: network file systems say so of what is there, and then correct it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")


def ask_again(call: Callable[[], Answer]) -> Answer:
    """Return what a call to the file system returns; raises FileNotFoundError only if it does so twice."""
    try:
        return call()
    except FileNotFoundError:
        return call()
