"""What SQL text or a function reads by itself is a source: pinned, staged where read twice, compared, or refused."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from graph_compiler import DataStream, Parquet, Range, StreamExecutionEnvironment, Table
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.functions import FunctionRef
from graph_compiler.declaration.operators import Sql, Transform
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.report import ExecutionReport, ThrowableType
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.region.task_sources import TaskSources
from graph_compiler.spark_runtime.repeatability.source_files import OwnReads
from tests.harness.reference import published
from tests.spark import changing_sources
from tests.spark.changing_sources import HAPPENS
from tests.spark.conftest import RunPipeline

pytestmark = [pytest.mark.spark, pytest.mark.ci]

Made = Callable[[DataStream, Path], DataStream]


@pytest.fixture(autouse=True)
def made(spark: SparkSession, tmp_path: Path) -> Iterator[None]:
    """Make files, a table of files, a table with partitions, and views of them; each has the ids 0 to 2."""
    spark.range(3).coalesce(1).write.parquet(f"{tmp_path}/in")
    spark.conf.set("spark.test.folder", f"{tmp_path}/in")
    ids = spark.range(3).coalesce(1)
    ids.write.option("path", f"{tmp_path}/table").saveAsTable("changing_table")
    parts = ids.selectExpr("id", "id % 2 AS part").write.partitionBy("part")
    parts.option("path", f"{tmp_path}/parts").saveAsTable("changing_parts")
    spark.sql("CREATE VIEW changing_view AS SELECT id FROM changing_table WHERE id >= 0")
    changing_sources.other_rows_each_time(spark).createOrReplaceTempView("changing_rows")
    yield
    HAPPENS.clear()
    spark.sql("DROP VIEW changing_view")
    spark.sql("DROP TABLE changing_table")
    spark.sql("DROP TABLE changing_parts")
    spark.catalog.dropTempView("changing_rows")


def ids() -> DataStream:
    return StreamExecutionEnvironment("p").from_source(Range(0, 4), "ids")


def with_rows_of(what: str) -> str:
    """Return a query over the input and something else."""
    return f"SELECT r.id FROM {{input}} AS r JOIN {what} AS o ON r.id = o.id"


def two_sinks(stream: DataStream, folder: Path) -> StreamExecutionEnvironment:
    """Read a stream in two actions; what a test asks for happens between its evaluation and the first of them."""
    first = stream.transform(changing_sources.happens).name("changing")
    first.sink_to(Parquet(f"{folder}/one")).name("one")
    stream.sink_to(Parquet(f"{folder}/two")).name("two")
    return stream.environment


def rows_of(folder: Path, *names: str) -> list[list[tuple[object, ...]]]:
    return [sorted(published(folder / name)[1], key=str) for name in names or ("one", "two")]


def add_a_file(folder: Path) -> None:
    (file,) = folder.glob("part-*")
    shutil.copy(file, folder / "part-more.parquet")


def touch(folder: Path) -> None:
    (file,) = sorted(folder.rglob("part-*"))[:1]
    os.utime(file, (2_000_000_000, 2_000_000_000))


COMPARED: dict[str, tuple[str, Made]] = {
    "files in SQL": ("in", lambda rows, folder: rows.sql(with_rows_of(f"parquet.`{folder}/in`"))),
    "files by their URI": ("in", lambda rows, folder: rows.sql(with_rows_of(f"PARQUET.`file:{folder}/in`"))),
    "files with options": (
        "in",
        lambda rows, folder: rows.sql(with_rows_of(f"parquet.`{folder}/in/` WITH (`recursiveFileLookup`='true')")),
    ),
    "a table in SQL": ("table", lambda rows, _: rows.sql(with_rows_of("changing_table"))),
    "a subquery of a filter": ("in", lambda rows, folder: rows.filter(f"id IN (SELECT id FROM parquet.`{folder}/in`)")),
    "a subquery in a subquery": (
        "table",
        lambda rows, _: rows.with_columns(
            n="(SELECT count(*) FROM range(9) WHERE id > (SELECT max(id) FROM changing_table))"
        ),
    ),
    "files in a function": ("in", lambda rows, _: rows.transform(changing_sources.with_files)),
}
NOT_COMPARED: dict[str, tuple[str, Made]] = {
    "a pattern": ("files of", lambda rows, folder: rows.sql(with_rows_of(f"parquet.`{folder}/i*`"))),
    "a view": ("view `spark_catalog`", lambda rows, _: rows.sql(with_rows_of("changing_view"))),
    "a table with partitions": (
        "table `spark_catalog`.`default`.`changing_parts`",
        lambda rows, _: rows.sql(with_rows_of("changing_parts")),
    ),
    "a table with partitions in a function": (
        "table `spark_catalog`.`default`.`changing_parts`",
        lambda rows, _: rows.transform(changing_sources.with_table),
    ),
    "an RDD": ("an RDD", lambda rows, _: rows.filter("id IN (SELECT x FROM changing_rows)")),
}
FUNCTION = Transform(FunctionRef.of(changing_sources.happens))


def reading(rows: DataStream, make: Made, folder: Path) -> DataStream:
    return make(rows, folder).name("reading")


@pytest.mark.parametrize("kind", COMPARED)
def test_files_that_change_while_they_are_read_fail_the_attempt(
    kind: str, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    folder, make = COMPARED[kind]
    HAPPENS["now"] = lambda: touch(tmp_path / folder)
    failure = run_pipeline(two_sinks(reading(ids(), make, tmp_path), tmp_path).pipeline())[-1].failure
    assert failure is not None
    assert failure.throwable_type is ThrowableType.RECOVERABLE_ERROR
    assert failure.operator == "reading"
    assert "was written again" in failure.message
    assert not (tmp_path / "one").exists()


def why_changed(env: StreamExecutionEnvironment, report: ExecutionReport, spark: SparkSession) -> str | None:
    (region,) = describe_regions(compile_pipeline(env.pipeline()))
    return TaskSources.of([region], read_source).why_changed(region, report, spark)


@pytest.mark.parametrize("kind", COMPARED)
def test_a_region_is_kept_while_what_it_has_read_is_unchanged(
    kind: str, run_pipeline: RunPipeline, tmp_path: Path, spark: SparkSession
) -> None:
    folder, make = COMPARED[kind]
    env = two_sinks(reading(ids(), make, tmp_path), tmp_path)
    (report,) = run_pipeline(env.pipeline())
    assert report.failure is None
    report = ExecutionReport.from_json(to_json(report))
    assert report.uncompared == ()
    assert why_changed(env, report, spark) is None
    add_a_file(tmp_path / folder)
    why = "files that 'reading' has read have changed since"
    assert why_changed(env, report, spark) == why


@pytest.mark.parametrize("kind", NOT_COMPARED)
def test_a_region_that_has_read_what_cannot_be_compared_is_not_kept(
    kind: str, run_pipeline: RunPipeline, tmp_path: Path, spark: SparkSession
) -> None:
    words, make = NOT_COMPARED[kind]
    env = two_sinks(reading(ids(), make, tmp_path), tmp_path)
    (report,) = run_pipeline(env.pipeline())
    assert report.failure is None
    (read,) = report.uncompared
    assert read.operator == "reading"
    assert words in read.what
    assert str(why_changed(env, report, spark)) == (f"'reading' has read {read.what}, which may have changed since")


def test_a_source_that_is_declared_deterministic_is_kept(
    run_pipeline: RunPipeline, tmp_path: Path, spark: SparkSession
) -> None:
    table = StreamExecutionEnvironment("p").from_source(Table("changing_parts"), "in")
    env = two_sinks(table.deterministic(), tmp_path)
    (report,) = run_pipeline(env.pipeline())
    assert report.uncompared == ()
    assert why_changed(env, report, spark) is None
    changing = StreamExecutionEnvironment("q").from_source(Table("changing_parts"), "in")
    env = two_sinks(changing, tmp_path / "q")
    (report,) = run_pipeline(env.pipeline())
    assert why_changed(env, report, spark) is not None


def test_a_table_with_other_columns_is_another_table(
    run_pipeline: RunPipeline, tmp_path: Path, spark: SparkSession
) -> None:
    env = two_sinks(ids().sql("SELECT o.* FROM {input} JOIN changing_table AS o USING (id)"), tmp_path)
    (report,) = run_pipeline(env.pipeline())
    assert why_changed(env, report, spark) is None
    spark.sql("ALTER TABLE changing_table ADD COLUMNS (more STRING)")
    assert why_changed(env, report, spark) is not None


def test_rows_that_may_change_are_staged_where_they_are_read_twice(
    run_pipeline: RunPipeline, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    env = two_sinks(
        reading(ids(), lambda rows, _: rows.sql("SELECT o.* FROM {input} CROSS JOIN changing_rows AS o"), tmp_path),
        tmp_path,
    )
    assert run_pipeline(env.pipeline())[-1].failure is None
    one, two = rows_of(tmp_path)
    assert one == two
    words = "reading: staged once for its 2 readers, because an RDD: it may change while it is read"
    assert words in capsys.readouterr().out


def test_a_filter_by_rows_that_may_change_puts_each_row_into_one_output(
    run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    rows = StreamExecutionEnvironment("p").from_source(Range(0, 50), "ids")
    kept = rows.filter("id IN (SELECT floor(50 * x) FROM changing_rows)", rejects="others")
    kept.sink_to(Parquet(f"{tmp_path}/one")).name("one")
    kept.get_side_output("others").sink_to(Parquet(f"{tmp_path}/two")).name("two")
    (report,) = run_pipeline(rows.environment.pipeline())
    assert report.failure is None
    one, two = rows_of(tmp_path)
    assert sorted([*one, *two]) == [(id,) for id in range(50)]
    assert [read.what for read in report.uncompared] == ["an RDD"]


def test_a_filter_reads_what_its_input_has_read_by_itself(run_pipeline: RunPipeline, tmp_path: Path) -> None:
    """Its input is staged, and shares nothing with it any more."""
    rows = StreamExecutionEnvironment("p").from_source(Range(0, 50), "ids")
    condition = "id IN (SELECT floor(50 * x) FROM changing_rows)"
    kept = rows.filter(f"NOT {condition}").filter(condition, rejects="others")
    kept.sink_to(Parquet(f"{tmp_path}/one")).name("one")
    kept.select("id").sink_to(Parquet(f"{tmp_path}/two")).name("two")
    kept.get_side_output("others").sink_to(Parquet(f"{tmp_path}/others")).name("others")
    assert run_pipeline(rows.environment.pipeline())[-1].failure is None
    one, two, others = rows_of(tmp_path, "one", "two", "others")
    assert one == two
    assert set(one).isdisjoint(others)


def test_a_function_whose_outputs_each_read_what_may_change_is_refused(
    run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    split = ids().process(changing_sources.split_by_table, outputs=("unknown",)).name("split")
    split.sink_to(Parquet(f"{tmp_path}/one")).name("one")
    split.get_side_output("unknown").sink_to(Parquet(f"{tmp_path}/two")).name("two")
    failure = run_pipeline(split.environment.pipeline())[-1].failure
    assert failure is not None
    assert failure.throwable_type is ThrowableType.NON_RECOVERABLE_ERROR
    assert failure.operator == "split"
    assert "2 of its outputs read table `spark_catalog`.`default`.`changing_parts`" in failure.message
    assert "hint: read it as a source, and join it" in failure.message


@pytest.mark.parametrize("shuffles", [False, True])
def test_all_readers_of_a_path_read_the_files_that_were_listed_first(
    shuffles: bool, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    """Spark takes two lists of the same paths for one: joined, it would count the second one's rows by the first."""
    query = with_rows_of(f"parquet.`{tmp_path}/in`")
    if shuffles:
        counts = f"SELECT id, count(*) AS n FROM parquet.`{tmp_path}/in` GROUP BY id"
        query = f"SELECT o.* FROM {{input}} RIGHT JOIN ({counts}) AS o USING (id)"
    start = ids()
    before = start.sql(query).name("before")
    between = before.transform(changing_sources.happens).name("between")
    after = between.sql(query).name("after")
    in_filter = between.filter(f"id IN (SELECT id FROM parquet.`{tmp_path}/in`)").name("filter")
    before.sink_to(Parquet(f"{tmp_path}/one")).name("one")
    after.sink_to(Parquet(f"{tmp_path}/two")).name("two")
    before.union(after).sink_to(Parquet(f"{tmp_path}/both")).name("both")
    in_filter.sink_to(Parquet(f"{tmp_path}/three")).name("three")
    HAPPENS["now"] = lambda: add_a_file(tmp_path / "in")
    (report,) = run_pipeline(start.environment.pipeline())
    assert report.failure is None
    one, two, both, three = rows_of(tmp_path, "one", "two", "both", "three")
    assert one == two == [(id, 1) if shuffles else (id,) for id in range(3)]
    assert both == sorted([*one, *two])
    assert [row[0] for row in three] == [0, 1, 2]


