"""Where each partitioner sends rows, and its cost in exchanges."""

from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import spark_partition_id

from graph_compiler import DataStream, Parquet, StreamExecutionEnvironment
from graph_compiler.declaration.functions import FunctionRef
from graph_compiler.declaration.operators import Filter, Operator, RuntimeSettings, Transform
from graph_compiler.declaration.partitioners import (
    BroadcastPartitioner,
    CustomPartitioner,
    ForwardPartitioner,
    GlobalPartitioner,
    HashPartitioner,
    Partitioner,
    RangePartitioner,
    RebalancePartitioner,
    RescalePartitioner,
    ShufflePartitioner,
)
from graph_compiler.deployment.documents.descriptor import InputDescriptor, OperatorDescriptor
from graph_compiler.deployment.documents.report import ThrowableType
from graph_compiler.identifiers import OperatorId
from graph_compiler.spark_runtime.exchange.distribution import distribute_all
from graph_compiler.spark_runtime.operators.scope import INPUT, query_over
from tests.harness.plans import exchanges
from tests.harness.reference import published
from tests.spark import routes
from tests.spark.conftest import RunPipeline

pytestmark = pytest.mark.spark


def as_they_are(rows: DataFrame) -> DataFrame:
    return rows


FILTER = Filter("v >= 0")
FUNCTION = Transform(FunctionRef.of(as_they_are))


def consumer(parallelism: int | None, operator: Operator = FUNCTION) -> OperatorDescriptor:
    return OperatorDescriptor(
        node_id=2,
        operator_id=OperatorId("o"),
        name="reader",
        operator=operator,
        settings=RuntimeSettings(parallelism=parallelism),
        inputs=(),
        declared_at=None,
    )


def edge(partitioner: Partitioner, producer_parallelism: int | None = None) -> InputDescriptor:
    return InputDescriptor(
        node_id=1,
        output_tag=None,
        type_number=0,
        partitioner=partitioner,
        producer_parallelism=producer_parallelism,
        staged=None,
    )


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """k (9 values), v (0 to 599), NULL in `n`; files that Spark packs as it likes."""
    path = str(tmp_path_factory.mktemp("table") / "in")
    rows = spark.range(0, 600, 1, 5).selectExpr("id % 9 AS k", "id AS v", "nullif(id, 7) AS n")
    rows.write.parquet(path)
    return spark.read.parquet(path)


def sent(rows: DataFrame) -> dict[int, list[int]]:
    """Return the v of the rows in each of Spark's partitions, those without rows too."""
    found: dict[int, list[int]] = {number: [] for number in range(rows.rdd.getNumPartitions())}
    for number, v in rows.select(spark_partition_id(), "v").collect():
        found[number].append(v)
    assert sorted(v for part in found.values() for v in part) == list(range(600))
    return found


def one(partitioner: Partitioner, rows: DataFrame, to: OperatorDescriptor) -> DataFrame:
    (distributed,) = distribute_all([(edge(partitioner), rows)], to, {"least": 300})
    return distributed


HASH = HashPartitioner(("k",), 1)
RANGE = RangePartitioner(("k DESC", "v"))
CUSTOM = CustomPartitioner("v - 300", 1)

COSTS: dict[str, tuple[Partitioner, int | None, Operator, int]] = {
    "forward": (ForwardPartitioner(), None, FILTER, 0),
    "forward, set": (ForwardPartitioner(), 3, FILTER, 1),
    "rescale": (RescalePartitioner(), None, FILTER, 0),
    "rescale, set": (RescalePartitioner(), 3, FILTER, 1),
    "rebalance": (RebalancePartitioner(), None, FILTER, 1),
    "rebalance, set": (RebalancePartitioner(), 3, FILTER, 1),
    "shuffle": (ShufflePartitioner(), None, FILTER, 1),
    "shuffle, set": (ShufflePartitioner(), 3, FILTER, 1),
    "hash": (HASH, None, FILTER, 0),
    "hash into a function": (HASH, None, FUNCTION, 1),
    "hash, set": (HASH, 3, FILTER, 1),
    "hash of all columns into a function": (HashPartitioner((), 1), None, FUNCTION, 1),
    "hash of all columns, set": (HashPartitioner((), 1), 3, FILTER, 1),
    "range": (RANGE, None, FILTER, 0),
    "range into a function": (RANGE, None, FUNCTION, 1),
    "range, set": (RANGE, 3, FILTER, 1),
    "global": (GlobalPartitioner(), None, FILTER, 1),
    "global, one": (GlobalPartitioner(), 1, FILTER, 1),
    "global, set": (GlobalPartitioner(), 3, FILTER, 1),
    "custom": (CUSTOM, None, FILTER, 1),
    "custom, set": (CUSTOM, 3, FILTER, 1),
    "broadcast": (BroadcastPartitioner(), None, FILTER, 0),
    "broadcast, set": (BroadcastPartitioner(), 3, FILTER, 0),
}


