"""Drivers that die, sleep and lose answers while they publish to a table of Iceberg: each run's rows are there once."""

from collections.abc import Callable
from typing import Any

import pytest
from py4j.protocol import Py4JError

from graph_compiler import StreamExecutionEnvironment
from graph_compiler.errors import PublicationConflictError, PublicationError, PublicationPendingError
from graph_compiler.spark_runtime.connectors.lake import iceberg_sink
from graph_compiler.spark_runtime.connectors.lake.iceberg_sink import SnapshotPublication
from graph_compiler.spark_runtime.spark_internals.iceberg_tables import IcebergTable
from graph_compiler.staging.publications.ledger import Ledger
from tests.harness.postgres import Postgres
from tests.harness.sinks import Sinks
from tests.lake.conftest import Lake, sold
from tests.lake.dying import die, dying, sleeping

pytestmark = pytest.mark.lake
COLUMNS = "id INT, day STRING, amount INT"
MODES = ("append", "overwrite-partitions", "overwrite", "merge", "error-if-exists")
MINE, THEIRS = (3, "mon", 30), (9, "wed", 90)


@pytest.fixture
def table(lake_in_postgres: Lake) -> Lake:
    lake_in_postgres.create(COLUMNS, partitioned_by="day")
    return lake_in_postgres


def settings(mode: str) -> dict[str, Any]:
    return {"mode": mode, "keys": ("id",)} if mode == "merge" else {"mode": mode}


