"""Logging of this package's programs: one logger for each module, and one handler that prints their records.

    LOG = program_log.logger(__name__)
    LOG.info("source %s: %s", name, splits)      →  stdout  graph_compiler: source flights: 3 input splits
    LOG.warning("%s is left", place)             →  stderr  graph_compiler: sales_staged is left

    with program_log.about({"region": "late_routes", "attempt": 1}):
        LOG.info("it begins")                    →  graph_compiler: it begins [region=late_routes attempt=1]

A program calls `show` when it starts. Elsewhere (in Airflow, in tests) the loggers behave like those of any library.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from graph_compiler.identifiers import plain

NAME = "graph_compiler"
_FIELDS: ContextVar[Mapping[str, object]] = ContextVar("log fields")
_NOTHING: Mapping[str, object] = {}
_UNINDENTED = re.compile(r"\n(?!\s)")
_PLAIN = re.compile(r"[\w.:+@/%-]+")


class _AlwaysEnabled(logging.Logger):
    """A logger that no logging configuration disables: user functions run in the same process.

    `logging.config.dictConfig` disables every logger that it does not name. A level or handler that it sets for this
    one is used.
    """

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, False if name == "disabled" else value)

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802  # logging's name
        """Whether a record of this level is made, even after `logging.disable`."""
        return level >= self.getEffectiveLevel()


class _Streams(logging.Handler):
    """Prints warnings and errors to stderr, and the rest to stdout; always to the current streams."""

    def emit(self, record: logging.LogRecord) -> None:
        stream = sys.stdout if record.levelno < logging.WARNING else sys.stderr
        try:
            stream.write(f"{self.format(record)}\n")
            stream.flush()
        except Exception:  # as in every handler: this must not end the work
            self.handleError(record)


class _WithFields(logging.Formatter):
    """Adds what a record is about, to its first line, and keeps values from looking like other records.

    A name, a path or a record of a file in a message may hold line breaks and control characters: lines after the
    first are indented, and control characters are escaped.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  # logging's name
        """Return the record's line; a traceback comes after it."""
        words = with_fields(super().formatMessage(record), _FIELDS.get(_NOTHING))
        return _UNINDENTED.sub("\n  ", plain(words))


@contextmanager
def about(fields: Mapping[str, object]) -> Iterator[None]:
    """Add fields to the records of a `with` block, after those of blocks around it; not to those of other threads."""
    token = _FIELDS.set({**_FIELDS.get(_NOTHING), **fields})
    try:
        yield
    finally:
        _FIELDS.reset(token)


def with_fields(message: str, fields: Mapping[str, object]) -> str:
    """Return a message with fields at the end of its first line, as `name=value`; a value with blanks is quoted."""
    if not fields:
        return message
    told = " ".join(f"{name}={_shown(value)}" for name, value in fields.items())
    first, newline, rest = message.partition("\n")
    return f"{first} [{told}]{newline}{rest}"


def _shown(value: object) -> str:
    text = str(value)
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def logger(module: str) -> logging.Logger:
    """Return the logger of one of this package's modules."""
    before = logging.getLoggerClass()
    logging.setLoggerClass(_AlwaysEnabled)
    try:
        return logging.getLogger(module)
    finally:
        logging.setLoggerClass(before)


def show_logs() -> None:
    """Print this package's log, each line once: it does not reach the root logger, whose handlers are the user's."""
    package = logger(NAME)
    package.setLevel(logging.INFO)
    package.propagate = False
    if not any(isinstance(handler, _Streams) for handler in package.handlers):
        handler = _Streams()
        handler.setFormatter(_WithFields(f"{NAME}: %(message)s"))
        package.addHandler(handler)
