"""A cluster whose hosts share no disk: sources, staged results, code and targets are in an object store."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from graph_compiler.object_stores.s3_store import ObjectStore
from tests.cluster.conftest import ClusterHome, needs_hosts
from tests.cluster.standalone_cluster import ROOT, Cluster, standalone_cluster
from tests.harness.flights_data import copy_january
from tests.harness.named_files import make_named_files
from tests.harness.object_stores import CONNECTOR, JARS, SECRET, ObjectServer, object_server
from tests.harness.reference import assert_same_rows, expected, published, reports, rows
from tests.harness.secret_search import files_with
from tests.harness.staging_in_stores import download, staging_variables, upload
from tests.harness.waiting_run import PRICES
from tests.tpch.tables import write_tables
from tests.tpch.test_tpch import QUERIES, assert_answers

pytestmark = pytest.mark.objects

BUCKET = "lake"
TOTALS = sorted((key, sum(price for other, _, price in PRICES if other == key)) for key in range(5))
TPCH_DAGS = '''"""Queries of TPC-H, whose tables and targets are where variables say."""

from datetime import datetime
from pathlib import Path

from graph_compiler.airflow_backend import build_dag
from tests.tpch.test_tpch import QUERIES

for name in {names}:
    env = QUERIES[name].declare(Path("{{{{ var.value.tables }}}}"), Path("{{{{ var.value.target }}}}"))
    globals()[name] = build_dag(env, schedule=None, start_date=datetime(2013, 1, 1))
'''
WAITING_DAGS = '''"""Pipelines that wait for an object."""

from datetime import datetime, timedelta

from graph_compiler.airflow_backend import build_dag
from stock.waiting_for_an_object import shuffled, written

retry = {"retries": 2, "retry_delay": timedelta(seconds=1)}
for env in (shuffled, written):
    globals()[env.name] = build_dag(
        env, schedule=None, start_date=datetime(2013, 1, 1), default_args=retry
    )
'''


def dags_test(dag: str, params: dict[str, str]) -> list[str]:
    return ["-m", "airflow", "dags", "test", dag, "2013-01-01", "--conf", json.dumps(params)]


@dataclass(frozen=True)
class Lake:
    """A prefix of the bucket for one test, and a home whose tasks use nothing else."""

    home: ClusterHome
    server: ObjectServer
    place: str

    @property
    def store(self) -> ObjectStore:
        return ObjectStore(BUCKET, self.server.access)

    @property
    def settings(self) -> dict[str, str]:
        """Return the variables of Airflow: the root, how to reach it, and where each host has Spark's connector."""
        jars = f"{self.home.cluster.folder}/connector/*"
        conf = self.home.cluster.conf() | {
            **CONNECTOR,
            "spark.driver.extraClassPath": jars,
            "spark.executor.extraClassPath": jars,
            "spark.sql.shuffle.partitions": "4",
        }
        return {
            **staging_variables(f"{self.place}/staging", self.server.connection),
            "AIRFLOW__GRAPH_COMPILER__SPARK_CONF": json.dumps(conf),
            "AIRFLOW_VAR_TABLES": f"{self.place}/in",
            "AIRFLOW_VAR_TARGET": f"{self.place}/out",
        }

    @property
    def params(self) -> dict[str, str]:
        return {"input": f"{self.place}/in", "output": f"{self.place}/out"}

    def run(self, dag: str, params: dict[str, str]) -> None:
        """Run a Dag as `airflow dags test` does."""
        command = dags_test(dag, params)
        done = self.home.command(*command, environment=self.home.environment(**self.settings))
        assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-8000:]

    def upload(self, folder: Path) -> None:
        """Put all files of a folder below `in`."""
        upload(self.store, folder, f"{self.place}/in")

    def download(self, folder: Path) -> Path:
        """Copy all objects below `out` to a folder."""
        download(self.store, f"{self.place}/out", folder)
        return folder

    def assert_nothing_is_left(self) -> None:
        """Check that below `out` there is what was published, and no upload waits."""
        names = [file.key for file in self.store.files(f"{self.place}/out")]
        assert not [name for name in names if "__magic" in name or ".graph_compiler" in name]
        assert self.server.uploads(BUCKET, f"{self.place}/out") == []


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    needs_hosts()
    assert JARS.is_dir(), "make test-objects brings the jars"
    folder = tmp_path_factory.mktemp("cluster")
    with standalone_cluster(folder, copies={"connector": JARS}, is_sharing=False) as found:
        yield found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectServer]:
    with object_server(tmp_path_factory.mktemp("server")) as found:
        found.make_bucket(BUCKET)
        yield found


