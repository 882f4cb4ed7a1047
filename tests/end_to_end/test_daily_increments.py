"""The recipes of docs/increments.md under Airflow, with one spark-submit for each run.

Without a scheduler, a run that is run again is deleted and created with the same id: the staging root knows it as the
same run, as if it was cleared.
"""

import json
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from tests.end_to_end.conftest import Home
from tests.harness.increments_page import (
    ARRIVALS,
    DAYS,
    ORDERS_TABLE,
    Orders,
    Recipes,
    Row,
    Totals,
    put_parquet,
    totals,
)
from tests.harness.postgres import JAR, PASSWORD, Postgres, running_postgres

pytestmark = [pytest.mark.e2e, pytest.mark.ci]

MERGE, VERSIONS, FOLDERS = "Merge by key", "Merge by version, and totals", "A folder for each day"
DAG_FILE = '''"""An airflow dag of a recipe."""
from datetime import datetime

{code}
from graph_compiler.airflow_backend import build_dag

dag = build_dag(env, {arguments})
'''
RUN = """
import runpy, sys
from airflow.sdk import timezone
day = timezone.parse(sys.argv[2])
run = runpy.run_path(sys.argv[1])["dag"].test(logical_date=day, run_after=day)
sys.exit(run.state != "success")
"""
"""What `airflow dags test DAG DAY` does; that would name the run after the time at which it is called."""
BY_HAND = "schedule=None"
IN_MARCH = "start_date=datetime(2024, 3, 4), end_date=datetime(2024, 3, 9)"
FOLDERS_OF_DAYS = {
    day: tuple({name: value for name, value in row.items() if name != "channel"} for row in rows)
    for day, rows in ARRIVALS.items()
    if day != "wed"  # nothing arrives
}


@pytest.fixture
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        server.sql(ORDERS_TABLE)
        yield server


@dataclass
class Shop:
    """A folder with Dags of recipes, their data, and what has arrived."""

    home: Home
    folder: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    orders: Orders = field(default_factory=Orders)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def deploy(self, dag: str, code: str, arguments: str = BY_HAND) -> None:
        (self.folder / "dags").mkdir(exist_ok=True)
        (self.folder / "dags" / f"{dag}.py").write_text(DAG_FILE.format(code=code, arguments=arguments))

    def arrive(self, day: str) -> None:
        self.orders.arrive(self.data / f"in/orders/{day}.parquet", *ARRIVALS[day])

    def put(self, day: str, *rows: Row) -> None:
        put_parquet(self.data / f"in/days/{DAYS[day]}/orders.parquet", rows)

    def run(self, dag: str, day: str) -> subprocess.CompletedProcess[str]:
        """Run a Dag for a day, or run it again."""
        environment = self.home.environment(AIRFLOW__CORE__DAGS_FOLDER=str(self.folder / "dags"), **self.settings)
        file = str(self.folder / "dags" / f"{dag}.py")
        return self.home.command("-c", RUN, file, DAYS[day], environment=environment)

    def succeeds(self, dag: str, day: str) -> str:
        """Run it, and return its log."""
        done = self.run(dag, day)
        assert done.returncode == 0, (done.stdout + done.stderr)[-8000:]
        return done.stdout + done.stderr

    def fails(self, dag: str, day: str) -> str:
        done = self.run(dag, day)
        assert done.returncode != 0, (done.stdout + done.stderr)[-8000:]
        return done.stdout + done.stderr

    def runs(self, dag: str) -> int:
        """Return how many runs of a Dag the staging root knows."""
        return len(list((self.home.staging / dag).iterdir()))

    def rows(self, target: str) -> list[Row]:
        rows: list[Any] = parquet.read_table(self.data / target).to_pylist()
        zone = {"updated_at"} & set(rows[0] if rows else ())
        return [{**row, **{name: row[name].replace(tzinfo=None) for name in zone}} for row in rows]

    def by_id(self, target: str) -> dict[object, Row]:
        rows = self.rows(target)
        assert len({row["id"] for row in rows}) == len(rows)
        return {row["id"]: row for row in rows}

    def totals(self, target: str) -> Totals:
        rows: list[Any] = self.rows(target)
        assert len({row["day"] for row in rows}) == len(rows)
        return {row["day"]: (row["orders"], row["total"]) for row in rows}

    def has_days(self, folders: Mapping[str, tuple[Row, ...]]) -> bool:
        """Whether the partitions of arrivals are those of the folders of days, whose names pyarrow reads as text."""
        wanted = [{**row, "arrived": DAYS[day]} for day, rows in folders.items() for row in rows]
        return sorted(self.rows("arrivals"), key=str) == sorted(wanted, key=str)


