"""The number of partitions according to a plan, compared with what runs."""

from collections.abc import Callable, Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import broadcast, spark_partition_id

from graph_compiler.spark_runtime.exchange.distribution import has_exactly, with_exactly
from tests.harness.plans import exchanges

pytestmark = [pytest.mark.spark, pytest.mark.ci]

Make = Callable[[DataFrame, DataFrame], DataFrame]
"""Rows of (k, v) and of (k, w), neither in a known number of partitions."""


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[DataFrame, DataFrame]:
    folder = tmp_path_factory.mktemp("tables")
    spark.range(0, 60, 1, 5).selectExpr("id % 9 AS k", "id AS v").write.parquet(f"{folder}/v")
    spark.range(0, 9, 1, 2).selectExpr("id AS k", "id AS w").write.parquet(f"{folder}/w")
    return spark.read.parquet(f"{folder}/v"), spark.read.parquet(f"{folder}/w")


SETTINGS = {
    "merge join": {"spark.sql.autoBroadcastJoinThreshold": "-1"},
    "hash join": {"spark.sql.autoBroadcastJoinThreshold": "-1", "spark.sql.join.preferSortMergeJoin": "false"},
    "broadcast join": {"spark.sql.autoBroadcastJoinThreshold": "10MB"},
}


@pytest.fixture(params=["merge join"], autouse=True)
def join(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[str]:
    settings = SETTINGS[request.param]
    before = {key: str(spark.conf.get(key)) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    yield str(request.param)
    for key, value in before.items():
        spark.conf.set(key, value)


ANY_JOIN = pytest.mark.parametrize("join", SETTINGS, indirect=True)
KNOWN: dict[str, tuple[Make, int]] = {
    "repartition": (lambda v, _: v.repartition(6), 6),
    "repartition by keys, then narrow": (lambda v, _: v.repartition(6, "k").where("v > 1").select("k"), 6),
    "repartition by range, then sort": (lambda v, _: v.repartitionByRange(3, "k").sort("k"), 3),
    "repartition by id": (lambda v, _: v.repartitionById(6, v["k"].cast("int")), 6),
    "aggregate": (lambda v, _: v.repartition(6, "k").groupBy("k").count(), 6),
    "aggregate of everything": (lambda v, _: v.groupBy().count(), 1),
    "join": (lambda v, w: v.repartition(6, "k").join(w.repartition(6, "k"), "k"), 6),
    "join with a broadcast side": (lambda v, w: v.repartition(6).join(broadcast(w), "k"), 6),
    "join with a broadcast left side": (lambda v, w: broadcast(w).join(v.repartition(6), "k"), 6),
    "product": (lambda v, w: v.repartition(6).crossJoin(w.repartition(2)), 12),
    "union adds up": (lambda v, _: v.repartition(6).unionByName(v.repartition(2)), 8),
    "union of equal hashes meets": (lambda v, _: v.repartition(6, "k").unionByName(v.repartition(6, "k")), 6),
    "union of single partitions meets": (lambda v, _: v.repartition(1).unionByName(v.repartition(1)), 1),
    "coalesce": (lambda v, _: v.repartition(6).coalesce(4), 4),
    "coalesce to more": (lambda v, _: v.repartition(6).coalesce(7), 6),
    "coalesce to one": (lambda v, _: v.coalesce(1), 1),
    "range": (lambda v, _: v.sparkSession.range(0, 5, 1, 6), 6),
    "top": (lambda v, _: v.orderBy("v").limit(3), 1),
}

UNKNOWN: dict[str, Make] = {
    "scan": lambda v, _: v.where("v > 0"),
    "aggregate": lambda v, _: v.groupBy("k").count(),
    "aggregate by other keys": lambda v, _: v.repartition(6, "v").groupBy("k").count(),
    "join": lambda v, w: v.join(w, "k"),
    "repartition by keys alone": lambda v, _: v.repartition("k"),
    "rebalance": lambda v, _: v.hint("rebalance"),
    "sort": lambda v, _: v.sort("v"),
    "union with a scan": lambda v, _: v.repartition(6).unionByName(v),
    "limit": lambda v, _: v.limit(3),
    "a limit that adaptive execution finds to be none": (
        lambda v, _: v.repartition(6, "k").limit(10**6).where("k > 0")
    ),
    "made from Python's rows": lambda v, _: v.sparkSession.createDataFrame([(1, 2)], "k long, v long"),
}


def ran(rows: DataFrame) -> int:
    return rows.rdd.getNumPartitions()


@pytest.mark.parametrize(("make", "partitions"), KNOWN.values(), ids=KNOWN.keys())
def test_a_known_number_of_partitions_is_the_actual_one(
    make: Make, partitions: int, tables: tuple[DataFrame, DataFrame]
) -> None:
    rows = make(*tables)
    assert ran(rows) == partitions
    assert has_exactly(rows, partitions)
    assert not has_exactly(rows, partitions + 1)


@pytest.mark.parametrize("make", UNKNOWN.values(), ids=UNKNOWN.keys())
def test_counts_decided_by_adaptive_execution_are_unknown(make: Make, tables: tuple[DataFrame, DataFrame]) -> None:
    rows = make(*tables)
    assert not has_exactly(rows, ran(rows))


@pytest.mark.parametrize("partitions", [1, 7])
@pytest.mark.parametrize(
    "make",
    [*(make for make, _ in KNOWN.values()), *UNKNOWN.values()],
    ids=[*(f"known {name}" for name in KNOWN), *(f"unknown {name}" for name in UNKNOWN)],
)
def test_rows_with_exactly_a_number_of_partitions_run_in_it(
    make: Make, partitions: int, tables: tuple[DataFrame, DataFrame]
) -> None:
    assert ran(with_exactly(make(*tables), partitions)) == partitions


@ANY_JOIN
@pytest.mark.usefixtures("join")
@pytest.mark.parametrize("partitions", [1, 3, 7])
def test_a_join_needs_no_third_exchange_and_keeps_equal_keys_together(
    partitions: int, tables: tuple[DataFrame, DataFrame]
) -> None:
    v, w = (rows.repartition(partitions, "k") for rows in tables)
    rows = with_exactly(v.join(w, "k"), partitions)
    assert exchanges(rows) == 2
    assert ran(rows) == partitions
    assert rows.count() == 60
    places = rows.select("k", spark_partition_id()).distinct().count()
    assert places == 9


def test_without_adaptive_execution_the_numbers_are_the_same(
    spark: SparkSession, tables: tuple[DataFrame, DataFrame]
) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        v, w = tables
        joined = v.repartition(6, "k").where("v > 0").join(w.repartition(6, "k"), "k")
        assert has_exactly(joined, 6)
        assert ran(with_exactly(joined.groupBy("w").count(), 3)) == 3
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", "true")
