"""Sinks of files in HDFS, as a driver publishes them: after the decision, in every mode and format."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import pytest

from graph_compiler.declaration.connectors import Parquet, SinkMode, Table
from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.errors import DecisionLostError, PublicationConflictError, PublicationError, PublicationPendingError
from graph_compiler.identifiers import OperatorId, RegionId
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.publications.publications import Intent
from graph_compiler.staging.store import stores
from graph_compiler.staging.store.hdfs_store import HdfsStore
from tests.harness.broken_wire import Wire

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from graph_compiler.spark_runtime.publishing.publication import Publisher
    from graph_compiler.spark_runtime.publishing.written_files import FileFormat

pytestmark = pytest.mark.hdfs
SINK = OperatorId("ab" * 16)
ROWS = "SELECT id, concat('a:b%/', id % 3) AS k, id % 2 AS d FROM range(0, 30, 1, 2)"
MERGE = partial(Sink, mode=SinkMode.MERGE, keys=("id",))
APPEND = partial(Sink, mode=SinkMode.APPEND)
PublisherOf = Callable[..., "Publisher"]


@pytest.fixture
def store(spark: SparkSession, place: str, monkeypatch: pytest.MonkeyPatch) -> HdfsStore:  # noqa: ARG001  # its JVM
    from graph_compiler.spark_runtime.stores.hdfs_client import JvmClient

    found = HdfsStore(JvmClient(f"{place}/"))
    monkeypatch.setattr(stores, "_OPENING", {None: lambda _: lambda _: found})
    return found


@pytest.fixture
def target(root: str) -> str:
    return f"{root}/out"


@pytest.fixture
def publisher(store: HdfsStore, root: str) -> PublisherOf:
    """Return a function that makes the publisher of an execution of a run."""
    from graph_compiler.spark_runtime.publishing.publication import Publisher

    def made(execution: str, run: str = "r") -> Publisher:
        ledger = Ledger(store=store, layout=layout_of(root, run), plan_id="plan")
        return Publisher(ledger=ledger, execution_id=execution)

    return made


def layout_of(root: str, run: str) -> StagingLayout:
    return StagingLayout(root=f"{root}/staging", identity=RunIdentity.own("p", run))


def format_of(name: str, *partition_by: str, **options: str) -> FileFormat:
    from graph_compiler.spark_runtime.publishing.written_files import FileFormat

    return FileFormat(name=name, options=options, partition_by=partition_by)


def ids(spark: SparkSession, target: str, format: str = "parquet", **options: str) -> list[int]:
    rows = spark.read.format(format).options(**options).load(target)
    return sorted(int(row["id"]) for row in rows.collect())


def prepared(
    publisher: Publisher,
    target: str,
    rows: DataFrame,
    mode: SinkMode = SinkMode.OVERWRITE,
    format: FileFormat | None = None,
) -> Intent:
    ticket = publisher.settle(SINK, target, mode)
    return publisher.prepare(ticket, rows, format or format_of("parquet"))


def names(store: HdfsStore, target: str) -> list[str]:
    return sorted(file.key.removeprefix(f"{target}/") for file in store.files(target))


def publish_by_sink(store: HdfsStore, layout: StagingLayout, rows: DataFrame, operator: Sink) -> None:
    from graph_compiler.spark_runtime.connectors import file_sink, table  # noqa: F401  # registered
    from graph_compiler.spark_runtime.connectors.sink import SinkContext, open_sink

    context = SinkContext(
        spark=rows.sparkSession,
        store=store,
        layout=layout,
        plan_id="plan",
        region_id=RegionId("region"),
        execution_id=f"e-{layout.identity.run_folder}",
    )
    opened = open_sink(operator.connector, SINK, operator, context)
    opened.prepare(opened.check(rows)).publish()


@pytest.mark.parametrize(
    "format",
    [
        ("parquet", (), {}),
        ("parquet", ("k", "d"), {}),
        ("csv", ("k",), {"header": "true", "compression": "gzip"}),
        ("json", (), {}),
        ("orc", ("d",), {}),
        ("xml", (), {"rowTag": "row"}),
    ],
    ids=("plain", "folders", "csv", "json", "orc", "xml"),
)
def test_nothing_is_seen_before_the_decision(
    format: tuple[str, tuple[str, ...], dict[str, str]],
    spark: SparkSession,
    store: HdfsStore,
    publisher: PublisherOf,
    root: str,
    target: str,
) -> None:
    name, partition_by, options = format
    made = format_of(name, *partition_by, **options)
    intent = prepared(publisher("e1"), target, spark.sql(ROWS), format=made)
    assert not store.is_there(target)
    publisher("e1").publish(intent)
    assert ids(spark, target, name, **options) == list(range(30))
    assert names(store, target) == sorted(intent.add)
    assert intent.rows == 30
    assert intent.bytes == sum(file.bytes for file in store.files(target))
    assert store.folders(root) == ["out", "staging"]  # nothing is left beside it


def test_more_files_than_a_listing_has_are_replaced_though_a_carrier_dies_among_them(
    spark: SparkSession, store: HdfsStore, publisher: PublisherOf, target: str
) -> None:
    """A listing of HDFS has 1,000 names at a time."""
    from graph_compiler.staging.publications.carrier import RenamedFiles, steps

    by_part = format_of("parquet", "part")
    rows = spark.range(0, 1_200, 1, 2).selectExpr("id", "id AS part")
    publisher("e0").publish(prepared(publisher("e0"), target, rows, format=by_part))
    assert ids(spark, target) == list(range(1_200))
    intent = prepared(publisher("e1", "dies"), target, rows.selectExpr("id + 10000 AS id", "part"), format=by_part)
    publisher("e1", "dies").ledger.decide(intent)
    for _ in islice(steps(RenamedFiles(intent, store), "carrier"), 700):
        pass
    publisher("e2", "next").settle(SINK, target)
    assert ids(spark, target) == list(range(10_000, 11_200))
    assert names(store, target) == sorted(intent.add)


@pytest.mark.parametrize("done", range(9))
def test_an_interrupted_overwrite_is_finished_by_the_next_execution(
    done: int, spark: SparkSession, store: HdfsStore, publisher: PublisherOf, target: str
) -> None:
    from graph_compiler.staging.publications.carrier import RenamedFiles, steps

    publisher("e0").publish(prepared(publisher("e0"), target, spark.range(3)))
    intent = prepared(publisher("e1", "dies"), target, spark.range(10, 12))
    publisher("e1", "dies").ledger.decide(intent)
    carrier = steps(RenamedFiles(intent, store), "carrier")
    for _ in range(done):
        next(carrier, None)
        now = set(ids(spark, target))
        assert now >= {0, 1, 2} or now >= {10, 11}  # never fewer rows than one version has
    publisher("e2", "next").settle(SINK, target)
    assert ids(spark, target) == [10, 11]
    assert names(store, target) == sorted(intent.add)


@pytest.mark.parametrize("done", [1, 2, 3, 4, 6, 8])
def test_a_carrier_that_wakes_after_a_later_publication_changes_nothing(
    done: int, spark: SparkSession, store: HdfsStore, publisher: PublisherOf, target: str
) -> None:
    from graph_compiler.staging.publications.carrier import RenamedFiles, steps

    first = prepared(publisher("e1"), target, spark.range(3))
    publisher("e1").ledger.decide(first)
    sleeps = steps(RenamedFiles(first, store), "sleeps")
    for _ in range(done):
        next(sleeps, None)
    later = prepared(publisher("e2", "later"), target, spark.range(10, 12))
    publisher("e2", "later").publish(later)
    try:
        for _ in sleeps:
            pass
    except PublicationConflictError as error:
        assert "is gone" in str(error)  # noqa: PT017  # it may also have seen its files before
    assert ids(spark, target) == [10, 11]
    assert names(store, target) == sorted(later.add)


def test_a_rename_that_is_not_answered_is_finished_by_the_next_execution(
    spark: SparkSession, store: HdfsStore, publisher: PublisherOf, rpc: Wire, target: str
) -> None:
    publisher("e0").publish(prepared(publisher("e0"), target, spark.range(3)))
    intent = prepared(publisher("e1"), target, spark.range(10, 12))
    publisher("e1").ledger.decide(intent)
    for number, where in enumerate(("behind", "before")):
        cuts = rpc.cuts
        rpc.breaks(behind=b"rename2") if where == "behind" else rpc.breaks(before=b"rename2")
        with pytest.raises(PublicationPendingError, match="does not accept what execution e1"):
            publisher(f"e{number + 2}", "next").settle(SINK, target)
        assert rpc.cuts == cuts + 1
    publisher("e4", "next").settle(SINK, target)
    assert ids(spark, target) == [10, 11]
    assert names(store, target) == sorted(intent.add)


def test_files_that_are_neither_written_nor_there_are_given_up(
    spark: SparkSession, store: HdfsStore, publisher: PublisherOf, target: str
) -> None:
    intent = prepared(publisher("e1"), target, spark.range(3))
    publisher("e1").ledger.decide(intent)
    store.delete(intent.prepared)
    publisher("e2", "next").publish(prepared(publisher("e2", "next"), target, spark.range(10, 12)))
    assert ids(spark, target) == [10, 11]


def test_what_is_discarded_is_removed(
    spark: SparkSession, store: HdfsStore, publisher: PublisherOf, root: str, target: str
) -> None:
    mine = publisher("e1")
    ticket = mine.settle(SINK, target)
    mine.prepare(ticket, spark.range(3), format_of("parquet"))
    assert ".out.graph_compiler" in store.folders(root)
    mine.discard(ticket)
    assert ".out.graph_compiler" not in store.folders(root)


def test_appends_keep_the_files_of_others_and_replace_those_of_their_run(
    spark: SparkSession, publisher: PublisherOf, target: str
) -> None:
    for execution, run, rows in (("e1", "a", 3), ("e2", "b", 2), ("e3", "b", 1)):
        mine = publisher(execution, run)
        ticket = mine.settle(SINK, target, SinkMode.APPEND)
        intent = mine.prepare(ticket, spark.range(rows), format_of("parquet"))
        mine.publish(intent, behind_others=ticket)
    assert ids(spark, target) == [0, 0, 1, 2]


def test_of_two_overwrites_at_once_one_loses(spark: SparkSession, publisher: PublisherOf, target: str) -> None:
    both = {run: publisher(run, run).settle(SINK, target) for run in "ab"}
    intents = {
        run: publisher(run, run).prepare(ticket, spark.range(2), format_of("parquet")) for run, ticket in both.items()
    }
    publisher("a", "a").publish(intents["a"])
    with pytest.raises(DecisionLostError):
        publisher("b", "b").publish(intents["b"])
    assert ids(spark, target) == [0, 1]


def test_partitions_of_new_rows_are_replaced_and_others_stay(
    spark: SparkSession, store: HdfsStore, publisher: PublisherOf, target: str
) -> None:
    format = format_of("parquet", "d")
    publisher("e1").publish(prepared(publisher("e1"), target, spark.sql(ROWS), format=format))
    mine = publisher("e2", "later")
    ticket = mine.settle(SINK, target, SinkMode.OVERWRITE_PARTITIONS)
    intent = mine.prepare(ticket, spark.sql("SELECT 100L AS id, 'x' AS k, 0L AS d"), format)
    mine.publish(intent, behind_others=ticket)
    assert ids(spark, target) == [*range(1, 30, 2), 100]
    assert store.folders(target) == ["d=0", "d=1"]


def test_the_partition_of_a_run_is_empty_without_rows_and_refuses_others(
    spark: SparkSession, store: HdfsStore, publisher: PublisherOf, target: str
) -> None:
    from graph_compiler.spark_runtime.publishing.own_partition import OwnPartition

    format, rows = format_of("parquet", "d"), spark.sql(ROWS)
    publisher("e1").publish(prepared(publisher("e1"), target, rows, format=format))
    mine = publisher("e2", "later")
    own = OwnPartition.of((("d", "1"),), rows.schema, spark)
    ticket = replace(mine.settle(SINK, target, SinkMode.OVERWRITE_PARTITIONS), partition=own)
    with pytest.raises(PublicationError, match="rows of other partitions than d=1.*: d=0;"):
        mine.prepare(ticket, rows, format)
    mine.discard(ticket)
    assert ids(spark, target) == [*range(30)]
    mine.publish(mine.prepare(ticket, rows.where("false"), format), behind_others=ticket)
    assert ids(spark, target) == [*range(0, 30, 2)]
    assert store.folders(target) == ["d=0"]


def test_no_rows_leave_a_file_with_the_columns(spark: SparkSession, publisher: PublisherOf, target: str) -> None:
    for number, by in enumerate(((), ("d",))):
        folder, format = f"{target}{number}", format_of("parquet", *by)
        rows = spark.sql(ROWS).where("false")
        publisher("e1").publish(prepared(publisher("e1"), folder, rows, format=format))
        assert ids(spark, folder) == []
        assert {"id", "k", "d"} == set(spark.read.parquet(folder).columns)
        again = publisher("e2", "later")
        again.publish(prepared(again, folder, spark.sql(ROWS), format=format))
        assert ids(spark, folder) == list(range(30))


def test_a_new_target_only_where_there_is_none(spark: SparkSession, publisher: PublisherOf, target: str) -> None:
    mode = SinkMode.ERROR_IF_EXISTS
    publisher("e1").publish(prepared(publisher("e1"), target, spark.range(3), mode))
    with pytest.raises(PublicationError, match="holds 2 files from elsewhere"):
        publisher("e2", "later").settle(SINK, target, mode)


def test_a_merge_replaces_rows_of_its_keys(spark: SparkSession, store: HdfsStore, root: str, target: str) -> None:
    queries = {"a": "SELECT id, 'old' AS word FROM range(3)", "b": "SELECT id, 'new' AS word FROM range(2, 4)"}
    for run, query in queries.items():
        publish_by_sink(store, layout_of(root, run), spark.sql(query), MERGE(Parquet(target)))
    rows = spark.read.parquet(target).orderBy("id").collect()
    assert [tuple(row) for row in rows] == [(0, "old"), (1, "old"), (2, "new"), (3, "new")]
    assert all(name.endswith(".parquet") for name in names(store, target))


def test_rows_for_a_table_are_prepared_in_hdfs(spark: SparkSession, store: HdfsStore, root: str) -> None:
    spark.sql("CREATE TABLE IF NOT EXISTS of_hdfs (id BIGINT) USING parquet")
    try:
        for run in "ab":
            publish_by_sink(store, layout_of(root, run), spark.range(2), APPEND(Table("of_hdfs")))
        assert sorted(row.id for row in spark.table("of_hdfs").collect()) == [0, 0, 1, 1]
        assert not [file for file in store.files(f"{root}/staging") if "/data/" in file.key]
    finally:
        spark.sql("DROP TABLE of_hdfs")


def test_files_where_folders_must_be_are_refused(
    spark: SparkSession, store: HdfsStore, publisher: PublisherOf, target: str
) -> None:
    store.put(f"{target}-file", b"x")
    with pytest.raises(PublicationError, match="is a file"):
        publisher("e1").settle(SINK, f"{target}-file")
    store.put(f"{target}/d=0", b"x")
    with pytest.raises(PublicationError, match="has a file d=0 where a partition's folder must be"):
        prepared(publisher("e1"), target, spark.sql(ROWS), format=format_of("parquet", "d"))


def test_one_file_takes_the_place_of_another_in_one_step(
    spark: SparkSession, store: HdfsStore, publisher: PublisherOf, root: str
) -> None:
    from graph_compiler.staging.publications.carrier import RenamedFile, steps

    target, csv = f"{root}/report.csv", replace(format_of("csv", header="true"), files=1)
    store.put(f"{root}/other.csv", b"theirs")

    def prepared(execution: str, run: str, rows: DataFrame) -> Intent:
        mine = publisher(execution, run)
        return mine.prepare(mine.settle(SINK, target, is_file=True), rows, csv)

    publisher("e0", "old").publish(prepared("e0", "old", spark.range(1)))
    intent = prepared("e1", "dies", spark.range(1, 2))
    publisher("e1", "dies").ledger.decide(intent)
    sleeps = steps(RenamedFile(intent, store), "sleeps")
    for _ in range(3):
        next(sleeps, None)
        assert store.get(target) in (b"id\n0\n", b"id\n1\n")
    later = prepared("e2", "later", spark.range(2, 3))
    assert store.get(target) == b"id\n1\n"  # finished by the next
    publisher("e2", "later").publish(later)
    with suppress(PublicationConflictError):
        for _ in sleeps:
            pass
    assert store.get(target) == b"id\n2\n"
    assert sorted(file.key.removeprefix(f"{root}/") for file in store.files(root) if "/staging/" not in file.key) == [
        "other.csv",
        "report.csv",
    ]
    assert spark.read.csv(target, header=True).count() == 1


def test_one_file_is_created_only_where_there_is_none(spark: SparkSession, publisher: PublisherOf, root: str) -> None:
    target, new = f"{root}/report.csv", SinkMode.ERROR_IF_EXISTS
    for execution in ("e1", "e2"):  # the same run again
        mine = publisher(execution)
        one = replace(format_of("csv"), files=1)
        mine.publish(mine.prepare(mine.settle(SINK, target, new, is_file=True), spark.range(2), one))
    with pytest.raises(PublicationError, match=r"report\.csv exists"):
        publisher("e3", "other").settle(SINK, target, new, is_file=True)
    with pytest.raises(PublicationError, match="is a folder"):
        publisher("e4", "other").settle(SINK, root, is_file=True)


def test_runs_remember_what_earlier_ones_have_read_and_published(
    spark: SparkSession, store: HdfsStore, root: str
) -> None:
    from tests.harness.remembered_days import check_three_days  # needs pyspark

    check_three_days(spark, store, root)
