"""Triggers and rules of a target table: what they keep, drop, refuse, change or write elsewhere is not overlooked."""

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from graph_compiler.errors import PublicationConflictError, PublicationError
from tests.harness.postgres import Postgres
from tests.harness.sinks import Sinks
from tests.spark.connectors.test_jdbc import jdbc, tables

pytestmark = [pytest.mark.spark, pytest.mark.ci]
FUNCTION = "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {} END $$;"
BEFORE = "CREATE TRIGGER t BEFORE {} ON sales FOR EACH ROW EXECUTE FUNCTION f();"
DROPS_ODD = FUNCTION.format("IF NEW.id % 2 = 1 THEN RETURN NULL; END IF; RETURN NEW;")


@pytest.fixture
def postgres(postgres: Postgres) -> Postgres:
    postgres.sql("CREATE TABLE sales (id BIGINT, price INT); INSERT INTO sales VALUES (0, 9), (1, 9)")
    return postgres


def settings(mode: str) -> dict[str, Any]:
    return {"mode": mode, "keys": ("id",) if mode == "merge" else ()}


def sales(spark: SparkSession, first: int, end: int) -> DataFrame:
    return spark.range(first, end).selectExpr("id", "7 AS price")


def ids(postgres: Postgres, table: str = "sales") -> list[int]:
    return sorted(int(row[0]) for row in postgres.sql(f"SELECT id FROM {table}"))


@pytest.mark.parametrize("mode", ["append", "overwrite", "merge"])
def test_rows_that_a_trigger_drops_are_counted(
    mode: str, sinks: Sinks, postgres: Postgres, spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    postgres.sql(DROPS_ODD + BEFORE.format("INSERT OR UPDATE"))
    sinks.write(jdbc(postgres, "sales"), sales(spark, 5, 10), **settings(mode))
    assert ids(postgres) == ([6, 8] if mode == "overwrite" else [0, 1, 6, 8])
    assert "reports 2 of 5 rows: it has a trigger or a rule" in caplog.text


def test_a_merge_that_updates_all_its_rows_reports_no_trigger(
    sinks: Sinks, postgres: Postgres, spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    postgres.sql("INSERT INTO sales VALUES (1, 9)")
    sinks.write(jdbc(postgres, "sales"), sales(spark, 0, 3), **settings("merge"))
    assert ids(postgres) == [0, 1, 1, 2]
    assert postgres.sql("SELECT DISTINCT price FROM sales") == [("7",)]
    postgres.sql("CREATE TABLE names (id BIGINT); INSERT INTO names VALUES (1)")
    sinks.write(jdbc(postgres, "names"), sales(spark, 0, 3).select("id"), **settings("merge"))
    assert "trigger" not in caplog.text


@pytest.mark.parametrize(
    "keeper",
    [
        FUNCTION.format("RETURN NULL;") + BEFORE.format("DELETE"),
        FUNCTION.format("IF OLD.id = 0 THEN RETURN NULL; END IF; RETURN OLD;") + BEFORE.format("DELETE"),
        "CREATE RULE r AS ON DELETE TO sales DO INSTEAD NOTHING",
    ],
)
def test_an_overwrite_never_adds_its_rows_to_old_ones(
    keeper: str, sinks: Sinks, postgres: Postgres, spark: SparkSession
) -> None:
    postgres.sql(keeper)
    with pytest.raises(PublicationConflictError, match="keeps its old rows: DELETE removed"):
        sinks.write(jdbc(postgres, "sales"), sales(spark, 5, 7), mode="overwrite")
    assert ids(postgres) == [0, 1]
    assert tables(postgres) == ["sales"]
    postgres.sql("DROP TABLE sales; CREATE TABLE sales (id BIGINT, price INT)")
    sinks.write(jdbc(postgres, "sales"), sales(spark, 5, 7), run="r2", mode="overwrite")
    assert ids(postgres) == [5, 6], "what was given up blocks nobody"


@pytest.mark.parametrize("mode", ["append", "overwrite", "merge"])
def test_a_row_that_a_trigger_refuses_fails_all_rows(
    mode: str, sinks: Sinks, postgres: Postgres, spark: SparkSession
) -> None:
    raises = "IF NEW.id = 6 THEN RAISE EXCEPTION 'no six'; END IF; RETURN NEW;"
    postgres.sql(FUNCTION.format(raises) + BEFORE.format("INSERT"))
    with pytest.raises(PublicationError, match="no six") as refusal:
        sinks.write(jdbc(postgres, "sales"), sales(spark, 5, 10), **settings(mode))
    assert not isinstance(refusal.value, PublicationConflictError)
    assert ids(postgres) == [0, 1]


@pytest.mark.parametrize("mode", ["append", "overwrite", "merge"])
def test_what_a_trigger_writes_elsewhere_is_written_once(
    mode: str, sinks: Sinks, postgres: Postgres, spark: SparkSession
) -> None:
    logs = "INSERT INTO audit VALUES (NEW.id); RETURN NEW;"
    postgres.sql("CREATE TABLE audit (id BIGINT);" + FUNCTION.format(logs))
    postgres.sql(BEFORE.format("INSERT"))
    table = jdbc(postgres, "sales")
    sinks.write(table, sales(spark, 5, 8), **settings(mode))
    again = {"append": [5, 6, 7], "overwrite": [5, 5, 6, 6, 7, 7], "merge": [5, 6, 7]}
    sinks.write(table, sales(spark, 5, 8), **settings(mode))
    assert ids(postgres, "audit") == again[mode]
    assert ids(postgres) == ([5, 6, 7] if mode == "overwrite" else [0, 1, 5, 6, 7])


def test_a_merge_whose_keys_a_trigger_changes_adds_its_rows_again(
    sinks: Sinks, postgres: Postgres, spark: SparkSession
) -> None:
    postgres.sql(FUNCTION.format("NEW.id := NEW.id + 100; RETURN NEW;") + BEFORE.format("INSERT"))
    table = jdbc(postgres, "sales")
    for run in ("r1", "r2"):
        sinks.write(table, sales(spark, 5, 7), run=run, **settings("merge"))
    assert ids(postgres) == [0, 1, 105, 105, 106, 106]
