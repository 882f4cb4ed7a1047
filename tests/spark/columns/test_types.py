"""Every type of Spark, fused and staged: the same schema and rows on the other side of a cut, or a clear refusal."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from graph_compiler import FunctionSource, Parquet, StreamExecutionEnvironment
from graph_compiler.deployment.documents.report import ThrowableType
from tests.conftest import with_options
from tests.harness.ways import ways
from tests.spark.conftest import RunPipeline

pytestmark = pytest.mark.spark

TYPES = {
    "boolean": "id > 1",
    "byte": "CAST(id AS BYTE)",
    "short": "CAST(id AS SHORT)",
    "int": "CAST(id AS INT)",
    "long": "id",
    "float": "CAST(id / 3 AS FLOAT)",
    "double": "IF(id = 0, -0.0D, IF(id = 1, double('NaN'), id / 3))",
    "decimal": "CAST(id AS DECIMAL(38, 18))",
    "string": "IF(id = 0, NULL, concat('ä', id))",
    "collated string": "concat('a', id) COLLATE UTF8_LCASE",
    "char": "CAST('x' AS CHAR(3))",
    "varchar": "CAST('x' AS VARCHAR(3))",
    "binary": "CAST(concat('a', id) AS BINARY)",
    "date": "date_add(DATE '0001-01-01', CAST(id AS INT))",
    "timestamp": "timestamp_micros(id * 1234567 - 62135596800000000)",
    "timestamp_ntz": "TIMESTAMP_NTZ '2013-03-31 02:30:00'",
    "year-month interval": "make_ym_interval(CAST(id AS INT), 3)",
    "day-time interval": "make_dt_interval(CAST(id AS INT), 3)",
    "array": "array(id, NULL)",
    "array without NULLs": "array(id)",
    "map": "map(concat('k', id), id)",
    "struct": "named_struct('a', id, 'b', CAST(NULL AS STRING))",
    "nested": "array(named_struct('m', map('k', array(id))))",
    "variant": "parse_json(concat('{\"a\": ', id, '}'))",
    "void": "NULL",
}
REFUSED = {"calendar interval": "make_interval(1, 2, 3)", "time": "TIME '12:00:00'"}


def every_type(spark: SparkSession) -> DataFrame:
    columns = [f"{expression} AS `{name}`" for name, expression in TYPES.items()]
    rows = spark.range(0, 5, 1, 2).selectExpr("id", *columns)
    return rows.withMetadata("id", {"comment": "the number", "owner": {"team": "a"}})


def calendar_interval(spark: SparkSession) -> DataFrame:
    return spark.range(3).selectExpr("id", f"{REFUSED['calendar interval']} AS odd")


def time_of_day(spark: SparkSession) -> DataFrame:
    return spark.range(3).selectExpr("id", f"{REFUSED['time']} AS odd")


def twice(spark: SparkSession) -> DataFrame:
    return spark.range(3).selectExpr("id", "id + 1 AS ID")


SEEN: list[DataFrame] = []


def look(rows: DataFrame) -> DataFrame:
    """Let the test see the rows after the cut."""
    SEEN.append(rows)
    return rows.selectExpr("count(*) AS n")


def texts(rows: DataFrame) -> list[str]:
    """Return the rows as JSON of strings: Python has no value for some types."""
    columns = [f"CAST(`{name}` AS STRING) AS `{name}`" for name in rows.columns]
    as_json = rows.selectExpr(*columns).selectExpr("to_json(struct(*)) AS json")
    return sorted(row.json for row in as_json.collect())


@ways("fused-unset", "staged-set")
def test_schema_and_rows_survive_staging(
    mode: str, parallelism: int | None, run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path
) -> None:
    env = StreamExecutionEnvironment("p")
    source = env.from_source(FunctionSource(every_type), "types")
    stream = source.stage("to cut here").transform(look)
    if parallelism is not None:
        source.set_parallelism(parallelism)
        stream.set_parallelism(parallelism)
    stream.sink_to(Parquet(f"{tmp_path}/out")).name("out")
    SEEN.clear()
    report = run_pipeline(with_options(env.pipeline(), shuffle_mode=mode, chaining="true"))[-1]
    assert report.failure is None, report.failure
    wanted = every_type(spark)
    assert SEEN[-1].schema == wanted.schema
    assert texts(SEEN[-1]) == texts(wanted)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (calendar_interval, "'odd' is INTERVAL"),
        (time_of_day, "'odd' is TIME"),
        (twice, "it would write ID more than once"),
    ],
)
def test_types_that_cannot_be_staged_are_refused_with_operator_and_column(
    function: Callable[..., object], words: str, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    env = StreamExecutionEnvironment("p")
    source = env.from_source(FunctionSource(function), "types")
    source.stage("to cut here").select("id").sink_to(Parquet(f"{tmp_path}/out"))
    failure = run_pipeline(env.pipeline())[-1].failure
    assert failure is not None
    assert failure.operator == "types"
    assert failure.throwable_type is ThrowableType.NON_RECOVERABLE_ERROR
    assert words.lower() in failure.message.lower()
    assert not list((tmp_path / "staging").rglob("*.parquet"))