@pytest.mark.parametrize("case", COSTS.values(), ids=COSTS.keys())
def test_each_partitioner_has_the_expected_exchanges_and_keeps_all_rows(
    case: tuple[Partitioner, int | None, Operator, int], table: DataFrame
) -> None:
    partitioner, parallelism, operator, cost = case
    rows = one(partitioner, table, consumer(parallelism, operator))
    assert exchanges(rows) == cost
    found = sent(rows)
    if parallelism is not None and not partitioner.is_broadcast:
        assert len(found) == parallelism


def test_rebalance_and_shuffle_spread_evenly(table: DataFrame) -> None:
    for partitioner in (RebalancePartitioner(), ShufflePartitioner()):
        sizes = [len(part) for part in sent(one(partitioner, table, consumer(7))).values()]
        assert max(sizes) - min(sizes) <= len(table.inputFiles())


def test_hash_brings_equal_keys_together(table: DataFrame) -> None:
    for parallelism in (None, 4):
        found = sent(one(HASH, table, consumer(parallelism)))
        keys = [{v % 9 for v in part} for part in found.values()]
        assert sum(len(part) for part in keys) == 9


def test_hash_of_no_keys_brings_equal_rows_together(table: DataFrame) -> None:
    twice = table.unionByName(table)
    rows = one(HashPartitioner((), 1), twice, consumer(5))
    places = rows.select("v", spark_partition_id()).distinct()
    assert places.count() == 600
    assert places.select(places.columns[1]).distinct().count() == 5


@pytest.mark.parametrize("parallelism", [None, 4])
def test_range_sends_what_comes_first_to_the_first(parallelism: int | None, table: DataFrame) -> None:
    found = sent(one(RANGE, table, consumer(parallelism)))
    order = [[(-(v % 9), v) for v in part] for part in found.values() if part]
    assert all(max(low) < min(high) for low, high in pairwise(order))
    assert parallelism is None or [bool(part) for part in found.values()] == [True] * parallelism


def test_a_sort_after_a_range_needs_no_second_exchange(table: DataFrame) -> None:
    ranges = {INPUT: one(RANGE, table, consumer(4, FILTER))}
    rows = query_over(ranges, f"SELECT * FROM {INPUT} AS {INPUT} ORDER BY k DESC, v", {}, table.sparkSession)
    assert exchanges(rows) == 1
    assert rows.rdd.getNumPartitions() == 4
    assert [row.v for row in rows.collect()] == sorted(range(600), key=lambda v: (-(v % 9), v))


@pytest.mark.parametrize("parallelism", [None, 1, 3])
def test_global_sends_everything_to_the_first(parallelism: int | None, table: DataFrame) -> None:
    found = sent(one(GlobalPartitioner(), table, consumer(parallelism)))
    assert [len(part) for part in found.values()] == [600] + [0] * ((parallelism or 1) - 1)


def test_operators_that_gather_need_no_exchange_after_global(table: DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Filter, "gathers", True)
    assert exchanges(one(GlobalPartitioner(), table, consumer(None, FILTER))) == 0


