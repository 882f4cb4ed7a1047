"""Foreign keys that refer to a target: a sink never deletes or changes the rows of other tables."""

from typing import Any

import pytest

from graph_compiler.errors import PublicationError
from tests.harness.postgres import Postgres
from tests.harness.sinks import Sinks
from tests.spark.connectors.test_jdbc import jdbc, tables

pytestmark = [pytest.mark.spark, pytest.mark.ci]
TARGET = "CREATE TABLE sales (id BIGINT PRIMARY KEY); INSERT INTO sales VALUES (0), (1);"
CHILD = "CREATE TABLE lines (sale BIGINT DEFAULT 0 REFERENCES {} {}); INSERT INTO lines VALUES (1);"
PARTS = (
    "CREATE TABLE sales (id BIGINT PRIMARY KEY) PARTITION BY RANGE (id);"
    "CREATE TABLE small PARTITION OF sales FOR VALUES FROM (0) TO (10); INSERT INTO sales VALUES (0), (1);"
)
CASCADE = "ON DELETE CASCADE"


@pytest.fixture
def postgres(postgres: Postgres) -> Postgres:
    postgres.sql("DROP SCHEMA IF EXISTS app CASCADE")
    return postgres


def rows(sinks: Sinks, postgres: Postgres, run: str = "r1", table: str = "sales", **settings: Any) -> None:
    sinks.write(jdbc(postgres, table), "SELECT id FROM range(3)", run=run, **settings)


@pytest.mark.parametrize(
    ("statements", "target", "named"),
    [
        (TARGET + CHILD.format("sales", CASCADE), "sales", "lines"),
        (TARGET + CHILD.format("sales", "ON DELETE SET NULL"), "sales", "lines"),
        (TARGET + CHILD.format("sales", "ON DELETE SET DEFAULT"), "sales", "lines"),
        (
            f"{TARGET} CREATE SCHEMA app; CREATE TABLE app.tags (sale BIGINT REFERENCES sales {CASCADE});"
            f"INSERT INTO app.tags VALUES (1); {CHILD.format('sales', CASCADE)}",
            "sales",
            "app.tags and lines",
        ),
        (PARTS + CHILD.format("sales", CASCADE), "sales", "lines"),
        (PARTS + CHILD.format("sales", CASCADE), "small", "lines"),
        (PARTS + CHILD.format("small", CASCADE), "sales", "lines"),
        (f"{TARGET} CREATE VIEW seen AS SELECT id FROM sales; {CHILD.format('sales', CASCADE)}", "seen", "lines"),
        (
            f"{TARGET} CREATE TABLE lines (sale BIGINT REFERENCES sales {CASCADE}) PARTITION BY RANGE (sale);"
            "CREATE TABLE l PARTITION OF lines FOR VALUES FROM (0) TO (10); INSERT INTO lines VALUES (1)",
            "sales",
            "lines",
        ),
    ],
)
def test_rows_of_other_tables_are_never_deleted_with_those_of_the_target(
    statements: str, target: str, named: str, sinks: Sinks, postgres: Postgres
) -> None:
    postgres.sql(statements)
    before = tables(postgres)
    with pytest.raises(PublicationError, match=f"delete or change rows of {named}: a foreign key") as refused:
        rows(sinks, postgres, table=target, mode="overwrite")
    assert 'hint: mode="merge"' in str(refused.value)
    assert postgres.sql("SELECT sale FROM lines") == [("1",)]
    assert tables(postgres) == before


def test_a_merge_deletes_nothing(sinks: Sinks, postgres: Postgres) -> None:
    postgres.sql(TARGET + CHILD.format("sales", CASCADE))
    rows(sinks, postgres, mode="merge", keys=("id",))
    assert postgres.sql("SELECT sale FROM lines") == [("1",)]
    assert postgres.sql("SELECT count(*) FROM sales") == [("3",)]


def test_a_table_that_was_created_by_its_run_is_not_replaced_either(sinks: Sinks, postgres: Postgres) -> None:
    rows(sinks, postgres, mode="error-if-exists")
    postgres.sql("ALTER TABLE sales ADD PRIMARY KEY (id);" + CHILD.format("sales", CASCADE))
    with pytest.raises(PublicationError, match="delete or change rows of lines"):
        rows(sinks, postgres, mode="error-if-exists")
    assert postgres.sql("SELECT sale FROM lines") == [("1",)]


@pytest.mark.parametrize(
    "statements",
    [
        "CREATE TABLE sales (id BIGINT PRIMARY KEY REFERENCES sales ON DELETE CASCADE); INSERT INTO sales VALUES (1)",
        TARGET + "CREATE TABLE lines (sale BIGINT REFERENCES sales)",
        PARTS,
    ],
)
def test_foreign_keys_that_change_no_other_rows_are_no_obstacle(
    statements: str, sinks: Sinks, postgres: Postgres
) -> None:
    postgres.sql(statements)
    for run in ("r1", "r2"):
        rows(sinks, postgres, run, mode="overwrite")
    assert postgres.sql("SELECT count(*) FROM sales") == [("3",)]


def test_a_foreign_key_that_refuses_a_delete_refuses_the_rows(sinks: Sinks, postgres: Postgres) -> None:
    postgres.sql(TARGET + CHILD.format("sales", ""))
    with pytest.raises(PublicationError, match="does not take the rows: .*foreign key"):
        rows(sinks, postgres, mode="overwrite")
    assert postgres.sql("SELECT sale FROM lines") == [("1",)]
