"""Airflow's processes are killed while a driver runs on their host: it ends, or cannot commit beside its successor."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.end_to_end.conftest import Home
from tests.harness.waiting_run import REPOSITORY, waiting

pytestmark = [pytest.mark.e2e, pytest.mark.long]


@dataclass(frozen=True)
class HomeOfRepository(Home):
    """An Airflow home that finds the repository of the pipeline that waits."""

    def environment(self, **more: str) -> dict[str, str]:
        environment = super().environment(**more)
        environment["PYTHONPATH"] += f"{os.pathsep}{REPOSITORY}"
        return environment


@pytest.mark.parametrize("killed", [["task"], ["supervisor"], ["supervisor", "task"]])
def test_rows_are_published_once(killed: list[str], tmp_path: Path) -> None:
    home = HomeOfRepository(tmp_path / "airflow")
    home.output.mkdir(parents=True)
    with waiting(home, tmp_path, tmp_path) as run:
        run.lose(*killed)
