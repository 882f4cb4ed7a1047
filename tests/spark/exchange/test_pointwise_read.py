"""A staged result read over a POINTWISE edge: consumer i has Flink's partitions, whatever the files' sizes."""

from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr, spark_partition_id

from graph_compiler.deployment.documents.descriptor import ExecutionAttempt, ResultDescriptor, StagedInput
from graph_compiler.deployment.documents.manifest import DataFile, ManifestPartition
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.identifiers import IntermediateDataSetId, RegionId
from graph_compiler.spark_runtime.exchange import pointwise_read
from graph_compiler.spark_runtime.exchange.distribution import has_exactly
from graph_compiler.spark_runtime.exchange.pointwise_read import _is_cheaper_apart
from graph_compiler.spark_runtime.results.staging_area import StagingArea
from graph_compiler.spark_runtime.spark_internals.plans import is_deterministic
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.store.local_store import LocalStore

pytestmark = [pytest.mark.spark, pytest.mark.ci]

SIZES = [0, 900, 1, 0, 0, 40, 3, 2000, 7, 0, 5, 1, 300, 2, 0, 11]
"""Rows in each partition: some have none, and their order by size is not their order."""
PAIRS = [(1, 1), (1, 5), (2, 5), (3, 3), (3, 7), (5, 2), (6, 6), (7, 3), (8, 16), (16, 1), (16, 5), (16, 16)]


