"""The recipes of docs/increments.md, the files that arrive day by day, and what the targets then have to hold."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow
from pyarrow import parquet

from tests.harness.postgres import Postgres

PAGE = Path(__file__).parents[2] / "docs" / "increments.md"
DAYS = {name: f"2024-03-0{number}" for number, name in enumerate(("mon", "tue", "wed", "thu", "fri"), start=4)}
Row = dict[str, object]
Totals = dict[date, tuple[int, Decimal]]


@dataclass(frozen=True, slots=True)
class Recipes:
    """The code of the page, with folders and the database of a test."""

    data: Path
    postgres: Postgres | None = None

    def code(self, heading: str, number: int = 0) -> str:
        """Return a block of Python below a heading."""
        section = PAGE.read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
        found = re.findall(r"```python\n(.*?)```", section, re.DOTALL)[number]
        url = "jdbc:postgresql://db/shop"
        return (
            str(found)
            .replace('"/data/', f'"{self.data}/')
            .replace(url, url if self.postgres is None else self.postgres.url)
        )

    def with_channel(self, code: str) -> str:
        """Return a recipe with the column that is added on Thursday, as the page declares it."""
        changed = code.replace('updated_at TIMESTAMP"', 'updated_at TIMESTAMP, channel STRING"')
        changed = changed.replace("schema=COLUMNS), ", 'schema=COLUMNS, on_schema_change="ignore"), ')
        return changed.replace('/orders"), mode="merge"', '/orders", on_schema_change="evolve"), mode="merge"')


@dataclass(slots=True)
class Orders:
    """The orders that have arrived, and a model of each target."""

    arrived: list[Row] = field(default_factory=list)

    def arrive(self, file: Path, *rows: Row) -> None:
        """Put a file in place, and add its rows; its columns are those of its first row."""
        put_parquet(file, rows)
        self.arrived.extend(rows)

    def merged(self) -> dict[object, Row]:
        """Return the last arrival of each order."""
        return {row["id"]: row for row in self.arrived}

    def newest(self) -> dict[object, Row]:
        """Return the newest version of each order."""
        return {row["id"]: row for row in sorted(self.arrived, key=lambda row: str(row["updated_at"]))}


def order(id: int, day: str, amount: int, at: str, **more: object) -> Row:
    """Return a version of an order of a day, which was changed at noon of another day, or at `"mon 13"`."""
    changed, _, hour = at.partition(" ")
    time = datetime.fromisoformat(f"{DAYS[changed]} {hour or 12}:00:00")
    amounts = {"amount": Decimal(f"{amount}.00"), "updated_at": time}
    return {"id": id, "day": date.fromisoformat(DAYS[day]), **amounts, **more}


ARRIVALS: Mapping[str, tuple[Row, ...]] = {
    "mon": (order(1, "mon", 10, "mon"), order(2, "mon", 20, "mon")),
    "tue": (order(2, "tue", 25, "tue"), order(3, "tue", 30, "tue")),
    # An order of Monday, and a version of Monday's order 2 that is older than Tuesday's.
    "wed": (order(4, "mon", 40, "mon"), order(2, "mon", 21, "mon 13"), order(5, "wed", 50, "wed")),
    "thu": (order(6, "thu", 60, "thu", channel="web"), order(1, "mon", 11, "thu", channel="shop")),
    "fri": (order(7, "mon", 70, "mon"), order(3, "wed", 31, "fri")),
}
"""What arrives on each day; no order twice on one day."""


def totals(rows: Iterable[Row]) -> Totals:
    """Return the number and the sum of the orders of each day."""
    found: Totals = {}
    for row in rows:
        day, amount = row["day"], row["amount"]
        assert isinstance(day, date)
        assert isinstance(amount, Decimal)
        number, total = found.get(day, (0, Decimal(0)))
        found[day] = (number + 1, total + amount)
    return found


TYPES = {
    "id": pyarrow.int32(),
    "day": pyarrow.date32(),
    "amount": pyarrow.decimal128(9, 2),
    "updated_at": pyarrow.timestamp("us", "UTC"),
    "channel": pyarrow.string(),
}


def put_parquet(file: Path, rows: Sequence[Row]) -> None:
    """Write orders; their columns are those of the first one, or those that the page declares."""
    names = rows[0] if rows else [name for name in TYPES if name != "channel"]
    table = {name: pyarrow.array([row[name] for row in rows], TYPES[name]) for name in names}
    with _complete(file) as hidden:
        parquet.write_table(pyarrow.table(table), hidden)


def put_csv(file: Path, rows: Sequence[Row]) -> None:
    """Write rows below a header."""
    lines = [",".join(rows[0]), *(",".join(str(value) for value in row.values()) for row in rows)]
    with _complete(file) as hidden:
        hidden.write_text("\n".join(lines) + "\n")


@contextmanager
def _complete(file: Path) -> Iterator[Path]:
    """Write a file under a hidden name, and give it its name when it is complete."""
    file.parent.mkdir(parents=True, exist_ok=True)
    hidden = file.with_name(f".{file.name}")
    yield hidden
    hidden.rename(file)


ORDERS_TABLE = "CREATE TABLE orders (id INT PRIMARY KEY, day DATE, amount NUMERIC(9, 2), updated_at TIMESTAMP)"
ADD_CHANNEL = "ALTER TABLE orders ADD COLUMN channel TEXT"
TOTALS_VIEW = "CREATE VIEW totals AS SELECT day, count(*) AS orders, sum(amount) AS total FROM orders GROUP BY day"
