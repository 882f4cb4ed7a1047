"""What the commands print: calls of programs, errors, sizes, ages."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from shutil import which
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.text import Text

import graph_compiler
from graph_compiler.declaration.connectors.file_uris import has_store, local_path
from graph_compiler.errors import GraphCompilerError
from graph_compiler.identifiers import plain

_NO_END = 1_000_000
"""Columns of a line that is not printed on a terminal."""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def example(call: str) -> str:
    """Return the last line of a command's help."""
    return f"Example: graph-compiler {call}"


def program_name() -> str:
    """Return this program as the shell finds it from here."""
    own = Path(sys.executable).with_name("graph-compiler")
    if which("graph-compiler") or not own.exists():
        return "graph-compiler"
    return _from_here(own)


def pytest() -> str:
    """Return the command that runs pytest where it can import this package."""
    package = Path(graph_compiler.__file__).parents[1]
    # pip has installed it, or this is its project, whose pytest settings name the folder.
    is_found = "site-packages" in package.parts or package.is_relative_to(Path.cwd())
    path = "" if is_found else f"PYTHONPATH={_from_here(package)} "
    return f"{path}{_from_here(Path(sys.executable))} -m pytest"


def _from_here(path: Path) -> str:
    """Return a path by its shortest path."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


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
    """Print this package's errors on standard error and exit with code 2; others keep their traceback.

    The same for an object store that does not answer, or refuses.
    """
    try:
        yield
    except GraphCompilerError as error:
        _refuse(str(error))
    except OSError as error:
        key = str(error.filename)
        if local_path(key) is not None or not has_store(key):
            raise
        _refuse(f"{key}: {error.strerror}\n  hint: `graph-compiler doctor` tries the store")


def _refuse(words: str) -> NoReturn:
    standard_error().print(Text(plain(words)), soft_wrap=True)
    raise typer.Exit(ExitCode.WRONG) from None


def age_words(seconds: float) -> str:
    """Return an age in its largest unit: `3 d`."""
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


class ExitCode(IntEnum):
    """Exit codes, with one meaning for all commands."""

    DONE = 0
    """The command succeeded, and nothing needs attention."""
    LEFT_TO_DO = 1
    """A run failed, Spark found something, or something is left for a person to do."""
    WRONG = 2
    """A declaration, or the command line itself, is wrong; nothing was run."""
