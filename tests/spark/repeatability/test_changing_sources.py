"""A source that changes between two actions: one snapshot, fixed rows, or no publication; never two sets of rows."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from graph_compiler import (
    Csv,
    DataStream,
    Delta,
    Files,
    FunctionSource,
    Iceberg,
    Json,
    Orc,
    Parquet,
    Range,
    Rate,
    StreamExecutionEnvironment,
    Table,
    Text,
    Values,
)
from graph_compiler.declaration.connectors import Connector, FileConnector, Jdbc, WhenReadTwice
from graph_compiler.deployment.documents.report import ThrowableType
from tests.harness.reference import published
from tests.spark import changing_sources
from tests.spark.conftest import RunPipeline
from tests.spark.region.test_region_failover import Tasks, remove_data

pytestmark = pytest.mark.spark
ROOT = Path(__file__).parents[3]
FILE_SOURCES: dict[str, Callable[[str], FileConnector]] = {
    "csv": Csv,
    "json": Json,
    "text": Text,
    "parquet": Parquet,
    "orc": Orc,
    "any format": lambda path: Files(format="csv", path=path, options={"header": "true"}),
    "csv with a schema": lambda path: Csv(path, schema="id INT"),
}


def two_sinks(
    stream: DataStream, folder: Path, change: Callable[[DataFrame], DataFrame] | None = None
) -> StreamExecutionEnvironment:
    """Read a stream in two actions; `change` happens during the first one."""
    first = stream if change is None else stream.transform(change).name("changing")
    first.sink_to(Parquet(f"{folder}/one")).name("one")
    stream.sink_to(Parquet(f"{folder}/two")).name("two")
    return stream.environment


def source(connector: Connector) -> DataStream:
    return StreamExecutionEnvironment("p").from_source(connector, "in")


def rows_of(folder: Path) -> list[list[tuple[object, ...]]]:
    return [sorted(published(folder / name)[1], key=str) for name in ("one", "two")]


def test_a_file_written_again_in_place_fails_the_attempt_and_publishes_nothing(
    run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "rows.csv").write_text("id\n1\n2\n")
    env = two_sinks(source(Csv(f"{tmp_path}/in")).filter("id > 0"), tmp_path, changing_sources.writes_it_again)
    failure = run_pipeline(env.pipeline())[-1].failure
    assert failure is not None
    assert failure.throwable_type is ThrowableType.RECOVERABLE_ERROR
    assert failure.operator == "in"
    assert "its input changed while it was read" in failure.message
    assert "rows.csv was written again" in failure.message
    assert not (tmp_path / "one").exists()
    assert not (tmp_path / "two").exists()
    assert run_pipeline(env.pipeline())[-1].failure is None, "the next attempt lists anew"
    assert rows_of(tmp_path) == [[(2,), (7,)], [(2,), (7,)]]


@pytest.mark.parametrize("connector", FILE_SOURCES.values(), ids=FILE_SOURCES.keys())
def test_every_source_of_files_is_compared_with_its_listing(
    connector: Callable[[str], FileConnector], run_pipeline: RunPipeline, tmp_path: Path, spark: SparkSession
) -> None:
    made = connector(f"{tmp_path}/in")
    rows = spark.range(3).selectExpr(
        "CAST(id AS STRING) AS value" if made.spark_format == "text" else "CAST(id AS INT) AS id"
    )
    header = {"header": "true"} if made.spark_format == "csv" else {}
    rows.coalesce(1).write.format(made.spark_format).options(**header).save(f"{tmp_path}/in")
    env = two_sinks(source(made), tmp_path, changing_sources.touches_it)
    failure = run_pipeline(env.pipeline())[-1].failure
    assert failure is not None
    assert "was written again" in failure.message
    assert not (tmp_path / "one").exists()


def test_a_file_that_arrives_during_a_task_is_in_neither_sink(run_pipeline: RunPipeline, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "rows.csv").write_text("id\n1\n2\n")
    env = two_sinks(source(Csv(f"{tmp_path}/in")), tmp_path, changing_sources.adds_a_file)
    assert run_pipeline(env.pipeline())[-1].failure is None
    assert rows_of(tmp_path) == [[(1,), (2,)], [(1,), (2,)]]


def test_a_result_made_of_a_file_that_changed_is_not_committed(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "rows.csv").write_text("id\n1\n2\n")
    staged = source(Csv(f"{tmp_path}/in")).transform(changing_sources.touches_it).name("changing")
    staged.stage("dear").sink_to(Parquet(f"{tmp_path}/out")).name("out")
    tasks = Tasks(staged.environment, tmp_path, spark)
    first, _ = tasks.regions
    failure = tasks.run(first).failure
    assert failure is not None
    assert "its input changed while it was read" in failure.message
    assert tasks.manifests(first) == []


def test_a_table_of_files_is_compared_with_its_listing(
    run_pipeline: RunPipeline, tmp_path: Path, spark: SparkSession
) -> None:
    spark.range(3).write.mode("overwrite").option("path", f"{tmp_path}/in").saveAsTable("listed")
    env = two_sinks(source(Table("listed")), tmp_path, changing_sources.touches_it)
    failure = run_pipeline(env.pipeline())[-1].failure
    spark.sql("DROP TABLE listed")
    assert failure is not None
    assert "was written again" in failure.message


def test_a_table_that_is_not_a_list_of_files_gives_both_sinks_the_same_rows(
    run_pipeline: RunPipeline, tmp_path: Path, spark: SparkSession
) -> None:
    changing_sources.other_rows_each_time(spark).createOrReplaceTempView("other_each_time")
    env = two_sinks(source(Table("other_each_time")), tmp_path)
    assert run_pipeline(env.pipeline())[-1].failure is None
    one, two = rows_of(tmp_path)
    assert one == two


def test_a_source_function_gives_both_sinks_the_same_rows(
    run_pipeline: RunPipeline, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = FunctionSource(changing_sources.other_rows_each_time)
    env = two_sinks(source(given).filter("x < 0.5").name("some"), tmp_path)
    assert run_pipeline(env.pipeline())[-1].failure is None
    one, two = rows_of(tmp_path)
    assert one == two
    words = "some: staged once for its 2 readers, because its source: it may change while it is read"
    assert words in capsys.readouterr().out


def test_a_deterministic_source_function_is_read_twice(run_pipeline: RunPipeline, tmp_path: Path) -> None:
    given = FunctionSource(changing_sources.other_rows_each_time)
    env = two_sinks(source(given).deterministic(), tmp_path)
    assert run_pipeline(env.pipeline())[-1].failure is None
    assert not (tmp_path / "staging" / "p" / "run" / "data").exists()


def test_changed_source_rows_do_not_replace_lost_rows_of_a_sink(spark: SparkSession, tmp_path: Path) -> None:
    rows = source(FunctionSource(changing_sources.other_rows_each_time))
    rows.sink_to(Parquet(f"{tmp_path}/raw")).name("raw")
    rows.filter("x < 0.5").name("some").stage("dear").sink_to(Parquet(f"{tmp_path}/out")).name("out")
    tasks = Tasks(rows.environment, tmp_path, spark)
    first, second = tasks.regions
    assert tasks.run(first).failure is None
    remove_data(tasks.data(first)[0])
    failure = tasks.run(second).failure
    assert failure is not None
    assert "it cannot be recomputed here: recomputing it could return different rows" in failure.message


def test_files_read_by_a_function_are_listed_not_staged(
    run_pipeline: RunPipeline, tmp_path: Path, spark: SparkSession
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "rows.txt").write_text("1\n2\n")
    spark.conf.set("spark.test.folder", f"{tmp_path}/in")
    env = two_sinks(source(FunctionSource(changing_sources.files)), tmp_path)
    assert run_pipeline(env.pipeline())[-1].failure is None
    assert not (tmp_path / "staging" / "p" / "run" / "data").exists()


@pytest.mark.parametrize("connector", [Values([(1,)], "x INT"), Range(0, 10)])
def test_rows_of_the_declaration_are_not_staged(
    connector: Connector, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    env = two_sinks(source(connector), tmp_path)
    assert run_pipeline(env.pipeline())[-1].failure is None
    one, two = rows_of(tmp_path)
    assert one == two
    assert not (tmp_path / "staging" / "p" / "run" / "data").exists()


KINDS_OF_FILES = (Csv, Json, Parquet, Orc, Text, Files)
CONNECTORS = (*KINDS_OF_FILES, Jdbc, Iceberg, Delta, Table, FunctionSource, Values, Range, Rate)


def test_the_documentation_covers_each_source() -> None:
    text = (ROOT / "docs" / "connectors.md").read_text()
    table = text.partition("## Sources that change while they are read")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| ([a-z]+) \|", table, re.MULTILINE)
    said = {name: answer for names, answer in rows for name in re.findall(r"`(\w+)`", names)}
    assert said == {kind.__name__: kind.when_read_twice.value for kind in CONNECTORS}
    assert {answer for _, answer in rows[1:]} <= {str(each) for each in WhenReadTwice}
