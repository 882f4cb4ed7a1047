"""What Iceberg itself does, with no code of ours: facts on which the publication of tables stands (decision 86).

A test that fails with a new version of Iceberg says which of our decisions has to be looked at again.
"""

import itertools
import secrets
from typing import Any

import pytest
from pyspark.sql.functions import lit

from graph_compiler.spark_runtime.spark_internals.iceberg_tables import JAVA_ERRORS
from graph_compiler.spark_runtime.spark_internals.java import java_class
from tests.lake.conftest import Lake, sold

pytestmark = pytest.mark.lake
COLUMNS = "id INT, day STRING, amount INT"
MON, TUE, WED = (1, "mon", 10), (2, "tue", 20), (3, "wed", 30)
DUPLICATE = "DuplicateWAPCommitException"
_WAP, _BRANCHES = "spark.wap.id", itertools.count()


class Table:
    """A table of a JDBC catalog with one row, and what its owner does by Iceberg's procedures and Java API."""

    def __init__(self, lake: Lake) -> None:
        lake.create(COLUMNS, partitioned_by="day")
        self.spark, self.catalog, self.name = lake.spark, lake.name, f"{lake.name}.db.sold"
        self.rows, self.refs = lake.rows, lake.refs
        self.insert(MON)

    @property
    def java(self) -> Any:
        self.spark.catalog.refreshTable(self.name)
        spark_3_util = java_class(self.spark, "org.apache.iceberg.spark.Spark3Util")
        found = spark_3_util.loadIcebergTable(self.spark._jsparkSession, self.name)
        found.refresh()
        return found

    @property
    def current(self) -> int:
        return int(self.java.currentSnapshot().snapshotId())

    def insert(self, row: tuple[int, str, int]) -> None:
        self.spark.sql(f"INSERT INTO {self.name} {sold(row)}")

    def call(self, procedure: str, arguments: str) -> None:
        self.spark.sql(f"CALL {self.catalog}.system.{procedure}(table => 'db.sold', {arguments})")

    def accept_wap(self) -> None:
        self.spark.sql(f"ALTER TABLE {self.name} SET TBLPROPERTIES ('write.wap.enabled' = 'true')")

    def write(self, row: tuple[int, str, int], how: str, to: str = "") -> None:
        writer = self.spark.sql(sold(row)).writeTo(f"{self.name}{to}")
        match how:
            case "append":
                writer.append()
            case "overwrite-partitions":
                writer.overwritePartitions()
            case _:
                writer.overwrite(lit(True))

    def stage(self, id: str, row: tuple[int, str, int], how: str = "append") -> int:
        """Stage a row under an id; return its snapshot."""
        before = self._snapshots()
        self.spark.conf.set(_WAP, id)
        try:
            self.write(row, how)
        finally:
            self.spark.conf.unset(_WAP)
        (staged,) = self._snapshots() - before
        return staged

    def branch(self, row: tuple[int, str, int], how: str = "append") -> str:
        """Write a row to a branch of its own; return the branch."""
        name = f"b{next(_BRANCHES)}"
        self.java.manageSnapshots().createBranch(name, self.current).commit()
        self.write(row, how, to=f".branch_{name}")
        return name

    def snapshot_of(self, ref: str) -> int:
        return int(self.java.snapshot(ref).snapshotId())

    def expire(self) -> None:
        self.java.expireSnapshots().expireOlderThan(2**62).retainLast(1).commit()

    def _snapshots(self) -> set[int]:
        return {int(row[0]) for row in self.spark.sql(f"SELECT snapshot_id FROM {self.name}.snapshots").collect()}


@pytest.fixture
def table(lake_in_postgres: Lake) -> Table:
    return Table(lake_in_postgres)


def test_staging_by_an_id_needs_a_property_of_the_table(table: Table) -> None:
    """Without `write.wap.enabled`, rows with an id are visible at once: so we stage on branches, which need nothing."""
    table.spark.conf.set(_WAP, "r1")
    try:
        table.insert(TUE)
    finally:
        table.spark.conf.unset(_WAP)
    assert table.rows() == [MON, TUE]
    table.accept_wap()
    table.stage("r2", WED)
    assert table.rows() == [MON, TUE]


def test_an_id_is_published_once(table: Table) -> None:
    """`publish_changes` refuses an id that readers see: what a publication by WAP would stand on."""
    table.accept_wap()
    table.stage("r1", TUE)
    table.call("publish_changes", "wap_id => 'r1'")
    assert table.rows() == [MON, TUE]
    with pytest.raises(Exception, match=f"{DUPLICATE}|published already"):
        table.call("publish_changes", "wap_id => 'r1'")
    assert table.rows() == [MON, TUE]


