"""Sinks of files in a bucket: each file appears once, as a whole, and only after the decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest

from graph_compiler.declaration.connectors import Connector, Csv, Parquet, SinkMode, Table
from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.errors import (
    DecisionLostError,
    PublicationConflictError,
    PublicationError,
    PublicationPendingError,
    StagingError,
)
from graph_compiler.identifiers import OperatorId, RegionId
from graph_compiler.object_stores.s3_store import ObjectStore
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.publications.publications import Intent
from graph_compiler.staging.store import stores
from graph_compiler.staging.store.deferred_files import DeferringStore
from tests.harness.object_stores import ObjectServer
from tests.object_stores.conftest import BUCKET

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from graph_compiler.spark_runtime.connectors.sink import OpenSink
    from graph_compiler.spark_runtime.publishing.publication import Publisher
    from graph_compiler.spark_runtime.publishing.written_files import FileFormat

pytestmark = pytest.mark.objects
SINK = OperatorId("ab" * 16)
ROWS = "SELECT id, concat('a:b%/', id % 3) AS k, id % 2 AS d FROM range(0, 30, 1, 2)"
_FRAME = 200
"""Bytes that frame the body of a request, at most."""
MERGE = partial(Sink, mode=SinkMode.MERGE, keys=("id",))
APPEND = partial(Sink, mode=SinkMode.APPEND)
PublisherOf = Callable[..., "Publisher"]


@pytest.fixture
def store(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> DeferringStore:  # noqa: ARG001  # its JVM
    from graph_compiler.spark_runtime.stores.s3a_store import S3aStore

    found = S3aStore(f"s3a://{BUCKET}/")
    monkeypatch.setattr(stores, "_OPENING", {None: lambda _: lambda _: found})
    return found


@pytest.fixture
def publisher(store: DeferringStore, root: str) -> PublisherOf:
    """Return a function that makes the publisher of an execution of a run."""
    from graph_compiler.spark_runtime.publishing.publication import Publisher

    def made(execution: str, run: str = "r") -> Publisher:
        layout = StagingLayout(root=f"{root}-staging", identity=RunIdentity.own("p", run))
        return Publisher(ledger=Ledger(store=store, layout=layout, plan_id="plan"), execution_id=execution)

    return made


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


def keys(store: DeferringStore, target: str) -> list[str]:
    return sorted(file.key.removeprefix(f"{target}/") for file in store.files(target))


def opened_sink(
    spark: SparkSession,
    store: DeferringStore,
    root: str,
    run: str,
    connector: Connector,
    sink: Callable[[Connector], Sink],
) -> OpenSink:
    from graph_compiler.spark_runtime.connectors import file_sink, table  # noqa: F401  # registered
    from graph_compiler.spark_runtime.connectors.sink import SinkContext, open_sink

    context = SinkContext(
        spark=spark,
        store=store,
        layout=StagingLayout(root=f"{root}-staging", identity=RunIdentity.own("p", run)),
        plan_id="plan",
        region_id=RegionId("region"),
        execution_id=f"e{run}",
    )
    return open_sink(connector, SINK, sink(connector), context)


@pytest.fixture(
    params=[
        ("parquet", (), {}),
        ("parquet", ("k", "d"), {}),
        ("csv", ("k",), {"header": "true", "compression": "gzip"}),
        ("json", (), {}),
        ("orc", ("d",), {}),
        ("xml", (), {"rowTag": "row"}),
    ],
    ids=("plain", "folders", "csv", "json", "orc", "xml"),
)
def any_format(request: pytest.FixtureRequest) -> FileFormat:
    name, partition_by, options = request.param
    return format_of(name, *partition_by, **options)


def test_nothing_is_seen_before_the_decision_and_each_byte_is_sent_once(
    any_format: FileFormat,
    spark: SparkSession,
    server: ObjectServer,
    store: DeferringStore,
    publisher: PublisherOf,
    root: str,
) -> None:
    before, format = len(server.requests()), any_format
    intent = prepared(publisher("e1"), root, spark.sql(ROWS), format=format)
    assert keys(store, root) == [".graph_compiler/e1/files.json"]
    publisher("e1").publish(intent)
    assert ids(spark, root, format.name, **format.options) == list(range(30))
    assert keys(store, root) == sorted(intent.add)
    assert intent.rows == 30
    assert intent.bytes == sum(file.bytes for file in store.files(root))
    sent = [line.split() for line in server.requests(since=before) if "partNumber" in line]
    assert len(sent) == len(intent.add)
    assert 0 <= sum(int(each[2]) for each in sent) - intent.bytes < _FRAME * len(sent)


def test_an_overwrite_adds_the_new_files_before_it_removes_the_old_ones(
    spark: SparkSession, store: DeferringStore, publisher: PublisherOf, root: str
) -> None:
    from graph_compiler.staging.publications.carrier import UploadedFiles, steps

    publisher("e1").publish(prepared(publisher("e1"), root, spark.range(3)))
    intent = prepared(publisher("e2"), root, spark.range(10, 12))
    publisher("e2").ledger.decide(intent)
    seen = [ids(spark, root) for _ in steps(UploadedFiles(intent, store), "carrier")]
    assert seen[0] == [0, 1, 2]
    assert all(set(rows) >= {0, 1, 2} or rows == [10, 11] for rows in seen)
    assert ids(spark, root) == [10, 11]
    assert keys(store, root) == sorted(intent.add)


@pytest.mark.parametrize("steps_done", range(6))
def test_an_interrupted_publication_is_finished_by_the_next_execution(
    steps_done: int, spark: SparkSession, store: DeferringStore, publisher: PublisherOf, root: str
) -> None:
    from graph_compiler.staging.publications.carrier import UploadedFiles, steps

    publisher("e0").publish(prepared(publisher("e0"), root, spark.range(3)))
    intent = prepared(publisher("e1", "dies"), root, spark.range(10, 12))
    publisher("e1", "dies").ledger.decide(intent)
    carrier = steps(UploadedFiles(intent, store), "carrier")
    for _ in range(steps_done):
        next(carrier, None)
    publisher("e2", "next").settle(SINK, root)
    assert ids(spark, root) == [10, 11]
    assert keys(store, root) == sorted(intent.add)


def test_more_files_than_a_listing_has_are_replaced_though_a_carrier_dies_among_them(
    spark: SparkSession, store: DeferringStore, publisher: PublisherOf, root: str
) -> None:
    """A listing, and a request that removes, has 1,000 names at most."""
    from graph_compiler.staging.publications.carrier import UploadedFiles, steps

    by_part = format_of("parquet", "part")
    rows = spark.range(0, 1_200, 1, 2).selectExpr("id", "id AS part")
    publisher("e0").publish(prepared(publisher("e0"), root, rows, format=by_part))
    assert ids(spark, root) == list(range(1_200))
    intent = prepared(publisher("e1", "dies"), root, rows.selectExpr("id + 10000 AS id", "part"), format=by_part)
    publisher("e1", "dies").ledger.decide(intent)
    for _ in islice(steps(UploadedFiles(intent, store), "carrier"), 700):
        pass
    publisher("e2", "next").settle(SINK, root)
    assert ids(spark, root) == list(range(10_000, 11_200))
    assert keys(store, root) == sorted(intent.add)


@pytest.mark.parametrize("steps_done", range(1, 6))
def test_a_carrier_that_wakes_after_a_later_publication_changes_nothing(
    steps_done: int, spark: SparkSession, store: DeferringStore, publisher: PublisherOf, root: str
) -> None:
    from graph_compiler.staging.publications.carrier import UploadedFiles, steps

    first = prepared(publisher("e1"), root, spark.range(3))
    publisher("e1").ledger.decide(first)
    sleeps = steps(UploadedFiles(first, store), "carrier")
    for _ in range(steps_done):
        next(sleeps, None)
    later = prepared(publisher("e2", "later"), root, spark.range(10, 12))
    publisher("e2", "later").publish(later)
    has_seen_its_files = steps_done > 3
    with nullcontext() if has_seen_its_files else pytest.raises(PublicationConflictError, match="is gone"):
        for _ in sleeps:
            pass
    assert ids(spark, root) == [10, 11]
    assert keys(store, root) == sorted(later.add)


def test_a_delayed_completion_does_not_bring_removed_files_back(
    spark: SparkSession, store: DeferringStore, publisher: PublisherOf, root: str
) -> None:
    from graph_compiler.staging.publications.carrier import DeferredFiles, files_document
    from graph_compiler.staging.store.read_document import get_document

    first = prepared(publisher("e1"), root, spark.range(3))
    document = get_document(store, files_document(first.prepared), DeferredFiles)
    publisher("e1").publish(first)
    publisher("e2", "later").publish(prepared(publisher("e2", "later"), root, spark.range(10, 12)))
    assert document is not None
    store.complete(document.files)
    assert ids(spark, root) == [10, 11]


def test_an_error_counts_only_while_the_upload_is_there(
    spark: SparkSession, server: ObjectServer, store: DeferringStore, publisher: PublisherOf, root: str
) -> None:
    from graph_compiler.staging.publications.carrier import DeferredFiles, files_document
    from graph_compiler.staging.store.read_document import get_document

    intent = prepared(publisher("e1"), root, spark.range(3))
    document = get_document(store, files_document(intent.prepared), DeferredFiles)
    assert document is not None
    server.breaks("POST", "uploadId", "busy", times=100)
    with pytest.raises(OSError, match="503"):
        store.complete(document.files)
    server.breaks("POST", "uploadId", "busy", times=0)
    publisher("e1").publish(intent)
    server.breaks("POST", "uploadId", "busy", times=100)  # as Ceph, for one that is completed
    store.complete(document.files)
    server.breaks("POST", "uploadId", "busy", times=0)
    assert ids(spark, root) == [0, 1, 2]


def test_a_lost_answer_to_a_completion_is_resolved_by_looking(
    spark: SparkSession, server: ObjectServer, store: DeferringStore, publisher: PublisherOf, root: str
) -> None:
    for run, fault in (("lost", "lost"), ("dropped", "dropped"), ("done", "done-503")):
        intent = prepared(publisher("e1", run), f"{root}/{fault}", spark.range(3))
        server.breaks("POST", "uploadId", fault)
        try:
            publisher("e1", run).publish(intent)
        except PublicationPendingError:
            publisher("e2", run).settle(SINK, f"{root}/{fault}")
        assert ids(spark, f"{root}/{fault}") == [0, 1, 2]
        assert keys(store, f"{root}/{fault}") == sorted(intent.add)


def test_files_that_are_neither_written_nor_there_are_given_up(
    spark: SparkSession, store: DeferringStore, publisher: PublisherOf, root: str
) -> None:
    intent = prepared(publisher("e1"), root, spark.range(3))
    publisher("e1").ledger.decide(intent)
    store.delete(intent.prepared)
    publisher("e2", "next").publish(prepared(publisher("e2", "next"), root, spark.range(10, 12)))
    assert ids(spark, root) == [10, 11]


@pytest.mark.parametrize("completed", [0, 1])
def test_what_is_given_up_leaves_no_upload_and_no_file(
    completed: int, spark: SparkSession, server: ObjectServer, store: DeferringStore, publisher: PublisherOf, root: str
) -> None:
    from graph_compiler.staging.publications.carrier import DeferredFiles, files_document
    from graph_compiler.staging.store.read_document import get_document

    format = format_of("parquet", "k", "d")
    intent = prepared(publisher("e1"), root, spark.sql(ROWS), format=format)
    other = prepared(publisher("e1", "other"), f"{root}/other", spark.range(3))
    publisher("e1").ledger.decide(intent)
    document = get_document(store, files_document(intent.prepared), DeferredFiles)
    assert document is not None
    store.complete(document.files[:completed])
    store.delete(intent.prepared)
    publisher("e2", "next").publish(prepared(publisher("e2", "next"), root, spark.range(10, 12)))
    store.complete(document.files)  # by a carrier that has slept
    assert ids(spark, f"{root}/*.parquet") == [10, 11]
    assert not set(keys(store, root)) & set(intent.add)
    assert server.uploads(BUCKET, root) == server.uploads(BUCKET, f"{root}/other")
    publisher("e1", "other").publish(other)
    assert ids(spark, f"{root}/other") == [0, 1, 2]


def test_what_is_discarded_leaves_no_upload(
    spark: SparkSession, server: ObjectServer, store: DeferringStore, publisher: PublisherOf, root: str
) -> None:
    mine = publisher("e1")
    ticket = mine.settle(SINK, root)
    mine.prepare(ticket, spark.range(3), format_of("parquet"))
    assert server.uploads(BUCKET, root)
    mine.discard(ticket)
    assert keys(store, root) == []
    assert server.uploads(BUCKET, root) == []


def test_appends_keep_the_files_of_others_and_replace_those_of_their_run(
    spark: SparkSession, publisher: PublisherOf, root: str
) -> None:
    for execution, run, rows in (("e1", "a", 3), ("e2", "b", 2), ("e3", "b", 1)):
        mine = publisher(execution, run)
        ticket = mine.settle(SINK, root, SinkMode.APPEND)
        intent = mine.prepare(ticket, spark.range(rows), format_of("parquet"))
        mine.publish(intent, behind_others=ticket)
    assert ids(spark, root) == [0, 0, 1, 2]


def test_two_appends_at_once_are_both_kept_and_of_two_overwrites_one_loses(
    spark: SparkSession, publisher: PublisherOf, root: str
) -> None:
    tickets = {run: publisher(run, run).settle(SINK, f"{root}/append", SinkMode.APPEND) for run in "ab"}
    for run, ticket in tickets.items():
        mine = publisher(run, run)
        intent = mine.prepare(ticket, spark.range(2), format_of("parquet"))
        mine.publish(intent, behind_others=ticket)
    assert ids(spark, f"{root}/append") == [0, 0, 1, 1]
    both = {run: publisher(run, run).settle(SINK, f"{root}/over") for run in "ab"}
    intents = {
        run: publisher(run, run).prepare(ticket, spark.range(2), format_of("parquet")) for run, ticket in both.items()
    }
    publisher("a", "a").publish(intents["a"])
    with pytest.raises(DecisionLostError):
        publisher("b", "b").publish(intents["b"])


def test_partitions_of_new_rows_are_replaced_and_others_stay(
    spark: SparkSession, store: DeferringStore, publisher: PublisherOf, root: str
) -> None:
    format = format_of("parquet", "d")
    publisher("e1").publish(prepared(publisher("e1"), root, spark.sql(ROWS), format=format))
    mine = publisher("e2", "later")
    ticket = mine.settle(SINK, root, SinkMode.OVERWRITE_PARTITIONS)
    intent = mine.prepare(ticket, spark.sql("SELECT 100L AS id, 'x' AS k, 0L AS d"), format)
    mine.publish(intent, behind_others=ticket)
    assert ids(spark, root) == [*range(1, 30, 2), 100]
    assert {name.split("/")[0] for name in keys(store, root)} == {"d=0", "d=1"}


def test_the_partition_of_a_run_is_empty_without_rows_and_refuses_others(
    spark: SparkSession, store: DeferringStore, publisher: PublisherOf, root: str
) -> None:
    from graph_compiler.spark_runtime.publishing.own_partition import OwnPartition

    format, rows = format_of("parquet", "d"), spark.sql(ROWS)
    publisher("e1").publish(prepared(publisher("e1"), root, rows, format=format))
    mine = publisher("e2", "later")
    own = OwnPartition.of((("d", "1"),), rows.schema, spark)
    ticket = replace(mine.settle(SINK, root, SinkMode.OVERWRITE_PARTITIONS), partition=own)
    with pytest.raises(PublicationError, match="rows of other partitions than d=1.*: d=0;"):
        mine.prepare(ticket, rows, format)
    mine.discard(ticket)
    assert ids(spark, root) == [*range(30)]
    mine.publish(mine.prepare(ticket, rows.where("false"), format), behind_others=ticket)
    assert ids(spark, root) == [*range(0, 30, 2)]
    assert {name.split("/")[0] for name in keys(store, root)} == {"d=0"}


def test_no_rows_leave_a_file_with_the_columns(spark: SparkSession, publisher: PublisherOf, root: str) -> None:
    for number, by in enumerate(((), ("d",))):
        target = f"{root}/{number}"
        rows = spark.sql(ROWS).where("false")
        intent = prepared(publisher("e1"), target, rows, format=format_of("parquet", *by))
        publisher("e1").publish(intent)
        assert ids(spark, target) == []
        assert {"id", "k", "d"} == set(spark.read.parquet(target).columns)
        again = replace(publisher("e2", "later"))
        again.publish(prepared(again, target, spark.sql(ROWS), format=format_of("parquet", *by)))
        assert ids(spark, target) == list(range(30))


def test_a_new_target_only_where_there_is_none(spark: SparkSession, publisher: PublisherOf, root: str) -> None:
    mode = SinkMode.ERROR_IF_EXISTS
    publisher("e1").publish(prepared(publisher("e1"), root, spark.range(3), mode))
    with pytest.raises(PublicationError, match="holds 2 files from elsewhere"):
        publisher("e2", "later").settle(SINK, root, mode)
    publisher("e3").publish(prepared(publisher("e3"), root, spark.range(5), mode))
    assert ids(spark, root) == list(range(5))


def test_a_merge_replaces_rows_of_its_keys(spark: SparkSession, store: DeferringStore, root: str) -> None:
    def merge(run: str, query: str) -> None:
        opened = opened_sink(spark, store, root, run, Parquet(f"{root}/out"), MERGE)
        opened.prepare(opened.check(spark.sql(query))).publish()

    merge("a", "SELECT id, 'old' AS word FROM range(3)")
    merge("b", "SELECT id, 'new' AS word FROM range(2, 4)")
    rows = spark.read.parquet(f"{root}/out").orderBy("id").collect()
    assert [tuple(row) for row in rows] == [(0, "old"), (1, "old"), (2, "new"), (3, "new")]
    assert all(name.endswith(".parquet") for name in keys(store, f"{root}/out"))


def test_rows_for_a_table_are_prepared_in_the_bucket(spark: SparkSession, store: DeferringStore, root: str) -> None:
    spark.sql("CREATE TABLE IF NOT EXISTS of_a_bucket (id BIGINT) USING parquet")
    try:
        for run in "ab":
            opened = opened_sink(spark, store, root, run, Table("of_a_bucket"), APPEND)
            opened.prepare(opened.check(spark.range(2))).publish()
        assert sorted(row.id for row in spark.table("of_a_bucket").collect()) == [0, 0, 1, 1]
        assert not [file for file in store.files(f"{root}-staging") if "/data/" in file.key]
    finally:
        spark.sql("DROP TABLE of_a_bucket")


def test_a_target_that_is_an_object_is_refused(
    spark: SparkSession,  # noqa: ARG001  # its JVM
    store: DeferringStore,
    publisher: PublisherOf,
    root: str,
) -> None:
    store.put(f"{root}/file", b"x")
    with pytest.raises(PublicationError, match="is an object"):
        publisher("e1").settle(SINK, f"{root}/file")


def test_a_file_that_s3a_has_not_deferred_is_refused(store: DeferringStore, root: str) -> None:
    with pytest.raises(StagingError, match="magic.enabled must be true"):
        store.written_files(store.writing_folder(root, "e1"), ["part-0"])


def test_requests_of_a_publication_are_few(
    spark: SparkSession, server: ObjectServer, publisher: PublisherOf, root: str
) -> None:
    publisher("e0").publish(prepared(publisher("e0"), root, spark.range(3)))
    counts = {}
    for files in (4, 8):
        mine = publisher(f"e{files}", f"r{files}")
        with server.counting() as asked:
            ticket = mine.settle(SINK, root)
            intent = mine.prepare(ticket, spark.range(0, 100, 1, files), format_of("parquet"))
            mine.publish(intent)
        counts[files] = Counter(asked)
    # For each file, an upload is begun, has a part, and is completed. S3A writes a marker and a document.
    assert {files: counts[files]["PUT"] - 3 * files for files in counts} == {4: 3, 8: 3}
    assert all(found["POST"] - 2 * files <= 5 for files, found in counts.items())
    assert counts[4]["LIST"] == counts[8]["LIST"] <= 13
    assert all(found.total() <= 11 * files + 30 for files, found in counts.items()), counts


def one_file(spark: SparkSession, store: DeferringStore, root: str, run: str, **changes: Any) -> OpenSink:
    """Open a sink of `<root>/report.csv`."""

    def sink(connector: Connector) -> Sink:
        return Sink(connector, single_file=True, **changes)

    return opened_sink(spark, store, root, run, Csv(f"{root}/report.csv"), sink)


def test_one_file_takes_the_place_of_another_and_nothing_beside_it_changes(
    spark: SparkSession, server: ObjectServer, store: DeferringStore, root: str
) -> None:
    store.put(f"{root}/other.csv", b"theirs")
    for run, first in (("a", 0), ("b", 10), ("b", 20)):
        opened, content = one_file(spark, store, root, run), b"id\n%d\n%d\n" % (first, first + 1)
        prepared = opened.prepare(opened.check(spark.range(first, first + 2, 1, 2).sort("id")))
        assert store.get(f"{root}/report.csv") != content
        prepared.publish()
        assert store.get(f"{root}/report.csv") == content
        assert keys(store, root) == ["other.csv", "report.csv"]
        assert prepared.bytes == len(content)
    id = store.file_id(f"{root}/report.csv")
    assert id
    assert ObjectStore(root.split("/")[2], server.access).file_id(f"{root}/report.csv") == id  # Airflow's side
    assert spark.read.csv(f"{root}/report.csv", header=True).count() == 2


def test_one_file_is_created_only_where_there_is_none(spark: SparkSession, store: DeferringStore, root: str) -> None:
    new = SinkMode.ERROR_IF_EXISTS
    for _ in range(2):  # the same run again
        opened = one_file(spark, store, root, "a", mode=new)
        opened.prepare(opened.check(spark.range(3))).publish()
    with pytest.raises(PublicationError, match=r"report\.csv exists"):
        one_file(spark, store, root, "b", mode=new)
    with pytest.raises(PublicationError, match="is a folder"):
        opened_sink(spark, store, root, "c", Csv(root), lambda connector: Sink(connector, mode=new, single_file=True))


@pytest.mark.parametrize("done", range(4))
def test_one_file_is_finished_by_the_next_and_a_carrier_that_wakes_up_changes_nothing(
    done: int, spark: SparkSession, store: DeferringStore, publisher: PublisherOf, root: str
) -> None:
    from graph_compiler.staging.publications.carrier import UploadedFile, steps

    target, csv = f"{root}/report.csv", format_of("csv")

    def decided(execution: str, run: str, rows: DataFrame) -> Intent:
        mine = publisher(execution, run)
        intent = mine.prepare(mine.settle(SINK, target, is_file=True), rows, csv)
        mine.ledger.decide(intent)
        return intent

    publisher("e0", "old").publish(_undecided(publisher("e0", "old"), target, spark.range(1)))
    sleeps = steps(UploadedFile(decided("e1", "dies", spark.range(1, 2)), store), "sleeps")
    for _ in range(done):
        next(sleeps, None)
        assert store.get(target) in (b"0\n", b"1\n")
    later = _undecided(publisher("e2", "later"), target, spark.range(2, 3))
    assert store.get(target) == b"1\n"  # finished by the next
    publisher("e2", "later").publish(later)
    with suppress(PublicationConflictError):
        for _ in sleeps:
            pass
    assert store.get(target) == b"2\n"
    assert keys(store, root) == ["report.csv"]


def _undecided(publisher: Publisher, target: str, rows: DataFrame) -> Intent:
    return publisher.prepare(publisher.settle(SINK, target, is_file=True), rows, format_of("csv"))


def test_one_file_that_is_not_published_leaves_nothing(
    spark: SparkSession, server: ObjectServer, store: DeferringStore, publisher: PublisherOf, root: str
) -> None:
    from graph_compiler.staging.publications.preparations import beside_in_store, prepared_folders

    mine, target = publisher("e1"), f"{root}/report.csv"
    ticket = mine.settle(SINK, target, is_file=True)
    intent = mine.prepare(ticket, spark.range(3), format_of("csv"))
    assert intent.file is not None
    assert intent.file.upload is not None
    mine.discard(ticket)
    assert keys(store, root) == []
    assert server.uploads(BUCKET, root) == []
    place = beside_in_store(target, "e1")
    assert mine.prepared_folder(ticket) == place
    assert prepared_folders(place) == (f"{root}/__magic_job-e1.report.csv.graph_compiler", place)


def test_runs_remember_what_earlier_ones_have_read_and_published(
    spark: SparkSession, store: DeferringStore, root: str
) -> None:
    from tests.harness.remembered_days import check_three_days  # needs pyspark

    check_three_days(spark, store, root)
