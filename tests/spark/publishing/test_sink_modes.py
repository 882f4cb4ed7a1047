"""What happens to the rows of a target in each mode, and that a run counts once."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from graph_compiler import Csv, Parquet, Range, StreamExecutionEnvironment
from graph_compiler.errors import PublicationConflictError, PublicationError, SchemaChangedError
from tests.harness.sinks import Sinks, files_of
from tests.spark.conftest import RunPipeline

pytestmark = pytest.mark.spark
FOLDERS: dict[str, Any] = {"partition_by": ("day",)}


@pytest.fixture
def target(tmp_path: Path) -> Parquet:
    return Parquet(f"{tmp_path}/out")


def ids(spark: SparkSession, target: Parquet) -> list[int]:
    return sorted(row.id for row in spark.read.parquet(target.one_path).collect())


def days(spark: SparkSession, target: Parquet) -> list[tuple[int, int]]:
    rows = spark.read.parquet(target.one_path).select("day", "id").collect()
    return sorted((row.day, row.id) for row in rows)


def test_a_filename_option_cannot_hide_files_from_readers(spark: SparkSession, sinks: Sinks, target: Parquet) -> None:
    named = Parquet(target.path, options={"mapreduce.output.basename": "_x"})
    assert sinks.write(named, spark.range(3)).rows == 3
    assert ids(spark, target) == [0, 1, 2]


def test_append_keeps_what_is_there(spark: SparkSession, sinks: Sinks, target: Parquet) -> None:
    sinks.write(target, spark.range(2), run="r1", mode="append")
    assert sinks.write(target, spark.range(10, 12), run="r2", mode="append").rows == 2
    assert ids(spark, target) == [0, 1, 10, 11]


@pytest.mark.parametrize("mode", ["append", "overwrite", "error-if-exists"])
def test_a_rerun_task_replaces_its_appended_rows(mode: str, spark: SparkSession, sinks: Sinks, target: Parquet) -> None:
    if mode == "append":
        sinks.write(target, spark.range(100, 101), run="earlier", mode=mode)
    for rows in (range(2), range(3), range(5, 7)):
        sinks.write(target, spark.range(rows.start, rows.stop), run="r1", mode=mode)
    assert ids(spark, target) == [5, 6] + [100] * (mode == "append")


def test_a_rerun_append_keeps_rows_of_other_runs(spark: SparkSession, sinks: Sinks, target: Parquet) -> None:
    sinks.write(target, spark.range(0, 1), run="r1", mode="append")
    sinks.write(target, spark.range(10, 11), run="r2", mode="append")
    sinks.write(target, spark.range(1, 3), run="r1", mode="append")
    assert ids(spark, target) == [1, 2, 10]


def test_an_append_that_died_while_publishing_is_not_doubled(
    spark: SparkSession, sinks: Sinks, target: Parquet, monkeypatch: pytest.MonkeyPatch
) -> None:
    sinks.write(target, spark.range(0, 1), run="r1", mode="append")
    prepared = sinks.prepare(target, spark.range(0, 4, 1, 2), run="r2", mode="append")
    real, left = Path.rename, [1]

    def dying(path: Path, to: Path) -> Path:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return real(path, to)

    monkeypatch.setattr(Path, "rename", dying)
    with pytest.raises(KeyboardInterrupt):
        prepared.publish()
    monkeypatch.undo()
    sinks.write(target, spark.range(0, 4, 1, 2), run="r2", mode="append")
    assert ids(spark, target) == [0, 0, 1, 2, 3]


def test_concurrent_appends_of_two_runs_are_both_kept(spark: SparkSession, sinks: Sinks, target: Parquet) -> None:
    one = sinks.prepare(target, spark.range(0, 1), run="r1", mode="append")
    sinks.write(target, spark.range(1, 2), run="r2", mode="append")
    one.publish()
    assert ids(spark, target) == [0, 1]


def test_concurrent_appends_of_two_attempts_count_once(spark: SparkSession, sinks: Sinks, target: Parquet) -> None:
    zombie = sinks.prepare(target, spark.range(0, 1), run="r1", mode="append")
    sinks.write(target, spark.range(1, 2), run="r2", mode="append")
    sinks.write(target, spark.range(0, 1), run="r1", mode="append")
    with pytest.raises(PublicationConflictError):
        zombie.publish()
    assert ids(spark, target) == [0, 1]


def test_an_append_with_other_columns_is_refused(spark: SparkSession, sinks: Sinks, target: Parquet) -> None:
    sinks.write(target, spark.range(1), run="r0", mode="append")
    evolving = Parquet(target.path, on_schema_change="evolve")
    one = sinks.prepare(evolving, spark.sql("SELECT 1L AS id, 1 AS k"), run="r1", mode="append")
    other = spark.sql("SELECT 1L AS id, 'a' AS k")
    sinks.write(evolving, other, run="r2", mode="append")
    before = files_of(Path(target.one_path))
    with pytest.raises(PublicationConflictError, match="with other columns since this one began"):
        one.publish()
    assert files_of(Path(target.one_path)) == before
    with pytest.raises(SchemaChangedError, match="'k' has another type"):
        sinks.write(evolving, "SELECT 1L AS id, 1 AS k", run="r1", mode="append")


@pytest.mark.parametrize("place", ["{root}/{day}", "{root}/all"])
def test_a_concurrent_backfill_of_five_days_ends_with_five_days(
    place: str, spark: SparkSession, sinks: Sinks, tmp_path: Path
) -> None:
    days = [f"2013-01-0{number}" for number in range(1, 6)]
    begin = threading.Barrier(len(days))

    def run(day: str) -> int:
        target = Parquet(place.format(root=tmp_path / "out", day=day))
        rows = spark.sql(f"SELECT id, '{day}' AS day FROM range(3)")
        mode = "overwrite-partitions" if "all" in place else "overwrite"
        prepared = sinks.prepare(target, rows, run=day, mode=mode, **FOLDERS)
        begin.wait(timeout=120)
        prepared.publish()
        return prepared.rows

    for _ in range(2):  # and once more, as if all were cleared
        with ThreadPoolExecutor(len(days)) as pool:
            assert list(pool.map(run, days)) == [3] * 5
        reads = [spark.read.parquet(str(path)) for path in (tmp_path / "out").iterdir()]
        found = sorted((str(row.day), row.id) for read in reads for row in read.collect())
        assert found == [(day, id) for day in days for id in range(3)]
    assert not list(tmp_path.rglob(".*.graph_compiler"))


def test_error_if_exists_refuses_foreign_files_before_any_row_moves(
    spark: SparkSession, sinks: Sinks, target: Parquet
) -> None:
    spark.range(1).coalesce(1).write.parquet(target.one_path)
    with pytest.raises(PublicationError, match="holds 1 file from elsewhere .*\n.*'error-if-exists'"):
        sinks.open(target, mode="error-if-exists")
    assert ids(spark, target) == [0]


@pytest.mark.parametrize("mode", ["append", "error-if-exists", "merge"])
@pytest.mark.parametrize("name", ["_metadata", "day=1/_metadata.0.parquet"])
def test_a_summary_of_parquet_has_no_rows_and_no_columns_to_keep(
    name: str, mode: str, spark: SparkSession, sinks: Sinks, target: Parquet
) -> None:
    summary = Path(target.one_path, name)
    summary.parent.mkdir(parents=True)
    parquet.write_table(pyarrow.table({"id": [7]}), summary)
    keys = {"keys": ("id",)} if mode == "merge" else {}
    for count in (1, 2):  # a second attempt sees the target without what the first one has added
        sinks.write(target, f"SELECT id, 1 AS day FROM range({count})", run="r1", mode=mode, **keys, **FOLDERS)
    assert days(spark, target) == [(1, 0), (1, 1)]


def test_error_if_exists_keeps_files_that_arrived_meanwhile(spark: SparkSession, sinks: Sinks, target: Parquet) -> None:
    prepared = sinks.prepare(target, spark.range(1), mode="error-if-exists")
    spark.range(10, 11).write.parquet(target.one_path)
    prepared.publish()
    assert ids(spark, target) == [0, 10]


def test_overwrite_partitions_replaces_those_that_new_rows_have(
    spark: SparkSession, sinks: Sinks, target: Parquet
) -> None:
    sinks.write(target, "SELECT id, id DIV 2 AS day FROM range(6)", **FOLDERS)
    query = "SELECT * FROM VALUES (10L, 1L), (11L, 3L) AS t(id, day)"
    sinks.write(target, query, run="r2", mode="overwrite-partitions", **FOLDERS)
    assert days(spark, target) == [(0, 0), (0, 1), (1, 10), (2, 4), (2, 5), (3, 11)]


def test_overwrite_partitions_run_again_takes_its_own_partitions_back(
    spark: SparkSession, sinks: Sinks, target: Parquet
) -> None:
    mode = "overwrite-partitions"
    sinks.write(target, "SELECT 1L AS id, 1 AS day", run="r1", mode=mode, **FOLDERS)
    sinks.write(target, "SELECT 2L AS id, 2 AS day", run="r2", mode=mode, **FOLDERS)
    sinks.write(target, "SELECT 3L AS id, 3 AS day", run="r2", mode=mode, **FOLDERS)
    assert days(spark, target) == [(1, 1), (3, 3)]
    assert sorted(path.name for path in Path(target.one_path).iterdir()) == ["day=1", "day=3"]


def test_partitions_without_new_rows_are_kept(spark: SparkSession, sinks: Sinks, target: Parquet) -> None:
    mode = "overwrite-partitions"
    sinks.write(target, "SELECT 1L AS id, 1 AS day", run="r1", mode=mode, **FOLDERS)
    written = sinks.write(target, "SELECT 1L AS id, 1 AS day WHERE false", run="r2", mode=mode, **FOLDERS)
    assert written.rows == 0
    assert days(spark, target) == [(1, 1)]


def test_folders_have_the_names_of_their_values(spark: SparkSession, sinks: Sinks, tmp_path: Path) -> None:
    query = "SELECT * FROM VALUES (1, 'a/b', NULL), (2, 'é', 7) AS t(id, k, n)"
    sinks.write(Csv(f"{tmp_path}/out"), query, partition_by=("k", "n"))
    assert sorted(str(Path(name).parent) for name in files_of(tmp_path / "out")) == [
        "k=a%2Fb/n=__HIVE_DEFAULT_PARTITION__",
        "k=é/n=7",
    ]
    rows = spark.read.option("header", True).csv(f"{tmp_path}/out").collect()
    assert sorted((row.id, row.k, row.n) for row in rows) == [("1", "a/b", None), ("2", "é", 7)]


@pytest.mark.parametrize(("settings", "files"), [({}, 3), ({"files": 5}, 5), ({"files": 1}, 1)])
def test_the_files_setting_is_the_number_of_files(
    settings: dict[str, Any], files: int, spark: SparkSession, sinks: Sinks, target: Parquet
) -> None:
    sinks.write(target, spark.range(0, 300, 1, 3), **settings)
    assert len(files_of(Path(target.one_path))) == files
    assert ids(spark, target) == list(range(300))


def test_files_of_other_folders_are_not_mixed_in(sinks: Sinks, target: Parquet) -> None:
    sinks.write(target, "SELECT 1L AS id, 1 AS day, 'a' AS k", **FOLDERS)
    with pytest.raises(PublicationError, match="in folders by day, and partition_by is k"):
        sinks.write(target, "SELECT 1L AS id, 1 AS day, 'a' AS k", run="r2", mode="append", partition_by=("k",))


def test_modes_reach_spark_from_a_declaration(run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path) -> None:
    spark.range(100, 102).write.parquet(f"{tmp_path}/out")
    env = StreamExecutionEnvironment("p")
    env.from_source(Range(0, 4), "numbers").sink_to(Parquet(f"{tmp_path}/out"), mode="append", files=2).name("out")
    (report,) = run_pipeline(env.pipeline())
    assert report.failure is None
    assert [(o.name, o.rows) for o in report.outputs] == [("out", 4)]
    assert len(files_of(tmp_path / "out")) == 4
    assert ids(spark, Parquet(f"{tmp_path}/out")) == [0, 1, 2, 3, 100, 101]


def test_a_target_that_must_not_exist_names_the_operator(
    run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path
) -> None:
    spark.range(1).write.parquet(f"{tmp_path}/out")
    env = StreamExecutionEnvironment("p")
    numbers = env.from_source(Range(0, 4), "numbers")
    numbers.sink_to(Parquet(f"{tmp_path}/out"), mode="error-if-exists").name("out")
    failure = run_pipeline(env.pipeline())[-1].failure
    assert failure is not None
    assert (failure.operator, failure.throwable_type) == ("out", "NON_RECOVERABLE_ERROR")
