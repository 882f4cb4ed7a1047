"""Values of a run that are edited between its tries: what was staged with the former ones is not read."""

from pathlib import Path
from shutil import rmtree

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Json, Parquet, StreamExecutionEnvironment
from graph_compiler.declaration.parameters.parameter import ParameterValue
from tests.harness.position_runs import Runs, write

pytestmark = pytest.mark.spark

BEFORE: dict[str, ParameterValue] = {"late": 1, "folder": "x", "unit": "km"}


def declared(folder: Path) -> StreamExecutionEnvironment:
    """late ║ more ║ report; the rows of the first two depend on `late` and `folder`."""
    env = StreamExecutionEnvironment("late", params=BEFORE)
    rows = env.from_source(Json(f"{folder}/{{{{ params.folder }}}}", schema="id INT, amount INT"), "rows")
    late = rows.filter("amount >= :late").name("late").stage("two tasks")
    more = late.filter("id > 0").name("more").stage("three tasks")
    more.with_columns(limit=":late", unit=":unit").sink_to(Parquet(f"{folder}/report")).name("report")
    return env


@pytest.fixture
def runs(spark: SparkSession, tmp_path: Path) -> Runs:
    write(tmp_path / "x" / "1.json", *({"id": each, "amount": each} for each in range(1, 8)))
    write(tmp_path / "y" / "1.json", {"id": 100, "amount": 100})
    return Runs(declared(tmp_path), tmp_path, spark, params=BEFORE)


def published(runs: Runs) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in runs.spark.read.parquet(f"{runs.folder}/report").collect())


def test_a_result_is_read_only_with_the_values_that_it_was_computed_with(runs: Runs) -> None:
    assert runs.run("r", "late", "more") == []
    runs.params = {**BEFORE, "late": 5, "folder": "y"}
    (failure,) = runs.run("r", "report")
    assert "was computed with another value of :folder and :late\n  hint: clear the task that stages it" in failure
    (failure,) = runs.run("r", "more", "report")
    assert "another value of :folder and :late" in failure
    assert runs.run("r") == []
    assert published(runs) == [(100, 100, 5, "km")]


def test_values_that_a_result_does_not_depend_on_may_be_edited(runs: Runs) -> None:
    assert runs.run("r", "late", "more") == []
    runs.params, runs.day = {**BEFORE, "unit": "mi"}, "2024-01-02"
    assert runs.run("r", "report") == []
    assert published(runs) == [(each, each, 1, "mi") for each in range(1, 8)]


@pytest.mark.parametrize("lost", [["data"], ["data", "manifests"]], ids=["files", "files and commits"])
def test_a_lost_result_is_not_computed_again_with_other_values(runs: Runs, lost: list[str]) -> None:
    assert runs.run("r", "late", "more") == []
    for name in lost:
        rmtree(Path(runs.root, "late", "r", name))
    runs.params = {**BEFORE, "late": 5}
    (failure,) = runs.run("r", "report")
    assert "another value of :late" in failure
    runs.params = BEFORE
    assert runs.run("r", "report") == []
    assert len(published(runs)) == 7
