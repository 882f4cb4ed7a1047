"""What pyiceberg and deltalake say of tables that Spark has written, and what `validate --live` makes of it."""

import json
import os
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Delta, Iceberg
from graph_compiler.declaration.connectors import Connector
from graph_compiler.lake_metadata.table_process import PATIENCE, answer_of, ask_tables
from graph_compiler.lake_metadata.table_state import NoTable, NotLookedAt, TableAnswer, TableState, TableWanted
from graph_compiler.spark_runtime.columns.declared_schema import ddl
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.secret_values import reveal_all
from graph_compiler.spark_runtime.spark_internals.delta_tables import DeltaTable
from graph_compiler.spark_runtime.spark_internals.iceberg_tables import IcebergTable
from tests.harness.postgres import PASSWORD, Postgres
from tests.lake.conftest import Lake

pytestmark = pytest.mark.lake
TYPES = (
    "id BIGINT NOT NULL, Flag BOOLEAN, small INT, real FLOAT, exact DECIMAL(9,2), day DATE, at TIMESTAMP, "
    "local TIMESTAMP_NTZ, text STRING, bytes BINARY, `my col` STRING, pos STRUCT<lat: DOUBLE NOT NULL, Lon: DOUBLE>, "
    "tags ARRAY<BIGINT>, prices MAP<STRING, STRUCT<net: DECIMAL(12,2)>>"
)
DELTA_TYPES = f"{TYPES}, tiny TINYINT, short SMALLINT"


def ask(connector: Connector, **properties: str) -> TableAnswer:
    """Ask a table, with the properties of its catalog but for these."""
    revealed = reveal_all(dict(getattr(connector, "catalog", ()))) | properties
    values = [value for key, value in revealed.items() if "password" in key]
    return answer_of(TableWanted(connector=connector, properties=tuple(revealed.items())), values)


def state_of(connector: Connector) -> TableState:
    answer = ask(connector)
    assert isinstance(answer, TableState), answer
    return answer


def made(spark: SparkSession, folder: Path, columns: str = "id BIGINT, day STRING", more: str = "") -> Delta:
    """Create a table of Delta, as somebody else does."""
    spark.sql(f"CREATE TABLE delta.`{folder}` ({columns}) USING delta {more}")
    return Delta(str(folder))


def test_a_table_in_postgres_is_what_spark_says_of_it(lake_in_postgres: Lake) -> None:
    lake, spark = lake_in_postgres, lake_in_postgres.spark
    by = "day, bucket(16, id), days(at), truncate(4, text), years(local)"
    table = lake.create(TYPES, partitioned_by=by)
    found = state_of(table)
    theirs = IcebergTable.load(spark, table.sql_name)
    assert found.columns == ddl(spark.table(table.name).schema) == TYPES
    assert found.read == ddl(read_source(table, spark).schema)
    assert (found.id, found.commit, found.partitions) == (theirs.uuid, None, theirs.partitions())
    spark.sql(f"INSERT INTO {table.name} (id) VALUES (1)")
    assert state_of(table).commit == IcebergTable.load(spark, table.sql_name).snapshot


def test_a_source_reads_the_columns_of_its_snapshot_and_a_sink_writes_those_of_the_table(
    lake_in_postgres: Lake,
) -> None:
    lake, spark = lake_in_postgres, lake_in_postgres.spark
    table = lake.create("id BIGINT")
    spark.sql(f"INSERT INTO {table.name} VALUES (1)")
    first = state_of(table).commit
    IcebergTable.load(spark, table.sql_name).java.manageSnapshots().createTag("first", first).commit()
    spark.sql(f"ALTER TABLE {table.name} ADD COLUMN day STRING")
    found = state_of(table)
    assert (found.read, found.columns) == ("id BIGINT", "id BIGINT, day STRING")
    assert ddl(read_source(table, spark).schema) == found.read
    spark.sql(f"INSERT INTO {table.name} VALUES (2, 'mon')")
    for version, columns in ((None, found.columns), ("first", "id BIGINT"), (first, "id BIGINT")):
        source = replace(table, version=version)
        assert state_of(source).read == columns == ddl(read_source(source, spark).schema)
    for version in ("second", 17):
        lacking = state_of(replace(table, version=version))
        assert (lacking.missing_version, lacking.read, lacking.versions) == (str(version), None, ("first", "main"))
    for moment in ("2020-01-01", "2999-01-01"):
        assert state_of(replace(table, timestamp=moment)).missing_version == moment
    assert state_of(replace(table, since="nothing")).missing_version == "nothing"


