"""What several reports read is computed once: the same rows, and the failures that come before any row is computed."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import duckdb
import pytest
from pyspark.sql import SparkSession

from graph_compiler import DataStream, Parquet, StreamExecutionEnvironment
from graph_compiler.deployment.documents.report import ExecutionReport
from tests.spark.conftest import RunPipeline

pytestmark = [pytest.mark.spark, pytest.mark.ci]
REPORTS = {
    "by_k": (("k",), "sum(v)"),
    "by_name": (("name",), "count(DISTINCT v)"),
    "by_both": (("k", "name"), "max(v * 2)"),
}


@pytest.fixture(scope="module")
def data(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    rows = spark.range(0, 5_000, 1, 3).selectExpr("id", "id % 70 AS k", "id % 11 AS v", "repeat('wide', 50) AS note")
    rows.write.parquet(f"{folder}/rows")
    spark.range(0, 70).selectExpr("id AS k", "concat('name ', id % 9) AS name").write.parquet(f"{folder}/names")
    return folder


def reports(
    data: Path,
    folder: Path,
    change: Callable[[DataStream], DataStream] = lambda stream: stream,
    more: Mapping[str, str] = MappingProxyType({}),
) -> StreamExecutionEnvironment:
    """Return the pipeline; `more` are totals by k, each of another report."""
    env = StreamExecutionEnvironment("p")
    names = env.from_source(Parquet(f"{data}/names"), "names")
    shared = change(env.from_source(Parquet(f"{data}/rows"), "rows").join(names, on="k").name("shared"))
    for name, (keys, total) in {**REPORTS, **{name: (("k",), total) for name, total in more.items()}}.items():
        found = shared.key_by(*keys).aggregate(total=total).name(f"{name}_totals")
        found.sink_to(Parquet(f"{folder}/{name}")).name(name)
    return env


def right(data: Path, name: str) -> list[tuple[object, ...]]:
    keys, total = REPORTS[name]
    listed = ", ".join(keys)
    joined = f"FROM '{data}/rows/*.parquet' JOIN '{data}/names/*.parquet' USING (k)"
    return rows_of(f"SELECT {listed}, {total} {joined} GROUP BY {listed}")


def found(folder: Path, name: str) -> list[tuple[object, ...]]:
    keys, _ = REPORTS[name]
    return rows_of(f"SELECT {', '.join(keys)}, total FROM '{folder}/{name}/**/*.parquet'")


def rows_of(query: str) -> list[tuple[object, ...]]:
    with duckdb.connect() as connection:
        return sorted(connection.execute(query).fetchall(), key=str)


def columns_staged(folder: Path) -> list[list[str]]:
    """Return the columns of each result that was staged."""
    manifests = sorted((folder / "staging" / "p" / "run").rglob("manifests/**/*.json"))
    schemas = (json.loads(json.loads(manifest.read_text())["schema"]) for manifest in manifests)
    return [[field["name"] for field in schema["fields"]] for schema in schemas]


def staged_by(report: ExecutionReport) -> list[str]:
    return [action.operator for action in report.actions if action.phase == "share"]


def test_three_reports_read_one_staged_copy_with_their_columns(
    data: Path, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    report = run_pipeline(reports(data, tmp_path).pipeline())[-1]
    assert report.failure is None
    assert staged_by(report) == ["shared"]
    assert columns_staged(tmp_path) == [["k", "v", "name"]]
    for name in REPORTS:
        assert found(tmp_path, name) == right(data, name)
    assert not list((tmp_path / "staging").rglob("*.parquet"))  # it is removed at the end
    rows = {one.name: one.rows_out for vertex in report.vertices for one in vertex.operators}
    assert rows["shared"] == 5_000
    assert rows["by_k_totals"] == 70


def test_another_execution_stages_it_again(data: Path, run_pipeline: RunPipeline, tmp_path: Path) -> None:
    for _attempt in range(2):
        report = run_pipeline(reports(data, tmp_path).pipeline())[-1]
        assert report.failure is None
        assert staged_by(report) == ["shared"]
    for name in REPORTS:
        assert found(tmp_path, name) == right(data, name)


def test_a_contract_before_it_counts_each_row_once(data: Path, run_pipeline: RunPipeline, tmp_path: Path) -> None:
    env = reports(data, tmp_path, lambda stream: stream.expect("small", "v < 10").expect_rows("all", at_least=5_000))
    report = run_pipeline(env.pipeline())[-1]
    assert report.failure is None
    assert [(count.contract, count.violations, count.rows) for count in report.contracts] == [
        ("small", 454, 5_000),
        ("all", 0, 5_000),
    ]


def test_a_report_that_cannot_be_analysed_fails_before_rows_are_computed(
    data: Path, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    env = reports(data, tmp_path, more={"odd": "sum(nothing)"})
    report = run_pipeline(env.pipeline())[-1]
    assert report.failure is not None
    assert report.failure.operator == "odd_totals"
    assert "note" in report.failure.message  # all columns of what it reads, not those that were kept for the others
    assert {action.phase for action in report.actions} == {"evaluate"}  # schemas of files


KEPT: dict[str, tuple[str, str]] = {
    "an interval": ("w", "make_interval(0, 0, 0, CAST(v AS INT))"),
    "a dot": ("a.b", "v + 1"),
    "backticks": ("a``b", "v + 1"),
    "a word of SQL": ("select", "v + 1"),
    "another alphabet": ("grün", "v + 1"),
}
"""Columns: names as SQL has them, and expressions."""


@pytest.mark.parametrize(("name", "expression"), KEPT.values(), ids=KEPT.keys())
def test_odd_columns_are_read_too(
    name: str, expression: str, data: Path, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    column = name.replace("``", "`")
    env = reports(
        data,
        tmp_path,
        lambda stream: stream.with_columns(**{column: expression}),
        {"one": f"count(`{name}`)", "upper": f"count(`{name.upper()}`)"},
    )
    report = run_pipeline(env.pipeline())[-1]
    assert report.failure is None
    is_staged = column != "w"
    assert columns_staged(tmp_path) == ([["k", "v", "name", column]] if is_staged else [])
    for each in REPORTS:
        assert found(tmp_path, each) == right(data, each)


def test_columns_that_are_patterns_are_computed_for_each_report(
    data: Path, spark: SparkSession, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    spark.conf.set("spark.sql.parser.quotedRegexColumnNames", "true")
    try:
        report = run_pipeline(reports(data, tmp_path, more={"odd": "count(`v`)"}).pipeline())[-1]
    finally:
        spark.conf.unset("spark.sql.parser.quotedRegexColumnNames")
    assert report.failure is None
    assert staged_by(report) == []
