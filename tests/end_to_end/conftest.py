"""A real Airflow with its own home, and a real spark-submit."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from graph_compiler.cli.running.embedded_airflow import MIGRATED, EmbeddedAirflow
from graph_compiler.testing.pytest_plugin import SHORT_LIVED
from tests.harness.flights_data import DATA

ROOT = Path(__file__).parents[2]
NOT_THE_USERS = ("AIRFLOW_", "MAKEFLAGS", "MAKELEVEL", "MFLAGS")
"""Beginnings of variables that these tests, or the `make` that runs them, have set."""


@dataclass(frozen=True)
class Home:
    """One Airflow home; the flights pipeline reads `data` and writes to `output`."""

    folder: Path
    data: Path = DATA

    @property
    def output(self) -> Path:
        return self.folder / "output"

    @property
    def staging(self) -> Path:
        return self.folder / "staging"

    @property
    def params(self) -> dict[str, str]:
        return {"input": str(self.data), "output": str(self.output)}

    def environment(self, **more: str) -> dict[str, str]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("AIRFLOW_HOME", str(self.folder))
            for name in [name for name in os.environ if name.startswith(NOT_THE_USERS)]:
                if name != "AIRFLOW_HOME":
                    patch.delenv(name)
            return (
                dict(os.environ)
                | EmbeddedAirflow(ROOT).environment()
                | {"COLUMNS": "180", "SPARK_SUBMIT_OPTS": SHORT_LIVED}
                | {"SPARK_LAUNCHER_OPTS": SHORT_LIVED}
                | more
            )

    def cli(self, *arguments: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run `graph-compiler …`."""
        return self.command("-m", "graph_compiler", *arguments, environment=environment)

    def command(
        self, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run `python …` in the project with this home."""
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=dict(environment or self.environment()),
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )

    def executions(self) -> dict[str, list[Path]]:
        """Return the folders of all executions, by task."""
        found: dict[str, list[Path]] = {}
        for descriptor in sorted(self.staging.glob("flights/*/tasks/*/*/descriptor.json")):
            found.setdefault(descriptor.parts[-3], []).append(descriptor.parent)
        return found


@pytest.fixture(scope="session", autouse=True)
def shared_classes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Make the class archive of all test processes: it saves 40 % of a short spark-submit."""
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        with suppress(FileExistsError):
            (folder / "cache").mkdir()
            made = Home(folder).cli("warm")
            assert made.returncode == 0, made.stderr
        yield


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "airflow")


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return Airflow's database as `airflow db migrate` creates it, which takes six seconds."""
    home = Home(tmp_path_factory.mktemp("migrated"))
    assert home.command("-m", "airflow", "db", "migrate").returncode == 0
    return home.folder / "airflow.db"


@pytest.fixture
def migrated_home(home: Home, migrated: Path) -> None:
    """Copy the database to `home`."""
    home.folder.mkdir()
    shutil.copy(migrated, home.folder)
    (home.folder / MIGRATED).touch()
