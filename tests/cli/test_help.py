"""`--help` has examples, and shells complete."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from graph_compiler.cli.app import app
from graph_compiler.cli.console import ExitCode

ROOT = Path(__file__).parents[2]
PROGRAM = get_command(app)


def commands(name: str = "", group: object = PROGRAM) -> Iterator[str]:
    """Yield every command as a user types it, including those of groups."""
    for word, command in getattr(group, "commands", {}).items():
        full = f"{name} {word}".strip()
        yield from commands(full, command) if hasattr(command, "commands") else [full]


def told(*arguments: str) -> str:
    done = CliRunner().invoke(app, [*arguments, "--help"], env={"COLUMNS": "200", "TERM": "dumb"})
    assert done.exit_code == 0
    return done.stdout


@pytest.mark.parametrize("command", list(commands()))
def test_every_command_has_a_working_example(command: str) -> None:
    found = re.search(rf"Example: graph-compiler ({command}.*)", told(*command.split()))
    assert found, "its help has no example"
    *_, name = command.split()
    words = shlex.split(found[1].strip())[len(command.split()) :]
    called = PROGRAM
    for word in command.split():
        called = getattr(called, "commands")[word]  # noqa: B009  # a group has it, and mypy cannot know
    called.make_context(name, words)  # parses, and raises where an option or argument is not there


@pytest.mark.parametrize("command", list(commands()))
def test_help_is_wrapped_by_the_terminal_only_and_nothing_of_it_is_lost(command: str) -> None:
    called = PROGRAM
    for word in command.split():
        called = getattr(called, "commands")[word]  # noqa: B009  # a group has it, and mypy cannot know
    _, *others = (called.help or "").split("\n\n")
    assert [words for words in others if "\n" in words] == []
    texts = [str(getattr(parameter, "help", "")) for parameter in called.params]
    assert [text for text in texts if "[" in text] == [], "Rich takes it for markup"


def test_the_first_help_names_every_command_and_exit_code() -> None:
    shown = told()
    assert {name for name in PROGRAM.commands if name not in shown} == set()  # type: ignore[attr-defined]
    assert all(f"{code.value} " in shown for code in ExitCode)


def test_the_table_of_exit_codes_is_complete() -> None:
    table = (ROOT / "docs" / "cli.md").read_text().partition("## Exit codes")[2]
    rows = re.findall(r"^\| (\d+) \|", table.partition("\n## ")[0], flags=re.MULTILINE)
    assert rows == [str(code.value) for code in ExitCode]


def test_every_command_is_in_the_documentation() -> None:
    text = (ROOT / "docs" / "cli.md").read_text()
    assert {name for name in commands() if f"`{name.split()[0]}" not in text} == set()


@pytest.mark.parametrize(
    ("line", "completed"),
    [("vali", "validate"), ("explain one", "one_pipeline"), ("explain x --format mer", "mermaid")],
)
def test_a_shell_completes_commands_pipelines_and_choices(line: str, completed: str, tmp_path: Path) -> None:
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "one_pipeline.py").touch()
    words = f"graph-compiler {line}"
    done = subprocess.run(
        [sys.executable, "-m", "graph_compiler"],
        cwd=tmp_path,
        env=os.environ
        | {
            "PYTHONPATH": str(ROOT / "plugins"),
            "_GRAPH_COMPILER_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split()) - 1),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == [completed], done.stderr
