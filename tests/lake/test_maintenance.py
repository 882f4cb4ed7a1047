"""Maintenance of tables beside their runs: what they read, have staged or will read next stays, and the rest goes."""

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Delta, Iceberg, Parquet, StreamExecutionEnvironment
from graph_compiler.declaration.connectors import Connector
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.report import Outcome
from graph_compiler.deployment.documents.staging_layout import OUTCOME, REPORT
from graph_compiler.deployment.documents.table_maintenance import (
    KnownRun,
    MaintainedTable,
    MaintenanceRequest,
    MaintenanceSettings,
    StepResult,
)
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.spark_runtime.connectors.lake.iceberg_sink import IcebergSink
from graph_compiler.spark_runtime.spark_internals.iceberg_tables import IcebergTable
from graph_compiler.spark_runtime.spark_internals.java import scala_object
from graph_compiler.spark_runtime.table_maintenance import Maintenance
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments
from graph_compiler.staging.gc.collection import Policy, collect
from graph_compiler.staging.gc.survey import survey
from graph_compiler.staging.gc.table_needs import CLOCKS_DIFFER
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.store.local_store import LocalStore
from tests.harness.executed_tasks import tasks_of_jobs
from tests.harness.position_runs import Runs
from tests.lake.conftest import Lake

pytestmark = pytest.mark.lake
HOUR, DAY = 3600.0, 86400.0
COLUMNS = "id INT, day STRING"


@pytest.fixture
def sold(lake_in_postgres: Lake) -> Lake:
    lake_in_postgres.create(COLUMNS)
    return lake_in_postgres


def insert(lake: Lake, *ids: int) -> None:
    """Commit a row each, as other programs do."""
    for id in ids:
        lake.spark.sql(f"INSERT INTO {lake.name}.db.sold VALUES ({id}, 'mon')")


def maintained(
    spark: SparkSession,
    root: Path,
    table: Connector,
    *,
    after: float = HOUR,
    known_runs: tuple[KnownRun, ...] = (),
    **settings: Any,
) -> MaintainedTable:
    """Maintain a table some time after now, so that what was just written is older than clocks differ."""
    request = MaintenanceRequest(
        tasks=(),
        tables=(table,),
        root=str(root),
        settings=MaintenanceSettings(**{"older_than": 0.0, "compacts": False, "expires": False, **settings}),
        known_runs=known_runs,
    )
    done = Maintenance(request=request, spark=spark, store=LocalStore(), now=lambda: time.time() + after).run()
    (found,) = done.tables
    assert not found.is_failed, found
    return found


def step(table: MaintainedTable, name: str) -> StepResult:
    return next(each for each in table.steps if each.step == name)


def figures(table: MaintainedTable, name: str) -> Mapping[str, int]:
    assert step(table, name).left_out is None
    return dict(step(table, name).figures)


def snapshots(lake: Lake) -> list[int]:
    rows = lake.spark.sql(f"SELECT snapshot_id FROM {lake.name}.db.sold.snapshots ORDER BY committed_at").collect()
    return [row[0] for row in rows]


def data_files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*.parquet") if file.parent.name != "_delta_log")


def reader_of(lake: Lake, folder: Path) -> Runs:
    """Return a pipeline that reads the table, and writes files."""
    env = StreamExecutionEnvironment("reads")
    env.from_source(lake.table(), "sold").sink_to(Parquet(f"{folder}/copy"), mode="overwrite").name("copy").uid("copy")
    return Runs(env, folder, lake.spark)


def writer_of(lake: Lake, folder: Path, mode: Any = "append") -> Runs:
    """Return a pipeline that writes a row to the table."""
    env = StreamExecutionEnvironment("writes")
    Path(f"{folder}/in").mkdir(exist_ok=True)
    lake.spark.sql("SELECT 7 AS id, 'tue' AS day").write.mode("overwrite").parquet(f"{folder}/in")
    rows = env.from_source(Parquet(f"{folder}/in", schema=COLUMNS), "rows")
    rows.sink_to(lake.table(), mode=mode).name("sold").uid("sold")
    return Runs(env, folder, lake.spark)


