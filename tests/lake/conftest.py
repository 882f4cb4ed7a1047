"""Tables of Iceberg in catalogs on this disk, and in PostgreSQL; Spark is one that Iceberg runs on."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Iceberg, Secret
from graph_compiler.spark_runtime.connectors.lake.delta import SETTINGS
from graph_compiler.spark_runtime.connectors.lake.iceberg_source import connect
from graph_compiler.spark_runtime.rehearsal.local_session import local_session
from graph_compiler.spark_runtime.spark_internals.iceberg_tables import IcebergTable
from tests.harness.hdfs_server import USER
from tests.harness.judged_columns import columns_are_judged_rightly
from tests.harness.postgres import PASSWORD, Postgres, running_postgres
from tests.harness.rest_catalog import running_rest_catalog
from tests.harness.sinks import Sinks
from tests.spark.conftest import _log_is_printed, run_pipeline

__all__ = ["_log_is_printed", "columns_are_judged_rightly", "run_pipeline"]
_CATALOGS = itertools.count()


@dataclass
class Lake:
    """A catalog of a test, which no other test's catalog meets: Spark keeps catalogs by their names."""

    spark: SparkSession
    name: str
    catalog: Mapping[str, str | Secret]

    def table(self, name: str = "sold", **settings: object) -> Iceberg:
        return Iceberg(f"{self.name}.db.{name}", catalog=self.catalog, **settings)  # type: ignore[arg-type]

    def create(self, columns: str, name: str = "sold", partitioned_by: str = "") -> Iceberg:
        """Create a table, as somebody else does."""
        self.use()
        by = f" PARTITIONED BY ({partitioned_by})" if partitioned_by else ""
        self.spark.sql(f"CREATE TABLE {self.name}.db.{name} ({columns}) USING iceberg{by}")
        return self.table(name)

    def use(self) -> None:
        """Set the properties of the catalog, as a pipeline does."""
        connect(self.table(), self.spark)

    def rows(self, name: str = "sold") -> list[tuple[object, ...]]:
        """Return what readers see."""
        return sorted((tuple(row) for row in self.spark.table(f"{self.name}.db.{name}").collect()), key=repr)

    def expire(self, name: str = "sold") -> None:
        """Let a table forget all that is not needed, as its owner does who keeps nothing."""
        self.loaded(name).java.expireSnapshots().expireOlderThan(2**62).retainLast(1).commit()

    def compact(self, name: str = "sold") -> None:
        """Write a table's files again."""
        options = "options => map('rewrite-all', 'true')"
        self.spark.sql(f"CALL {self.name}.system.rewrite_data_files(table => 'db.{name}', {options})")

    def loaded(self, name: str = "sold") -> IcebergTable:
        """Return a table as Iceberg's Java API has it."""
        return IcebergTable.load(self.spark, f"{self.name}.db.{name}")

    def refs(self, name: str = "sold") -> list[str]:
        """Return the branches and tags of a table, without that of readers."""
        found = self.spark.sql(f"SELECT name FROM {self.name}.db.{name}.refs").collect()
        return sorted(row[0] for row in found if row[0] != "main")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Start a session with the extensions that Delta needs; Iceberg needs none."""
    settings = {
        **SETTINGS,
        "spark.databricks.delta.snapshotPartitions": "1",  # 50 tasks for each table otherwise
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HADOOP_USER_NAME", USER)  # the owner of all that tests have in HDFS
        with local_session(settings) as session:
            yield session


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    return Lake(spark, f"lake{next(_CATALOGS)}", {"type": "hadoop", "warehouse": str(tmp_path / "warehouse")})


@pytest.fixture(scope="session")
def catalog_server() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server


@pytest.fixture
def lake_in_postgres(
    spark: SparkSession, tmp_path: Path, catalog_server: Postgres, monkeypatch: pytest.MonkeyPatch
) -> Lake:
    """A catalog whose tables are found by rows of PostgreSQL: only one of two commits changes them."""
    monkeypatch.setenv(PASSWORD.variable, catalog_server.password)
    catalog: dict[str, str | Secret] = {
        "type": "jdbc",
        "uri": catalog_server.url,
        "jdbc.user": catalog_server.user,
        "jdbc.password": PASSWORD,
        "jdbc.schema-version": "V1",
        "warehouse": str(tmp_path / "warehouse"),
    }
    lake = Lake(spark, f"lake{next(_CATALOGS)}", catalog)
    lake.use()
    spark.sql(f"CREATE NAMESPACE {lake.name}.db")
    return lake


@pytest.fixture
def lake_in_rest(spark: SparkSession, tmp_path: Path) -> Iterator[Lake]:
    """A catalog behind Iceberg's test server."""
    with running_rest_catalog(tmp_path / "warehouse") as url:
        lake = Lake(spark, f"lake{next(_CATALOGS)}", {"type": "rest", "uri": url})
        lake.use()
        spark.sql(f"CREATE NAMESPACE {lake.name}.db")
        yield lake


@pytest.fixture
def sinks(spark: SparkSession, tmp_path: Path) -> Sinks:
    """Write sinks without a pipeline, one execution after the other."""
    return Sinks(spark, tmp_path / "staging")


def sold(*rows: tuple[int, str, int]) -> str:
    """Return a query of rows: id, day, amount."""
    values = ", ".join(f"({id}, '{day}', {amount})" for id, day, amount in rows)
    return f"SELECT * FROM VALUES {values} AS t(id, day, amount)"
