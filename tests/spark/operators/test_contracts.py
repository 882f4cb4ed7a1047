"""Data contracts count, and rows that they forbid are never visible."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from graph_compiler import DataStream, Parquet, StreamExecutionEnvironment
from graph_compiler.deployment.documents.report import ThrowableType
from tests.harness.reference import published
from tests.spark.conftest import RunPipeline

pytestmark = pytest.mark.spark


@pytest.fixture
def rows(spark: SparkSession, tmp_path: Path) -> DataStream:
    """Return 100 rows; `v` is NULL in ten of them, and below 50 in 40 more."""
    data = spark.range(0, 100, 1, 4).selectExpr("id", "IF(id % 10 = 0, NULL, id) AS v")
    data.write.parquet(f"{tmp_path}/in")
    env = StreamExecutionEnvironment("p", params={"least": 50})
    return env.from_source(Parquet(f"{tmp_path}/in"), "in")


@pytest.mark.parametrize(("on_violation", "left"), [("warn", 100), ("drop", 45)])
def test_violations_are_counted_once_and_kept_or_dropped(
    on_violation: str, left: int, rows: DataStream, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    checked = rows.expect("big enough", "v >= :least", on_violation=on_violation)  # type: ignore[arg-type]  # a parameter
    for name in ("one", "two"):
        checked.sink_to(Parquet(f"{tmp_path}/{name}")).name(name)
    report = run_pipeline(rows.environment.pipeline())[-1]
    assert report.failure is None
    (count,) = report.contracts
    assert (count.contract, count.rows, count.violations) == ("big enough", 100, 55)
    assert len(published(tmp_path / "one")[1]) == len(published(tmp_path / "two")[1]) == left


def test_violations_go_to_their_side_output(rows: DataStream, run_pipeline: RunPipeline, tmp_path: Path) -> None:
    checked = rows.expect("big enough", "v >= :least", to="small")
    checked.sink_to(Parquet(f"{tmp_path}/big")).name("big")
    checked.get_side_output("small").sink_to(Parquet(f"{tmp_path}/small")).name("small")
    report = run_pipeline(rows.environment.pipeline())[-1]
    assert report.failure is None
    assert report.contracts[0].violations == 55
    big, small = ({row[0] for row in published(tmp_path / name)[1]} for name in ("big", "small"))
    assert (len(big), len(small)) == (45, 55)
    assert big | small == set(range(100))


def test_a_failing_contract_publishes_no_sink_of_the_task(
    rows: DataStream, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    rows.sink_to(Parquet(f"{tmp_path}/innocent")).name("innocent")
    for name, condition in (("known", "v IS NOT NULL"), ("big", "v >= :least")):
        checked = rows.expect(name, condition, on_violation="fail")
        checked.sink_to(Parquet(f"{tmp_path}/{name}")).name(name)
    failure = run_pipeline(rows.environment.pipeline())[-1].failure
    assert failure is not None
    assert failure.throwable_type is ThrowableType.NON_RECOVERABLE_ERROR
    assert "10 of 100 rows violate 'known'" in failure.message
    assert "55 of 100 rows violate 'big'" in failure.message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "staging"]


def test_a_failing_contract_commits_no_staged_result(
    rows: DataStream, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    checked = rows.expect("known", "v IS NOT NULL", on_violation="fail")
    checked.stage("to cut here").filter("v > 3").sink_to(Parquet(f"{tmp_path}/out"))
    (report,) = run_pipeline(rows.environment.pipeline())
    assert report.failure is not None
    assert not list((tmp_path / "staging").rglob("manifests/*/*.json"))


def test_no_reader_starts_after_a_failing_contract(rows: DataStream, run_pipeline: RunPipeline, tmp_path: Path) -> None:
    checked = rows.expect("known", "v IS NOT NULL", on_violation="fail")
    for name in ("one", "two"):
        checked.filter("v > 3").sink_to(Parquet(f"{tmp_path}/{name}")).name(name)
    (report,) = run_pipeline(rows.environment.pipeline())
    assert report.failure is not None
    assert report.failure.operator == "known"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "staging"]


def test_checked_rows_are_read_back_by_readers_in_the_same_task(
    rows: DataStream, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    checked = rows.expect("positive", "id >= 0", on_violation="fail")
    few = rows.filter("v < 5").select("id")
    checked.join(few, on="id").sink_to(Parquet(f"{tmp_path}/both")).name("both")
    checked.filter("v > 90").sink_to(Parquet(f"{tmp_path}/many")).name("many")
    first, second = run_pipeline(rows.environment.pipeline())
    assert (first.failure, second.failure) == (None, None)
    assert [(output.kind, output.rows) for output in first.outputs] == [("staged", 100), ("sink", 4)]
    assert {row[0] for row in published(tmp_path / "both")[1]} == {1, 2, 3, 4}
    assert len(published(tmp_path / "many")[1]) == 9


def test_counts_are_in_the_manifest_of_a_staged_result(
    rows: DataStream, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    checked = rows.expect("known", "v IS NOT NULL")
    checked.stage("to cut here").filter("v > 3").sink_to(Parquet(f"{tmp_path}/out"))
    assert run_pipeline(rows.environment.pipeline())[-1].failure is None
    (manifest,) = (tmp_path / "staging").rglob("manifests/*/0.json")
    (count,) = json.loads(manifest.read_text())["contracts"]
    assert (count["contract"], count["rows"], count["violations"]) == ("known", 100, 10)


def test_a_contract_on_no_rows_holds(rows: DataStream, run_pipeline: RunPipeline, tmp_path: Path) -> None:
    checked = rows.filter("false").expect("known", "v IS NOT NULL", on_violation="fail")
    checked.sink_to(Parquet(f"{tmp_path}/out"))
    assert run_pipeline(rows.environment.pipeline())[-1].failure is None
