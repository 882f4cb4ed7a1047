"""The messages between the web server and the process that reads rows; this module does not need pyarrow."""

from __future__ import annotations

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
class Answer:
    """The answer of the process: rows, or why there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsRead(Answer):
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
class RowsRefused(Answer):
    """The reason for returning no rows."""

    why: WhyRefused
    message: str
