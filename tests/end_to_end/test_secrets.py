"""A password goes from Airflow's connection to the database, and appears nowhere on the way."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.conftest import ROOT, Home
from tests.harness.postgres import DRIVER, JAR, Postgres, running_postgres
from tests.harness.secret_search import DAG_FILE, arguments_of_all_processes, connections, files_with

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.long,  # tests/airflow/test_secret_values.py has each way of a secret, without Spark
]


@pytest.fixture
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server


@pytest.mark.usefixtures("migrated_home")
def test_a_password_is_in_no_argument_log_document_plan_event_or_database(
    postgres: Postgres, home: Home, tmp_path: Path
) -> None:
    canary, wrong = postgres.password, "canary-5e0c9b7a"
    postgres.sql("CREATE TABLE orders (id INT); INSERT INTO orders SELECT generate_series(0, 99)")
    environment = settings(home, postgres, wrong, tmp_path)

    arguments = []
    for dag_id, code in (("good", 0), ("bad", 1)):
        log = tmp_path / f"{dag_id}.log"
        with log.open("w") as output:
            airflow = subprocess.Popen(
                [sys.executable, "-m", "airflow", "dags", "test", dag_id, "2013-01-01"],
                cwd=ROOT,
                env=environment,
                stdout=output,
                stderr=output,
            )
            while airflow.poll() is None:
                arguments.append(arguments_of_all_processes())
                time.sleep(0.2)
        assert (airflow.returncode != 0) == bool(code), log.read_text()[-5000:]

    assert postgres.sql("SELECT count(*), sum(id) FROM copy") == [("100", "4950")]
    assert "password authentication failed for user" in (tmp_path / "bad.log").read_text()
    assert len(list((tmp_path / "events").iterdir())) == 2, "each application has an event log"
    seen = [text for text in arguments if b"spark-submit" in text or b"SparkSubmit" in text]
    assert seen, "the arguments were looked at while Spark ran"
    for secret in (canary, wrong):
        assert not [text for text in arguments if secret.encode() in text]
        assert files_with(secret, tmp_path) == []
    # The search finds what is there: the same connection's login, which nobody called secret.
    assert files_with("orders", tmp_path)


def settings(home: Home, postgres: Postgres, wrong: str, folder: Path) -> dict[str, str]:
    (folder / "dags").mkdir()
    (folder / "events").mkdir()
    (folder / "dags" / "orders.py").write_text(DAG_FILE.format(driver=DRIVER, output=home.output, url=postgres.url))
    spark_conf = {
        "spark.ui.enabled": "false",
        "spark.jars": str(JAR),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": str(folder / "events"),
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
        "spark.sql.ui.explainMode": "extended",
    }
    return home.environment(
        AIRFLOW__CORE__DAGS_FOLDER=str(folder / "dags"),
        AIRFLOW__GRAPH_COMPILER__SPARK_CONF=json.dumps(spark_conf),
        **connections(postgres, wrong),
    )
