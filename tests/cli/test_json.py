"""Every command has a form for programs: `--json`, one document on standard output; or a reason why not."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from graph_compiler.cli.app import app
from tests.cli.test_help import PROGRAM, commands

WITHOUT = {
    "schema": "what it prints is a JSON document",
    "export": "what it prints is a YAML document",
    "ui": "it is a server, until it is ended",
}


def options_of(command: str) -> set[str]:
    found = PROGRAM
    for word in command.split():
        found = getattr(found, "commands")[word]  # noqa: B009  # a group has it, and mypy cannot know
    return {option for parameter in found.params for option in parameter.opts}


@pytest.mark.parametrize("command", [name for name in commands() if name not in WITHOUT])
def test_every_command_has_a_json_form(command: str) -> None:
    assert "--json" in options_of(command)


def test_commands_without_json_exist_and_have_a_reason() -> None:
    assert {name for name in WITHOUT if "--json" in options_of(name)} == set()


@pytest.mark.parametrize("command", ["env", "options", "options flights", "staging list"])
def test_standard_output_is_one_document(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "home"))
    done = CliRunner().invoke(app, [*command.split(), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) is not None


@pytest.mark.parametrize(
    "command",
    [
        "history nothing run --json",
        "replay nothing run task --json",
        "staging show nothing run --json",
        "explain nothing --json",
        "diff nothing flights --json",
        "options nothing --json",
        "new class --json",
    ],
)
def test_errors_go_to_stderr_and_stdout_is_empty(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "home"))
    done = CliRunner().invoke(app, command.split())
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.strip()


def test_a_shell_has_no_json() -> None:
    done = CliRunner().invoke(app, ["replay", "a", "b", "c", "--shell", "--json"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert "cannot be combined with --json" in done.stderr
