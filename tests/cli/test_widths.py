"""What commands print: without a terminal nothing is cut or wrapped; on one, lines have its width."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from graph_compiler.cli.commands.set_up.options import broken_key

PROJECT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "graph_compiler"]
LONGEST = "pipeline.operator-chaining.chain-operators-with-different-max-parallelism"
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def piped(*arguments: str) -> str:
    environment = os.environ | {"COLUMNS": "40"}
    return subprocess.run(
        [*COMMAND, *arguments], cwd=PROJECT, env=environment, capture_output=True, text=True, check=True
    ).stdout


def on_a_terminal(columns: int, *arguments: str, **variables: str) -> str:
    """Return what a command prints on a terminal with so many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    environment |= {"TERM": "xterm-256color", **variables}
    with subprocess.Popen(
        [*COMMAND, *arguments], cwd=PROJECT, env=environment, stdout=theirs, stderr=theirs, stdin=theirs
    ):
        os.close(theirs)
        found = bytearray()
        while True:
            try:
                read = os.read(ours, 65536)
            except OSError:  # a terminal that nobody writes to any more
                break
            if not read:
                break
            found += read
    os.close(ours)
    return found.decode().replace("\r\n", "\n")


def test_piped_output_is_not_cut() -> None:
    found = piped("options")
    row = next(line for line in found.splitlines() if LONGEST in line)
    assert row.split() == [LONGEST, "true"]
    assert "\x1b" not in found


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
def test_a_table_is_as_wide_as_its_terminal(columns: int) -> None:
    lines = ESCAPE.sub("", on_a_terminal(columns, "options")).splitlines()
    assert max(len(line.rstrip()) for line in lines) <= columns
    values = {line.split()[-1] for line in lines if line.startswith("execution.runtime-mode")}
    assert values == {"BATCH"}
    begins = [line.split()[0] for line in lines if line.strip()]
    assert LONGEST in "".join(begins)


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (80, ["a.long-key.with-words"]),
        (12, ["a.long-key.", "  with-words"]),
        (9, ["a.long-", "  key.", "  with-", "  words"]),
        (2, ["a.", "  long-", "  key.", "  with-", "  words"]),
    ],
)
def test_keys_are_broken_after_dots_and_only_then_after_hyphens(width: int, lines: list[str]) -> None:
    assert broken_key("a.long-key.with-words", width).split("\n") == lines


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_no_color_is_respected(variables: dict[str, str]) -> None:
    found = on_a_terminal(120, "options", **variables)
    assert not re.search(r"\x1b\[(3|4|9)\d", found)
    assert "BATCH" in found
