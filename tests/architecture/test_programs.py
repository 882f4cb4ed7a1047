"""What `scripts/make-venv` installs runs the Python beside it, also in a project that was copied or moved."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAKER = ROOT / "scripts" / "make-venv"
FOLDER = ROOT / ".venv"
BY_VENV = {"pip", "pip3", f"pip3.{sys.version_info.minor}"}
"""What Python's own module installs, by its whole path; nothing here calls it later."""


def is_of_today() -> bool:
    """Whether the script made this environment, and `make` would not make it again."""
    ready = FOLDER / ".ready"
    return ready.is_file() and ready.stat().st_mtime >= MAKER.stat().st_mtime


@pytest.mark.skipif(not is_of_today(), reason="scripts/make-venv has not made .venv")
def test_no_program_names_its_python_by_a_whole_path() -> None:
    found = set()
    for program in (FOLDER / "bin").iterdir():
        if program.is_file():
            with program.open("rb") as opened:
                first = opened.readline(200)
            if first.startswith(b"#!" + str(FOLDER.resolve()).encode()):
                found.add(program.name)
    assert found <= BY_VENV


def test_an_environment_that_others_use_is_not_emptied(tmp_path: Path) -> None:
    """In a second checkout, `.venv` may be a link to the first one's."""
    project, shared = tmp_path / "project", tmp_path / "shared"
    for folder in (project / "scripts", shared):
        folder.mkdir(parents=True)
    shutil.copy(MAKER, project / "scripts")
    (shared / "kept").touch()
    (project / ".venv").symlink_to(shared)
    done = subprocess.run([project / "scripts" / MAKER.name], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f".venv is a link to {shared}" in done.stderr
    assert (shared / "kept").is_file()