POINTS: dict[str, tuple[Any, str, bool]] = {
    "before the branch is made": (IcebergTable, "make_branch", False),
    "after the branch is made": (IcebergTable, "make_branch", True),
    "before it is decided": (Ledger, "decide", False),
    "after it is decided": (Ledger, "decide", True),
    "before the commit": (IcebergTable, "publish", False),
    "after the commit": (IcebergTable, "publish", True),
    "before the end is recorded": (Ledger, "finish", False),
    "after the end is recorded": (Ledger, "finish", True),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("point", POINTS)
def test_a_driver_that_dies_anywhere_publishes_once(
    table: Lake, sinks: Sinks, monkeypatch: pytest.MonkeyPatch, mode: str, point: str
) -> None:
    owner, name, after = POINTS[point]
    die(monkeypatch, owner, name, after=after)
    with dying():
        sinks.write(table.table(), sold(MINE), **settings(mode))
    assert table.rows() in ([], [MINE])
    sinks.write(table.table(), sold(MINE), **settings(mode))
    assert table.rows() == [MINE]


@pytest.mark.parametrize("point", POINTS)
def test_a_driver_that_dies_anywhere_replaces_once(
    table: Lake, sinks: Sinks, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    before = (3, "mon", 29)
    sinks.write(table.table(), sold(before), mode="append")
    owner, name, after = POINTS[point]
    die(monkeypatch, owner, name, after=after)
    with dying():
        sinks.write(table.table(), sold(MINE), mode="append")
    assert table.rows() in ([before], [MINE])
    sinks.write(table.table(), sold(THEIRS), mode="append", run="r2")
    sinks.write(table.table(), sold(MINE), mode="append")
    assert table.rows() == [MINE, THEIRS]


@pytest.mark.parametrize("change", ["INSERT INTO {} VALUES (9, 'wed', 90)", "DELETE FROM {} WHERE id = 3"])
def test_what_others_change_while_rows_are_replaced_is_a_conflict(table: Lake, sinks: Sinks, change: str) -> None:
    sinks.write(table.table(), sold((3, "mon", 29)), mode="append")
    prepared = sinks.prepare(table.table(), table.spark.sql(sold(MINE)), mode="append")
    table.spark.sql(change.format(f"{table.name}.db.sold"))
    seen = table.rows()
    with pytest.raises(PublicationConflictError, match="has changed"):
        prepared.publish()
    assert (table.rows(), table.refs()) == (seen, [])


@pytest.mark.parametrize("mode", MODES)
def test_what_a_dead_driver_has_decided_is_published_by_the_next_run(
    table: Lake, sinks: Sinks, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    die(monkeypatch, IcebergTable, "publish")
    with dying():
        sinks.write(table.table(), sold(MINE), **settings(mode))
    sinks.write(table.table(), sold(THEIRS), mode="append", run="r2")
    assert table.rows() == [MINE, THEIRS]
    assert table.refs() == []


@pytest.mark.parametrize("mode", MODES)
def test_a_lost_answer_of_the_commit_is_looked_up(
    table: Lake, sinks: Sinks, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    publish = IcebergTable.publish

    def lost(*arguments: Any, **named: Any) -> None:
        publish(*arguments, **named)
        raise Py4JError("the answer is lost")

    monkeypatch.setattr(IcebergTable, "publish", lost)
    sinks.write(table.table(), sold(MINE), **settings(mode))
    assert table.rows() == [MINE]


@pytest.mark.parametrize("mode", MODES)
def test_a_lost_request_leaves_the_decision(
    table: Lake, sinks: Sinks, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    def lost(*_: Any, **__: Any) -> None:
        raise Py4JError("it was not sent")

    with monkeypatch.context() as patched:
        patched.setattr(IcebergTable, "publish", lost)
        with pytest.raises(Py4JError):
            sinks.write(table.table(), sold(MINE), **settings(mode))
    assert table.rows() == []
    sinks.write(table.table(), sold(MINE), **settings(mode))
    assert table.rows() == [MINE]


@pytest.mark.parametrize("mode", MODES)
def test_a_driver_that_sleeps_before_its_commit_finds_it_made(
    table: Lake, sinks: Sinks, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    def other_run() -> None:
        sinks.write(table.table(), sold(THEIRS), mode="append", run="r2")

    sleeping(monkeypatch, IcebergTable, "publish", other_run)
    sinks.write(table.table(), sold(MINE), **settings(mode))
    assert table.rows() == [MINE, THEIRS]


@pytest.mark.parametrize("mode", ["overwrite", "merge"])
def test_a_driver_that_wakes_up_after_it_was_given_up_publishes_nothing(
    table: Lake, sinks: Sinks, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """Not even if the change that it was given up for has been taken back."""
    spark, name = table.spark, f"{table.name}.db.sold"
    spark.sql(f"INSERT INTO {name} VALUES (1, 'mon', 1)")
    snapshot = IcebergTable.load(spark, name).snapshot

    def meanwhile() -> None:
        spark.sql(f"INSERT INTO {name} VALUES (2, 'mon', 2)")
        opened = sinks.open(table.table(), mode="append", run="r2")  # it settles what was decided
        opened.discard()
        table_now = IcebergTable.load(spark, name)
        table_now.java.manageSnapshots().setCurrentSnapshot(snapshot).commit()

    sleeping(monkeypatch, IcebergTable, "publish", meanwhile)
    with pytest.raises(PublicationConflictError):
        sinks.write(table.table(), sold(MINE), **settings(mode))
    assert table.rows() == [(1, "mon", 1)]
    assert table.refs() == []


def test_a_branch_that_a_person_removes_is_a_conflict(
    table: Lake, sinks: Sinks, monkeypatch: pytest.MonkeyPatch
) -> None:
    def remove() -> None:
        (branch,) = table.refs()
        IcebergTable.load(table.spark, f"{table.name}.db.sold").remove(branch)

    sleeping(monkeypatch, iceberg_sink, "_commit", remove)
    with pytest.raises(PublicationConflictError, match="removed by others"):
        sinks.write(table.table(), sold(MINE), mode="append")
    sinks.write(table.table(), sold(MINE), mode="append")
    assert table.rows() == [MINE]


@pytest.mark.parametrize("mode", MODES)
def test_expiry_between_the_branch_and_its_publication_removes_nothing_of_it(
    table: Lake, sinks: Sinks, mode: str
) -> None:
    prepared = sinks.prepare(table.table(), table.spark.sql(sold(MINE)), **settings(mode))
    table.expire()
    prepared.publish()
    assert table.rows() == [MINE]


def test_expiry_that_makes_it_unknown_whether_rows_are_there_is_told_to_a_person(
    table: Lake, sinks: Sinks, monkeypatch: pytest.MonkeyPatch
) -> None:
    die(monkeypatch, Ledger, "finish")
    with dying():
        sinks.write(table.table(), sold(MINE), mode="append")
    for id in (7, 8):
        table.spark.sql(f"INSERT INTO {table.name}.db.sold VALUES ({id}, 'tue', 1)")
    table.expire()
    with pytest.raises(PublicationPendingError, match="1 row"):
        sinks.write(table.table(), sold(MINE), mode="append")
    assert table.rows() == [MINE, (7, "tue", 1), (8, "tue", 1)]


def test_a_published_run_stays_known_when_the_table_has_forgotten_it(table: Lake, sinks: Sinks) -> None:
    sinks.write(table.table(), sold(MINE), mode="append")
    table.spark.sql(f"INSERT INTO {table.name}.db.sold VALUES (8, 'tue', 1)")
    table.expire()
    sinks.write(table.table(), sold(MINE), mode="append")
    assert table.rows() == [MINE, (8, "tue", 1)]


def test_a_table_that_was_created_again_is_another_one(table: Lake, sinks: Sinks) -> None:
    prepared = sinks.prepare(table.table(), table.spark.sql(sold(MINE)), mode="append")
    table.spark.sql(f"DROP TABLE {table.name}.db.sold PURGE")
    table.create(COLUMNS, partitioned_by="day")
    with pytest.raises(PublicationConflictError, match="created again"):
        prepared.publish()
    sinks.write(table.table(), sold(MINE), mode="append")
    assert table.rows() == [MINE]


def test_a_compaction_between_the_branch_and_its_publication_doubles_nothing(table: Lake, sinks: Sinks) -> None:
    name = f"{table.name}.db.sold"
    for id in (1, 2):
        table.spark.sql(f"INSERT INTO {name} VALUES ({id}, 'mon', 1)")
    prepared = sinks.prepare(table.table(), table.spark.sql(sold(MINE)), mode="append")
    files = table.spark._jvm.org.apache.iceberg.spark.actions.SparkActions.get()  # type: ignore[union-attr]
    files.rewriteDataFiles(IcebergTable.load(table.spark, name).java).option("min-input-files", "2").execute()
    prepared.publish()
    assert table.rows() == [(1, "mon", 1), (2, "mon", 1), MINE]


def test_a_discarded_attempt_leaves_no_branch(table: Lake, sinks: Sinks) -> None:
    opened = sinks.open(table.table(), mode="append")
    opened.prepare(opened.check(table.spark.sql(sold(MINE))))
    assert len(table.refs()) == 1
    opened.discard()
    assert table.refs() == []


def test_the_record_of_a_publication_names_its_snapshot(table: Lake, sinks: Sinks) -> None:
    opened = sinks.open(table.table(), mode="append")
    opened.prepare(opened.check(table.spark.sql(sold(MINE)))).publish()
    snapshot = IcebergTable.load(table.spark, f"{table.name}.db.sold").snapshot
    ledger: Ledger = opened.ledger  # type: ignore[attr-defined]
    (record,) = ledger.of_this_run(opened.publication.target, None, 1)  # type: ignore[attr-defined]
    assert isinstance(record, SnapshotPublication)
    assert (record.snapshot, record.rows) == (snapshot, 1)


def test_an_unknown_mistake_is_not_taken_for_a_conflict(
    table: Lake, sinks: Sinks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(iceberg_sink, "refused_by_iceberg", lambda _: False)
    prepared = sinks.prepare(table.table(), table.spark.sql(sold(MINE)), mode="overwrite")
    table.spark.sql(f"INSERT INTO {table.name}.db.sold VALUES (8, 'tue', 1)")
    with pytest.raises(Exception, match="Cannot fast-forward") as raised:
        prepared.publish()
    assert not isinstance(raised.value, PublicationError)


def test_a_password_of_a_catalog_is_on_no_page_of_spark(
    table: Lake, run_pipeline: Callable[..., list[Any]], catalog_server: Postgres
) -> None:
    env = StreamExecutionEnvironment("lake")
    env.from_source(table.table(), "sold").sink_to(table.table("kept", create_if_missing=True, schema=COLUMNS)).name(
        "k"
    )
    (report,) = run_pipeline(env.pipeline())
    assert report.failure is None
    assert catalog_server.password not in str(report)
    store = table.spark._jsparkSession.sharedState().statusStore()
    executions = store.executionsList()
    pages = [str(executions.apply(number).modifiedConfigs()) for number in range(executions.size())]
    assert any(f"{table.name}.jdbc.password" in page for page in pages)
    assert not any(catalog_server.password in page for page in pages)
