"""What the commands print: calls of programs, errors, sizes, ages."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from graph_compiler.cli.exit_codes import ExitCode
from graph_compiler.errors import GraphCompilerError

_NO_END = 1_000_000
"""Columns of a line that is not printed on a terminal."""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def example(call: str) -> str:
    """Return the last line of a command's help."""
    return f"Example: graph-compiler {call}"


def program() -> str:
    """Return this program as the shell finds it from here."""
    return "graph-compiler" if which("graph-compiler") else ".venv/bin/graph-compiler"


def python() -> str:
    """Return the Python that has this package, by its shortest path from here."""
    here, found = Path.cwd(), Path(sys.executable)
    return str(found.relative_to(here) if found.is_relative_to(here) else found)


def standard_output() -> Console:
    """Return a console for standard output. Without a terminal it cuts and wraps nothing, whatever COLUMNS says."""
    return _console(stderr=False)


def standard_error() -> Console:
    """Return a console for standard error, as `standard_output` does."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    found = Console(stderr=stderr)
    return found if found.is_terminal else Console(stderr=stderr, width=_NO_END)


@contextmanager
def speaking_plainly() -> Iterator[None]:
    """Print this package's errors on standard error and exit with code 2; others keep their traceback."""
    try:
        yield
    except GraphCompilerError as error:
        standard_error().print(Text(str(error)), soft_wrap=True)
        raise typer.Exit(ExitCode.WRONG) from None


def size_words(size: float) -> str:
    """Return a number of bytes as text: `12.3 MB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def age_words(seconds: float) -> str:
    """Return an age in its largest unit: `3 d`."""
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"