def test_partitions_that_were_dropped_are_none(lake: Lake) -> None:
    lake.use()
    name = f"{lake.name}.db.sold"
    version = "TBLPROPERTIES ('format-version' = '1')"
    lake.spark.sql(f"CREATE TABLE {name} (id BIGINT, day STRING) USING iceberg PARTITIONED BY (day) {version}")
    lake.loaded().java.updateSpec().removeField("day").commit()
    assert state_of(lake.table()).partitions == ()
    lake.loaded().java.updateSpec().addField("id").commit()
    assert state_of(lake.table()).partitions == lake.loaded().partitions() == ("id",)


def test_a_table_that_is_dropped_and_created_again_is_another_one(lake_in_postgres: Lake) -> None:
    lake = lake_in_postgres
    table = lake.create("id BIGINT")
    first = state_of(table).id
    lake.spark.sql(f"DROP TABLE {table.name}")
    assert ask(table) == NoTable()
    lake.create("id BIGINT")
    assert state_of(table).id != first
    assert ask(lake.table("other")) == NoTable()
    assert ask(Iceberg(f"{lake.name}.nowhere.sold", catalog=lake.catalog)) == NoTable()


def test_a_catalog_on_a_disk_is_read_from_its_newest_file(lake: Lake) -> None:
    table = lake.create(TYPES, partitioned_by="day")
    lake.spark.sql(f"INSERT INTO {table.name} (id) VALUES (1)")
    lake.spark.sql(f"ALTER TABLE {table.name} SET TBLPROPERTIES ('format-version'='2')")
    theirs = IcebergTable.load(lake.spark, table.sql_name)
    found = state_of(table)
    assert (found.id, found.commit, found.columns) == (theirs.uuid, theirs.snapshot, TYPES)
    assert ask(lake.table("other")) == NoTable()


def test_a_missing_metadata_file_is_a_reason_and_no_answer(lake_in_postgres: Lake) -> None:
    table = lake_in_postgres.create("id BIGINT")
    folder = Path(dict(lake_in_postgres.catalog)["warehouse"])  # type: ignore[arg-type]
    for file in folder.rglob("*.metadata.json"):
        file.unlink()
    answer = ask(table)
    assert isinstance(answer, NotLookedAt)
    assert answer.why.startswith("FileNotFoundError: ")


