"""The code of functions goes to executors that do not share the driver's files, and only to those."""

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.local_task import DeskRun, desk_task
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.deployment.targets.submit_settings import UNDECLARED
from tests.browser import functions

if TYPE_CHECKING:
    from graph_compiler.airflow_backend.provider.submit_operator import SubmitOperator

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]


@pytest.fixture
def regions() -> tuple[RegionDescriptor, ...]:
    """Return two tasks; only the first has a function."""
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Csv("/in", schema="x INT"), "in")
    once = rows.transform(functions.fails_once_and_loses_its_input).name("once")
    once.stage("two tasks").filter("x > 0").sink_to(Parquet("/out")).name("out")
    return tuple(describe_regions(compile_pipeline(env.pipeline())))


def operator_to(master: str, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> "SubmitOperator":
    from graph_compiler.airflow_backend.provider.submit_operator import SubmitOperator

    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", f'{{"conn_type": "spark", "host": "{master}"}}')
    return SubmitOperator(task_id="t", **settings)


def ship(operator: "SubmitOperator", regions: tuple[RegionDescriptor, ...], root: Path) -> str | None:
    """Put what other hosts read, and return the argument for the code."""
    from graph_compiler.airflow_backend.task.submitting import prepare_try
    from graph_compiler.airflow_backend.task.task_try import TaskTry

    run = DeskRun(day="2013-01-01", params={}, run_id="r", staging_root=str(root))
    task = TaskTry([desk_task(regions[-1], run, execution_id="e")])
    prepared = prepare_try(operator, task, regions[:-1], UNDECLARED)
    prepared.ship()
    return prepared.plan.py_files


def test_a_cluster_gets_the_code_of_all_functions_of_the_pipeline_once(
    regions: tuple[RegionDescriptor, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ship(operator_to("spark://master:7077", monkeypatch, py_files="/mine.zip"), regions, tmp_path)
    (archive,) = tmp_path.glob("p/r/code/*.zip")
    assert first == f"/mine.zip,{archive}"
    assert archive.stat().st_mode & 0o777 == 0o600
    assert "tests/browser/functions.py" in zipfile.ZipFile(archive).namelist()
    written = archive.stat().st_mtime_ns
    assert ship(operator_to("yarn", monkeypatch), regions, tmp_path) == str(archive)
    assert archive.stat().st_mtime_ns == written


def test_local_executors_share_the_drivers_files(
    regions: tuple[RegionDescriptor, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = operator_to("local[2]", monkeypatch, py_files="/mine.zip")
    assert ship(operator, regions, tmp_path) == "/mine.zip"
    assert not list(tmp_path.glob("p/r/code"))


def test_the_driver_can_import_the_functions_of_other_tasks(
    regions: tuple[RegionDescriptor, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs them if it recomputes a lost result."""
    from graph_compiler.airflow_backend.provider.host_facts import driver_environment

    monkeypatch.delenv("PYTHONPATH", raising=False)
    root = str(Path(functions.__file__).parents[2])
    assert root in driver_environment(regions)["PYTHONPATH"].split(":")
    assert root not in driver_environment(regions[1:])["PYTHONPATH"].split(":")
