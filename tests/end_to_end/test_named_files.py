"""Functions read a file and an archive that their pipeline names, in every way in which a pipeline runs.

One function runs on the driver and one in Spark's Python workers; each reads both.
"""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import duckdb
import pytest

from tests.end_to_end.conftest import ROOT, Home

pytestmark = [pytest.mark.e2e, pytest.mark.ci]

FUNCTIONS = """
from pyspark import SparkFiles

def rate():
    with open(SparkFiles.get("rate.txt")) as file, open(SparkFiles.get("model/part.txt")) as part:
        return float(file.read()) * float(part.read())

def on_driver(rows):
    return rows.withColumn("driver", rows.x * rate())

def on_executors(frames):
    for frame in frames:
        frame["executor"] = frame.x * rate()
        yield frame
"""
PIPELINE = """
from graph_compiler import Parquet, Schedule, StreamExecutionEnvironment, Values
from pipelines.functions import on_driver, on_executors

env = StreamExecutionEnvironment("rates", params={{"output": {target!r}}})
env.add_files("data/rate.txt")
env.add_python_archive("data/model.zip", "model")
rows = env.from_source(Values([(2.0,)], "x DOUBLE"), "in").transform(on_driver).name("driver")
rows = rows.map_partitions(on_executors, schema="x DOUBLE, driver DOUBLE, executor DOUBLE")
rows.sink_to(Parquet("{{{{ params.output }}}}"), mode="overwrite").name("out")
"""
DAG = """
from airflow import DAG
from graph_compiler.airflow_backend import build_dag
from pipelines.rates import env

dag = build_dag(env)
"""
KIT = """
import pytest

@pytest.mark.parametrize("rate", ["3.0", "4.0"])
def test_rates(pipeline_run, rate):
    from pathlib import Path
    Path("data/rate.txt").write_text(rate)
    from pipelines.rates import env
    (row,) = pipeline_run(env).rows("out")
    assert row["driver"] == row["executor"] == 2 * float(rate)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    for name, text in {
        "data/rate.txt": "1.5",
        "pipelines/__init__.py": '"""Pipelines."""',
        "pipelines/functions.py": FUNCTIONS,
        "pipelines/rates.py": PIPELINE.format(target=f"{tmp_path}/out"),
        "dags/rates_dag.py": DAG,
        "test_rates.py": KIT,
    }.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    with zipfile.ZipFile(project / "data" / "model.zip", "w") as model:
        model.writestr("part.txt", "1.0")
    return project


def call(home: Home, project: Path, *words: str, **more: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=project,
        env=home.environment(
            PYTHONPATH=os.pathsep.join([str(project), f"{ROOT}/plugins"]),
            AIRFLOW__CORE__DAGS_FOLDER=str(project / "dags"),
            **more,
        ),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]
    return done.stdout


def written(folder: Path) -> list[tuple[float, ...]]:
    with duckdb.connect() as connection:
        return connection.execute(f"SELECT * FROM read_parquet('{folder}/*.parquet')").fetchall()


def test_in_process_and_in_a_dry_run(home: Home, project: Path, tmp_path: Path) -> None:
    assert "no problems found" in call(home, project, "graph_compiler", "dry-run", "rates")
    call(home, project, "graph_compiler", "run", "rates", "--in-process")
    assert written(tmp_path / "out") == [(2.0, 3.0, 3.0)]


def test_in_a_test_whose_session_has_had_another_file_of_that_name(home: Home, project: Path) -> None:
    call(home, project, "pytest", "-q", "-p", "graph_compiler.testing.pytest_plugin", "test_rates.py")


@pytest.mark.usefixtures("migrated_home")
def test_under_airflow(home: Home, project: Path, tmp_path: Path) -> None:
    call(home, project, "airflow", "dags", "test", "rates", "2013-01-01")
    assert written(tmp_path / "out") == [(2.0, 3.0, 3.0)]
    (copy,) = (home.folder / "staging").glob("rates/*/files/*/rate.txt")
    assert copy.read_text() == "1.5"