def test_two_snapshots_of_one_id_cannot_be_published_by_it(table: Table) -> None:
    """A second attempt that stages the same id blocks both: why we do not publish by `publish_changes`."""
    table.accept_wap()
    first, second = table.stage("r1", TUE), table.stage("r1", WED)
    with pytest.raises(Exception, match="non-unique WAP ID"):
        table.call("publish_changes", "wap_id => 'r1'")
    table.call("cherrypick_snapshot", f"snapshot_id => {second}")
    with pytest.raises(Exception, match="published already"):
        table.call("cherrypick_snapshot", f"snapshot_id => {first}")
    assert table.rows() == [MON, WED]


def test_expiry_removes_staged_snapshots_and_keeps_branches(table: Table) -> None:
    """A branch is a reference, and a staged snapshot none: why we stage on branches."""
    table.accept_wap()
    staged = table.stage("r1", TUE)
    branch = table.branch(WED)
    kept = table.snapshot_of(branch)
    table.expire()
    assert table.java.snapshot(staged) is None
    assert table.snapshot_of(branch) == kept


def test_expiry_makes_a_published_id_new_again(table: Table) -> None:
    """Iceberg knows ids only by snapshots that it still has: so the ledger has to know what is published."""
    table.accept_wap()
    table.call("cherrypick_snapshot", f"snapshot_id => {table.stage('r1', TUE)}")
    table.insert(WED)
    table.expire()
    again = table.stage("r1", (2, "tue", 200))
    table.call("cherrypick_snapshot", f"snapshot_id => {again}")
    assert table.rows() == [MON, TUE, (2, "tue", 200), WED]


def test_a_cherry_pick_and_the_end_of_its_branch_are_one_commit(table: Table) -> None:
    """Both are in one version of the table's metadata: the branch shows whether a decision was carried out."""
    branch = table.branch(TUE)
    table.insert(WED)  # otherwise it would be a fast-forward
    java = table.java
    snapshot = table.snapshot_of(branch)
    before = java.operations().current()
    java.manageSnapshots().cherrypick(snapshot).removeBranch(branch).commit()
    after = table.java.operations().current()
    previous = [str(each.file()) for each in after.previousFiles()]
    assert previous[-1] == str(before.metadataFileLocation())
    assert (table.rows(), table.refs()) == ([MON, TUE, WED], [])
    assert after.currentSnapshot().summary()["source-snapshot-id"] == str(snapshot)


@pytest.mark.parametrize("picks", [True, False])
def test_of_two_executions_that_publish_one_branch_one_succeeds(table: Table, picks: bool) -> None:
    """The second one was prepared before the first one committed, and its branch is gone: it changes nothing."""
    branch = table.branch(TUE)
    snapshot = table.snapshot_of(branch)
    first, second = table.java, table.java

    def change(java: Any) -> Any:
        made = java.manageSnapshots()
        made = made.cherrypick(snapshot) if picks else made.fastForwardBranch("main", branch)
        return made.removeBranch(branch)

    sleeping = change(first)
    change(second).commit()
    table.insert(WED)
    with pytest.raises(JAVA_ERRORS):
        sleeping.commit()
    assert table.rows() == [MON, TUE, WED]
    with pytest.raises(JAVA_ERRORS):
        change(table.java).commit()
    assert table.rows() == [MON, TUE, WED]


def test_a_snapshot_is_picked_twice_when_the_table_has_forgotten_the_first_time(table: Table) -> None:
    """Iceberg refuses that by the snapshots that it still has: so the end of the branch has to show it, not they."""
    branch = table.branch(TUE)
    snapshot = table.snapshot_of(branch)
    table.insert(WED)
    table.java.manageSnapshots().cherrypick(snapshot).commit()
    with pytest.raises(JAVA_ERRORS, match="already picked"):
        table.java.manageSnapshots().cherrypick(snapshot).commit()
    table.insert((4, "mon", 40))
    table.expire()
    table.java.manageSnapshots().cherrypick(snapshot).commit()
    assert table.rows() == [MON, TUE, TUE, WED, (4, "mon", 40)]