def with_warehouse(postgres: Postgres) -> dict[str, str]:
    warehouse = {"conn_type": "postgres", "login": postgres.user, "password": postgres.password}
    return {
        "AIRFLOW__GRAPH_COMPILER__SPARK_CONF": json.dumps({"spark.jars": str(JAR), "spark.ui.enabled": "false"}),
        f"AIRFLOW_CONN_{PASSWORD.conn_id.upper()}": json.dumps(warehouse),
    }


def amounts(orders: Mapping[object, Row]) -> list[tuple[str, ...]]:
    return sorted((str(id), str(row["amount"])) for id, row in orders.items())


@pytest.mark.usefixtures("migrated_home")
def test_orders_are_merged_into_files_and_into_a_database(postgres: Postgres, home: Home, tmp_path: Path) -> None:
    shop = Shop(home, tmp_path, with_warehouse(postgres))
    shop.deploy("orders", Recipes(shop.data, postgres).code(MERGE))

    def are(wanted: Mapping[object, Row]) -> bool:
        in_database = postgres.sql("SELECT id, amount FROM orders ORDER BY id")
        return shop.by_id("orders") == wanted and in_database == amounts(wanted)

    for day in ("mon", "tue", "wed"):
        shop.arrive(day)
        assert "merges older ones" not in shop.succeeds("orders", day)
        assert are(shop.orders.merged())
    assert "and those after it, too, in their order" in shop.succeeds("orders", "tue")
    assert are(shop.orders.merged() | {row["id"]: row for row in ARRIVALS["tue"]})
    shop.succeeds("orders", "wed")
    assert are(shop.orders.merged())
    assert shop.runs("orders") == 3


@pytest.mark.usefixtures("migrated_home")
@pytest.mark.long  # six applications; tests/spark/positions/test_increments.py holds the same without Airflow
def test_versions_are_merged_and_a_column_is_added(home: Home, tmp_path: Path) -> None:
    shop = Shop(home, tmp_path)
    recipes = Recipes(shop.data)
    shop.deploy("sales", recipes.code(VERSIONS))
    shop.arrive("mon")
    shop.succeeds("sales", "mon")
    for day in ("tue", "wed"):
        shop.arrive(day)
    shop.succeeds("sales", "tue")  # two days at once
    assert shop.by_id("sales") == shop.orders.newest()
    assert shop.totals("totals") == totals(shop.orders.newest().values())
    shop.arrive("thu")
    assert "column 'channel' was added" in shop.fails("sales", "wed")
    shop.deploy("sales", recipes.with_channel(recipes.code(VERSIONS)))
    shop.arrive("fri")
    shop.succeeds("sales", "thu")
    newest = {id: {**row, "channel": row.get("channel")} for id, row in shop.orders.newest().items()}
    assert shop.by_id("sales") == newest
    assert shop.totals("totals") == totals(newest.values())
    assert "has other columns than the pipeline reads now" in shop.fails("sales", "tue")
    assert shop.by_id("sales") == newest


@pytest.mark.usefixtures("migrated_home")
@pytest.mark.long  # seven applications; tests/spark/positions/test_increments.py holds the same without Airflow
def test_a_folder_for_each_day_is_run_in_any_order_and_again(home: Home, tmp_path: Path) -> None:
    shop = Shop(home, tmp_path)
    recipes = Recipes(shop.data)
    shop.deploy("arrivals", recipes.code(FOLDERS), IN_MARCH)
    shop.deploy("sales_of_arrivals", recipes.code(FOLDERS, 1), "")
    for day, rows in FOLDERS_OF_DAYS.items():
        shop.put(day, *rows)
    for day in ("fri", "mon", "wed", "thu", "tue"):
        shop.succeeds("arrivals", day)
    assert shop.has_days(FOLDERS_OF_DAYS)
    shop.put("tue")  # all of it was wrong
    shop.succeeds("arrivals", "tue")
    corrected = {**FOLDERS_OF_DAYS, "tue": ()}
    assert shop.has_days(corrected)
    shop.succeeds("sales_of_arrivals", "fri")
    newest = Orders([row for day in DAYS for row in corrected.get(day, ())]).newest()
    assert shop.totals("totals_of_arrivals") == totals(newest.values())
