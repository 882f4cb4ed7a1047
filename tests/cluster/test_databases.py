"""Executors read and write a database, and its password is in nothing that others can see."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from tests.cluster.conftest import ClusterHome
from tests.cluster.standalone_cluster import ROOT
from tests.harness.postgres import DRIVER, JAR, Postgres, running_postgres
from tests.harness.secret_search import DAG_FILE, arguments_of_all_processes, connections, files_with

pytestmark = pytest.mark.cluster


@pytest.fixture
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server


def test_executors_use_a_password_that_is_in_no_argument_log_event_or_record(
    cluster_home: ClusterHome, postgres: Postgres
) -> None:
    home, cluster = cluster_home, cluster_home.cluster
    postgres.sql("CREATE TABLE orders (id INT); INSERT INTO orders SELECT generate_series(0, 99)")
    dag = DAG_FILE.format(driver=DRIVER, output=home.output, url=postgres.url)
    (home.repository / "dags" / "orders_dag.py").write_text(dag)
    spark_conf = home.cluster.conf() | {
        "spark.jars": str(JAR),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": str(cluster.events),
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
    }
    log = home.folder / "log"
    arguments = []
    with log.open("w") as output:
        airflow = subprocess.Popen(
            [sys.executable, "-m", "airflow", "dags", "test", "good", "2013-01-01"],
            cwd=ROOT,
            env=home.environment(
                AIRFLOW__GRAPH_COMPILER__SPARK_CONF=json.dumps(spark_conf), **connections(postgres, "wrong")
            ),
            stdout=output,
            stderr=output,
        )
        while airflow.poll() is None:
            arguments.append(arguments_of_all_processes())
            time.sleep(0.2)
    assert airflow.returncode == 0, log.read_text()[-5000:]
    assert postgres.sql("SELECT count(*), sum(id) FROM copy") == [("100", "4950")]

    assert [text for text in arguments if b"CoarseGrainedExecutorBackend" in text]
    assert not [text for text in arguments if postgres.password.encode() in text]
    (event_log,) = cluster.events.iterdir()
    cluster.start("history")
    page = f"history/{event_log.name}/environment/"
    cluster.wait(lambda: "Spark Properties" in cluster.history(page), "the history server")
    assert postgres.password not in cluster.history(page)
    assert postgres.password not in cluster.history(f"api/v1/applications/{event_log.name}/environment")
    cluster.kill("history")
    for folder in (home.folder, cluster.shared):
        assert files_with(postgres.password, folder) == []
    for name in ("master", "worker-1", "worker-2"):
        assert postgres.password not in cluster.log(name)
        assert files_with(postgres.password, cluster.disk(name)) == []
    assert files_with("orders", home.folder), "the search finds what is there"
