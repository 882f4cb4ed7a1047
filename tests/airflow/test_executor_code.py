"""The code of functions goes to executors that do not share the driver's files, and only to those."""

import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.local_task import DeskRun, desk_task
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.deployment.targets.known_targets import target_of
from tests.browser import functions

if TYPE_CHECKING:
    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]


@pytest.fixture
def regions() -> tuple[RegionDescriptor, ...]:
    """Return two tasks; only the first has a function."""
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Csv("/in", schema="x INT"), "in")
    once = rows.transform(functions.fails_once_and_loses_its_input).name("once")
    once.stage("two tasks").filter("x > 0").sink_to(Parquet("/out")).name("out")
    return tuple(describe_regions(compile_pipeline(env.pipeline())))


def hook_to(master: str, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> "SparkSubmitHook":
    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

    monkeypatch.setenv(
        "AIRFLOW_CONN_SPARK_DEFAULT", f'{{"conn_type": "spark", "host": "{master}"}}'
    )
    return SparkSubmitHook(**settings)


def ship(hook: "SparkSubmitHook", regions: tuple[RegionDescriptor, ...], root: Path) -> None:
    from graph_compiler.airflow_backend.task.submission.driver_environment import (
        pass_code,
        ship_code,
    )
    from graph_compiler.airflow_backend.task.submission.submit_target import driver_place

    run = DeskRun(day="2013-01-01", params={}, run_id="r", staging_root=str(root))
    task = desk_task(regions[-1], run, execution_id="e")
    target = target_of(hook._connection["master"])
    assert target is not None
    ship_code(task, pass_code(hook, target, driver_place(hook, target), task.layout, regions))


def test_a_cluster_gets_the_code_of_all_functions_of_the_pipeline_once(
    regions: tuple[RegionDescriptor, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = hook_to("spark://master:7077", monkeypatch, py_files="/mine.zip")
    ship(hook, regions, tmp_path)
    (archive,) = tmp_path.glob("p/r/code/*.zip")
    assert hook._py_files == f"/mine.zip,{archive}"
    assert archive.stat().st_mode & 0o777 == 0o600
    assert "tests/browser/functions.py" in zipfile.ZipFile(archive).namelist()
    written = archive.stat().st_mtime_ns
    again = hook_to("yarn", monkeypatch)
    ship(again, regions, tmp_path)
    assert again._py_files == str(archive)
    assert archive.stat().st_mtime_ns == written


def test_local_executors_share_the_drivers_files(
    regions: tuple[RegionDescriptor, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = hook_to("local[2]", monkeypatch, py_files="/mine.zip")
    ship(hook, regions, tmp_path)
    assert hook._py_files == "/mine.zip"
    assert not list(tmp_path.iterdir())


def test_the_driver_can_import_the_functions_of_other_tasks(
    regions: tuple[RegionDescriptor, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs them if it recomputes a lost result."""
    from graph_compiler.airflow_backend.task.submission.driver_environment import driver_environment

    monkeypatch.delenv("PYTHONPATH", raising=False)
    root = str(Path(functions.__file__).parents[2])
    assert root in driver_environment(regions)["PYTHONPATH"].split(":")
    assert root not in driver_environment(regions[1:])["PYTHONPATH"].split(":")


@pytest.mark.parametrize(
    ("conf", "added"),
    [
        ({}, None),
        ({"spark.pyspark.python": "/executors/python"}, sys.executable),
        ({"spark.pyspark.python": "/a", "spark.pyspark.driver.python": "/b"}, None),
    ],
)
def test_a_python_for_executors_is_not_taken_for_a_drivers_on_this_host(
    conf: dict[str, str], added: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graph_compiler.airflow_backend.task.submission.driver_environment import keep_driver_python

    monkeypatch.delenv("PYSPARK_DRIVER_PYTHON", raising=False)
    hook = hook_to("yarn", monkeypatch, conf=dict(conf))
    expected = {} if added is None else {"spark.pyspark.driver.python": added}
    keep_driver_python(hook)
    assert hook._conf == conf | expected
