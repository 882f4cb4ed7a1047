"""Generate the benchmark's input, the same every time: `python gen_data.py [orders=4000000] [folder=data]`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ORDERS, CUSTOMERS, PRODUCTS = 4_000_000, 200_000, 20_000
PARTS = 8


def generate(orders: int, folder: Path) -> None:
    """Write orders, customers and products as Parquet below the folder; `orders` is a multiple of 8."""
    random = np.random.default_rng(42)  # every draw below counts: the checksums are of these rows
    for name in ("orders", "customers", "products"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    customers = np.arange(CUSTOMERS)
    table = pa.table(
        {
            "customer_id": pa.array(customers, pa.int64()),
            "email": [f" User{i}@Example{i % 97}.COM " for i in customers],
            "country": np.array(["de", "fr", "us", "in", "br", "", "jp"])[random.integers(0, 7, CUSTOMERS)],
            "segment": np.array(["consumer", "corporate", "home"])[random.integers(0, 3, CUSTOMERS)],
            "active": random.random(CUSTOMERS) > 0.05,
        }
    )
    pq.write_table(table, folder / "customers" / "part-0.parquet")
    products = np.arange(PRODUCTS)
    table = pa.table(
        {
            "product_id": pa.array(products, pa.int64()),
            "name": [f"product {i}" for i in products],
            "category": np.array([f"cat{j:02d}" for j in range(40)])[random.integers(0, 40, PRODUCTS)],
            "list_price_cents": pa.array(random.integers(-50, 50_000, PRODUCTS), pa.int64()),
        }
    )
    pq.write_table(table, folder / "products" / "part-0.parquet")
    for part in range(PARTS):
        pq.write_table(_orders(random, part, orders // PARTS), folder / "orders" / f"part-{part}.parquet")


def _orders(random: np.random.Generator, part: int, rows: int) -> pa.Table:
    ids = np.arange(part * rows, (part + 1) * rows)
    seconds = 1_700_000_000
    status = np.array(["paid", "shipped", "cancelled", "returned", "paid"])
    return pa.table(
        {
            "order_id": pa.array(ids, pa.int64()),
            "customer_id": pa.array((random.zipf(1.3, rows) * 7919) % CUSTOMERS, pa.int64()),
            "product_id": pa.array(random.integers(0, PRODUCTS + 200, rows), pa.int64()),
            "ts": pa.array((seconds + random.integers(0, 60 * 86400, rows)) * 1_000_000, pa.timestamp("us")),
            "quantity": pa.array(random.integers(-1, 10, rows), pa.int32()),
            "discount_pct": pa.array(random.integers(0, 40, rows), pa.int32()),
            "status": status[random.integers(0, 5, rows)],
            "note": [f"order note {i % 1000}" for i in ids],
        }
    )


if __name__ == "__main__":
    generate(int(sys.argv[1]) if len(sys.argv) > 1 else ORDERS, Path(sys.argv[2] if len(sys.argv) > 2 else "data"))
