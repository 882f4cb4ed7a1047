"""What Delta Lake itself does, with no code of ours: facts on which the publication of tables stands (decision 86).

A test that fails with a new version of Delta says which of our decisions has to be looked at again.
"""

import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from graph_compiler.spark_runtime.spark_internals.java import java_class
from tests.lake.conftest import sold

pytestmark = pytest.mark.lake
MON, TUE, WED = (1, "mon", 10), (2, "tue", 20), (3, "wed", 30)
_SETTING = "spark.databricks.delta.write."


class Table:
    """A table with one row, and a session of its own."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self.spark, self.path = spark, path
        self.sql_name = f"delta.`{path}`"
        spark.sql(f"CREATE TABLE {self.sql_name} (id INT, day STRING, amount INT) USING delta PARTITIONED BY (day)")
        self.insert(MON)

    def insert(self, row: tuple[int, str, int]) -> None:
        self.spark.sql(f"INSERT INTO {self.sql_name} {sold(row)}")

    def write(
        self, row: tuple[int, str, int], id: str, *, version: int = 0, mode: str = "append", partitions: str = "static"
    ) -> None:
        writer = self.spark.sql(sold(row)).write.format("delta").mode(mode)
        writer = writer.option("partitionOverwriteMode", partitions)
        writer.option("txnAppId", id).option("txnVersion", str(version)).save(self.path)

    def merge(self, row: tuple[int, str, int]) -> None:
        self.spark.sql(
            f"MERGE INTO {self.sql_name} t USING ({sold(row)}) n ON t.id = n.id "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )

    def name_commits(self, id: str) -> None:
        self.spark.conf.set(f"{_SETTING}txnAppId", id)
        self.spark.conf.set(f"{_SETTING}txnVersion", "0")

    def rows(self) -> list[tuple[Any, ...]]:
        return sorted(tuple(row) for row in self.spark.read.format("delta").load(self.path).collect())

    def version(self) -> int:
        return max(int(file.stem) for file in Path(self.path, "_delta_log").glob("*.json"))


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Table:
    return Table(spark.newSession(), str(tmp_path / "sold"))


@pytest.mark.parametrize(
    ("mode", "partitions"),
    [("append", "static"), ("overwrite", "static"), ("overwrite", "dynamic")],
    ids=("append", "overwrite", "overwrite-partitions"),
)
def test_a_write_under_an_id_that_the_log_has_is_left_out(table: Table, mode: str, partitions: str) -> None:
    """Without an error, and without a commit: so an id belongs to one decision, whose rows never change."""
    table.write(TUE, "e1")
    version = table.version()
    table.write(WED, "e1", mode=mode, partitions=partitions)
    assert (table.rows(), table.version()) == ([MON, TUE], version)
    table.write(WED, "e2", mode=mode, partitions=partitions)
    assert WED in table.rows()


def test_an_id_with_a_lower_version_is_left_out_too(table: Table) -> None:
    """A version that grows by run would leave out a run that comes late: so each decision has an id of its own."""
    table.write(TUE, "pipeline", version=2)
    table.write(WED, "pipeline", version=1)
    assert table.rows() == [MON, TUE]


def test_a_merge_is_named_by_settings_of_the_session(table: Table) -> None:
    """It has no options; the second one under the same id is left out."""
    table.name_commits("e1")
    table.merge((1, "mon", 11))
    version = table.version()
    table.merge((1, "mon", 12))
    assert (table.rows(), table.version()) == ([(1, "mon", 11)], version)


def test_settings_that_name_a_commit_stay_after_it(table: Table) -> None:
    """They leave out each later statement without a word: so a merge has a session of its own."""
    table.name_commits("e1")
    table.merge((1, "mon", 11))
    assert table.spark.conf.get(f"{_SETTING}txnVersion") == "0"
    table.spark.sql(f"DELETE FROM {table.sql_name}")
    assert table.rows() == [(1, "mon", 11)]
    other = table.spark.newSession()
    other.sql(f"INSERT INTO {table.sql_name} {sold(TUE)}")
    assert table.rows() == [(1, "mon", 11), TUE]


def test_options_of_a_writer_win_over_settings_of_the_session(table: Table) -> None:
    """So a write under our id is ours, whatever the application has set."""
    table.name_commits("theirs")
    table.write(TUE, "ours")
    table.write(WED, "ours")
    assert table.rows() == [MON, TUE]
    table.merge((1, "mon", 11))  # `theirs` is not in the log yet
    assert table.rows() == [(1, "mon", 11), TUE]


def test_a_setting_with_one_half_of_a_name_is_refused(table: Table) -> None:
    """An id without a version names nothing."""
    table.spark.conf.set(f"{_SETTING}txnAppId", "e1")
    with pytest.raises(Exception, match="txnVersion"):
        table.merge(TUE)


def test_an_id_is_forgotten_when_the_owner_has_set_how_long_ids_are_kept(table: Table) -> None:
    """Then the same commit is made again: docs/lake.md says how long the owner must keep them."""
    table.write(TUE, "e1")
    table.spark.sql(
        f"ALTER TABLE {table.sql_name} SET TBLPROPERTIES (delta.setTransactionRetentionDuration = 'interval 1 second')"
    )
    time.sleep(2)
    table.insert(WED)
    java_class(table.spark, "org.apache.spark.sql.delta.DeltaLog").clearCache()
    table.write((2, "tue", 21), "e1")
    assert table.rows() == [MON, TUE, (2, "tue", 21), WED]


def test_the_parser_of_its_extension_leaves_out_parameters(table: Table) -> None:
    """So we write literals in their place: we need not, once this test fails."""
    with pytest.raises(Exception, match="UNBOUND_SQL_PARAMETER"):
        table.spark.sql("SELECT :least AS least", args={"least": 1}).collect()
