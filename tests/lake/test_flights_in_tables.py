"""The flights pipeline under Airflow, with its reports in tables: their rows are those that DuckDB computes."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession

from graph_compiler.spark_runtime.connectors.lake.delta import SETTINGS
from tests.end_to_end.conftest import ROOT, Home
from tests.harness.postgres import PASSWORD, Postgres
from tests.harness.reference import assert_same_rows, expected, published, reports
from tests.lake.conftest import Lake

pytestmark = pytest.mark.lake
_LATENESS = "flights BIGINT, mean_delay DOUBLE, late_flights BIGINT"
_ROUTES = f"carrier STRING, origin STRING, dest STRING, {_LATENESS}, mean_delay_bad_weather DOUBLE, name STRING"
SCHEMAS = {
    "late_routes": _ROUTES,
    "worst_routes": _ROUTES,
    "by_month": f"carrier STRING, month INT, {_LATENESS}",
    "by_weather": f"weather STRING, {_LATENESS}",
    "by_plane_age": f"age_from BIGINT, {_LATENESS}",
    "cancelled": "year INT, month INT, day INT, dep_time INT, sched_dep_time INT, dep_delay INT, arr_time INT, "
    "sched_arr_time INT, arr_delay INT, carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING, "
    "air_time INT, distance INT, hour INT, minute INT, time_hour TIMESTAMP",
}
_SINK = re.compile(r'Parquet\("\{\{ params\.output \}\}/(\w+)"\)')
DAG = """
from airflow import DAG
from graph_compiler.airflow_backend import build_dag
from pipelines.flights import env

dag = build_dag(env)
"""


def in_iceberg(lake: Lake) -> str:
    """Return the text of the pipeline with tables of a catalog instead of folders."""
    properties = {key: value for key, value in lake.catalog.items() if isinstance(value, str)}
    catalog = f"CATALOG = {properties!r} | {{'jdbc.password': Secret('{PASSWORD.conn_id}')}}\n"

    def table(found: re.Match[str]) -> str:
        name = found[1]
        return f"Iceberg('{lake.name}.db.{name}', catalog=CATALOG, create_if_missing=True, schema={SCHEMAS[name]!r})"

    return f"from graph_compiler import Iceberg, Secret\n{catalog}{_with_sinks(table)}"


def in_delta() -> str:
    """Return the text of the pipeline with Delta tables instead of folders."""
    return "from graph_compiler import Delta\n" + _with_sinks(lambda found: found[0].replace("Parquet", "Delta"))


def _with_sinks(table: Callable[[re.Match[str]], str]) -> str:
    text, count = _SINK.subn(table, (ROOT / "pipelines" / "flights.py").read_text())
    assert count == len(SCHEMAS)
    return text


def test_flights_are_right_in_iceberg_under_airflow(
    lake_in_postgres: Lake, catalog_server: Postgres, january: Path, tmp_path: Path
) -> None:
    warehouse = json.dumps({"conn_type": "postgres", "password": catalog_server.password})
    run(in_iceberg(lake_in_postgres), Home(tmp_path / "airflow", data=january), AIRFLOW_CONN_WAREHOUSE=warehouse)
    spark = lake_in_postgres.spark
    check({name: spark.table(f"{lake_in_postgres.name}.db.{name}") for name in SCHEMAS}, january, tmp_path)


def test_flights_are_right_in_delta_under_airflow(spark: SparkSession, january: Path, tmp_path: Path) -> None:
    home = Home(tmp_path / "airflow", data=january)
    run(in_delta(), home)
    check({name: spark.read.format("delta").load(f"{home.output}/{name}") for name in SCHEMAS}, january, tmp_path)


def run(pipeline: str, home: Home, **more: str) -> None:
    """Run the text of a pipeline under Airflow, with the Spark of this process."""
    project = home.folder.with_name("project")
    for name, text in {
        "pipelines/__init__.py": '"""Pipelines."""',
        "pipelines/flights.py": pipeline,
        "dags/flights_dag.py": DAG,
    }.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    environment = home.environment(
        PYTHONPATH=f"{project}:{home.environment()['PYTHONPATH']}",
        SPARK_HOME=str(Path(pyspark.__file__).parent),
        AIRFLOW__CORE__DAGS_FOLDER=str(project / "dags"),
        AIRFLOW__GRAPH_COMPILER__SPARK_CONF=json.dumps({**SETTINGS, "spark.ui.enabled": "false"}),
        **more,
    )
    for command in (["db", "migrate"], ["dags", "test", "flights", "2013-01-01", "--conf", json.dumps(home.params)]):
        done = subprocess.run(
            [sys.executable, "-m", "airflow", *command],
            cwd=project,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, (done.stdout + done.stderr)[-5000:]


def check(tables: Mapping[str, DataFrame], january: Path, tmp_path: Path) -> None:
    """Compare the rows of each table with those that DuckDB computes."""
    for name, query in reports(january).items():
        tables[name].coalesce(1).write.parquet(f"{tmp_path}/copy/{name}")
        assert_same_rows(published(tmp_path / "copy" / name), expected(query))
