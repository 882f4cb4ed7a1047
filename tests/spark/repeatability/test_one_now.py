"""A run has one now: every action, task, attempt and recomputation sees the same current time (decision 22)."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as every pipeline calls it

from graph_compiler import DataStream, Parquet, StreamExecutionEnvironment, Table
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.spark_runtime.spark_internals.versions import time_to_timestamp
from graph_compiler.staging.attempts.run_marker import VERSION, RunMarker, find_marker, mark_run, moment
from graph_compiler.staging.store.local_store import LocalStore
from tests.harness.reference import published
from tests.spark.conftest import RunPipeline
from tests.spark.region.test_region_failover import Tasks, remove_data

pytestmark = [pytest.mark.spark, pytest.mark.ci]

NOW = datetime(2013, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
"""Long before the clock that Spark looks at."""

SPELLINGS = {
    "current_timestamp()": "2013-01-02 03:04:05.678901",
    "CURRENT_TIMESTAMP": "2013-01-02 03:04:05.678901",
    "now()": "2013-01-02 03:04:05.678901",
    "localtimestamp()": "2013-01-02 03:04:05.678901",
    "current_date": "2013-01-02",
    "current_date()": "2013-01-02",
    "curdate()": "2013-01-02",
    "current_time": "03:04:05.678901",
    "current_time(2)": "03:04:05.67",
    "unix_timestamp()": "1357095845",
    "date_part('year', now())": "2013",
    "(SELECT max(now()) FROM range(3))": "2013-01-02 03:04:05.678901",
    "(SELECT max(col1) FROM VALUES (now()), (now()))": "2013-01-02 03:04:05.678901",
    "to_timestamp('now')": "2013-01-02 03:04:05.678901",
    "CAST(' Now ' AS TIMESTAMP)": "2013-01-02 03:04:05.678901",
    "CAST('today' AS TIMESTAMP)": "2013-01-02 00:00:00",
    "CAST('now' AS TIMESTAMP_NTZ)": "2013-01-02 03:04:05.678901",
    "to_date('tomorrow')": "2013-01-03",
    "'yesterday'::date": "2013-01-01",
    "TIMESTAMP '2014-01-01' > 'now'": "true",
}
OF_TIMES = {
    "CAST(TIME '12:00:00' AS TIMESTAMP)": "2013-01-02 12:00:00",
    "CAST(TIME '12:00:00' AS TIMESTAMP_NTZ)": "2013-01-02 12:00:00",
    "CAST(current_time() AS TIMESTAMP)": "2013-01-02 03:04:05.678901",
}
"""Since 4.3; Spark refuses these casts before."""


@pytest.fixture
def one(spark: SparkSession, tmp_path: Path) -> str:
    """Write one row, and begin the run at NOW."""
    spark.range(1).write.parquet(f"{tmp_path}/in")
    begin(tmp_path)
    return f"{tmp_path}/in"


def begin(folder: Path) -> None:
    marker = RunMarker(
        version=VERSION,
        root=f"{folder}/staging",
        identity=RunIdentity.own("p", "run"),
        host="there",
        time=NOW.timestamp(),
        plan_id="plan",
        ttl=60.0,
    )
    mark_run(LocalStore(), marker)


def test_every_function_for_the_current_time_returns_the_runs_time(
    one: str, run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path
) -> None:
    env = StreamExecutionEnvironment("p")
    spellings = SPELLINGS | (OF_TIMES if time_to_timestamp(spark) is not None else {})
    columns = {f"c{number}": f"CAST({each} AS STRING)" for number, each in enumerate(spellings)}
    env.from_source(Parquet(one), "in").select(**columns).name("times").sink_to(Parquet(f"{tmp_path}/out")).name("out")
    assert run_pipeline(env.pipeline())[-1].failure is None
    (row,) = published(tmp_path / "out")[1]
    assert dict(zip(spellings, row, strict=True)) == spellings


def utc(value: object) -> datetime:
    assert isinstance(value, datetime)
    return value.astimezone(UTC)


def through_a_function(rows: DataFrame) -> DataFrame:
    later = rows.withColumn("t", F.current_timestamp())
    return later.where(later["t"] <= F.now()).select(later["t"], rows["id"])


def behind_a_string(rows: DataFrame) -> DataFrame:
    return rows.select(F.lit("now").cast("timestamp").alias("t"))


def in_a_round(rows: DataFrame) -> DataFrame:
    return rows.selectExpr("id + 1 AS id", "now() AS t")


WAYS: dict[str, Callable[[DataStream], DataStream]] = {
    "columns": lambda s: s.with_columns(t="now()"),
    "a function": lambda s: s.transform(through_a_function),
    "a string in a function": lambda s: s.transform(behind_a_string),
    "SQL text": lambda s: s.sql("SELECT t FROM (SELECT now() AS t FROM {input}) WHERE t <= now()"),
    "a contract": lambda s: s.with_columns(t="now()").expect("now", "t = now()"),
    "a key": lambda s: s.with_columns(t="now()").key_by("t").aggregate(n="count(*)"),
    "an aggregate": lambda s: s.aggregate(t="max(now())"),
    "a join": lambda s: s.with_columns(t="now()").join(
        s.with_columns(u="now()").drop("id"), how="inner", condition="t = u"
    ),
    "rounds": lambda s: s.with_columns(t="now()").iterate(in_a_round, max_iterations=3, until="max(t) = now()"),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_the_current_time_is_the_runs_in_every_operator(
    way: Callable[[DataStream], DataStream], one: str, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    env = StreamExecutionEnvironment("p")
    way(env.from_source(Parquet(one), "in")).name("timed").select(t="t").sink_to(Parquet(f"{tmp_path}/out")).name("out")
    (report,) = run_pipeline(env.pipeline())
    assert report.failure is None, report.failure
    ((found,),) = published(tmp_path / "out")[1]
    assert utc(found) == NOW
    assert all(count.violations == 0 for count in report.contracts)


def test_views_see_the_runs_time(run_pipeline: RunPipeline, tmp_path: Path, spark: SparkSession) -> None:
    begin(tmp_path)
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW timed AS SELECT now() AS t")
    env = StreamExecutionEnvironment("p")
    env.from_source(Table("timed"), "in").sink_to(Parquet(f"{tmp_path}/out")).name("out")
    assert run_pipeline(env.pipeline())[-1].failure is None
    ((found,),) = published(tmp_path / "out")[1]
    assert utc(found) == NOW


def test_two_sinks_and_the_next_task_see_the_same_time(
    spark: SparkSession, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    spark.range(1).write.parquet(f"{tmp_path}/in")
    env = StreamExecutionEnvironment("p")
    timed = env.from_source(Parquet(f"{tmp_path}/in"), "in").with_columns(t="now()").name("timed")
    timed.sink_to(Parquet(f"{tmp_path}/one")).name("one")
    timed.sink_to(Parquet(f"{tmp_path}/two")).name("two")
    timed.stage("another task").with_columns(u="now()").name("later").sink_to(Parquet(f"{tmp_path}/three")).name(
        "three"
    )
    assert run_pipeline(env.pipeline())[-1].failure is None
    ((_, first),), ((_, second),) = (published(tmp_path / name)[1] for name in ("one", "two"))
    ((_, staged, later),) = published(tmp_path / "three")[1]
    assert first == second == staged == later
    layout = StagingLayout(root=f"{tmp_path}/staging", identity=RunIdentity.own("p", "run"))
    marker = find_marker(LocalStore(), layout)
    assert marker is not None
    assert utc(first) == moment(marker.time)


def rows_around_now(spark: SparkSession, folder: Path) -> str:
    """Write 40,000 rows, one for each 5 ms around the time at which a pipeline runs."""
    first = datetime.now(UTC) - timedelta(seconds=20)
    micros = int(first.timestamp() * 1_000_000)
    rows = spark.range(40_000).selectExpr("id", f"timestamp_micros({micros} + id * 5000) AS t")
    rows.write.parquet(f"{folder}/around")
    return f"{folder}/around"


def test_a_filter_on_the_current_time_puts_each_row_on_one_side(
    spark: SparkSession, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    env = StreamExecutionEnvironment("p")
    past = env.from_source(Parquet(rows_around_now(spark, tmp_path)), "in").filter(
        "t < current_timestamp()", rejects="to_come"
    )
    for name, side in (("past", past), ("to_come", past.get_side_output("to_come"))):
        side.sink_to(Parquet(f"{tmp_path}/{name}")).name(f"{name}_out")
    assert run_pipeline(env.pipeline())[-1].failure is None
    sides = [{row[0] for row in published(tmp_path / name)[1]} for name in ("past", "to_come")]
    assert all(sides)
    assert sum(map(len, sides)) == 40_000, "in neither, or in both"
    assert not sides[0] & sides[1]


def test_rows_with_the_current_time_are_recomputed_equally(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(5).write.parquet(f"{tmp_path}/in")
    env = StreamExecutionEnvironment("p")
    timed = env.from_source(Parquet(f"{tmp_path}/in"), "in").with_columns(t="now()").name("timed")
    for name in ("one", "two"):
        timed.stage("dear").filter(f"'{name}' != ''").name(name).sink_to(Parquet(f"{tmp_path}/{name}")).name(
            f"{name}_out"
        )
    tasks = Tasks(env, tmp_path, spark)
    first, one, two = tasks.regions
    assert tasks.run(first).failure is None
    assert tasks.run(one).failure is None
    remove_data(tasks.data(first)[0])
    report = tasks.run(two)
    assert report.failure is None, report.failure
    assert [again.producer for again in report.recomputed] == [first]
    assert not tasks.stale(), "nobody must run again"
    assert sorted(published(tmp_path / "one")[1]) == sorted(published(tmp_path / "two")[1])


def test_runs_without_the_current_time_record_none(
    spark: SparkSession, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    spark.range(1).write.parquet(f"{tmp_path}/in")
    env = StreamExecutionEnvironment("p")
    env.from_source(Parquet(f"{tmp_path}/in"), "in").sink_to(Parquet(f"{tmp_path}/out")).name("out")
    assert run_pipeline(env.pipeline())[-1].failure is None
    assert not (tmp_path / "staging" / "p" / "run" / "run.json").exists()
