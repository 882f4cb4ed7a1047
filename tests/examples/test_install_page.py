"""Follows docs/install.md with pip and with uv, in an environment that has nothing of ours: needs the index of PyPI."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.long, pytest.mark.e2e]
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "install.md").read_text()
_OURS = re.compile(r"AIRFLOW|PYTHON|PYTEST|SPARK_HOME|VIRTUAL_ENV")


def install_commands(tool: str) -> list[str]:
    (row,) = re.findall(rf"^\| {tool} \| (.*) \|$", PAGE, re.MULTILINE)
    return re.findall(r"`([^`]*)`", row)


def blocks() -> list[list[str]]:
    return [block.splitlines() for block in re.findall(r"^```\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)]


class Stranger:
    """A user's project, and an environment of its own."""

    def __init__(self, folder: Path, tool: str) -> None:
        self.project, self.tool, self.venv = folder / "project", tool, folder / "venv"
        self.project.mkdir(parents=True)
        subprocess.run([sys.executable, "-m", "venv", str(self.venv)], check=True)
        self.environment = {name: value for name, value in os.environ.items() if not _OURS.match(name)} | {
            "PATH": os.pathsep.join([str(self.venv / "bin"), os.environ["PATH"]]),
            "VIRTUAL_ENV": str(self.venv),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "AIRFLOW_HOME": str(folder / "airflow"),
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.project / "dags"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[2]"}),
        }

    def run(self, *commands: str, status: int = 0, folder: Path | None = None) -> str:
        """Run commands in one shell; return their output."""
        done = subprocess.run(
            ["bash", "-ec", "\n".join(commands)],
            cwd=folder or self.project,
            env=self.environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=1200,
        )
        assert done.returncode == status, done.stdout[-5000:]
        return done.stdout


@pytest.fixture(scope="module", params=["pip", "uv"])
def stranger(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Stranger:
    """Follow the page up to the last command of the installation."""
    folder = tmp_path_factory.mktemp(request.param)
    found = Stranger(folder, request.param)
    (build,) = [block for block in blocks() if "pip wheel" in block[0]]
    clone = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    found.run(*build, folder=clone)
    (wheel,) = (clone / "dist").glob("*.whl")
    assert wheel.name in PAGE
    found.environment["WHEEL"] = str(wheel)
    if request.param == "uv":
        found.run("python -m pip install --quiet uv")
    return found


def test_the_commands_of_the_page_lead_to_a_run(stranger: Stranger) -> None:
    first, *others = install_commands(stranger.tool)
    if stranger.tool == "pip":
        stranger.run(first)
        assert "✗ pyspark" in stranger.run("graph-compiler doctor", status=1), "both are installed"
        stranger.run("airflow db migrate", "graph-compiler new mixed", "export PYTHONPATH=$PWD")
        refused = stranger.run("export PYTHONPATH=$PWD", "airflow dags test mixed 2013-01-01", status=1)
        assert "pyspark-client writes into pyspark's folder: pip uninstall -y pyspark-client" in refused
        stranger.run(*others)
    else:
        stranger.run(first, *others, "airflow db migrate")
    said = stranger.run("graph-compiler doctor")
    assert ", 0 failed, " in said
    (use,) = [block for block in blocks() if block[0].startswith("graph-compiler new")]
    stranger.run(*(shlex.join(shlex.split(line, comments=True)) if "$" not in line else line for line in use))
    assert list((stranger.project / "output" / "sales" / "totals").glob("*.parquet"))
    listed = stranger.run("airflow plugins --output json")
    assert "graph_compiler" in listed