@pytest.fixture
def lake(
    whole_cluster: Cluster,  # noqa: ARG001  # its hosts run
    cluster_home: ClusterHome,
    server: ObjectServer,
    tmp_path: Path,
) -> Lake:
    return Lake(cluster_home, server, f"s3a://{BUCKET}/{tmp_path.name}")


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tpch")
    write_tables(folder)
    return folder


def test_flights_have_the_reference_rows(lake: Lake, tmp_path: Path) -> None:
    january = copy_january(tmp_path / "january")
    lake.upload(january)
    lake.run("flights", lake.params)
    copy = lake.download(tmp_path / "copy")
    for name, query in reports(january).items():
        assert_same_rows(published(copy / name), expected(query))
    lake.assert_nothing_is_left()
    cluster = lake.home.cluster
    for host in ("worker-1", "worker-2"):
        assert files_with("Running task", cluster.disk(host)), f"{host} has computed rows"
        assert files_with(SECRET, cluster.disk(host)) == []
        assert SECRET not in cluster.log(host)
    assert files_with(SECRET, lake.home.folder) == []
    assert [*cluster.shared.rglob("*.parquet")] == []


@pytest.mark.parametrize("name", ["q01", "q03", "q05", "q12", "q18", "reports"])
def test_queries_of_tpch_have_the_rows_of_duckdb(name: str, lake: Lake, tables: Path, tmp_path: Path) -> None:
    lake.upload(tables)
    (lake.home.repository / "dags" / "tpch_dags.py").write_text(TPCH_DAGS.format(names=[name]))
    lake.run(name, {})
    assert_answers(QUERIES[name], tables, lake.download(tmp_path / "copy"))
    lake.assert_nothing_is_left()


def test_a_file_a_jar_and_an_environment_that_a_pipeline_names_come_from_the_bucket(lake: Lake, tmp_path: Path) -> None:
    home = lake.home
    make_named_files(home.repository / "named", home.cluster.folder / "environment")
    lake.store.put(f"{lake.place}/in", b"x\n0\n1\n2\n")
    lake.run("named", lake.params)
    found = rows(lake.download(tmp_path / "copy") / "read")
    assert [row[:5] for row in found] == [(n, 2 * n, 1.5, 1.5, "packed") for n in range(3)]
    files = [file.key for file in lake.store.files(f"{lake.place}/staging/named")]
    copies = {key.rpartition("/")[2] for key in files if "/files/" in key}
    assert copies == {"environment.tar.gz", "rate.txt", "twice.jar"}


def kill_a_worker(cluster: Cluster) -> None:
    cluster.kill("worker-1")


def kill_an_executor(cluster: Cluster) -> None:
    (executor,) = cluster.executors("worker-1")
    os.kill(executor, signal.SIGKILL)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("shuffled", kill_a_worker),
        ("shuffled", kill_an_executor),
        ("written", kill_a_worker),
        ("written", kill_an_executor),
    ],
)
def test_a_host_that_fails_costs_no_row(
    name: str, fault: Callable[[Cluster], None], lake: Lake, tmp_path: Path
) -> None:
    cluster, home, store = lake.home.cluster, lake.home, lake.store
    (home.repository / "dags" / "waiting_dags.py").write_text(WAITING_DAGS)
    sales = "key,quantity\n" + "".join(f"{n % 5},{n}.0\n" for n in range(400))
    store.put(f"{lake.place}/in/sales.csv", sales.encode())
    signals = f"{lake.place}/signals"
    params = lake.params | {
        "input": f"{lake.place}/in/sales.csv",
        "bucket": f"{lake.server.endpoint}/{BUCKET}",
        "signals": signals.removeprefix(f"s3a://{BUCKET}/"),
    }
    log = tmp_path / "log"
    with log.open("w") as output:
        airflow = subprocess.Popen(
            [sys.executable, *dags_test(name, params)],
            cwd=ROOT,
            env=home.environment(**lake.settings),
            stdout=output,
            stderr=output,
        )
        try:
            waiting = partial(store.keys, f"{signals}/waits")
            cluster.wait(lambda: len(waiting()) >= 2 or airflow.poll() is not None, "partitions")
            assert airflow.poll() is None, log.read_text()[-5000:]
            fault(cluster)
            store.put(f"{signals}/may_go", b"-")
            assert airflow.wait(timeout=400) == 0, log.read_text()[-5000:]
        finally:
            airflow.kill()
    copy = lake.download(tmp_path / "copy")
    assert rows(copy / "totals") == TOTALS
    if name == "written":
        assert rows(copy / "waited") == sorted(PRICES)
    lake.assert_nothing_is_left()
