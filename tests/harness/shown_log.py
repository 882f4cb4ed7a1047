"""The package's log as its programs print it, for tests that look at stdout and stderr."""

from collections.abc import Iterator
from contextlib import contextmanager

from graph_compiler import program_log


@contextmanager
def shown_log() -> Iterator[None]:
    """Print the log while a block runs, as a program does; restore logging afterwards."""
    package = program_log.logger(program_log.NAME)
    before = package.handlers[:], package.level, package.propagate
    package.handlers[:] = []
    program_log.show_logs()
    try:
        yield
    finally:
        package.handlers[:], level, package.propagate = before
        package.setLevel(level)