@pytest.fixture(params=["apart", "exchanged"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(pointwise_read, "_is_cheaper_apart", lambda *_: request.param == "apart")
    return str(request.param)


@pytest.fixture
def area(spark: SparkSession, tmp_path: Path) -> StagingArea:
    return StagingArea(
        spark=spark,
        log=ManifestLog(
            store=LocalStore(), layout=StagingLayout(root=str(tmp_path), identity=RunIdentity.own("p", "r"))
        ),
        attempt=ExecutionAttempt(execution_id="one", attempt_number=0),
        plan_id="plan",
        contracts=tuple,
    )


def stage(area: StagingArea, rows: DataFrame, partitions: int | None) -> StagedInput:
    result = ResultDescriptor(
        id=IntermediateDataSetId("d-0"),
        node_id=1,
        output_tag=None,
        fingerprint="f",
        partitions=partitions,
        consumers=(),
        is_compared=False,
        deterministic=False,
    )
    manifest = area.beginning(result.id).stage(result, rows)
    assert partitions is None or len(manifest.partitions) == partitions
    return StagedInput(id=result.id, fingerprint="f", producer=RegionId("p"), consumers=())


def in_partitions(spark: SparkSession, sizes: list[int]) -> DataFrame:
    """Return so many rows in each partition: its number as `origin`, and `id`."""
    starts = ", ".join(str(sum(sizes[:index])) for index in range(len(sizes)))
    origin = f"cast(size(filter(array({starts}), s -> s <= id)) - 1 AS int)"
    # sizes of 0 make equal starts: the last of these has the rows, as it should
    rows = spark.range(sum(sizes)).selectExpr("id", f"{origin} AS origin", "uuid() AS text")
    return rows.repartitionById(len(sizes), expr("origin"))


def found(rows: DataFrame) -> dict[int, list[tuple[int, int]]]:
    """Return (origin, id) of the rows in each of Spark's partitions."""
    partitions: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for number, origin, id in rows.select(spark_partition_id(), "origin", "id").collect():
        partitions[number].append((origin, id))
    return partitions


def spark_partitions(rows: DataFrame) -> int:
    return rows.rdd.getNumPartitions()


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(("producers", "consumers"), PAIRS)
def test_a_consumers_partition_holds_flinks_partitions_and_nothing_else(
    producers: int, consumers: int, area: StagingArea
) -> None:
    sizes = SIZES[:producers]
    staged = stage(area, in_partitions(area.spark, sizes), producers)
    rows = area.read(area.find(staged), partitions=consumers)
    assert spark_partitions(rows) == consumers
    assert has_exactly(rows, consumers)
    assert rows.sparkSession is area.spark
    partitions = found(rows)
    assert sorted(id for part in partitions.values() for _, id in part) == list(range(sum(sizes)))
    if producers >= consumers:
        for consumer in range(consumers):
            wanted = range(consumer * producers // consumers, (consumer + 1) * producers // consumers)
            assert len(partitions[consumer]) == sum(sizes[index] for index in wanted)
            assert {origin for origin, _ in partitions[consumer]} <= set(wanted)
        return
    for index in range(producers):
        sharing = [consumer for consumer in range(consumers) if consumer * producers // consumers == index]
        lengths = [len(partitions[consumer]) for consumer in sharing]
        assert sum(lengths) == sizes[index]
        assert max(lengths) - min(lengths) <= 1
        assert {origin for consumer in sharing for origin, _ in partitions[consumer]} <= {index}


def test_a_consumer_reads_the_files_of_its_partitions(area: StagingArea) -> None:
    staged = stage(area, in_partitions(area.spark, SIZES), len(SIZES))
    manifest = area.log.latest(staged.id)
    assert manifest is not None
    files = area.read(area.find(staged), partitions=8).select(spark_partition_id(), expr("input_file_name()"))
    opened = defaultdict(set)
    for partition, name in files.collect():
        opened[partition].add(Path(name).name)
    with_rows = {
        consumer: {
            file.name
            for partition in manifest.partitions[2 * consumer : 2 * consumer + 2]
            for file in partition.files
            if file.rows
        }
        for consumer in range(8)
    }
    assert dict(opened) == {consumer: names for consumer, names in with_rows.items() if names}


def test_order_within_a_partition_is_kept_where_nothing_moves(area: StagingArea) -> None:
    rows = in_partitions(area.spark, SIZES).sortWithinPartitions("text")
    staged = stage(area, rows, len(SIZES))
    back = area.read(area.find(staged), partitions=16).select(spark_partition_id().alias("p"), "text").collect()
    assert back == sorted(back)


def test_columns_are_pruned_and_filters_pushed_down(way: str, area: StagingArea) -> None:
    staged = stage(area, in_partitions(area.spark, SIZES), len(SIZES))
    rows = area.read(area.find(staged), partitions=4).where("id > 5").select("id")
    plan = rows._jdf.queryExecution().executedPlan().toString()
    assert plan.count("FileScan") == (4 if way == "apart" else 1)
    assert plan.count("ReadSchema: struct<id:bigint>") == plan.count("FileScan")
    assert plan.count("PushedFilters: [GreaterThan(id,5)]") == plan.count("FileScan")
    assert plan.count("Batched: true") == plan.count("FileScan")
    assert plan.count("Exchange") == (0 if way == "apart" else 1)


@pytest.mark.usefixtures("way")
def test_a_filter_that_keeps_few_rows_leaves_the_partitions(area: StagingArea) -> None:
    staged = stage(area, in_partitions(area.spark, SIZES), len(SIZES))
    rows = area.read(area.find(staged), partitions=16).where("id = 2941")
    assert has_exactly(rows, 16)
    assert spark_partitions(rows) == 16
    assert {number: len(part) for number, part in found(rows).items()} == {7: 1}


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("consumers", [1, 3])
def test_a_result_without_rows_has_its_partitions_and_its_schema(consumers: int, area: StagingArea) -> None:
    rows = area.spark.range(0).selectExpr("id", "array(id) AS ids", "named_struct('a', id) AS s")
    staged = stage(area, rows, 5)
    back = area.read(area.find(staged), partitions=consumers)
    assert back.schema.simpleString() == rows.schema.simpleString()
    assert spark_partitions(back) == consumers
    assert has_exactly(back, consumers)
    assert back.collect() == []


@pytest.mark.usefixtures("way")
def test_a_column_named_as_sparks_metadata_is_only_a_column(area: StagingArea) -> None:
    rows = area.spark.range(0, 10, 1, 1).selectExpr("id", "'mine' AS _metadata")
    back = area.read(area.find(stage(area, rows, 1)), partitions=3)
    assert sorted(tuple(row) for row in back.collect()) == [(id, "mine") for id in range(10)]
    assert spark_partitions(back) == 3


@pytest.mark.usefixtures("way")
def test_rows_read_by_ranges_are_deterministic(area: StagingArea) -> None:
    staged = stage(area, in_partitions(area.spark, [10, 3]), 2)
    assert is_deterministic(area.read(area.find(staged), partitions=5))


def test_reading_staged_rows_leaves_the_session_unchanged(area: StagingArea) -> None:
    before = dict(area.spark.conf.getAll.items())
    staged = stage(area, in_partitions(area.spark, SIZES), len(SIZES))
    area.read(area.find(staged), partitions=16).count()
    assert dict(area.spark.conf.getAll.items()) == before
    assert SparkSession.getActiveSession() is not None
    assert SparkSession.getActiveSession()._jsparkSession.equals(area.spark._jsparkSession)  # type: ignore[union-attr]


def test_unset_parallelism_is_left_to_spark(area: StagingArea) -> None:
    staged = stage(area, in_partitions(area.spark, SIZES), len(SIZES))
    plan = area.read(area.find(staged))._jdf.queryExecution().executedPlan().toString()
    assert plan.count("FileScan") == 1
    assert "Exchange" not in plan


@pytest.mark.parametrize(
    ("partitions", "consumers", "megabytes", "is_apart"),
    [
        (8, 8, 1, True),
        (32, 32, 1, True),  # a second of work is not worth an exchange
        (128, 128, 100, False),  # tasks would carry more than they read
        (128, 128, 300, True),
        (256, 256, 300, False),
        (8, 24, 300, True),
        (8, 64, 300, False),  # every partition would be read eight times
    ],
)
def test_rows_move_only_where_that_is_cheaper(
    partitions: int, consumers: int, megabytes: int, is_apart: bool, area: StagingArea
) -> None:
    manifest = area.log.latest(stage(area, area.spark.range(1), None).id)
    assert manifest is not None
    file = DataFile(name="part-0", rows=9, bytes=megabytes * 10**6 // partitions)
    files = tuple(ManifestPartition(index=index, files=(file,)) for index in range(partitions))
    assert _is_cheaper_apart(replace(manifest, partitions=files), consumers) == is_apart
    twice = ManifestPartition(index=0, files=(file, file))
    assert _is_cheaper_apart(replace(manifest, partitions=(twice, *files)), consumers)