def test_a_user_without_rights_and_a_wrong_password_are_reasons_without_secrets(
    lake_in_postgres: Lake, catalog_server: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = lake_in_postgres.create("id BIGINT")
    catalog_server.sql("DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN PASSWORD 'a/guest p@ss'")
    guest = {"jdbc.user": "guest"}
    monkeypatch.setenv(PASSWORD.variable, "a/guest p@ss")
    answer = ask(table, **guest)
    assert isinstance(answer, NotLookedAt)
    assert "permission denied for table iceberg_tables" in answer.why
    monkeypatch.setenv(PASSWORD.variable, "wrong/guest p@ss")
    answer = ask(table, **guest)
    assert isinstance(answer, NotLookedAt)
    assert 'password authentication failed for user "guest"' in answer.why
    for word in ("p@ss", "p%40ss"):
        assert word not in answer.why
    before = catalog_server.sql("SELECT count(*) FROM information_schema.tables WHERE table_name LIKE 'iceberg%'")
    monkeypatch.setenv(PASSWORD.variable, catalog_server.password)
    answer = ask(table, uri=catalog_server.url.replace("/postgres", "/english"))
    assert isinstance(answer, NotLookedAt)
    assert 'relation "iceberg_tables" does not exist' in answer.why
    english = replace(catalog_server, database="english")
    created = english.sql("SELECT count(*) FROM information_schema.tables WHERE table_name LIKE 'iceberg%'")
    assert (created, before) == ([("0",)], [("2",)])


def test_a_table_of_delta_is_what_spark_says_of_it(spark: SparkSession, tmp_path: Path) -> None:
    newer = "TBLPROPERTIES (delta.columnMapping.mode = 'name', delta.enableDeletionVectors = true)"
    table = made(spark, tmp_path / "all", DELTA_TYPES, f"PARTITIONED BY (day) {newer}")
    theirs = DeltaTable.load(spark, table.path)
    found = state_of(table)
    assert found.columns == DELTA_TYPES == ddl(theirs.schema)
    assert found.read == ddl(read_source(table, spark).schema)
    assert (found.id, found.commit, found.partitions) == (theirs.id, 0, ("day",))
    assert ask(Delta(str(tmp_path / "nothing"))) == NoTable()
    (tmp_path / "empty" / "_delta_log").mkdir(parents=True)
    assert ask(Delta(str(tmp_path / "empty"))) == NoTable()


def test_a_folder_without_rights_is_no_missing_table(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The superuser that may run this has all rights, so the system's answer is replaced."""
    table = made(spark, tmp_path / "t")

    def refuse(folder: Path) -> list[str]:
        raise PermissionError(13, "Permission denied", str(folder))

    with monkeypatch.context() as patched:
        patched.setattr(os, "listdir", refuse)
        answer = ask(table)
    assert isinstance(answer, NotLookedAt)
    assert answer.why.startswith("PermissionError: [Errno 13] Permission denied: ")


def test_versions_of_delta(spark: SparkSession, tmp_path: Path) -> None:
    table = made(spark, tmp_path / "t", "id BIGINT")
    spark.sql(f"ALTER TABLE delta.`{table.path}` ADD COLUMN day STRING")
    spark.sql(f"INSERT INTO delta.`{table.path}` VALUES (1, 'mon')")
    assert state_of(table).commit == 2
    for version, columns in ((0, "id BIGINT"), (1, "id BIGINT, day STRING"), (2, "id BIGINT, day STRING")):
        source = Delta(table.path, version=version)
        assert state_of(source).read == columns == ddl(read_source(source, spark).schema)
    for source in (Delta(table.path, version=3), Delta(table.path, since=3)):
        assert state_of(source).missing_version == "3"
    assert state_of(Delta(table.path, version=3)).versions == ("0", "2")
    damaged = tmp_path / "t" / "_delta_log" / f"{2:020}.json"
    damaged.write_text("{")
    damaged.with_name(f".{damaged.name}.crc").unlink(missing_ok=True)
    answer = ask(table)
    assert isinstance(answer, NotLookedAt)


def test_columns_that_delta_computes_and_its_change_feed_are_seen(spark: SparkSession, tmp_path: Path) -> None:
    feed = "TBLPROPERTIES (delta.enableChangeDataFeed = true)"
    columns = "id BIGINT GENERATED ALWAYS AS IDENTITY, at TIMESTAMP, day DATE GENERATED ALWAYS AS (CAST(at AS DATE))"
    computing = state_of(made(spark, tmp_path / "computing", columns))
    assert (computing.computed, computing.records_changes) == (("id", "day"), False)
    plain = state_of(made(spark, tmp_path / "plain", more=feed))
    assert (plain.computed, plain.records_changes) == ((), True)
    capitals = "TBLPROPERTIES (delta.enableChangeDataFeed = 'TRUE')"
    assert state_of(made(spark, tmp_path / "capitals", more=capitals)).records_changes


def test_a_catalog_behind_rest_is_asked(lake_in_rest: Lake) -> None:
    table = lake_in_rest.create("id BIGINT, day STRING", partitioned_by="day")
    found = state_of(table)
    assert (found.columns, found.partitions) == ("id BIGINT, day STRING", ("day",))
    assert found.id == IcebergTable.load(lake_in_rest.spark, table.sql_name).uuid
    assert ask(lake_in_rest.table("other")) == NoTable()
    assert ask(Iceberg(f"{lake_in_rest.name}.nowhere.sold", catalog=lake_in_rest.catalog)) == NoTable()


PIPELINE = """
from graph_compiler import Delta, Iceberg, Secret, StreamExecutionEnvironment

env = StreamExecutionEnvironment("shop")
lake = {lake}
orders = env.from_source(Iceberg("{name}.db.orders", catalog=lake, schema="id BIGINT, day STRING"), "orders")
orders.sink_to(Iceberg("{name}.db.sold", catalog=lake, partitioned_by="day"), mode="append").name("sold")
orders.sink_to(Iceberg("{name}.db.absent", catalog=lake), mode="append").name("absent")
orders.sink_to(Delta("{delta}"), mode="overwrite-partitions").name("delta")
"""


def validate(project: Path, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "graph_compiler", "validate", *arguments]
    environment = {**os.environ, **variables}  # its PYTHONPATH has the Spark of these tests
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)


def test_validate_finds_all_problems_with_tables_at_once(
    lake_in_postgres: Lake, catalog_server: Postgres, tmp_path: Path
) -> None:
    """The password comes from Airflow's connection, in a process of its own, and is in no output."""
    lake = lake_in_postgres
    lake.create("id BIGINT, day STRING, amount INT", "orders")
    lake.create("id INT, day STRING", "sold", partitioned_by="id")
    delta = made(lake.spark, tmp_path / "delta", "id BIGINT, day STRING")
    (tmp_path / "pipelines").mkdir()
    text = PIPELINE.format(lake=repr(dict(lake.catalog)), name=lake.name, delta=delta.path)
    (tmp_path / "pipelines" / "shop.py").write_text(text)
    connection = json.dumps({"conn_type": "generic", "password": catalog_server.password})
    variables = {"AIRFLOW_CONN_WAREHOUSE": connection, PASSWORD.variable: ""}
    done = validate(tmp_path, "--live", **variables)
    assert done.returncode == 2, done.stderr
    for words in (
        f"orders: column 'amount' was added: found INT; expected no such column (Iceberg table {lake.name}.db.orders, ",
        "hint: on_schema_change='evolve' accepts this change",
        f"sold: Iceberg table {lake.name}.db.sold is partitioned by id, and partitioned_by is day",
        f"sold: column 'id' was widened: found BIGINT; expected INT (its rows, compared with Iceberg table {lake.name}",
        f"absent: its target Iceberg table {lake.name}.db.absent does not exist",
        f"delta: {delta.path} has no partitions, so 'overwrite-partitions' would replace all of it",
        f"declared at {tmp_path}/pipelines/shop.py:",
        "1 pipeline checked, 5 problems in 1 of them",
        "tables of Iceberg and Delta: 4 of 4 sources and sinks looked at",
    ):
        assert words in done.stderr
    assert catalog_server.password not in done.stdout + done.stderr
    document = json.loads(validate(tmp_path, "--live", "--json", **variables).stdout)
    (found,) = document["pipelines"]
    assert catalog_server.password not in json.dumps(document)
    assert [each["operator"] for each in found["tables"]] == ["orders", "sold", "absent", "delta"]
    assert found["tables"][0]["id"] == IcebergTable.load(lake.spark, f"{lake.name}.db.orders").uuid
    assert (found["tables"][3]["commit"], found["tables"][2]["id"]) == (0, None)
    assert validate(tmp_path, **variables).returncode == 0


def test_what_could_not_be_asked_is_said_and_is_no_problem(lake_in_postgres: Lake, tmp_path: Path) -> None:
    lake = lake_in_postgres
    lake.create("id BIGINT", "orders")
    (tmp_path / "pipelines").mkdir()
    text = PIPELINE.format(lake=repr(dict(lake.catalog)), name=lake.name, delta="/nowhere/{{ ds }}")
    (tmp_path / "pipelines" / "shop.py").write_text(text)
    done = validate(tmp_path, "--live", **{PASSWORD.variable: ""})
    assert done.returncode == 0, done.stderr
    assert "tables of Iceberg and Delta: 0 of 4 sources and sinks looked at" in done.stdout
    assert "tables not looked at: orders of shop" in done.stdout
    assert ": there is no Airflow connection 'warehouse' (Secret(warehouse.password))" in done.stdout
    assert "its path has a template, which a run fills in" in done.stdout


def test_a_catalog_that_does_not_answer_ends_the_wait(tmp_path: Path) -> None:
    """A server that takes the connection and says nothing; the other table's answer is there all the same."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        waiting = TableWanted(connector=Iceberg("lake.db.sold"), properties=(("type", "rest"), ("uri", url)))
        there = TableWanted(connector=Delta(str(tmp_path / "nothing")))
        begun = time.monotonic()
        answers = ask_tables([waiting, there], [], os.environ)
        assert answers == [NotLookedAt(f"it did not answer within {PATIENCE} s"), NoTable()]
        assert time.monotonic() - begun < PATIENCE + 20
