"""The pipelines in which faults happen: their tasks, input, and the rows that must be in their targets."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

import duckdb

from graph_compiler import StreamExecutionEnvironment
from tests.faults.plan import Point
from tests.harness.flights_data import copy_january
from tests.harness.reference import assert_same_rows, expected, published, reports

EVERYWHERE = (Point.BEFORE_WORK, Point.SPARK_UP, Point.WHILE_WRITING)
STAGES = (Point.BEFORE_MANIFEST, Point.AFTER_MANIFEST)
PUBLISHES = (Point.BEFORE_INTENT, Point.AFTER_INTENT, Point.MID_PUBLISH)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A pipeline under test.

    `points` are the places that each region's executions come to; `reads` whose staged results each region reads.
    `shared` has the Airflow task of each region that is not in a task of its own, which has the region's name.
    `remembers`: its runs read what others have left, so a case is several of them (`payment_runs.py`).
    `compare` raises AssertionError where targets below a folder do not have exactly the rows they must.
    """

    name: str
    module: str
    points: Mapping[str, tuple[Point, ...]]
    reads: Mapping[str, tuple[str, ...]]
    make_input: Callable[[Path], object]
    fill_targets: Callable[[Path], None]
    compare: Callable[[Path, Path], None]
    shared: Mapping[str, str] = field(default_factory=dict)
    remembers: bool = False

    @property
    def regions(self) -> tuple[str, ...]:
        """Return the regions, each after those that it reads from."""
        return tuple(self.points)

    @property
    def tasks(self) -> tuple[str, ...]:
        """Return the Airflow tasks, each after those that it waits for."""
        return tuple(dict.fromkeys(map(self.task_of, self.regions)))

    def task_of(self, region: str) -> str:
        """Return the Airflow task that runs a region."""
        return self.shared.get(region, region)

    def environment(self) -> StreamExecutionEnvironment:
        """Return what the pipeline's module declares."""
        declared = import_module(self.module).env
        assert isinstance(declared, StreamExecutionEnvironment)
        return declared


def _compare_flights(input: Path, output: Path) -> None:
    for name, query in reports(input).items():
        assert_same_rows(published(output / name), expected(query))


