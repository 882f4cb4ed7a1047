"""What operators of drawn pipelines read by themselves, not from their inputs: files, a table, and rows of an RDD.

The files and the table may change once. An operator's rows follow from what was there before or from what is there
after, and all its readers have the same ones. Rows of the RDD are others each time that they are computed.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from graph_compiler import DataStream
from tests.machine.of_rows import functions
from tests.machine.of_rows.operations import Operation, Pair, Rows

LOOKUPS = (
    "lookup in a query",
    "lookup in a function",
    "lookup in a subquery",
    "lookup in a table",
    "lookup in rows that change",
)
CHANGES = ("other lines", "other lines", "longer file", "another file")
"""How files change. Spark reads a file to the length that it was listed with, and no file that it has not listed: so
only other lines in place of those that are there are in the rows of readers who listed before."""
VARYING = "v IN (SELECT floor(3 * x) FROM machine_rows)"
"""A condition that is true for others each time."""
_BEFORE = [(0, 1), (1, 2), (3, 4)]
_MORE = [(2, 3), (1, 7), (0, 1)]
_OTHER = [(0, 3), (2, 2), (3, 4)]
"""Lines (v, w), those that a change adds, and those that it puts in place of the first."""
_AFTER = ([*_BEFORE, *_MORE], _OTHER)


class Lookups:
    """The files in a folder, and a table with a name of its own."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.path = folder / "lookup"
        self.path.mkdir()
        (self.path / "0.json").write_text(_lines(_BEFORE))
        self.table = "machine_" + "".join(c for c in folder.name.lower() if c.isalnum())
        self.has_table = False
        if not spark.catalog.tableExists("machine_rows"):
            rows = spark.sparkContext.parallelize(range(4), 1).map(lambda _: (random.random(),))
            spark.createDataFrame(rows, "x DOUBLE").createOrReplaceTempView("machine_rows")

    def operations(self) -> Mapping[str, Operation]:
        """Return operators that read them."""
        files = f"json.`{self.path}`"
        declared: Mapping[str, Callable[[DataStream, int], DataStream]] = {
            "lookup in a query": lambda rows, _: rows.sql(_joined_with(files)),
            "lookup in a function": lambda rows, _: rows.transform(functions.with_lookup, folder=str(self.path)),
            "lookup in a table": lambda rows, _: rows.sql(_joined_with(self._made_table())),
        }
        joins = {
            name: Operation(declare, _added(_BEFORE), changed=tuple(map(_added, _AFTER)), keeps=True, grows=2)
            for name, declare in declared.items()
        }
        there = Operation(
            lambda rows, _: rows.filter(f"v IN (SELECT v FROM {files})"),
            _found(_BEFORE),
            changed=tuple(map(_found, _AFTER)),
            keeps=True,
        )
        some = Operation(lambda rows, _: rows.filter(VARYING), lambda *_: None, chosen=lambda _: None, keeps=True)
        return {**joins, "lookup in a subquery": there, "lookup in rows that change": some}

    def change(self, how: str) -> None:
        """Add rows to the table, and change the file, or add one."""
        if how == "other lines":
            (self.path / "0.json").write_text(_lines(_OTHER))
        elif how == "longer file":
            with (self.path / "0.json").open("a") as file:
                file.write(_lines(_MORE))
        else:
            (self.path / "1.json").write_text(_lines(_MORE))
        if self.has_table:
            self._insert(_MORE)

    def end(self) -> None:
        """Remove the table."""
        if self.has_table:
            self.spark.sql(f"DROP TABLE {self.table}")

    def _made_table(self) -> str:
        if not self.has_table:
            self.spark.sql(f"CREATE TABLE {self.table} (v BIGINT, w BIGINT) USING parquet LOCATION '{self.path}-table'")
            self.has_table = True
            self._insert(_BEFORE)
        return self.table

    def _insert(self, lines: Sequence[tuple[int, int]]) -> None:
        self.spark.sql(f"INSERT INTO {self.table} VALUES {', '.join(map(str, lines))}")


def _lines(of: Sequence[tuple[int, int]]) -> str:
    return "".join(json.dumps({"v": v, "w": w}) + "\n" for v, w in of)


def _joined_with(what: str) -> str:
    return f"SELECT i.k, i.v + l.w AS v FROM {{input}} i JOIN {what} l ON i.v = l.v"


def _added(lines: Sequence[tuple[int, int]]) -> Callable[[Rows, int], Counter[Pair]]:
    return lambda rows, _: Counter((k, v + w) for k, v in rows for number, w in lines if v is not None and v == number)


def _found(lines: Sequence[tuple[int, int]]) -> Callable[[Rows, int], Counter[Pair]]:
    there = {v for v, _ in lines}
    return lambda rows, _: Counter((k, v) for k, v in rows if v in there)
