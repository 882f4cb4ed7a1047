"""Logging of this package's programs: one logger for each module, and one handler that prints their records.

    LOG = program_log.logger(__name__)
    LOG.info("source %s: %s", name, splits)      →  stdout  graph_compiler: source flights: 3 input splits
    LOG.warning("%s is left", place)             →  stderr  graph_compiler: sales_staged is left

A program calls `show` when it starts. Elsewhere (in Airflow, in tests) the loggers behave like those of any library.
"""

from __future__ import annotations

import logging
import sys

NAME = "graph_compiler"


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


def logger(module: str) -> logging.Logger:
    """Return the logger of one of this package's modules."""
    before = logging.getLoggerClass()
    logging.setLoggerClass(_AlwaysEnabled)
    try:
        return logging.getLogger(module)
    finally:
        logging.setLoggerClass(before)


def show() -> None:
    """Print this package's log, each line once: it does not reach the root logger, whose handlers are the user's."""
    package = logger(NAME)
    package.setLevel(logging.INFO)
    package.propagate = False
    if not any(isinstance(handler, _Streams) for handler in package.handlers):
        handler = _Streams()
        handler.setFormatter(logging.Formatter(f"{NAME}: %(message)s"))
        package.addHandler(handler)
