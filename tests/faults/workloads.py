"""The two pipelines that faults happen to: their tasks, input, and what must be in their targets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import duckdb

from graph_compiler import StreamExecutionEnvironment
from tests.faults.plan import Point
from tests.reference import DATA, REPORTS, assert_same_rows, expected, published

EVERYWHERE = (Point.BEFORE_WORK, Point.SPARK_UP, Point.WHILE_WRITING)
STAGES = (Point.BEFORE_MANIFEST, Point.AFTER_MANIFEST)
PUBLISHES = (Point.AFTER_INTENT, Point.MID_PUBLISH)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A pipeline under test.

    `points` are the places that each task's executions come to; `reads` whose staged results each task reads.
    `compare` raises AssertionError where targets below a folder do not have exactly the rows they must.
    """

    name: str
    module: str
    points: Mapping[str, tuple[Point, ...]]
    reads: Mapping[str, tuple[str, ...]]
    make_input: Callable[[Path], None]
    fill_targets: Callable[[Path], None]
    compare: Callable[[Path, Path], None]

    @property
    def tasks(self) -> tuple[str, ...]:
        """Give the tasks, every one after those it reads from."""
        return tuple(self.points)

    def environment(self) -> StreamExecutionEnvironment:
        """Give what the pipeline's module declares."""
        declared = import_module(self.module).env
        assert isinstance(declared, StreamExecutionEnvironment)
        return declared


def _january(folder: Path) -> None:
    """Leave only January's flights: faults cost time enough."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in ("weather", "airlines", "planes"):
        (folder / f"{table}.csv").write_bytes((DATA / f"{table}.csv").read_bytes())
    lines = (DATA / "flights.csv").read_text().splitlines(keepends=True)
    header, *flights = lines
    kept = (line for line in flights if line.startswith("2013,1,"))
    (folder / "flights.csv").write_text(header + "".join(kept))


def _compare_flights(input: Path, output: Path) -> None:
    for name, query in REPORTS.items():
        assert_same_rows(published(output / name), expected(query.replace(str(DATA), str(input))))


def _orders(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rows = (
        f"{id},{id * 7919 % 401},{'' if id % 97 == 0 else id * 31 % 1000}\n" for id in range(40_000)
    )
    (folder / "orders.csv").write_text("id,customer,amount\n" + "".join(rows))


_BEFORE = "SELECT -1 AS id, 0 AS customer, NULL::INTEGER AS amount"


def _rejected_before(output: Path) -> None:
    """Let the target that is appended to hold a row of somebody else's."""
    (output / "rejected").mkdir(parents=True)
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY ({_BEFORE}) TO '{output}/rejected/before.parquet' (FORMAT parquet)"
        )


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


FLIGHTS = Workload(
    name="flights",
    module="pipelines.flights",
    points={
        "with_weather": (*EVERYWHERE, *STAGES, Point.AFTER_INTENT),  # its sink has one file
        "late_routes": EVERYWHERE + PUBLISHES,
    },
    reads={"with_weather": (), "late_routes": ("with_weather",)},
    make_input=_january,
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
    reads={
        "valid": (),
        "by_customer": ("valid",),
        "large": ("valid",),
        "report": ("by_customer", "large"),
    },
    make_input=_orders,
    fill_targets=_rejected_before,
    compare=_compare_diamond,
)
WORKLOADS = {workload.name: workload for workload in (FLIGHTS, DIAMOND)}
