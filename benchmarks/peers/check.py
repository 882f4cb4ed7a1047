"""Row counts and checksums of all sinks below a folder, equal for every runner: `python check.py FOLDER`.

A checksum does not depend on the order of rows, nor on how they are spread over files.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow.parquet as pq


class Rows(NamedTuple):
    """The contents of a sink."""

    rows: int
    checksum: str


RIGHT = {
    4_000_000: {
        "sink_customer_stats": Rows(65_085, "c8b16b0eac8d3e09"),
        "sink_product_daily": Rows(913_461, "2d77d50a6feb597b"),
        "sink_top_products": Rows(100, "d11ab01d29d57fc9"),
    }
}
"""The sinks of the 14 steps, by number of orders."""


def check(folder: Path) -> dict[str, Rows]:
    """Read every sink below the folder."""
    return {sink.name: _read(sink) for sink in sorted(folder.iterdir()) if sink.is_dir() and sink.name[0] not in "_."}


def _read(folder: Path) -> Rows:
    files = [path for path in folder.rglob("*.parquet") if path.name[0] not in "_."]
    table = pd.concat([pq.ParquetFile(path).read().to_pandas() for path in files])
    text = table[sorted(table.columns)].astype(str)
    total = pd.util.hash_pandas_object(text, index=False).astype("uint64").sum()
    return Rows(len(table), format(int(total), "x"))


if __name__ == "__main__":
    for name, found in check(Path(sys.argv[1])).items():
        print(name, found.rows, "rows", found.checksum)
