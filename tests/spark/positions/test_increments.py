"""The recipes of docs/increments.md, day by day, against a model; each driver runs in this process."""

import re
import shutil
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from graph_compiler import StreamExecutionEnvironment
from graph_compiler.deployment.documents.staging_layout import PositionLayout
from graph_compiler.staging.positions.position_log import PositionLog
from graph_compiler.staging.store.local_store import LocalStore
from tests.harness.increments_page import (
    ADD_CHANNEL,
    ARRIVALS,
    DAYS,
    ORDERS_TABLE,
    PAGE,
    TOTALS_VIEW,
    Orders,
    Recipes,
    Row,
    Totals,
    put_csv,
    put_parquet,
    totals,
)
from tests.harness.postgres import PASSWORD, Postgres
from tests.harness.runs_of_a_day import RunsOfADay

pytestmark = [pytest.mark.spark, pytest.mark.ci]
MERGE, VERSIONS, FOLDERS = "Merge by key", "Merge by version, and totals", "A folder for each day"
HISTORY, MARK = "A slowly changing dimension", "A high-water mark"


@pytest.fixture
def postgres(server: Postgres, monkeypatch: pytest.MonkeyPatch) -> Postgres:
    """Return the server with the tables of the page."""
    monkeypatch.setenv(PASSWORD.variable, server.password)
    payments = "CREATE TABLE payments (id INT PRIMARY KEY, amount INT, updated_at TIMESTAMP)"
    server.sql(f"DROP SCHEMA public CASCADE; CREATE SCHEMA public; {ORDERS_TABLE}; {payments}; {TOTALS_VIEW}")
    return server


class Days:
    """Runs of recipes in one folder, `run("mon")` is that of Monday, or that run cleared."""

    def __init__(self, spark: SparkSession, folder: Path, recipes: Recipes) -> None:
        self.spark, self.data = spark, recipes.data
        self.runs = RunsOfADay(spark=spark, folder=folder)
        self.orders = Orders()

    def arrive(self, day: str) -> None:
        self.orders.arrive(self.data / f"in/orders/{day}.parquet", *ARRIVALS[day])

    def run(self, env: StreamExecutionEnvironment, day: str) -> list[str]:
        pipeline = env.pipeline()
        failures = self.runs.run(pipeline, f"{pipeline.name} {day}", f"{DAYS[day]}T00:00:00+00:00")
        return [failure.message for failure in failures]

    def rows(self, target: str) -> list[Row]:
        return [row.asDict() for row in self.spark.read.parquet(f"{self.data}/{target}").collect()]

    def by_id(self, target: str) -> dict[object, Row]:
        rows = self.rows(target)
        assert len({row["id"] for row in rows}) == len(rows)
        return {row["id"]: row for row in rows}

    def totals(self, target: str) -> Totals:
        rows: list[Any] = self.rows(target)
        assert len({row["day"] for row in rows}) == len(rows)
        return {row["day"]: (row["orders"], row["total"]) for row in rows}

    def reset(self, pipeline: str, uid: str) -> None:
        """Reset a position, as `graph-compiler positions reset PIPELINE UID`."""
        layout = PositionLayout(root=f"{self.runs.folder}/staging", owner=pipeline, uid=uid)
        PositionLog(store=LocalStore(), layout=layout).reset(to=-1)


def declared(code: str, **names: Any) -> Any:
    """Return the names that a recipe declares."""
    exec(compile(code, str(PAGE), "exec"), names)
    return names


def with_channel(rows: dict[object, Row]) -> dict[object, Row]:
    return {id: {**row, "channel": row.get("channel")} for id, row in rows.items()}


def in_database(postgres: Postgres, columns: str = "id, day, amount, updated_at") -> list[tuple[str, ...]]:
    return postgres.sql(f"SELECT {columns} FROM orders ORDER BY id")


def as_text(rows: dict[object, Row]) -> list[tuple[str, ...]]:
    """Return rows as psql shows them."""
    return [tuple("" if value is None else str(value) for value in rows[id].values()) for id in sorted(rows, key=str)]