def _orders(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rows = (f"{id},{id * 7919 % 401},{'' if id % 97 == 0 else id * 31 % 1000}\n" for id in range(40_000))
    (folder / "orders.csv").write_text("id,customer,amount\n" + "".join(rows))


_BEFORE = "SELECT -1 AS id, 0 AS customer, NULL::INTEGER AS amount"


def _rejected_before(output: Path) -> None:
    """Put a row of somebody else into the target to which rows are appended."""
    (output / "rejected").mkdir(parents=True)
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({_BEFORE}) TO '{output}/rejected/before.parquet' (FORMAT parquet)")


def _compare_diamond(input: Path, output: Path) -> None:
    columns = "id::INTEGER AS id, customer::INTEGER AS customer, amount::INTEGER AS amount"
    orders = f"(SELECT {columns} FROM '{input}/orders.csv')"
    totals = f"""(SELECT customer, count(*) AS orders, sum(amount)::BIGINT AS total
                  FROM {orders} WHERE amount IS NOT NULL GROUP BY customer)"""
    wanted = {
        "report": f"""SELECT customer, id, amount, orders, total FROM {orders} JOIN {totals} totals USING (customer)
                      WHERE amount >= 900""",
        "rejected": f"SELECT * FROM {orders} WHERE amount IS NULL UNION ALL {_BEFORE}",
    }
    for name, query in wanted.items():
        assert_same_rows(published(output / name), expected(query))


def _rows_before(output: Path) -> None:
    """Fill the targets that keep rows of others with rows that must stay, and some that must be removed."""
    columns = "id::INTEGER AS id, customer::INTEGER AS customer, NULL::INTEGER AS amount"
    before = {
        "appended/before.parquet": f"SELECT {columns}, 0 AS class_ FROM (VALUES (-1, 0)) t(id, customer)",
        "merged/before.parquet": f"SELECT {columns}, 0 AS class_ FROM (VALUES (-1, 0), (7, 0)) t(id, customer)",
        "by_class/class_=0/before.parquet": f"SELECT {columns} FROM (VALUES (-1, 0)) t(id, customer)",
        "by_class/class_=9/before.parquet": f"SELECT {columns} FROM (VALUES (-2, 9)) t(id, customer)",
    }
    with duckdb.connect() as connection:
        for name, query in before.items():
            (output / name).parent.mkdir(parents=True)
            connection.execute(f"COPY ({query}) TO '{output / name}' (FORMAT parquet)")


def _compare_sink_modes(input: Path, output: Path) -> None:
    columns = "id::INTEGER AS id, customer::INTEGER AS customer, amount::INTEGER AS amount"
    orders = f"SELECT {columns}, (customer % 3)::INTEGER AS class_ FROM '{input}/orders.csv'"
    kept = "UNION ALL SELECT {id}, {class_}, NULL, {class_}"
    wanted = {
        "appended": orders + kept.format(id=-1, class_=0),
        "merged": orders + kept.format(id=-1, class_=0),
        "by_class": orders + kept.format(id=-2, class_=9),
        "created": orders,
    }
    for name, query in wanted.items():
        files = f"read_parquet('{output / name}/**/*.parquet', hive_partitioning = true)"
        found = expected(f"SELECT id, customer, amount, class_::INTEGER AS class_ FROM {files}")
        assert_same_rows(found, expected(query))


def _compare_three_reports(input: Path, output: Path) -> None:
    columns = "id::INTEGER AS id, customer::INTEGER AS customer, amount::INTEGER AS amount"
    orders = f"(SELECT {columns}, (customer % 3)::INTEGER AS class_ FROM '{input}/orders.csv')"
    most = f"(SELECT customer, max(amount) AS most FROM {orders} GROUP BY customer)"
    known = f"FROM {orders} JOIN {most} totals USING (customer)"
    wanted = {
        "by_class": f"SELECT class_, count(*) AS orders, sum(amount)::BIGINT AS total {known} GROUP BY class_",
        "by_amount": f"""SELECT amount, count(*) AS orders, count(DISTINCT customer) AS customers {known}
                         GROUP BY amount""",
        "largest": f"SELECT most, count_if(amount = most)::BIGINT AS orders, min(id) AS first {known} GROUP BY most",
    }
    for name, query in wanted.items():
        assert_same_rows(published(output / name), expected(query))


DAYS = "days/of_runs.json"
"""Beside the targets of a workload that many runs write: their days."""


def _compare_shared_target(_: Path, output: Path) -> None:
    days = ", ".join(f"('{day}')" for day in json.loads((output / DAYS).read_text()))
    wanted = f"SELECT id, day FROM range(100) ids(id), (VALUES {days}) days(day)"
    assert_same_rows(published(output / "appended"), expected(wanted))


def _others_rows(output: Path) -> None:
    """Fill the targets of payments with rows of others: some stay, and those in the partition of a run must go."""
    before = {
        "log": "SELECT -1::INTEGER AS id, 9::INTEGER AS account, 5::INTEGER AS amount",
        "totals": "SELECT 9::INTEGER AS account, 5::BIGINT AS total",
        **{
            f"by_day/day={day}/account=9": "SELECT -1::INTEGER AS id, 5::INTEGER AS amount"
            for day in ("2012-12-31", *payment_days())
        },
    }
    with duckdb.connect() as connection:
        for name, query in before.items():
            (output / name).mkdir(parents=True)
            connection.execute(f"COPY ({query}) TO '{output / name}/before.parquet' (FORMAT parquet)")


def payment_days() -> tuple[str, ...]:
    """Return the days of payments, in order; on the third there are only refunds, which no partition has."""
    return tuple(f"2013-01-{day:02}" for day in range(2, 8))


def add_payments(input: Path, day: str) -> Path:
    """Put the payments of a day where they are new; return their folder."""
    folder, number = input / "payments" / day, payment_days().index(day)
    folder.mkdir(parents=True)
    sign = -1 if number == 2 else 1  # the third day
    for part in range(3):
        ids = range(number * 1000 + part * 100, number * 1000 + part * 100 + 100)
        rows = (json.dumps({"id": id, "account": id % 7, "amount": sign * (id % 50 + 1)}) + "\n" for id in ids)
        (folder / f"part-{part}.json").write_text("".join(rows))
    return folder


def _compare_payments(input: Path, output: Path) -> None:
    columns = "id::INTEGER AS id, account::INTEGER AS account, amount::INTEGER AS amount"
    paid = f"SELECT {columns} FROM read_json('{input}/payments/*/*.json')"
    days = json.loads((output / DAYS).read_text())
    a_day = "SELECT {columns}, DATE '{day}' AS day FROM read_json('{input}/payments/{day}/*.json') WHERE amount > 0"
    others = [day for day in ("2012-12-31", *payment_days()) if day not in days]
    by_day = [a_day.format(columns=columns, day=day, input=input) for day in days]
    by_day += [f"SELECT -1, 9, 5, DATE '{day}'" for day in others]
    wanted = {
        "log": f"{paid} UNION ALL SELECT -1, 9, 5",
        "totals": f"""SELECT account, sum(amount)::BIGINT AS total FROM ({paid}) GROUP BY account
                      UNION ALL SELECT 9, 5""",
    }
    for name, query in wanted.items():
        assert_same_rows(published(output / name), expected(query))
    files = f"read_parquet('{output}/by_day/**/*.parquet', hive_partitioning = true)"
    found = expected(f"SELECT id, account::INTEGER AS account, amount, day::DATE AS day FROM {files}")
    assert_same_rows(found, expected(" UNION ALL ".join(by_day)))


FLIGHTS = Workload(
    name="flights",
    module="pipelines.flights",
    points={
        "with_weather": (*EVERYWHERE, *STAGES, *PUBLISHES[:2]),  # its sink has one file
        "late_routes": EVERYWHERE + PUBLISHES,
    },
    reads={"with_weather": (), "late_routes": ("with_weather",)},
    make_input=copy_january,
    fill_targets=lambda _: None,
    compare=_compare_flights,
)
DIAMOND = Workload(
    name="diamond",
    module="tests.faults.diamond",
    points={
        "valid": EVERYWHERE + STAGES + PUBLISHES,
        "by_customer": EVERYWHERE + STAGES,
        "large": EVERYWHERE + STAGES,
        "report": EVERYWHERE + PUBLISHES,
    },
    reads={"valid": (), "by_customer": ("valid",), "large": ("valid",), "report": ("by_customer", "large")},
    make_input=_orders,
    fill_targets=_rejected_before,
    compare=_compare_diamond,
)
SHARED_TASK = Workload(
    name="shared_task",
    module="tests.faults.shared_task",
    points={
        "valid": EVERYWHERE + STAGES + PUBLISHES,
        # The driver comes to these when Spark is up already.
        "by_customer": (Point.WHILE_WRITING, *STAGES),
        "large": (Point.WHILE_WRITING, *STAGES),
        "report": (Point.WHILE_WRITING, *PUBLISHES),
    },
    reads=DIAMOND.reads,
    make_input=_orders,
    fill_targets=_rejected_before,
    compare=_compare_diamond,
    shared=dict.fromkeys(("by_customer", "large", "report"), "valid"),
)
SINK_MODES = Workload(
    name="sink_modes",
    module="tests.faults.sink_modes",
    points=dict.fromkeys(("appended", "by_class", "merged", "created"), EVERYWHERE + PUBLISHES),
    reads=dict.fromkeys(("appended", "by_class", "merged", "created"), ()),
    make_input=_orders,
    fill_targets=_rows_before,
    compare=_compare_sink_modes,
)
SHARED_TARGET = Workload(
    name="shared_target",
    module="tests.faults.shared_target",
    points={"appended": EVERYWHERE + PUBLISHES},
    reads={"appended": ()},
    make_input=lambda folder: folder.mkdir(parents=True, exist_ok=True),
    fill_targets=lambda _: None,
    compare=_compare_shared_target,
)
PAYMENTS = Workload(
    name="payments",
    module="tests.faults.payments",
    points={
        "paid": (*EVERYWHERE, *STAGES, Point.AFTER_ENTRY),
        "before": EVERYWHERE + STAGES,
        # The driver comes to these when Spark is up already.
        "log": (Point.WHILE_WRITING, Point.AFTER_CLAIM, *PUBLISHES, Point.BEFORE_POSITION),
        # The claim is the one of `log`. Folders are exchanged in one step, which has no middle that Python sees.
        "totals": (Point.WHILE_WRITING, Point.BEFORE_INTENT, Point.AFTER_INTENT, Point.BEFORE_POSITION),
        "by_day": EVERYWHERE + PUBLISHES,
    },
    reads={"paid": (), "before": (), "log": ("paid",), "totals": ("before", "paid"), "by_day": ()},
    make_input=lambda folder: folder.mkdir(parents=True, exist_ok=True),
    fill_targets=_others_rows,
    compare=_compare_payments,
    shared={"before": "log", "totals": "log"},
    remembers=True,
)
THREE_REPORTS = Workload(
    name="three_reports",
    module="tests.faults.three_reports",
    # Between data and manifest, and after it: of what is computed once for the reports.
    points={"by_class": EVERYWHERE + STAGES + PUBLISHES},
    reads={"by_class": ()},
    make_input=_orders,
    fill_targets=lambda _: None,
    compare=_compare_three_reports,
)
WORKLOADS = {
    workload.name: workload
    for workload in (FLIGHTS, DIAMOND, SHARED_TASK, SINK_MODES, SHARED_TARGET, PAYMENTS, THREE_REPORTS)
}
