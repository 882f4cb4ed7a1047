"""The guide's quickstart, command by command, in a copy of the project."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.conftest import ROOT, Home
from tests.harness.standalone import Api, until

pytestmark = pytest.mark.e2e
LEFT_OUT = {
    ".git",
    ".venv",
    ".venv-core",
    ".airflow",
    "data",
    "output",
    "__pycache__",
    ".mypy_cache",
}
SERVER = "make ui"


def commands() -> list[str]:
    """Return the commands of the first block below the heading, without their comments."""
    text = (ROOT / "docs/guide.md").read_text()
    (block,) = re.findall(r"## Quickstart\n\n```\n(.*?)```", text, re.DOTALL)
    return [line.partition("#")[0].strip() for line in block.splitlines()]


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Path]:
    """Yield a copy of the project that shares what was installed and downloaded."""
    project = tmp_path / "project"
    project.mkdir()
    for path in ROOT.iterdir():
        if path.name == "data":
            (project / path.name).symlink_to(path)
        elif path.name not in LEFT_OUT:
            (shutil.copytree if path.is_dir() else shutil.copy2)(path, project / path.name)
    # Its own folder, and newer than the locks: nothing is installed here, and nothing there is made anew.
    (project / ".venv").mkdir()
    for path in (ROOT / ".venv").iterdir():
        if path.name != ".ready":
            (project / ".venv" / path.name).symlink_to(path)
    (project / ".venv" / ".ready").touch()
    yield project
    shutil.rmtree(project)


def test_every_quickstart_command_works(copy: Path, home: Home) -> None:
    environment = home.environment() | {"AIRFLOW_HOME": str(copy / ".airflow")}
    for name in ("PYTHONPATH", "AIRFLOW__CORE__DAGS_FOLDER", "AIRFLOW__CORE__PLUGINS_FOLDER"):
        environment.pop(name, None)
    said: dict[str, str] = {}
    for command in commands():
        if command == SERVER:
            starts(command, copy, environment)
            continue
        done = subprocess.run(
            command.split(), cwd=copy, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        said[command] = done.stdout
    assert list(said) == [command for command in commands() if command != SERVER]
    assert "late_routes: 5 of 438 rows" in said["make run"]
    assert "3 pipelines checked, nothing wrong" in said[".venv/bin/graph-compiler validate"]
    assert "task totals_by_customer" in said[".venv/bin/graph-compiler explain sales"]
    assert "2 passed" in said[".venv/bin/python -m pytest tests/test_sales.py"]
    assert "ann" in said[".venv/bin/graph-compiler run sales --until totals"]
    assert list((copy / "output/sales/totals").glob("*.parquet"))


def test_quick_make_targets_work(copy: Path, home: Home) -> None:
    environment = home.environment()
    (copy / "output").mkdir(exist_ok=True)

    def said(command: str) -> str:
        done = subprocess.run(
            command.split(), cwd=copy, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    assert "measure compiling and parsing" in said("make help")
    assert said("make explain").startswith("flights · 24 operators")
    assert "export AIRFLOW_HOME=" in said("make -s env")  # as `make env`, without make's own words
    assert "left unchanged" in said("make format")
    said("make clean")
    assert not (copy / "output").exists()


def starts(command: str, project: Path, environment: dict[str, str]) -> None:
    """Start it, see that it answers, and end it."""
    port = "8080"
    log = project / "ui.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            command.split(),
            cwd=project,
            env=environment,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    api = Api(f"http://127.0.0.1:{port}")
    try:
        until(lambda: "user admin, password admin" in log.read_text(), "the UI to start")
        assert api.call("GET", "/api/v2/version")["version"].startswith("3.")
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=60)
