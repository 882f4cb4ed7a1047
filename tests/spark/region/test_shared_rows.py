"""Several consumers read one result, however its rows were computed (decision 9)."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from graph_compiler import DataStream, Parquet, StreamExecutionEnvironment
from tests.harness.reference import Row, published
from tests.spark.conftest import RunPipeline

pytestmark = [pytest.mark.spark, pytest.mark.ci]


def shuffled(rows: DataFrame) -> DataFrame:
    """Return other rows each time, in a way Spark does not see."""
    import random

    return rows.where(f"xxhash64(id, {random.randrange(2**31)}) % 2 = 0")


CASES: dict[str, Callable[[DataStream], DataStream]] = {
    "rand": lambda s: s.filter("rand() < 0.5"),
    "limit": lambda s: s.shuffle().limit(500),
    "any row of a key": lambda s: s.shuffle().deduplicate("k"),
    "top of equal rows": lambda s: s.shuffle().top_n(500, "k"),
    "sample": lambda s: s.shuffle().sample(0.5),
    "a function that says so": lambda s: s.transform(shuffled, deterministic=False),
    "behind another operator": lambda s: s.filter("rand() < 0.5").with_columns(w="id + 1"),
}


@pytest.fixture(scope="module")
def data(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("data")
    spark.range(0, 100_000, 1, 3).selectExpr("id", "id % 500 AS k").write.parquet(f"{folder}/in")
    return f"{folder}/in"


@pytest.mark.parametrize("declare", CASES.values(), ids=CASES.keys())
def test_two_sinks_see_the_same_rows(
    declare: Callable[[DataStream], DataStream], data: str, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    env = StreamExecutionEnvironment("p")
    shared = declare(env.from_source(Parquet(data), "in"))
    for name in ("one", "two"):
        shared.sink_to(Parquet(f"{tmp_path}/{name}")).name(name)
    assert run_pipeline(env.pipeline())[-1].failure is None
    one, two = (sorted(published(tmp_path / name)[1]) for name in ("one", "two"))
    assert one == two
    assert 400 < len(one) < 60_000


def split_in_two(data: str, folder: Path, staged: str) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("p")
    coin = env.from_source(Parquet(data), "in").shuffle().filter("rand() < 0.5", rejects="tails")
    for name, side in (("heads", coin), ("tails", coin.get_side_output("tails"))):
        stream = side.stage("its own task") if name in staged else side
        stream.filter("id >= 0").sink_to(Parquet(f"{folder}/{name}")).name(name)
    return env


@pytest.mark.parametrize("staged", ["", "heads", "tails", "heads tails"])
def test_random_rows_stay_on_one_side_after_a_retry(
    staged: str, data: str, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    env = split_in_two(data, tmp_path, staged)
    for _attempt in range(2):  # the second is another execution of every task in the same run
        assert run_pipeline(env.pipeline())[-1].failure is None
        heads, tails = ([row[0] for row in published(tmp_path / name)[1]] for name in ("heads", "tails"))
        assert len(heads) + len(tails) == 100_000
        assert not set(heads) & set(tails)
        assert 45_000 < len(heads) < 55_000


def test_a_side_output_of_nondeterministic_rows_is_read_once(
    data: str, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    env = StreamExecutionEnvironment("p")
    some = env.from_source(Parquet(data), "in").shuffle().limit(1_000)
    even = some.filter("id % 2 = 0", rejects="odd")
    sinks: dict[str, DataStream] = {"even": even, "odd": even.get_side_output("odd")}
    for name, stream in sinks.items():
        stream.sink_to(Parquet(f"{tmp_path}/{name}")).name(name)
    assert run_pipeline(env.pipeline())[-1].failure is None
    found: list[Row] = [row for name in sinks for row in published(tmp_path / name)[1]]
    assert len(found) == 1_000


def test_a_deterministic_result_is_not_staged_for_its_readers(
    data: str, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    env = StreamExecutionEnvironment("p")
    shared = env.from_source(Parquet(data), "in").filter("id % 2 = 0")
    for name in ("one", "two"):
        shared.sink_to(Parquet(f"{tmp_path}/{name}")).name(name)
    assert run_pipeline(env.pipeline())[-1].failure is None
    assert not (tmp_path / "staging" / "p" / "run" / "data").exists()