def test_each_round_of_a_loop_may_write_again_what_it_reads(
    run_pipeline: RunPipeline, tmp_path: Path, spark: SparkSession
) -> None:
    spark.conf.set("spark.test.folder", f"{tmp_path}/scratch")
    rounds = ids().iterate(changing_sources.through_files, max_iterations=3).name("rounds")
    rounds.sink_to(Parquet(f"{tmp_path}/one")).name("one")
    (report,) = run_pipeline(rounds.environment.pipeline())
    assert report.failure is None
    assert rows_of(tmp_path, "one") == [[(3,), (4,), (5,), (6,)]]
    assert "rounds" in {files.operator for files in report.sources}


def test_files_that_change_while_a_loop_reads_them_fail_the_attempt(run_pipeline: RunPipeline, tmp_path: Path) -> None:
    rounds = ids().iterate(changing_sources.with_touched_files, max_iterations=3).name("rounds")
    rounds.sink_to(Parquet(f"{tmp_path}/one")).name("one")
    failure = run_pipeline(rounds.environment.pipeline())[-1].failure
    assert failure is not None
    assert failure.throwable_type is ThrowableType.RECOVERABLE_ERROR
    assert failure.operator == "rounds"
    assert "was written again" in failure.message


def test_a_table_that_is_written_while_it_is_read_fails_the_attempt(
    run_pipeline: RunPipeline, tmp_path: Path, spark: SparkSession
) -> None:
    """Spark lists the files of a table again in every plan when it has written to it."""
    HAPPENS["now"] = lambda: spark.range(7, 9).write.insertInto("changing_table")
    env = two_sinks(ids().sql(with_rows_of("changing_table")).name("reading"), tmp_path)
    failure = run_pipeline(env.pipeline())[-1].failure
    assert failure is not None
    assert failure.throwable_type is ThrowableType.RECOVERABLE_ERROR
    assert "changing_table" in failure.message or "was listed again" in failure.message