def test_orders_are_merged_in_the_order_in_which_they_arrive(
    postgres: Postgres, spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipes = Recipes(tmp_path / "data", postgres)
    days = Days(spark, tmp_path, recipes)
    env = declared(recipes.code(MERGE))["env"]
    for day in ("mon", "tue", "wed"):
        days.arrive(day)
        for _ in range(2):  # the last run is cleared: nothing changes
            assert days.run(env, day) == []
            assert days.by_id("orders") == days.orders.merged()
            assert in_database(postgres) == as_text(days.orders.merged())
    in_view = postgres.sql("SELECT day, orders, total FROM totals ORDER BY day")
    wanted = totals(days.orders.merged().values())
    assert in_view == [(str(day), str(number), str(total)) for day, (number, total) in sorted(wanted.items())]

    assert "merges older ones" not in capsys.readouterr().err
    assert days.run(env, "tue") == []
    assert "Clear run 'orders wed' and those after it, too, in their order" in capsys.readouterr().err
    older = days.orders.merged() | {row["id"]: row for row in ARRIVALS["tue"]}
    assert days.by_id("orders") == older != days.orders.merged()
    assert in_database(postgres) == as_text(older)
    assert days.run(env, "wed") == []
    assert days.by_id("orders") == days.orders.merged()
    assert in_database(postgres) == as_text(days.orders.merged())


def test_a_column_that_is_added_stops_the_run_until_it_is_declared_and_no_row_is_lost(
    postgres: Postgres, spark: SparkSession, tmp_path: Path
) -> None:
    recipes = Recipes(tmp_path / "data", postgres)
    days = Days(spark, tmp_path, recipes)
    codes = [recipes.code(MERGE), recipes.code(VERSIONS)]
    envs = [declared(code)["env"] for code in codes]
    days.arrive("mon")
    assert [days.run(env, "mon") for env in envs] == [[], []]
    days.arrive("thu")
    for env in envs:
        (message,) = days.run(env, "thu")
        assert "channel" in message
    assert days.by_id("orders") == days.by_id("sales") == {row["id"]: row for row in ARRIVALS["mon"]}

    postgres.sql(ADD_CHANNEL)
    envs = [declared(recipes.with_channel(code))["env"] for code in codes]
    days.arrive("fri")  # files with and without the column
    assert [days.run(env, "fri") for env in envs] == [[], []]
    assert days.by_id("orders") == with_channel(days.orders.merged())
    assert days.by_id("sales") == with_channel(days.orders.newest())
    assert in_database(postgres, "*") == as_text(with_channel(days.orders.merged()))
    days.orders.arrive(days.data / "in/orders/late.parquet", *ARRIVALS["wed"])  # no file of this run has it
    runs = [days.runs.run(env.pipeline(), "late", "2024-03-09T00:00:00+00:00") for env in envs]
    assert runs == [[], []]
    assert days.by_id("orders") == with_channel(days.orders.merged())
    assert days.by_id("sales") == with_channel(days.orders.newest())


def test_totals_of_merged_rows_are_right_and_merged_totals_are_not(spark: SparkSession, tmp_path: Path) -> None:
    recipes = Recipes(tmp_path / "data")
    days = Days(spark, tmp_path, recipes)
    names = declared(recipes.code(VERSIONS))
    declared(recipes.code(VERSIONS, 1), **names)  # the pipeline has the wrong totals, too
    env = names["env"]
    monday = date.fromisoformat(DAYS["mon"])
    for day in ("mon", "tue", "wed"):
        days.arrive(day)
        for _ in range(2):
            assert days.run(env, day) == []
            newest = days.orders.newest()
            assert days.by_id("sales") == newest
            assert days.totals("totals") == totals(newest.values())
    late = [row for row in ARRIVALS["wed"] if row["day"] == monday]
    assert days.totals("wrong")[monday] == totals(late)[monday] != days.totals("totals")[monday]

    before = days.by_id("sales"), days.totals("totals")
    (message,) = days.run(env, "tue")  # cleared after Wednesday
    assert "publishing again would remove those rows" in message
    assert (days.by_id("sales"), days.totals("totals")) == before

    shutil.rmtree(days.data / "sales")
    days.reset("sales", "new")
    assert days.run(env, "mon") != []  # what it read is new again
    assert days.run(env, "thu") == []
    assert (days.by_id("sales"), days.totals("totals")) == before


def test_a_folder_for_each_day_may_be_run_in_any_order_and_again(spark: SparkSession, tmp_path: Path) -> None:
    recipes = Recipes(tmp_path / "data")
    days = Days(spark, tmp_path, recipes)
    arrivals = declared(recipes.code(FOLDERS))["env"]
    reader = declared(recipes.code(FOLDERS, 1))["env"]
    folders: dict[str, tuple[Row, ...]] = {
        day: tuple({name: value for name, value in row.items() if name != "channel"} for row in rows)
        for day, rows in ARRIVALS.items()
        if day != "thu"  # nothing arrives
    }

    def put(day: str) -> None:
        put_parquet(days.data / f"in/days/{DAYS[day]}/orders.parquet", folders[day])

    def are_right() -> bool:
        found = sorted(days.rows("arrivals"), key=str)
        wanted = [{**row, "arrived": date.fromisoformat(DAYS[day])} for day, rows in folders.items() for row in rows]
        newest = Orders([row for day in DAYS for row in folders.get(day, ())]).newest()
        return found == sorted(wanted, key=str) and days.totals("totals_of_arrivals") == totals(newest.values())

    for day in folders:
        put(day)
    for day in ("wed", "mon", "thu", "fri", "tue"):
        assert days.run(arrivals, day) == []
    assert days.run(reader, "fri") == []
    assert are_right()

    folders["tue"] = ()  # all of it was wrong
    shutil.rmtree(days.data / "in/days" / DAYS["tue"])
    assert days.run(arrivals, "tue") == []
    assert days.run(reader, "fri") == []
    assert are_right()


def test_a_history_has_late_changes_in_their_place(spark: SparkSession, tmp_path: Path) -> None:
    recipes = Recipes(tmp_path / "data")
    days = Days(spark, tmp_path, recipes)
    env = declared(recipes.code(HISTORY))["env"]
    changes: dict[str, list[tuple[int, str, str]]] = {
        "mon": [(1, "Bern", "04 09"), (2, "Basel", "04 09")],
        "tue": [(1, "Chur", "05 09"), (1, "Bern", "05 17"), (3, "Thun", "05 09")],
        # Late: between two that are there; again; to the city that the customer has.
        "wed": [(1, "Biel", "04 12"), (2, "Basel", "04 09"), (3, "Thun", "06 09")],
        # An earlier change between two to the same city.
        "thu": [(3, "Bern", "05 12"), (2, "Aarau", "07 09"), (2, "Zug", "07 09")],
    }
    arrived = set[tuple[int, str, datetime]]()
    for day, rows in changes.items():
        typed = [(id, city, datetime.fromisoformat(f"2024-03-{at}:00:00")) for id, city, at in rows]
        put_csv(
            days.data / f"in/customers/{day}.csv",
            [{"id": id, "city": city, "changed_at": time} for id, city, time in typed],
        )
        arrived.update(typed)
        for _ in range(2):
            assert days.run(env, day) == []
            found = {(row["id"], row["city"], row["valid_from"]): row["valid_to"] for row in days.rows("history")}
            assert len(days.rows("history")) == len(found)
            assert found == valid_until(arrived)


def valid_until(changes: set[tuple[int, str, datetime]]) -> dict[tuple[int, str, datetime], datetime | None]:
    """Return until when each change is valid."""
    following: dict[int, datetime] = {}
    found: dict[tuple[int, str, datetime], datetime | None] = {}
    for id, city, time in sorted(changes, key=lambda change: (change[2], change[1]), reverse=True):
        found[id, city, time] = following.get(id)
        following[id] = time
    return found


def test_what_a_high_water_mark_loses(postgres: Postgres, spark: SparkSession, tmp_path: Path) -> None:
    """The table of the page: each payment that a run could not see, and each way to read it."""
    recipes = Recipes(tmp_path / "data", postgres)
    code = recipes.code(MARK)
    with_lag = declared(code)["env"]
    without = declared(
        code.replace(', lag="10 minutes"', "")
        .replace('Environment("payments")', 'Environment("no_lag")')
        .replace('/payments")', '/no_lag")')
    )["env"]
    days = Days(spark, tmp_path, recipes)
    postgres.sql("CREATE TABLE above AS TABLE payments; CREATE TABLE from_mark (LIKE payments INCLUDING ALL)")

    def run(day: str) -> None:
        assert days.run(with_lag, day) == days.run(without, day) == []
        mark = "coalesce((SELECT max(updated_at) FROM {}), '-infinity')"
        postgres.sql(
            f"INSERT INTO above SELECT * FROM payments WHERE updated_at > {mark.format('above')};"
            f"INSERT INTO from_mark SELECT * FROM payments WHERE updated_at >= {mark.format('from_mark')} "
            "ON CONFLICT (id) DO UPDATE SET amount = excluded.amount, updated_at = excluded.updated_at"
        )

    def ids(target: str) -> set[object]:
        return set(days.by_id(target))

    def ids_by_hand(table: str) -> set[object]:
        return {int(id) for (id,) in postgres.sql(f"SELECT id FROM {table}")}

    pay = "INSERT INTO payments VALUES ({}, 1, '2024-03-04 {}');"
    postgres.sql(f"{pay.format(1, '09:00')}{pay.format(2, '10:00')}")
    short = postgres.session(f"BEGIN; {pay.format(10, '09:55')}")
    long = postgres.session(f"BEGIN; {pay.format(11, '08:30')}")
    try:
        run("mon")
        postgres.sql(pay.format(12, "10:00"))  # a tie
        for session in (short, long):
            session.communicate(b"COMMIT;\n", timeout=60)
    finally:
        short.kill()
        long.kill()
    postgres.sql(pay.format(3, "12:00"))
    run("tue")
    postgres.sql(pay.format(4, "14:00"))
    run("wed")
    assert ids_by_hand("above") == {1, 2, 3, 4}
    assert ids_by_hand("from_mark") == {1, 2, 3, 4, 12}
    assert ids("no_lag") == {1, 2, 3, 4}
    assert ids("payments") == {1, 2, 3, 10, 12}  # the newest one waits

    # A cleared run of an earlier day: what has changed since is not between its bounds any more.
    postgres.sql("UPDATE payments SET amount = 9, updated_at = '2024-03-04 15:00' WHERE id = 1")
    postgres.sql(pay.format(5, "16:00"))
    run("thu")
    run("mon")
    assert days.by_id("payments")[1]["amount"] == 9

    days.reset("payments", "changed")
    postgres.sql(pay.format(6, "18:00"))
    run("fri")
    assert ids("payments") == {1, 2, 3, 4, 5, 10, 11, 12}


def test_the_page_names_its_pipelines_and_sources() -> None:
    text = PAGE.read_text()
    for pipeline, uid in re.findall(r"positions reset (\w+) (\w+)`", text):
        assert f'StreamExecutionEnvironment("{pipeline}")' in text
        assert f'uid("{uid}")' in text