def at_work_again(task: TaskDeploymentDescriptor) -> None:
    """Take away how an attempt has ended: it is in progress."""
    folder = Path(AttemptDocuments.of(task).folder)
    for name in (OUTCOME, REPORT):
        (folder / name).unlink()


def ends(task: TaskDeploymentDescriptor) -> None:
    AttemptDocuments.of(task).put_outcome(Outcome(state=ExecutionState.FAILED, ended=time.time(), reason="killed"))


def killed_at(monkeypatch: pytest.MonkeyPatch, runs: Runs, owner: Any, name: str) -> str:
    """Let the driver of run r1 die at a function, and return its branch."""

    def dies(*_: object, **__: object) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, dies)
        patch.setattr(IcebergSink, "discard", dies)
        assert "killed" in runs.run("r1")[0]
    place = collect(survey(LocalStore(), runs.root), Policy(now=time.time() + 2 * HOUR, airflow={})).tables
    if place:
        assert place[0].branch is not None
        return place[0].branch
    return ""


def test_small_files_are_written_together_and_rows_are_equal(sold: Lake, tmp_path: Path) -> None:
    insert(sold, *range(6))
    before = sold.rows()
    done = maintained(sold.spark, tmp_path / "staging", sold.table(), compacts=True)
    found = figures(done, "compaction")
    assert (found["files before"], found["files after"]) == (6, 1)
    assert found["bytes written again"] > 0
    assert sold.rows() == before


def test_old_snapshots_expire_and_their_files_are_removed(sold: Lake, tmp_path: Path) -> None:
    insert(sold, *range(6))
    before, bytes_before = sold.rows(), sum(file.stat().st_size for file in data_files(tmp_path / "warehouse"))
    done = maintained(sold.spark, tmp_path / "staging", sold.table(), compacts=True, expires=True)
    found = figures(done, "expiry")
    assert (found["snapshots removed"], found["snapshots left"], found["data files removed"]) == (6, 1, 6)
    assert found["bytes removed"] == bytes_before
    assert len(data_files(tmp_path / "warehouse")) == 1
    assert sold.rows() == before
    assert step(done, "expiry").kept is not None, "what runs that begin now read"


def test_what_is_younger_than_asked_and_the_last_snapshots_stay(sold: Lake, tmp_path: Path) -> None:
    insert(sold, *range(4))
    root = tmp_path / "staging"
    young = maintained(sold.spark, root, sold.table(), expires=True, older_than=2 * HOUR)
    assert figures(young, "expiry")["snapshots removed"] == 0
    assert step(young, "expiry").kept is None
    last = maintained(sold.spark, root, sold.table(), expires=True, retain_last=3)
    assert figures(last, "expiry")["snapshots left"] == 3


def test_expiry_keeps_what_an_attempt_in_progress_reads(sold: Lake, tmp_path: Path) -> None:
    insert(sold, 1, 2)
    runs = reader_of(sold, tmp_path)
    assert runs.run("r1") == []
    read = snapshots(sold)[-1]
    (task,) = runs.last
    at_work_again(task)
    began = time.time() + CLOCKS_DIFFER
    os.utime(AttemptDocuments.of(task).descriptor, (began, began))
    insert(sold, 3, 4)
    done = maintained(sold.spark, tmp_path / "staging", sold.table(), expires=True)
    assert snapshots(sold)[0] == read
    assert figures(done, "expiry")["snapshots removed"] == 1
    assert "of run 'r1' of 'reads' is in progress" in str(step(done, "expiry").kept)
    rows = sold.spark.read.option("versionAsOf", str(read)).table(f"{sold.name}.db.sold")
    assert sorted(row.id for row in rows.collect()) == [1, 2]
    ends(task)
    maintained(sold.spark, tmp_path / "staging", sold.table(), expires=True)
    assert len(snapshots(sold)) == 1