def test_what_spark_holds_is_no_read(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.read.parquet(f"{tmp_path}/in")
    held: dict[str, DataFrame] = {
        "the input": rows,
        "joined with itself": rows.join(rows.alias("other"), "id"),
        "given rows": rows.join(spark.createDataFrame([(1,)], "id BIGINT"), "id"),
        "thousands of them": spark.createDataFrame([(str(n), [n]) for n in range(3_000)], "id STRING, n ARRAY<INT>"),
        "two lists": spark.createDataFrame([(1,)], "id INT").union(spark.createDataFrame([Row(id=2)])),
        "dictionaries": spark.createDataFrame([{"id": 1}]),
        "pandas": spark.createDataFrame(pd.DataFrame({"id": [1, 2]})),
        "no rows": spark.createDataFrame([], "id INT"),
        "values": spark.sql("WITH a AS (VALUES (1)) SELECT * FROM a, a AS b, range(3)"),
        "a checkpoint": rows.localCheckpoint(),
    }
    found = {name: OwnReads.of(FUNCTION, made, [rows]) for name, made in held.items()}
    assert {name for name, reads in found.items() if reads != OwnReads()} == set()
    assert OwnReads.of(FUNCTION, rows.rdd.toDF(), [rows]).changing == ("an RDD",)
    made = spark.createDataFrame(spark.sparkContext.parallelize([(1,)]).map(tuple), "id BIGINT")
    assert OwnReads.of(FUNCTION, made, [rows]).changing == ("an RDD",), "its records are made by a function"
    given = spark.createDataFrame([(1,)], "id BIGINT")
    assert OwnReads.of(Sql("TABLE given", ()), given, []).changing == ("an RDD",), "of a temporary view"
    again = OwnReads.of(FUNCTION, spark.read.parquet(f"{tmp_path}/in"), [rows])
    assert len(again.listings) == 1
    cached = rows.cache()
    assert len(OwnReads.of(FUNCTION, cached.filter("id > 1"), []).listings) == 1
    cached.unpersist()
