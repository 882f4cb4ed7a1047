"""A run's code and files come from the version of the Dag bundle with which the run started.

Airflow loads the Dag of each task from the version of its run, and adds that version's folder to Python's path. What is
packed for executors, and what the driver imports, is found by where these modules are.
"""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.airflow

ROOT = Path(__file__).parents[2]
FILES = {
    "pipelines/__init__.py": '"""Pipelines."""',
    "pipelines/functions.py": "def priced(rows):\n    return rows  # {version}\n",
    "pipelines/shop.py": """
from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from pipelines.functions import priced

env = StreamExecutionEnvironment("shop")
env.add_files("data/rates.csv")
rows = env.from_source(Csv("/in", schema="x INT"), "in").transform(priced).name("priced")
rows.stage("two tasks").filter("x > 0").sink_to(Parquet("/out")).name("out")
""",
    "data/rates.csv": "{version}",
    "dags/shop_dag.py": """
from airflow import DAG
from graph_compiler.airflow_backend import build_dag
from pipelines.shop import env

dag = build_dag(env)
""",
}


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    for version in ("v1", "v2"):
        for name, text in FILES.items():
            file = tmp_path / "bundle" / version / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text.replace("{version}", version))
    (tmp_path / "bundle" / "now").write_text("v1")
    return tmp_path / "bundle"


def start_tasks(bundle: Path, version: str) -> list[list[str]]:
    """Start the tasks of a run with a version of the bundle; return what each passes to Spark."""
    kwargs = {"root": str(bundle), "refresh_interval": 0}
    bundles = [{"name": "shop", "classpath": "tests.airflow.bundle_task.FolderBundle", "kwargs": kwargs}]
    environment = os.environ | {
        "AIRFLOW_HOME": str(bundle.parent / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST": json.dumps(bundles),
        "AIRFLOW__GRAPH_COMPILER__STAGING_ROOT": str(bundle.parent / "staging"),
        "AIRFLOW_CONN_SPARK_DEFAULT": '{"conn_type": "spark", "host": "spark://master", "port": 7077}',
        # The project is not on this path: Airflow adds the folder of the version.
        "PYTHONPATH": os.pathsep.join([f"{ROOT}/plugins", str(bundle.parent / "harness")]),
    }
    harness = bundle.parent / "harness" / "tests" / "airflow"
    if not harness.exists():
        harness.mkdir(parents=True)
        (harness / "bundle_task.py").symlink_to(ROOT / "tests" / "airflow" / "bundle_task.py")
    done = subprocess.run(
        [sys.executable, "-m", "tests.airflow.bundle_task", version, str(bundle.parent / "staging")],
        env=environment,
        cwd=bundle.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [line.split("\t") for line in done.stdout.splitlines() if "\t" in line]


def code_of(archive: str) -> str:
    with zipfile.ZipFile(archive) as packed:
        return packed.read("pipelines/functions.py").decode()


def test_a_run_keeps_the_code_and_the_files_of_its_version(bundle: Path) -> None:
    """A task that starts, or is tried again, after the next version has arrived."""
    before = start_tasks(bundle, "v1")
    (bundle / "now").write_text("v2")
    again = start_tasks(bundle, "v1")
    assert len(before) == 2
    assert again == before
    for _, archive, *paths in again:
        assert "# v1" in code_of(archive)
        assert str(bundle / "v1") in paths
        assert str(bundle / "v2") not in paths
    (copy,) = (bundle.parent / "staging").glob("shop/r/files/*/rates.csv")
    assert copy.read_text() == "v1"


@pytest.mark.ci
def test_where_a_bundle_has_no_versions_the_next_task_has_the_new_code(bundle: Path) -> None:
    """Its plan has another id: results of the first are read only where they are still valid."""
    ((before, first, *_), _) = start_tasks(bundle, "")
    (bundle / "now").write_text("v2")
    ((after, second, *_), _) = start_tasks(bundle, "")
    assert before != after
    assert ("# v1" in code_of(first), "# v2" in code_of(second)) == (True, True)
    copies = (bundle.parent / "staging").glob("shop/r/files/*/rates.csv")
    assert sorted(copy.read_text() for copy in copies) == ["v1", "v2"]
