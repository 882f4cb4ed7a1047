"""Set Airflow's own home for the tests, before anything imports Airflow."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session", autouse=True)
def airflow_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("airflow")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIRFLOW_HOME", str(home))
        for name, value in EmbeddedAirflow(ROOT).environment().items():
            if name != "PYTHONPATH":
                patch.setenv(name, value)
        yield home
