"""A driver on a host of YARN gets its password, and nothing that others can see has it."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.standalone_cluster import ROOT
from tests.harness.postgres import DRIVER, JAR, Postgres, running_postgres
from tests.harness.secret_search import DAG_FILE, arguments_of_all_processes, connections, files_with
from tests.yarn.conftest import YarnHome

pytestmark = pytest.mark.yarn


@pytest.fixture
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server


def test_a_password_is_in_no_argument_log_event_record_or_file_that_stays(
    yarn_home: YarnHome, postgres: Postgres
) -> None:
    home, yarn = yarn_home, yarn_home.yarn
    events = yarn.shared / "events"
    events.mkdir()
    postgres.sql("CREATE TABLE orders (id INT); INSERT INTO orders SELECT generate_series(0, 99)")
    dag = DAG_FILE.format(driver=DRIVER, output=home.output, url=postgres.url)
    (home.repository / "dags" / "orders_dag.py").write_text(dag)
    spark_conf = yarn.conf() | {
        "spark.jars": str(JAR),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file:{events}",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
    }
    log, modes = home.folder / "log", set()
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
            modes |= modes_of_files_with_values(home.staging)
            time.sleep(0.2)
    assert airflow.returncode == 0, log.read_text()[-5000:]
    assert postgres.sql("SELECT count(*), sum(id) FROM copy") == [("100", "4950")]

    assert [text for text in arguments if b"ApplicationMaster" in text]
    assert not [text for text in arguments if postgres.password.encode() in text]
    assert modes == {(0o700, 0o600)}, "until the driver has started"
    assert not modes_of_files_with_values(home.staging)
    (event_log,) = events.iterdir()
    assert "SparkListenerEnvironmentUpdate" in event_log.read_text(), "what the page shows"
    for folder in (home.folder, yarn.folder / "run", yarn.shared):
        assert files_with(postgres.password, folder) == []
    assert files_with("orders", home.folder), "the search finds what is there"


def modes_of_files_with_values(staging: Path) -> set[tuple[int, int]]:
    """Return the modes of the files that hold values for a driver, and of their folders."""
    found = set()
    for file in staging.rglob("secrets.json"):
        try:
            found.add((file.parent.stat().st_mode & 0o777, file.stat().st_mode & 0o777))
        except FileNotFoundError:  # removed meanwhile
            continue
    return found
