"""Hosts of the cluster fail while a pipeline runs: its rows are right, and each is there once."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster.conftest import ClusterHome
from tests.cluster.standalone_cluster import ROOT, Cluster
from tests.harness.reference import rows
from tests.harness.waiting_run import PRICES

pytestmark = pytest.mark.cluster
DAGS_TEST = [sys.executable, "-m", "airflow", "dags", "test"]
BLOCKING = json.dumps({"execution.batch-shuffle-mode": "ALL_EXCHANGES_BLOCKING"})


def kill_a_worker(cluster: Cluster) -> None:
    cluster.kill("worker-1")


def kill_the_master_and_start_it_again(cluster: Cluster) -> None:
    cluster.kill("master")
    cluster.start("master")


def lose_a_disk(cluster: Cluster) -> None:
    for folder in (cluster.disk("worker-1") / "local").iterdir():
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("fault", [kill_a_worker, kill_the_master_and_start_it_again, lose_a_disk])
def test_a_host_that_fails_costs_no_row(
    fault: Callable[[Cluster], None], whole_cluster: Cluster, cluster_home: ClusterHome, tmp_path: Path
) -> None:
    home = cluster_home
    run_with(fault, "waiting", whole_cluster, home, tmp_path, AIRFLOW__GRAPH_COMPILER__OPTIONS=BLOCKING)
    assert rows(home.output / "waited") == sorted(PRICES)
    assert rows(home.output / "totals") == sorted(
        (key, sum(price for other, _, price in PRICES if other == key)) for key in range(5)
    )


@pytest.mark.parametrize("fault", [kill_a_worker, lose_a_disk])
def test_reports_that_share_rows_are_right_if_a_host_fails(
    fault: Callable[[Cluster], None], whole_cluster: Cluster, cluster_home: ClusterHome, tmp_path: Path
) -> None:
    home = cluster_home
    log = run_with(fault, "shared", whole_cluster, home, tmp_path)
    assert "computed once" in log
    of_keys = {key: [(quantity, price) for other, quantity, price in PRICES if other == key] for key in range(5)}
    assert rows(home.output / "totals") == sorted((key, sum(p for _, p in own)) for key, own in of_keys.items())
    assert rows(home.output / "sizes") == sorted((key, len(own)) for key, own in of_keys.items())
    assert rows(home.output / "largest") == sorted((key, max(q for q, _ in own)) for key, own in of_keys.items())


def run_with(
    fault: Callable[[Cluster], None], dag: str, cluster: Cluster, home: ClusterHome, tmp_path: Path, **more: str
) -> str:
    """Run a Dag that succeeds although a host fails while its functions wait; return its log."""
    sales = cluster.shared / "many_sales.csv"
    sales.write_text("key,quantity\n" + "".join(f"{n % 5},{n}.0\n" for n in range(400)))
    # each partition waits for a file, so that the fault meets a job that runs
    may_go = cluster.shared / f"{tmp_path.name}.may_go"
    params = {"input": str(sales), "output": str(home.output), "may_go": str(may_go)}
    log = tmp_path / "log"
    with log.open("w") as output:
        airflow = subprocess.Popen(
            [*DAGS_TEST, dag, "2013-01-01", "--conf", json.dumps(params)],
            cwd=ROOT,
            env=home.environment(**more),
            stdout=output,
            stderr=output,
        )
        try:
            cluster.wait(lambda: waiting(may_go) >= 1 or airflow.poll() is not None, "a partition")
            assert airflow.poll() is None, log.read_text()[-5000:]
            fault(cluster)
            may_go.touch()
            assert airflow.wait(timeout=400) == 0, log.read_text()[-5000:]
        finally:
            airflow.kill()
    return log.read_text()


def waiting(may_go: Path) -> int:
    """Return how many partitions have begun to wait."""
    return sum(name.startswith(f"{may_go.name}.waits") for name in os.listdir(may_go.parent))
