"""A set parallelism is the number of partitions, for every operator and shape of data, without needless exchanges."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from graph_compiler import DataStream, Parquet, StreamExecutionEnvironment
from graph_compiler.testing import REAL, MiniCluster
from tests.harness.plans import exchanges, partitions_staged, staged_rows
from tests.harness.reference import Row, published
from tests.spark.conftest import RunPipeline

pytestmark = [pytest.mark.spark, pytest.mark.ci]

Declare = Callable[[DataStream, DataStream, int], DataStream]


def doubled(rows: DataFrame) -> DataFrame:
    return rows.selectExpr("k", "v * 2 AS v")


def counted(rows: DataFrame) -> DataFrame:
    return rows.groupBy("k").count()


OPERATORS: dict[str, tuple[Declare, int]] = {
    # with the exchanges each may cost behind a source without set parallelism
    "filter": (lambda s, _, p: s.filter("v % 2 = 0").set_parallelism(p), 1),
    "select": (lambda s, _, p: s.select("k").set_parallelism(p), 1),
    "with columns": (lambda s, _, p: s.with_columns(w="v + 1").set_parallelism(p), 1),
    "aggregate": (lambda s, _, p: s.key_by("k").aggregate(n="count(*)").set_parallelism(p), 1),
    "join": (lambda s, o, p: s.join(o, on="k").set_parallelism(p), 2),
    "join with a broadcast side": (lambda s, o, p: s.join(o.broadcast(), on="k").set_parallelism(p), 1),
    "union": (lambda s, _, p: s.union(s.filter("v > 10")).filter("v > 5").set_parallelism(p), 1),
    "union into an aggregate": (lambda s, _, p: s.union(s).key_by("k").aggregate(n="count(*)").set_parallelism(p), 1),
    "transform": (lambda s, _, p: s.transform(doubled).set_parallelism(p), 1),
    "transform behind a key": (lambda s, _, p: s.key_by("k").transform(counted).set_parallelism(p), 1),
    "side output": (lambda s, _, p: s.filter("v % 2 = 0", rejects="odd").set_parallelism(p).get_side_output("odd"), 1),
    "chain of equal parallelism": (
        lambda s, _, p: (
            s.filter("v > 3")
            .set_parallelism(p)
            .select("k", "v")
            .set_parallelism(p)
            .transform(doubled)
            .set_parallelism(p)
        ),
        1,
    ),
    "filter behind an aggregate of equal parallelism": (
        lambda s, _, p: s.key_by("k").aggregate(n="count(*)").set_parallelism(p).filter("n > 1").set_parallelism(p),
        1,
    ),
}


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("tables")
    spark.range(0, 300, 1, 5).selectExpr("id % 3 AS k", "id AS v").write.parquet(f"{folder}/in")
    spark.range(0, 3, 1, 2).selectExpr("id AS k", "id AS w").write.parquet(f"{folder}/other")
    return str(folder)


@pytest.fixture
def staged(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[DataFrame]]:
    with staged_rows(monkeypatch) as found:
        yield found


def sources(env: StreamExecutionEnvironment, tables: str) -> tuple[DataStream, DataStream]:
    one, other = (env.from_source(Parquet(f"{tables}/{name}"), name) for name in ("in", "other"))
    return one, other


@pytest.fixture(scope="module")
def rows_of(spark: SparkSession, tables: str) -> Callable[[str], list[Row]]:
    """Return the rows of a case, which the testing kit computes once for all parallelisms."""

    @cache
    def rows(name: str) -> list[Row]:
        env = StreamExecutionEnvironment("p")
        stream, other = sources(env, tables)
        OPERATORS[name][0](stream, other, 2).sink_to(Parquet("/out")).name("out")
        result = MiniCluster(spark).run(env, REAL)
        return sorted(tuple(row.values()) for row in result.sink("out").rows)

    return rows


@pytest.mark.parametrize("parallelism", [1, pytest.param(3, marks=pytest.mark.long), 7])
@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_runs_in_exactly_its_parallelism(
    *,
    name: str,
    parallelism: int,
    tables: str,
    rows_of: Callable[[str], list[Row]],
    run_pipeline: RunPipeline,
    staged: list[DataFrame],
    tmp_path: Path,
) -> None:
    declare, cost = OPERATORS[name]
    env = StreamExecutionEnvironment("p")
    stream, other = sources(env, tables)
    result = declare(stream, other, parallelism)
    result.stage("to look at it").sink_to(Parquet(f"{tmp_path}/out")).name("out")
    assert run_pipeline(env.pipeline())[-1].failure is None
    (rows,) = staged
    assert rows.rdd.getNumPartitions() == parallelism
    assert exchanges(rows) == cost
    (found,) = partitions_staged(tmp_path / "staging")
    assert len(found) == parallelism
    out = sorted(published(tmp_path / "out")[1])
    assert out == rows_of(name)
    assert sum(found) == len(out) > 0


def test_both_outputs_of_a_filter_have_its_parallelism(tables: str, run_pipeline: RunPipeline, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment("p")
    stream, _ = sources(env, tables)
    even = stream.filter("v % 2 = 0", rejects="odd").name("even").set_parallelism(4)
    even.stage("to look").sink_to(Parquet(f"{tmp_path}/even")).name("out")
    odd = even.get_side_output("odd")
    odd.stage("to look").sink_to(Parquet(f"{tmp_path}/odd")).name("odd_out")
    assert run_pipeline(env.pipeline())[-1].failure is None
    assert [len(partitions) for partitions in partitions_staged(tmp_path / "staging")] == [4, 4]


def test_a_random_split_keeps_its_parallelism_and_its_rows(
    tables: str, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    env = StreamExecutionEnvironment("p")
    stream, _ = sources(env, tables)
    coin = stream.filter("rand() < 0.5", rejects="rest").name("coin").set_parallelism(4)
    for name, side in (("kept", coin), ("rest", coin.get_side_output("rest"))):
        side.select("v").name(name).set_parallelism(4).sink_to(Parquet(f"{tmp_path}/{name}")).name(
            f"{name}_out"
        ).set_parallelism(4)
    assert run_pipeline(env.pipeline())[-1].failure is None
    assert {len(partitions) for partitions in partitions_staged(tmp_path / "staging")} == {4}
    kept, rest = ({row[0] for row in published(tmp_path / name)[1]} for name in ("kept", "rest"))
    assert not kept & rest
    assert len(kept) + len(rest) == 300


@pytest.mark.parametrize("parallelism", [1, 3, 7])
def test_sources_and_sinks_run_in_their_parallelism(
    parallelism: int, tables: str, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    env = StreamExecutionEnvironment("p")
    stream, other = sources(env, tables)
    stream.set_parallelism(parallelism).stage("to look at it").sink_to(Parquet(f"{tmp_path}/out")).name(
        "out"
    ).set_parallelism(parallelism)
    other.sink_to(Parquet(f"{tmp_path}/other")).name("other_out").set_parallelism(parallelism)
    assert run_pipeline(env.pipeline())[-1].failure is None
    (found,) = partitions_staged(tmp_path / "staging")
    assert len(found) == parallelism
    assert len(list((tmp_path / "out").glob("*.parquet"))) == parallelism
    # three rows fill three partitions at most
    assert len(list((tmp_path / "other").glob("*.parquet"))) <= parallelism
    assert len(published(tmp_path / "out")[1]) == 300


@pytest.mark.parametrize("parallelism", [pytest.param(1, marks=pytest.mark.long), 7])
@pytest.mark.parametrize("declare", [declare for declare, _ in OPERATORS.values()], ids=OPERATORS.keys())
def test_empty_results_have_all_partitions(
    declare: Declare, parallelism: int, spark: SparkSession, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    spark.range(0).selectExpr("id AS k", "id AS v").write.parquet(f"{tmp_path}/in")
    spark.range(0).selectExpr("id AS k", "id AS w").write.parquet(f"{tmp_path}/other")
    env = StreamExecutionEnvironment("p")
    stream, other = sources(env, str(tmp_path))
    result = declare(stream, other, parallelism)
    again = result.stage("to look at it").rescale().filter("k > 0").set_parallelism(parallelism)
    again.stage("again").sink_to(Parquet(f"{tmp_path}/out")).name("out")
    assert run_pipeline(env.pipeline())[-1].failure is None
    assert partitions_staged(tmp_path / "staging") == [[0] * parallelism] * 2
    assert published(tmp_path / "out")[1] == []


def test_one_key_with_nine_tenths_of_the_rows_stays_in_one_partition(
    spark: SparkSession, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    skewed = spark.range(0, 20_000, 1, 5).selectExpr("if(id % 10 = 0, id, -1) AS k", "id AS v")
    skewed.write.parquet(f"{tmp_path}/in")
    env = StreamExecutionEnvironment("p")
    stream = env.from_source(Parquet(f"{tmp_path}/in"), "in")
    stream.key_by("k").transform(doubled).set_parallelism(7).stage("to look at it").sink_to(Parquet(f"{tmp_path}/out"))
    assert run_pipeline(env.pipeline())[-1].failure is None
    (found,) = partitions_staged(tmp_path / "staging")
    assert len(found) == 7
    assert sum(found) == 20_000
    assert sorted(rows >= 18_000 for rows in found) == [False] * 6 + [True]
    assert min(found) > 0


def test_one_aggregated_key_with_nine_tenths_of_the_rows_is_counted_whole(
    spark: SparkSession, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    skewed = spark.range(0, 20_000, 1, 5).selectExpr("if(id % 10 = 0, id, -1) AS k")
    skewed.write.parquet(f"{tmp_path}/in")
    env = StreamExecutionEnvironment("p")
    stream = env.from_source(Parquet(f"{tmp_path}/in"), "in")
    counts = stream.key_by("k").aggregate(n="count(*)").set_parallelism(7)
    counts.filter("n > 1").set_parallelism(7).sink_to(Parquet(f"{tmp_path}/out"))
    assert run_pipeline(env.pipeline())[-1].failure is None
    assert published(tmp_path / "out")[1] == [(-1, 18_000)]


def test_results_without_partitions_have_one_empty_partition(
    run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path
) -> None:
    spark.range(1).write.parquet(f"{tmp_path}/in")
    env = StreamExecutionEnvironment("p")
    none = env.from_source(Parquet(f"{tmp_path}/in"), "in").transform(nothing).name("nothing")
    none.stage("to look at it").rescale().filter("k > 0").set_parallelism(3).stage("again").sink_to(
        Parquet(f"{tmp_path}/out")
    )
    assert run_pipeline(env.pipeline())[-1].failure is None
    assert sorted(partitions_staged(tmp_path / "staging")) == [[0], [0, 0, 0]]


def nothing(rows: DataFrame) -> DataFrame:
    return rows.sparkSession.createDataFrame([], "k long")
