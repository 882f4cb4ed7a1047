"""Every make target and every command of the documents is run somewhere, and CONTRIBUTING.md says where.

    | command | run by | last run |
    | `make lint` | `.ci/run` | |

For commands that neither CI nor a test runs, the table has the day of the last run.
"""

import re
from datetime import date
from functools import cache
from pathlib import Path

from typer.main import get_command

from graph_compiler.cli.app import app

ROOT = Path(__file__).parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "web" / "README.md"]
CI = ".ci/run"
BY_HAND = "by hand"
ROWS = {
    command: (run_by, day)
    for command, run_by, day in re.findall(
        r"^\| `((?:make|python -m|graph-compiler) [^`]+)` \| (.+?) \| (.*?) ?\|$", CONTRIBUTING, re.MULTILINE
    )
}
COMMAND = re.compile(
    r"(?<![\w./-])(?:\.venv/bin/)?(?:"
    r"(?P<make>make(?: -s)?) (?P<target>[a-z][a-z-]*)(?=[`\n\" )]|$)|"
    r"(?P<program>graph-compiler) (?P<word>[a-z][a-z-]*)(?: (?P<second>[a-z]+))?|"
    r"python -m (?P<module>(?:benchmarks|tests)[\w.]*)"
    r")"
)
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)


def targets() -> set[str]:
    """Return the targets that `make help` shows."""
    return set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))


@cache
def cli_commands() -> set[str]:
    """Return the commands of the command line; those of groups have two words."""
    found = set[str]()
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        inner = getattr(command, "commands", {})
        found |= {f"{name} {word}" for word in inner} or {name}
    return found


def commands_of(text: str) -> set[str]:
    """Return the commands in the code of a text, in the form of the table."""
    found = set[str]()
    for code in CODE.findall(text):
        for match in COMMAND.finditer(code):
            if match["target"]:
                found.add(f"make {match['target']}")
            elif match["module"]:
                found.add(f"python -m {match['module']}")
            else:
                both = f"{match['word']} {match['second']}"
                found.add(f"graph-compiler {both if both in cli_commands() else match['word']}")
    return found


def test_the_table_has_every_target_and_every_command() -> None:
    expected = {f"make {name}" for name in targets()}
    expected |= {f"graph-compiler {name}" for name in cli_commands()}
    assert {row for row in ROWS if not row.startswith("python")} == expected


def test_the_commands_of_documents_are_in_the_table() -> None:
    groups = {f"graph-compiler {name.partition(' ')[0]}" for name in cli_commands() if " " in name}
    unknown = {path.relative_to(ROOT): commands_of(path.read_text()) - groups - set(ROWS) for path in DOCUMENTS}
    assert {path: commands for path, commands in unknown.items() if commands} == {}


def test_what_runs_a_command_names_it() -> None:
    unsaid = []
    for command, (run_by, day) in ROWS.items():
        if run_by.startswith(BY_HAND):
            assert date.fromisoformat(day.partition(" at ")[0])
        else:
            unsaid += [(command, place) for place in re.findall(r"`(.+?)`", run_by) if not names(place, command)]
    assert unsaid == []


def names(place: str, command: str) -> bool:
    """Whether a file runs a command; CI's script in a line of its own."""
    text = (ROOT / place).read_text()
    if place != CI:
        return f'"{command.rpartition(" ")[2]}"' in text or command in text
    program, *words = command.split()
    others = r"( [\w=/.-]+)*"
    return re.search(rf"^ *{program}{others} {re.escape(' '.join(words))}( |$)", text, re.MULTILINE) is not None


def test_commands_are_found() -> None:
    text = "`make test` make lint `.venv/bin/graph-compiler staging gc --all` `make -s env`\n"
    assert commands_of(text) == {"make test", "graph-compiler staging gc", "make env"}
    assert len(ROWS) > 40