def test_expiry_keeps_what_a_source_with_a_position_reads_next(sold: Lake, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment("shop")
    rows = env.from_source(sold.table(), "sold", only_new=True).uid("sold")
    rows.sink_to(Parquet(f"{tmp_path}/out"), mode="append").name("out").uid("out")
    runs = Runs(env, tmp_path, sold.spark)
    insert(sold, 1, 2)
    assert runs.run("r1") == []
    insert(sold, 3, 4, 5)
    done = maintained(sold.spark, tmp_path / "staging", sold.table(), compacts=True, expires=True, after=8 * DAY)
    assert "the position of source 'sold' of 'shop'" in str(step(done, "expiry").kept)
    assert figures(done, "expiry")["snapshots removed"] == 1
    assert runs.run("r2") == []
    assert sorted(row.id for row in sold.spark.read.parquet(f"{tmp_path}/out").collect()) == [1, 2, 3, 4, 5]
    maintained(sold.spark, tmp_path / "staging", sold.table(), expires=True, after=8 * DAY)
    assert len(snapshots(sold)) == 1, "it has read all of them"


def test_branches_of_dead_executions_are_removed_and_those_of_live_ones_are_not(
    sold: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert(sold, *range(6))
    runs, root = writer_of(sold, tmp_path), tmp_path / "staging"
    branch = killed_at(monkeypatch, runs, Ledger, "decide_behind_others")
    assert sold.refs() == [branch]
    (task,) = runs.last
    at_work_again(task)
    live = maintained(sold.spark, root, sold.table(), compacts=True, expires=True)
    assert figures(live, "branches") == {"removed": 0}
    assert sold.refs() == [branch]
    assert "of run 'r1' of 'writes' is in progress, and may write it" in str(step(live, "compaction").left_out)
    assert len(data_files(tmp_path / "warehouse")) == 7
    ends(task)
    soon = maintained(sold.spark, root, sold.table(), after=HOUR / 2)
    assert figures(soon, "branches") == {"removed": 0}, "its driver may still be there"
    dead = maintained(sold.spark, root, sold.table(), after=2 * HOUR)
    assert figures(dead, "branches") == {"removed": 1}
    assert sold.refs() == []
    assert collect(survey(LocalStore(), str(root)), Policy(now=time.time() + 2 * HOUR, airflow={})).tables == ()
    assert runs.run("r1") == []
    assert (7, "tue") in sold.rows()


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_what_was_decided_is_kept_until_the_next_run_publishes_it(
    sold: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    insert(sold, *range(6))
    runs, root = writer_of(sold, tmp_path, mode), tmp_path / "staging"
    killed_at(monkeypatch, runs, IcebergTable, "publish")
    (branch,) = sold.refs()
    done = maintained(sold.spark, root, sold.table(), compacts=True, expires=True, after=2 * DAY)
    assert sold.refs() == [branch]
    why = "what run 'r1' of 'writes' has decided to publish is not carried out"
    assert step(done, "compaction").left_out == why
    assert why in str(step(done, "expiry").kept)
    late = maintained(sold.spark, root, sold.table(), expires=True, after=30 * DAY)
    assert str(step(late, "expiry").left_out) == f"{why} for so long that Iceberg would remove its branch"
    assert writer_of(sold, tmp_path).run("r2") == []
    assert [row for row in sold.rows() if row[1] == "tue"] == [(7, "tue"), (7, "tue")]
    assert sold.refs() == []


def test_only_old_files_that_no_snapshot_has_are_orphans(sold: Lake, tmp_path: Path) -> None:
    insert(sold, 1)
    (file,) = data_files(tmp_path / "warehouse")
    old, young = (file.with_name(f"{name}.parquet") for name in ("old", "young"))
    for stray in (old, young):
        stray.write_bytes(b"rows")
    four_days_ago = time.time() - 4 * DAY
    for each in (old, file):
        os.utime(each, (four_days_ago, four_days_ago))
    before = sold.rows()
    done = maintained(sold.spark, tmp_path / "staging", sold.table(), removes_orphans=True, after=0)
    assert figures(done, "orphans") == {"files removed": 1}
    assert data_files(tmp_path / "warehouse") == sorted([file, young])
    assert sold.rows() == before


def test_an_attempt_that_writes_for_longer_than_orphans_are_old_keeps_its_files(sold: Lake, tmp_path: Path) -> None:
    insert(sold, 1)
    runs = reader_of(sold, tmp_path)
    assert runs.run("r1") == []
    at_work_again(runs.last[0])
    began = time.time() - 5 * DAY
    os.utime(AttemptDocuments.of(runs.last[0]).descriptor, (began, began))
    stray = data_files(tmp_path / "warehouse")[0].with_name("new.parquet")
    stray.write_bytes(b"rows")
    os.utime(stray, (began + DAY, began + DAY))
    running = (KnownRun(identity=runs.identity("r1"), state="running"),)
    done = maintained(sold.spark, tmp_path / "staging", sold.table(), removes_orphans=True, known_runs=running)
    assert figures(done, "orphans") == {"files removed": 0}
    assert stray.exists()


def test_the_owner_of_a_table_may_forbid_to_remove_anything(sold: Lake, tmp_path: Path) -> None:
    insert(sold, 1, 2)
    table = f"{sold.name}.db.sold"
    IcebergTable.load(sold.spark, table).java.manageSnapshots().setMaxSnapshotAgeMs("main", 1).commit()
    own_age = maintained(sold.spark, tmp_path / "staging", sold.table(), expires=True, older_than=DAY)
    assert "max-snapshot-age-ms of its branch main is 1" in str(step(own_age, "expiry").left_out)
    sold.spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('gc.enabled' = 'false')")
    done = maintained(sold.spark, tmp_path / "staging", sold.table(), expires=True, removes_orphans=True)
    for name in ("expiry", "orphans"):
        assert step(done, name).left_out == "gc.enabled of the table is false"
    assert len(snapshots(sold)) == 2


def test_a_document_that_cannot_be_read_leaves_everything_there(sold: Lake, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment("shop")
    rows = env.from_source(sold.table(), "sold", only_new=True).uid("sold")
    rows.sink_to(Parquet(f"{tmp_path}/out"), mode="append").name("out").uid("out")
    runs = Runs(env, tmp_path, sold.spark)
    insert(sold, *range(6))
    assert runs.run("r1") == []
    Path(runs.log("sold").layout.entry(0)).write_text("{")
    done = maintained(sold.spark, tmp_path / "staging", sold.table(), compacts=True, expires=True, removes_orphans=True)
    for name in ("compaction", "expiry", "orphans"):
        assert "0.json" in str(step(done, name).left_out)
    assert len(snapshots(sold)) == 6


def test_a_table_that_is_not_there_yet_is_left_out(lake_in_postgres: Lake, tmp_path: Path) -> None:
    spark, root = lake_in_postgres.spark, tmp_path / "staging"
    for table in (lake_in_postgres.table("none"), Delta(f"{tmp_path}/none")):
        assert maintained(spark, root, table, compacts=True, expires=True).left_out == "the table does not exist"


def test_a_table_that_cannot_be_reached_fails_and_the_next_one_is_maintained(sold: Lake, tmp_path: Path) -> None:
    insert(sold, *range(6))
    request = MaintenanceRequest(
        tasks=(),
        tables=(Iceberg("nowhere.db.sold"), sold.table()),
        root=str(tmp_path / "staging"),
        settings=MaintenanceSettings(older_than=DAY),
    )
    first, second = Maintenance(request=request, spark=sold.spark, store=LocalStore(), now=time.time).run().tables
    assert "Spark has no catalog 'nowhere'" in str(first.failed)
    assert first.is_failed
    assert not second.is_failed
    assert figures(second, "compaction")["files after"] == 1


@pytest.fixture
def delta(spark: SparkSession, tmp_path: Path) -> Delta:
    """Return a table of six files."""
    table = Delta(f"{tmp_path}/orders")
    spark.sql(f"CREATE TABLE delta.`{table.path}` (id INT) USING delta")
    for id in range(6):
        spark.sql(f"INSERT INTO delta.`{table.path}` VALUES ({id})")
    return table


def removed_twenty_days_ago(spark: SparkSession, table: Delta) -> None:
    """Let all files be twenty days old, also those that the last commit has removed."""
    then = time.time() - 20 * DAY
    log = sorted(Path(table.path, "_delta_log").glob("*.json"))[-1]
    text = log.read_text()
    assert '"deletionTimestamp"' in text
    log.write_text("\n".join(_removed_at(line, int(then * 1000)) for line in text.splitlines()))
    for checksum in log.parent.glob("*.crc"):  # also hidden ones
        checksum.unlink()
    for file in data_files(Path(table.path)):
        os.utime(file, (then, then))
    scala_object(spark, "org.apache.spark.sql.delta.DeltaLog").clearCache()


def _removed_at(line: str, milliseconds: int) -> str:
    action = json.loads(line)
    if "remove" in action:
        action["remove"]["deletionTimestamp"] = milliseconds
    return json.dumps(action)


def ids(spark: SparkSession, table: Delta) -> list[int]:
    return sorted(row.id for row in spark.read.format("delta").load(table.path).collect())


def test_a_delta_table_is_optimized_and_its_old_files_are_removed(
    spark: SparkSession, delta: Delta, tmp_path: Path
) -> None:
    root = tmp_path / "staging"
    with tasks_of_jobs(spark) as tasks:
        done = maintained(spark, root, delta, compacts=True, expires=True, older_than=7 * DAY, after=0)
    assert max(tasks) <= 64, "Delta would list the files by 10,000 tasks"
    found = figures(done, "compaction")
    assert (found["files before"], found["files after"]) == (6, 1)
    assert figures(done, "expiry") == {"files removed": 0, "bytes removed": 0}
    assert len(data_files(Path(delta.path))) == 7
    assert ids(spark, delta) == list(range(6))


def test_files_of_delta_that_were_removed_long_ago_go_but_not_those_that_an_attempt_reads(
    spark: SparkSession, delta: Delta, tmp_path: Path
) -> None:
    root = tmp_path / "staging"
    spark.sql(f"OPTIMIZE delta.`{delta.path}`")
    removed_twenty_days_ago(spark, delta)
    env = StreamExecutionEnvironment("reads")
    env.from_source(delta, "orders").sink_to(Parquet(f"{tmp_path}/copy")).name("copy").uid("copy")
    runs = Runs(env, tmp_path, spark)
    assert runs.run("r1") == []
    (task,) = runs.last
    at_work_again(task)
    began = time.time() - 15 * DAY
    os.utime(AttemptDocuments.of(task).descriptor, (began, began))
    running = (KnownRun(identity=runs.identity("r1"), state="running"),)
    kept = maintained(spark, root, delta, expires=True, older_than=7 * DAY, after=0, known_runs=running)
    assert "of run 'r1' of 'reads' is in progress" in str(step(kept, "expiry").left_out)
    ends(task)
    longer = maintained(spark, root, delta, expires=True, older_than=8 * DAY, after=0)
    words = "(--older-than), and delta.deletedFileRetentionDuration of the table is 7 d"
    assert str(step(longer, "expiry").left_out).endswith(words)
    name, duration = f"delta.`{delta.path}`", "delta.deletedFileRetentionDuration"
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('{duration}' = 'interval 30 days')")
    owned = maintained(spark, root, delta, expires=True, older_than=8 * DAY, after=0)
    assert figures(owned, "expiry") == {"files removed": 0, "bytes removed": 0}
    assert len(data_files(Path(delta.path))) == 7
    spark.sql(f"ALTER TABLE {name} UNSET TBLPROPERTIES ('{duration}')")
    found = figures(maintained(spark, root, delta, expires=True, older_than=7 * DAY, after=0), "expiry")
    assert found["files removed"] == 6
    assert found["bytes removed"] > 0
    assert len(data_files(Path(delta.path))) == 1
    assert ids(spark, delta) == list(range(6))
