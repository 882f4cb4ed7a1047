"""Airflow's processes are killed while a driver of theirs uses the cluster."""

from pathlib import Path

import pytest

from tests.cluster.conftest import ClusterHome
from tests.harness.waiting_run import waiting

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize("killed", [["task"], ["supervisor"]])
def test_rows_are_published_once(killed: list[str], cluster_home: ClusterHome, tmp_path: Path) -> None:
    with waiting(cluster_home, tmp_path, cluster_home.cluster.shared) as run:
        run.lose(*killed)
