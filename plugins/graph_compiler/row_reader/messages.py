"""The messages between the web server and the process that reads rows; this module does not need pyarrow."""

from __future__ import annotations

import resource
import signal
from dataclasses import dataclass
from enum import StrEnum

from graph_compiler.explain.documents.view_answers import Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsWanted:
    """A request for a limited number of rows from files that the server has opened; the process itself opens none.

    `fields` is JSON: fields of Spark's schema. `gone` is why the next file cannot be read: an error only if its rows
    are needed.
    """

    most: int
    fields: str
    descriptors: tuple[int, ...]
    gone: str | None


@dataclass(frozen=True, slots=True)
class RowsAnswer:
    """The answer of the process: rows, or why there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsRead(RowsAnswer):
    """Rows in the order of files, cells in the order of `shown`: the indexes of the fields that could be read."""

    shown: tuple[int, ...]
    rows: tuple[tuple[Cell, ...], ...]


class WhyRefused(StrEnum):
    """Kinds of reasons for returning no rows."""

    NOT_AS_COMMITTED = "not as committed"
    """The message is written by this project."""
    UNREADABLE = "unreadable"
    NO_PYARROW = "no pyarrow"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsRefused(RowsAnswer):
    """The reason for returning no rows."""

    why: WhyRefused
    message: str


# Resource limits of the process that reads rows, which it sets itself before it reads anything.
#
# Measured with pyarrow 26 on Linux: the process has 230 MB of address space before it reads, and 380 MB after the
# largest read that `pages` allows (a page of 60 MB, 60 columns, a footer of 6 MB). Of these, it uses 70 and 230 MB.

MOST_MEMORY = 768 << 20
"""Bytes of address space: RLIMIT_AS counts memory however it is allocated."""
CPU_SECONDS = 6
WALL_SECONDS = 8
"""Seconds until the server ends the process; if the server has died, the process's own alarm does, a little later."""


def limit_what_it_takes() -> None:
    """Limit memory and time, and forbid writing files, including core dumps."""
    _lower(resource.RLIMIT_AS, MOST_MEMORY)
    _lower(resource.RLIMIT_CPU, CPU_SECONDS, spare=1)  # XCPU shows why, KILL does not
    _lower(resource.RLIMIT_FSIZE, 0)
    _lower(resource.RLIMIT_CORE, 0)
    signal.alarm(WALL_SECONDS + 2)


def open_nothing_more() -> None:
    """Forbid opening any further file, socket or pipe; open descriptors stay open."""
    _lower(resource.RLIMIT_NOFILE, 0)


def _lower(kind: int, most: int, *, spare: int = 0) -> None:
    """Set a limit that cannot be raised again; a lower one that is already set stays."""
    _, hard = resource.getrlimit(kind)
    if hard == resource.RLIM_INFINITY or hard > most + spare:
        hard = most + spare
    resource.setrlimit(kind, (min(most, hard), hard))