@pytest.mark.parametrize(("producers", "consumers"), [(6, 6), (6, 3), (6, 1), (6, 4), (3, 6)])
def test_rescale_joins_whole_partitions_where_they_divide_evenly_else_deals_rows_out(
    producers: int, consumers: int, spark: SparkSession
) -> None:
    rows = spark.range(600).selectExpr("id AS v").repartitionByRange(producers, "v")
    (rescaled,) = distribute_all([(edge(RescalePartitioner(), producers), rows)], consumer(consumers), {})
    assert exchanges(rescaled) == 1  # the producer's, or else the one Spark makes of two
    found = sent(rescaled)
    assert len(found) == consumers
    if producers % consumers == 0:
        origins = [{v * producers // 600 for v in part} for part in found.values()]
        assert sorted(origin for part in origins for origin in part) == list(range(producers))
    else:
        assert all(abs(len(part) - 600 / consumers) <= 6 for part in found.values())


def test_forward_between_equals_moves_nothing(spark: SparkSession) -> None:
    rows = spark.range(600).selectExpr("id AS v").repartitionByRange(5, "v")
    (forwarded,) = distribute_all([(edge(ForwardPartitioner(), 5), rows)], consumer(5), {})
    assert sent(forwarded) == sent(rows)


def test_a_union_of_streams_hashed_alike_keeps_their_hashing(table: DataFrame) -> None:
    halves = [table.where("v < 300"), table.where("v >= 300")]
    (rows,) = distribute_all([(edge(HASH), half) for half in halves], consumer(4), {})
    assert exchanges(rows) == 1
    found = sent(rows)
    assert sum(len({v % 9 for v in part}) for part in found.values()) == 9


def test_forwarded_streams_meet_without_an_exchange(spark: SparkSession) -> None:
    rows = spark.range(600).selectExpr("id AS v").repartition(4)
    halves = [rows.where("v < 300"), rows.where("v >= 300")]
    (met,) = distribute_all([(edge(ForwardPartitioner(), 4), half) for half in halves], consumer(4), {})
    assert exchanges(met) == 2  # those that the producers had
    assert len(sent(met)) == 4


# --- by hand ---


def test_an_expression_counts_modulo_from_zero_for_negative_numbers_too(table: DataFrame) -> None:
    found = sent(one(CUSTOM, table, consumer(7)))
    assert {number: {(v - 300) % 7 for v in part} for number, part in found.items()} == {
        number: {number} for number in range(7)
    }


def test_an_expression_may_give_more_than_an_integer_holds(table: DataFrame) -> None:
    found = sent(one(CustomPartitioner("v + 3000000000", 1), table, consumer(7)))
    assert {(v + 3_000_000_000) % 7 for v in found[3]} == {3}


def test_an_expression_has_parameters(table: DataFrame) -> None:
    found = sent(one(CustomPartitioner("v - :least -- a comment", 1), table, consumer(7)))
    assert found == sent(one(CUSTOM, table, consumer(7)))


@pytest.mark.parametrize("order", [("k DESC, v",), ("abs(k) DESC -- a comment", "v - :least ASC NULLS LAST")])
def test_ranges_are_of_any_order_by(table: DataFrame, order: tuple[str, ...]) -> None:
    assert sent(one(RangePartitioner(order), table, consumer(4))) == sent(one(RANGE, table, consumer(4)))


def routed(
    by: tuple[object, ...], folder: Path, run_pipeline: RunPipeline, table: DataFrame
) -> tuple[dict[int, list[int]], str]:
    """Route v to 5 partitions; return the v in each partition and the failure's words."""
    if not (folder / "in").exists():
        table.write.parquet(f"{folder}/in")
    env = StreamExecutionEnvironment("p")
    stream: DataStream = env.from_source(Parquet(f"{folder}/in"), "in")
    route, *keys = by
    assert callable(route) or isinstance(route, str)
    stream.partition_custom(route, *map(str, keys)).transform(with_partition).name("reader").set_parallelism(5).select(
        "v", "p"
    ).name("selected").sink_to(Parquet(f"{folder}/out")).name("out")
    failure = run_pipeline(env.pipeline())[-1].failure
    if failure is not None:
        assert failure.throwable_type is ThrowableType.NON_RECOVERABLE_ERROR
        assert not (folder / "out").exists()
        return {}, f"{failure.operator}: {failure.message}"
    found: dict[int, list[int]] = defaultdict(list)
    for v, partition in published(folder / "out")[1]:
        found[int(str(partition))].append(int(str(v)))
    assert sorted(v for part in found.values() for v in part) == list(range(600))
    return found, ""


def with_partition(rows: DataFrame) -> DataFrame:
    return rows.withColumn("p", spark_partition_id())


def test_a_function_is_given_the_key_and_the_number_of_partitions(
    table: DataFrame, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    found, _ = routed((routes.by_key, "v"), tmp_path, run_pipeline, table)
    assert {p: {v % 5 for v in part} for p, part in found.items()} == {p: {p} for p in range(5)}


def test_a_function_of_several_columns_is_given_a_tuple(
    table: DataFrame, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    found, _ = routed((routes.by_both, "k", "v"), tmp_path, run_pipeline, table)
    assert all(p == (0 if v % 9 == 0 else v % 5) for p, part in found.items() for v in part)


def test_null_keys_reach_the_function(table: DataFrame, run_pipeline: RunPipeline, tmp_path: Path) -> None:
    found, _ = routed((routes.of_null, "n"), tmp_path, run_pipeline, table)
    assert found[4] == [7]


@pytest.mark.parametrize(
    ("by", "words"),
    [
        ((routes.past_the_end, "v"), "past_the_end gave 5 for v = 3; allowed: 0 to 4"),
        ((routes.below_zero, "v"), "below_zero gave -1 for v = 3; allowed: 0 to 4"),
        ((routes.in_words, "k"), "in_words gave no whole number for k = "),
        (("n",), "'n' is NULL; allowed: a whole number"),
    ],
)
def test_an_invalid_partition_number_fails_and_names_the_reader(
    by: tuple[object, ...], words: str, table: DataFrame, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    _, message = routed(by, tmp_path, run_pipeline, table)
    assert message.startswith("reader: its input cannot be partitioned: ")
    assert words in message
