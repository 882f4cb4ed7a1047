"""What each operator does to rows, fused and staged."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from graph_compiler import Csv, DataStream, Parquet, StreamExecutionEnvironment
from tests.conftest import with_options
from tests.harness.reference import published
from tests.spark.conftest import RunPipeline

pytestmark = pytest.mark.spark

ROWS = "k,v\na,1\na,2\nb,3\nc,\n"
OTHER = "k,w\na,10\nb,20\nd,40\n"


def doubled(rows: DataFrame) -> DataFrame:
    return rows.selectExpr("k", "v * 2 AS v")


def partition_numbers(rows: DataFrame) -> DataFrame:
    return rows.selectExpr("k", "spark_partition_id() AS p")


def first_letter(key: str, partitions: int) -> int:
    return ord(key[0]) % partitions


def not_rows(rows: DataFrame) -> int:
    return len(rows.columns)


Declare = Callable[[DataStream, DataStream], DataStream]

CASES: dict[str, tuple[Declare, list[tuple[object, ...]]]] = {
    "filter": (lambda s, _: s.filter("v > 1"), [("a", 2), ("b", 3)]),
    "side output: false and null": (
        lambda s, _: s.filter("v > 1", rejects="r").get_side_output("r"),
        [("a", 1), ("c", None)],
    ),
    "filter with a comment": (lambda s, _: s.filter("v > 1 -- one\nAND k = 'a' -- two"), [("a", 2)]),
    "filter by a parameter": (lambda s, _: s.filter("v > :least AND k = :key"), [("a", 2)]),
    "braces in an expression": (lambda s, _: s.filter("k RLIKE '[{#%a]+'"), [("a", 1), ("a", 2)]),
    "select": (lambda s, _: s.select("v", key="upper(k)"), [(1, "A"), (2, "A"), (3, "B"), (None, "C")]),
    "with_columns adds and replaces": (
        lambda s, _: s.with_columns(v="v + 1", big="v > 2").filter("k = 'b'"),
        [("b", 4, True)],
    ),
    "with_columns tells names apart as Spark does": (
        lambda s, _: s.with_columns(V="v + 1").filter("k = 'b'"),
        [("b", 4)],
    ),
    "transform": (lambda s, _: s.transform(doubled), [("a", 2), ("a", 4), ("b", 6), ("c", None)]),
    "aggregate": (
        lambda s, _: s.key_by("k").aggregate(n="count(*)", total="sum(v)"),
        [("a", 2, 3), ("b", 1, 3), ("c", 1, None)],
    ),
    "join inner": (lambda s, o: s.join(o, on="k"), [("a", 1, 10), ("a", 2, 10), ("b", 3, 20)]),
    "join left, broadcast": (
        lambda s, o: s.join(o.broadcast(), on="k", how="left").filter("k != 'a'"),
        [("b", 3, 20), ("c", None, None)],
    ),
    "join anti": (lambda s, o: s.join(o, on="k", how="anti"), [("c", None)]),
    "union keeps duplicates, by name": (
        lambda s, o: s.filter("k = 'b'").union(o.select(v="w - 17", k="k").filter("k = 'b'")),
        [("b", 3), ("b", 3)],
    ),
    "a name with a backtick": (
        lambda s, _: (
            s.rename({"k": "k`k", "v": "v v`"})
            .select("v v`", "k`k")
            .partition_custom(first_letter, "k`k")
            .key_by("k`k")
            .reduce({"v v`": "max"})
            .filter("`k``k` < 'c'")
        ),
        [("a", 2), ("b", 3)],
    ),
    "shuffle": (lambda s, _: s.shuffle().filter("k = 'b'"), [("b", 3)]),
    "global": (lambda s, _: s.global_().transform(partition_numbers).filter("p > 0"), []),
    "custom": (
        lambda s, _: s.partition_custom("ascii(k) - 97").transform(partition_numbers).filter("k != 'a'"),
        [("b", 1), ("c", 2)],
    ),
    "rebalance": (lambda s, _: s.rebalance().filter("k = 'b'"), [("b", 3)]),
}


def rows_of(declare: Declare, mode: str, run_pipeline: RunPipeline, folder: Path) -> list[tuple[object, ...]]:
    (folder / "in.csv").write_text(ROWS)
    (folder / "other.csv").write_text(OTHER)
    env = StreamExecutionEnvironment("p", params={"least": 1, "key": "a"})
    streams = [env.from_source(Csv(f"{folder}/{name}.csv"), name) for name in ("in", "other")]
    declare(streams[0], streams[1]).sink_to(Parquet(f"{folder}/out")).name("out")
    reports = run_pipeline(with_options(env.pipeline(), shuffle_mode=mode, chaining=str(mode == "AUTO").lower()))
    assert reports[-1].failure is None, reports[-1].failure
    return sorted(published(folder / "out")[1], key=str)


@pytest.mark.parametrize("mode", ["AUTO", pytest.param("ALL_EXCHANGES_BLOCKING", marks=pytest.mark.ci)])
@pytest.mark.parametrize(("declare", "expected"), CASES.values(), ids=CASES.keys())
def test_each_operator_gives_the_expected_rows(
    declare: Declare, expected: list[tuple[object, ...]], mode: str, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    assert rows_of(declare, mode, run_pipeline, tmp_path) == sorted(expected, key=str)


def partitions_staged(folder: Path) -> list[int]:
    """Return the rows in each partition of the only staged result."""
    (manifest,) = (folder / "staging" / "p" / "run" / "manifests").glob("*/0.json")
    partitions = json.loads(manifest.read_text())["partitions"]
    assert [partition["index"] for partition in partitions] == list(range(len(partitions)))
    return [sum(file["rows"] for file in partition["files"]) for partition in partitions]


def test_set_parallelism_is_exact_and_empty_partitions_are_listed(run_pipeline: RunPipeline, tmp_path: Path) -> None:
    def declare(stream: DataStream, _: DataStream) -> DataStream:
        return stream.key_by("k").aggregate(n="count(*)").set_parallelism(7).stage("to look at it")

    rows_of(declare, "AUTO", run_pipeline, tmp_path)
    assert len(partitions_staged(tmp_path)) == 7
    assert sum(partitions_staged(tmp_path)) == 3


def test_set_parallelism_is_exact_if_the_input_has_more_partitions(
    run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path
) -> None:
    spark.range(0, 6_000, 1, 6).write.parquet(str(tmp_path / "in"))
    env = StreamExecutionEnvironment("p")
    late = env.from_source(Parquet(f"{tmp_path}/in"), "in").filter("id >= 5500").name("late").set_parallelism(1)
    late.stage("to look at it").sink_to(Parquet(f"{tmp_path}/out")).set_parallelism(1)
    assert run_pipeline(env.pipeline())[-1].failure is None
    assert partitions_staged(tmp_path) == [500]
    assert len(list((tmp_path / "out").glob("*.parquet"))) == 1
    assert len(published(tmp_path / "out")[1]) == 500


def test_a_random_split_puts_every_row_into_exactly_one_output(
    run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path
) -> None:
    spark.range(0, 20_000, 1, 3).write.parquet(str(tmp_path / "in"))
    env = StreamExecutionEnvironment("p")
    kept = env.from_source(Parquet(f"{tmp_path}/in"), "in").filter("rand() < 0.5", rejects="rest").name("coin")
    kept.sink_to(Parquet(f"{tmp_path}/kept")).name("kept")
    kept.get_side_output("rest").sink_to(Parquet(f"{tmp_path}/rest")).name("rest")
    assert run_pipeline(env.pipeline())[-1].failure is None
    one, other = ({row[0] for row in published(tmp_path / name)[1]} for name in ("kept", "rest"))
    assert not one & other
    assert len(one) + len(other) == 20_000
    assert 9_000 < len(one) < 11_000


def test_a_random_sample_that_two_sinks_read_is_one_sample(
    run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path
) -> None:
    spark.range(0, 20_000, 1, 3).write.parquet(str(tmp_path / "in"))
    env = StreamExecutionEnvironment("p")
    sample = env.from_source(Parquet(f"{tmp_path}/in"), "in").filter("rand() < 0.5").name("sample")
    sample.sink_to(Parquet(f"{tmp_path}/one")).name("one")
    sample.sink_to(Parquet(f"{tmp_path}/two")).name("two")
    assert run_pipeline(env.pipeline())[-1].failure is None
    one, two = (sorted(published(tmp_path / name)[1]) for name in ("one", "two"))
    assert one == two


def test_a_function_after_key_by_sees_equal_keys_together(run_pipeline: RunPipeline, tmp_path: Path) -> None:
    rows = rows_of(lambda s, _: s.key_by("k").transform(partition_numbers), "AUTO", run_pipeline, tmp_path)
    assert len(rows) == 4
    assert len(set(rows)) == 3


def test_a_function_that_does_not_return_a_dataframe_is_named(run_pipeline: RunPipeline, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(ROWS)
    env = StreamExecutionEnvironment("p")
    env.from_source(Csv(f"{tmp_path}/in.csv"), "in").transform(not_rows).name("bad").sink_to(Parquet(f"{tmp_path}/out"))
    failure = run_pipeline(env.pipeline())[-1].failure
    assert failure is not None
    assert (failure.operator, failure.throwable_type) == ("bad", "NON_RECOVERABLE_ERROR")
    assert "returned a int; it must return a DataFrame" in failure.message