def test_an_overwrite_of_partitions_is_picked_unless_one_of_them_has_changed(table: Table) -> None:
    """Then it is a conflict, and the next attempt computes the rows again."""
    fits, conflicts = table.branch(TUE, "overwrite-partitions"), table.branch((1, "mon", 11), "overwrite-partitions")
    table.insert(WED)
    table.java.manageSnapshots().cherrypick(table.snapshot_of(fits)).commit()
    table.insert((4, "mon", 40))
    with pytest.raises(JAVA_ERRORS, match="changed partition"):
        table.java.manageSnapshots().cherrypick(table.snapshot_of(conflicts)).commit()
    assert table.rows() == [MON, TUE, WED, (4, "mon", 40)]


def test_an_overwrite_of_partitions_is_not_picked_onto_nothing(lake_in_postgres: Lake) -> None:
    """So a new table gets a snapshot without rows before its first branch."""
    lake_in_postgres.create(COLUMNS, partitioned_by="day")
    name = f"{lake_in_postgres.name}.db.sold"
    spark = lake_in_postgres.spark
    util = java_class(spark, "org.apache.iceberg.spark.Spark3Util")
    util.loadIcebergTable(spark._jsparkSession, name).manageSnapshots().createBranch("b").commit()
    spark.sql(sold(MON)).writeTo(f"{name}.branch_b").overwritePartitions()
    spark.catalog.refreshTable(name)
    java = util.loadIcebergTable(spark._jsparkSession, name)
    with pytest.raises(JAVA_ERRORS, match="[Cc]annot cherry-pick"):
        java.manageSnapshots().cherrypick(java.snapshot("b").snapshotId()).commit()
    assert lake_in_postgres.rows() == []


@pytest.mark.parametrize("statement", ["overwrite", "merge"])
def test_what_removes_rows_of_others_is_only_published_as_it_is(table: Table, statement: str) -> None:
    """Onto another table, a cherry-pick is refused, and a fast-forward, too: the next attempt computes it again."""
    branch = table.branch(MON)
    if statement == "overwrite":
        table.write(TUE, "overwrite", to=f".branch_{branch}")
    else:
        table.spark.sql(
            f"MERGE INTO {table.name}.branch_{branch} t USING ({sold((1, 'mon', 11))}) n ON t.id = n.id "
            "WHEN MATCHED THEN UPDATE SET *"
        )
    table.insert(WED)
    with pytest.raises(JAVA_ERRORS, match="Cannot cherry-pick"):
        table.java.manageSnapshots().cherrypick(table.snapshot_of(branch)).commit()
    with pytest.raises(JAVA_ERRORS, match="main is not an ancestor"):
        table.java.manageSnapshots().fastForwardBranch("main", branch).commit()
    assert table.rows() == [MON, WED]


def test_a_fast_forward_that_was_prepared_before_others_committed_is_refused(table: Table) -> None:
    """Iceberg does not apply it again to what is there by then."""
    branch = table.branch(TUE)
    prepared = table.java.manageSnapshots().fastForwardBranch("main", branch)
    table.insert(WED)
    with pytest.raises(JAVA_ERRORS, match="CommitFailedException|refresh is required"):
        prepared.commit()
    assert table.rows() == [MON, WED]


def test_a_fast_forward_publishes_again_what_a_person_has_rolled_back(table: Table) -> None:
    """The table alone does not know that it was published: the ledger has to, and the branch ends with the commit."""
    before, branch = table.current, table.branch(TUE)
    table.java.manageSnapshots().fastForwardBranch("main", branch).commit()
    table.java.manageSnapshots().fastForwardBranch("main", branch).commit()  # nothing happens
    table.call("rollback_to_snapshot", f"snapshot_id => {before}")
    assert table.rows() == [MON]
    table.java.manageSnapshots().fastForwardBranch("main", branch).commit()
    assert table.rows() == [MON, TUE]


def test_a_property_of_a_snapshot_identifies_and_does_not_exclude(table: Table) -> None:
    """Two appends with one property are both committed: so a property is a note for people only."""
    note = secrets.token_hex(4)
    for _ in range(2):
        table.spark.sql(sold(TUE)).writeTo(table.name).option("snapshot-property.note", note).append()
    assert table.rows() == [MON, TUE, TUE]
    notes = table.spark.sql(f"SELECT summary['note'] AS note FROM {table.name}.snapshots").collect()
    assert [row.note for row in notes].count(note) == 2


def test_rows_between_two_snapshots_leave_out_those_of_an_overwrite_without_a_word(table: Table) -> None:
    """So we look at the operation of each snapshot, and refuse what is no append."""
    since = table.current
    table.insert(TUE)
    table.write(WED, "overwrite-partitions")
    until = table.current
    reader = table.spark.read.option("start-snapshot-id", str(since)).option("end-snapshot-id", str(until))
    assert [tuple(row) for row in reader.table(table.name).collect()] == [TUE]
