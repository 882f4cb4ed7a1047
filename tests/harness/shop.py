"""The shop of `tests/migration`: orders of a day, and what its Dag publishes, as DuckDB reads it."""

import json
import random
import shutil
from datetime import datetime, timedelta
from pathlib import Path

import duckdb

MIGRATION = Path(__file__).parents[1] / "migration"
FOLDERS = ("dags", "pipelines", "scripts")
HEADER = "order_id,customer_id,product_id,quantity,price,ordered_at"
PRODUCTS = {f"p{number}": ("tea", "cups", "repairs")[number % 3] for number in range(9)}
QUANTITIES = ("1", "2", "3", "10", "25", "-1", "n/a")
Rows = list[tuple[object, ...]]

REPORTS = {
    "rejected": "read_csv('{out}/rejected/day={day}/*.csv', all_varchar=true)",
    "enriched": "read_parquet('{out}/enriched/day={day}/*/*.parquet', hive_types_autocast=false)",
    "revenue": "read_parquet('{out}/revenue/day={day}/*.parquet')",
    "ranking": "read_parquet('{out}/ranking/day={day}/*.parquet')",
    "history": "read_parquet('{out}/history/day={day}/*.parquet')",
}
"""How each report of a day is read; `day` is the name of its folder."""


def deploy(step: str, project: Path) -> None:
    """Replace a project's Dag, pipelines and scripts by those of a step, as a deployment does."""
    for folder in FOLDERS:
        shutil.rmtree(project / folder, ignore_errors=True)
        if (MIGRATION / step / folder).is_dir():
            shutil.copytree(MIGRATION / step / folder, project / folder)


def write_tables(shop: Path) -> None:
    """Write the tables that are the same for all days."""
    folder = shop / "in"
    (folder / "orders").mkdir(parents=True)
    countries = [f"{number},{('at', 'de', 'ch')[number % 3]}" for number in range(1, 21)]
    (folder / "customers.csv").write_text("\n".join(["customer_id,country", *countries, ""]))
    products = [json.dumps({"product_id": key, "category": it}) for key, it in PRODUCTS.items()]
    (folder / "products.json").write_text("\n".join([*products, ""]))


def write_orders(shop: Path, day: str, number: int) -> None:
    """Write the same orders for each day: some are sent twice, lack a customer, or have an odd quantity."""
    chance = random.Random(7)
    first = datetime(2026, 1, 5, 21)
    lines = []
    for order in range(number):
        product = chance.choice(list(PRODUCTS))
        quantity = "-1" if PRODUCTS[product] == "repairs" else chance.choice(QUANTITIES)
        customer = chance.choice(["", *map(str, range(1, 25))])  # some are not in the table
        at = first + timedelta(minutes=chance.randrange(300))
        price = f"{chance.randrange(100, 9999) / 100:.2f}"
        lines.append(f"{order},{customer},{product},{quantity},{price},{at.isoformat()}Z")
    lines += lines[::10]
    (shop / "in/orders" / f"{day}.csv").write_text("\n".join([HEADER, *lines, ""]))


def published(shop: Path, day: str) -> dict[str, Rows]:
    """Return the rows of each report of a day, with the types of their columns; none if it has no file."""
    return {report: _rows(shop, report, day) for report in REPORTS}


def _rows(shop: Path, report: str, day: str) -> Rows:
    source = REPORTS[report].format(out=shop / "out", day=day)
    try:
        relation = duckdb.sql(f"SELECT * EXCLUDE (day) FROM {source}")
    except duckdb.IOException:  # no file has the name
        return []
    assert relation is not None
    columns = sorted(zip(relation.columns, map(str, relation.types), strict=True))
    names = ", ".join(f'"{name}"' for name, _ in columns)
    rows = relation.select(names).fetchall()
    return [tuple(columns), *sorted(rows, key=repr)] if rows else []
