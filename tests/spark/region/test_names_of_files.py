"""Which rows are staged does not show in their values: no expression names a staged file."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import input_file_name

from graph_compiler import DataStream, Parquet, StreamExecutionEnvironment
from tests.harness.reference import published
from tests.spark.conftest import RunPipeline

pytestmark = pytest.mark.spark

NAME, PATH = "input_file_name()", "_metadata.file_path"
Declare = Callable[[DataStream], DataStream]


@pytest.fixture(scope="module")
def data(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("named")
    spark.range(0, 3, 1, 1).write.parquet(f"{folder}/in")
    return f"{folder}/in"


def named(rows: DataFrame) -> DataFrame:
    """Name the file of each row."""
    return rows.withColumn("file", input_file_name())


def declared(data: str, declare: Declare, out: Path) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("p")
    declare(env.from_source(Parquet(data), "in")).name("f").sink_to(Parquet(f"{out}/out")).name("out")
    return env


RIGHT: dict[str, Declare] = {
    "function": lambda s: s.with_columns(file=NAME),
    "metadata": lambda s: s.with_columns(file=PATH),
    "staged later": lambda s: s.with_columns(file=NAME).stage("x").filter("id >= 0"),
    "metadata staged later": lambda s: s.select("id", file=PATH).stage("x").filter("file LIKE '%part%'"),
    "a column of that name": lambda s: s.select("id", "_metadata").stage("x").select("id", file=PATH),
}


@pytest.mark.parametrize("declare", RIGHT.values(), ids=RIGHT)
def test_a_column_names_the_files_of_the_source(
    declare: Declare, data: str, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    assert run_pipeline(declared(data, declare, tmp_path).pipeline())[-1].failure is None
    _, rows = published(tmp_path / "out")
    assert len(rows) == 3
    assert all(f"{data}/part-" in str(row) for row in rows)


WRONG: dict[str, tuple[Declare, str]] = {
    "metadata": (lambda s: s.stage("x").with_columns(file=PATH), "there is no column '_metadata.file_path'"),
    "two reads": (
        lambda s: s.stage("x").sql("SELECT b._metadata.file_path AS file FROM {input} JOIN {input} b USING (id)"),
        "there is no column 'b._metadata.file_path'",
    ),
    "in parts": (lambda s: s.stage("x").with_columns(file=PATH).set_parallelism(2), "there is no column '_metadata"),
    "query": (lambda s: s.stage("x").sql("SELECT *, input_file_name() AS file FROM {input}"), "its input_file_name()"),
    "query in a query": (
        lambda s: s.stage("x").sql("SELECT * FROM {input} WHERE id IN (SELECT length(input_file_name()) FROM {input})"),
        "its input_file_name() would name a file of the staging root",
    ),
    "function": (lambda s: s.stage("x").transform(named), "its input_file_name() would name a file of the staging"),
}


@pytest.mark.parametrize(("declare", "words"), WRONG.values(), ids=WRONG)
def test_no_column_names_a_staged_file(
    declare: Declare, words: str, data: str, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    failure = run_pipeline(declared(data, declare, tmp_path).pipeline())[-1].failure
    assert failure is not None
    assert words in failure.message
    assert "source.with_columns(file=" in failure.message or "b._metadata" in words


@pytest.mark.ci
def test_rows_that_are_staged_for_two_readers_have_no_file(
    data: str, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    env = StreamExecutionEnvironment("p")
    some = env.from_source(Parquet(data), "in").filter("rand() >= 0").name("some")
    some.with_columns(file=NAME).name("f").sink_to(Parquet(f"{tmp_path}/a")).name("a")
    some.sink_to(Parquet(f"{tmp_path}/b")).name("b")
    failure = run_pipeline(env.pipeline())[-1].failure
    assert failure is not None
    assert "its input_file_name() would name a file of the staging root" in failure.message
