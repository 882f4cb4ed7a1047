"""Merge by key into files: what is replaced, what stays, what is refused, and what a second attempt does."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from graph_compiler import Orc, Parquet, Range, StreamExecutionEnvironment
from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.errors import PublicationConflictError, PublicationError, SchemaChangedError
from graph_compiler.identifiers import OperatorId
from graph_compiler.spark_runtime.connectors import file_sink
from graph_compiler.spark_runtime.publishing.format_values import merge
from tests.harness.sinks import Sinks, files_of
from tests.spark.conftest import RunPipeline

pytestmark = pytest.mark.spark
MERGE: dict[str, Any] = {"mode": "merge", "keys": ("id",)}
FIRST = "SELECT * FROM VALUES (1L, 'a'), (2L, 'b'), (3L, 'c') AS t(id, k)"
SECOND = "SELECT * FROM VALUES (2L, 'B'), (4L, 'D') AS t(id, k)"


@pytest.fixture
def target(tmp_path: Path) -> Parquet:
    return Parquet(f"{tmp_path}/out")


def rows(spark: SparkSession, target: FileConnector) -> list[tuple[Any, ...]]:
    read = spark.read.format(target.spark_format).load(target.one_path)
    return sorted(tuple(row) for row in read.select("id", "k").collect())


@pytest.mark.parametrize("kind", [Parquet, Orc])
def test_rows_with_a_repeated_key_are_replaced_and_others_stay(
    kind: type[FileConnector], spark: SparkSession, sinks: Sinks, tmp_path: Path
) -> None:
    target = kind(f"{tmp_path}/out")
    assert sinks.write(target, FIRST, run="r1", **MERGE).rows == 3
    assert sinks.write(target, SECOND, run="r2", **MERGE).rows == 2
    assert rows(spark, target) == [(1, "a"), (2, "B"), (3, "c"), (4, "D")]
    assert not list(tmp_path.glob(".out*"))


def test_merging_again_in_a_run_changes_nothing_and_later_rows_win(
    spark: SparkSession, sinks: Sinks, target: Parquet
) -> None:
    sinks.write(target, FIRST, run="r1", **MERGE)
    for _ in range(2):
        sinks.write(target, SECOND, run="r2", **MERGE)
    assert rows(spark, target) == [(1, "a"), (2, "B"), (3, "c"), (4, "D")]
    sinks.write(target, "SELECT 2L AS id, 'x' AS k", run="r2", **MERGE)
    assert rows(spark, target) == [(1, "a"), (2, "x"), (3, "c"), (4, "D")]


@pytest.mark.parametrize("mode", ["append", "error-if-exists"])
def test_a_merge_rerun_in_another_mode_removes_no_rows_of_other_runs(
    mode: str, spark: SparkSession, sinks: Sinks, target: Parquet
) -> None:
    sinks.write(target, FIRST, run="r1", **MERGE)
    sinks.write(target, SECOND, run="r2", **MERGE)
    merged = [(1, "a"), (2, "B"), (3, "c"), (4, "D")]
    if mode == "append":
        sinks.write(target, "SELECT 9L AS id, 'z' AS k", run="r2", mode=mode)
        merged.append((9, "z"))
    else:
        with pytest.raises(PublicationError, match="files from elsewhere"):
            sinks.open(target, run="r2", mode=mode)
    assert rows(spark, target) == merged


def test_two_sinks_of_a_run_cannot_merge_into_one_target(sinks: Sinks, target: Parquet) -> None:
    sinks.write(target, FIRST, run="r1", **MERGE)
    sinks.write(target, SECOND, run="r2", **MERGE)
    with pytest.raises(PublicationError, match="written by another sink of this run"):
        sinks.open(target, run="r1", operator_id=OperatorId("cd" * 16), **MERGE)


def test_all_files_are_replaced_by_one_intent(sinks: Sinks, target: Parquet) -> None:
    sinks.write(target, FIRST, run="r1", **MERGE)
    before = files_of(Path(target.one_path))
    prepared = sinks.prepare(target, sinks.spark.sql(SECOND), run="r2", **MERGE)
    assert files_of(Path(target.one_path)) == before
    prepared.publish()
    assert not set(files_of(Path(target.one_path))) & set(before)


def test_concurrent_merges_conflict_and_the_loser_is_retried(
    spark: SparkSession, sinks: Sinks, target: Parquet
) -> None:
    sinks.write(target, FIRST, run="r0", **MERGE)
    one = sinks.prepare(target, spark.sql(SECOND), run="r1", **MERGE)
    sinks.write(target, "SELECT 3L AS id, 'C' AS k", run="r2", **MERGE)
    with pytest.raises(PublicationConflictError):
        one.publish()
    sinks.write(target, SECOND, run="r1", **MERGE)
    assert rows(spark, target) == [(1, "a"), (2, "B"), (3, "C"), (4, "D")]


def test_a_file_that_others_add_during_a_merge_is_kept_and_merged_by_the_retry(
    spark: SparkSession, sinks: Sinks, target: Parquet, monkeypatch: pytest.MonkeyPatch
) -> None:
    sinks.write(target, FIRST, run="r1", **MERGE)

    def others_add(old: DataFrame, new: DataFrame, keys: tuple[str, ...]) -> DataFrame:
        spark.sql("SELECT 9L AS id, 'x' AS k").write.mode("append").parquet(target.one_path)
        return merge(old, new, keys)

    with monkeypatch.context() as patch:
        patch.setattr(file_sink, "merge", others_add)
        with pytest.raises(PublicationConflictError, match="has changed while its rows were merged"):
            sinks.write(target, SECOND, run="r2", **MERGE)
    assert rows(spark, target) == [(1, "a"), (2, "b"), (3, "c"), (9, "x")]
    sinks.write(target, SECOND, run="r2", **MERGE)
    assert rows(spark, target) == [(1, "a"), (2, "B"), (3, "c"), (4, "D"), (9, "x")]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT * FROM VALUES (7L, 'x'), (7L, 'y') AS t(id, k)", r"id=7 \(2 rows\)"),
        ("SELECT * FROM VALUES (7L, 'x'), (NULL, 'y') AS t(id, k)", r"id=None \(1 row\)"),
        ("SELECT id DIV 2 AS id, 'x' AS k FROM range(20)", r"\(2 rows\); .*; .*, …"),
    ],
)
def test_keys_that_are_there_twice_or_null_are_refused_and_nothing_changes(
    query: str, words: str, spark: SparkSession, sinks: Sinks, target: Parquet
) -> None:
    sinks.write(target, "SELECT 1L AS id, 'a' AS k", run="r1", **MERGE)
    with pytest.raises(PublicationError, match=words) as refusal:
        sinks.write(target, query, run="r2", **MERGE)
    assert "hint: deduplicate('id', order_by=…) before the sink" in str(refusal.value)
    assert rows(spark, target) == [(1, "a")]


def test_a_key_that_is_not_a_column_is_refused_before_any_row_moves(
    spark: SparkSession, sinks: Sinks, target: Parquet
) -> None:
    opened = sinks.open(target, mode="merge", keys=("ident", "k"))
    with pytest.raises(PublicationError, match=r"merges by ident, .*\n  allowed: id and k"):
        opened.check(spark.sql(FIRST))


def test_keys_are_found_as_spark_finds_columns_and_null_in_the_target_stays(
    spark: SparkSession, sinks: Sinks, target: Parquet
) -> None:
    sinks.write(target, "SELECT * FROM VALUES (1L, 'a'), (NULL, 'n') AS t(id, k)", run="r1")
    sinks.write(target, "SELECT 1L AS id, 'b' AS k", run="r2", mode="merge", keys=("ID",))
    read = spark.read.parquet(target.one_path).collect()
    assert {(row.id, row.k) for row in read} == {(1, "b"), (None, "n")}


@pytest.mark.ci
def test_several_keys_and_partition_folders_keep_their_texts(
    spark: SparkSession, sinks: Sinks, target: Parquet
) -> None:
    settings: dict[str, Any] = {"mode": "merge", "keys": ("id", "day"), "partition_by": ("day",)}
    first = "SELECT * FROM VALUES (1, '01', 'a'), (1, '02', 'b') AS t(id, day, k)"
    sinks.write(target, first, run="r1", **settings)
    sinks.write(target, "SELECT 1 AS id, '02' AS day, 'B' AS k", run="r2", **settings)
    sinks.write(target, "SELECT 1 AS id, '3' AS day, 'c' AS k", run="r3", **settings)
    folders = sorted(str(Path(name).parent) for name in files_of(Path(target.one_path)))
    assert folders == ["day=01", "day=02", "day=3"]
    assert rows(spark, target) == [(1, "B"), (1, "a"), (1, "c")]


def test_columns_may_not_change_unless_the_target_evolves(spark: SparkSession, sinks: Sinks, target: Parquet) -> None:
    sinks.write(target, "SELECT * FROM VALUES (1, 'a'), (2, 'b') AS t(id, k)", run="r1", **MERGE)
    wider = "SELECT 2L AS id, 'B' AS k, true AS more"
    with pytest.raises(SchemaChangedError, match="'id' was widened"):
        sinks.write(target, wider, run="r2", **MERGE)
    evolving = Parquet(target.path, on_schema_change="evolve")
    sinks.write(evolving, wider, run="r2", **MERGE)
    read = spark.read.parquet(target.one_path)
    assert dict(read.dtypes) == {"id": "bigint", "k": "string", "more": "boolean"}
    assert sorted((row.id, row.k, row.more) for row in read.collect()) == [(1, "a", None), (2, "B", True)]
    with pytest.raises(SchemaChangedError, match="'more' is gone"):
        sinks.write(evolving, "SELECT 2L AS id, 'B' AS k", run="r3", **MERGE)


@pytest.mark.ci
def test_rows_that_change_when_they_are_computed_again_are_computed_once(
    spark: SparkSession, sinks: Sinks, target: Parquet
) -> None:
    sinks.write(target, "SELECT id, 'old' AS k FROM range(50)", run="r1", **MERGE)
    random = "SELECT CAST(rand() * 1e15 AS BIGINT) AS id, 'new' AS k FROM range(50)"
    sinks.write(target, random, run="r2", **MERGE)
    assert len(rows(spark, target)) == 100
    sinks.write(target, "SELECT id, 'new' AS k FROM range(50)", run="r3", **MERGE)
    assert [k for _, k in rows(spark, target)] == ["new"] * 100


def test_a_declared_merge_sink_merges(run_pipeline: RunPipeline, spark: SparkSession, target: Parquet) -> None:
    spark.range(2, 5).selectExpr("id", "'old' AS k").write.parquet(target.one_path)
    env = StreamExecutionEnvironment("p")
    numbers = env.from_source(Range(0, 3), "numbers").select(id="id", k="'new'")
    numbers.sink_to(target, mode="merge", keys="id").name("out")
    (report,) = run_pipeline(env.pipeline())
    assert report.failure is None
    assert [(o.name, o.rows) for o in report.outputs] == [("out", 3)]
    assert rows(spark, target) == [(0, "new"), (1, "new"), (2, "new"), (3, "old"), (4, "old")]
