"""Places that a drawn pipeline reads, with rows (x, v) whose text x becomes the key."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from pyarrow import orc, parquet

from graph_compiler import (
    Csv,
    DataStream,
    FunctionSource,
    Jdbc,
    Json,
    Orc,
    Parquet,
    Secret,
    StreamExecutionEnvironment,
    Values,
)
from graph_compiler.declaration.connectors import Connector
from tests.harness.postgres import DRIVER, ENGLISH, IGNORES_CASE
from tests.machine.of_rows import functions
from tests.machine.of_rows.rows_world import Declares, RowsWorld

PASSWORD = Secret("rows", "password")
Pairs = Sequence[tuple[str | None, int | None]]
Written = tuple[Connector, bool]
"""A source, and whether its first column is the key itself."""
_SCHEMA = "x STRING, v BIGINT"
_MISFIT = f"{functions.NULL},not a number\n"


def written(kind: str, folder: Path, rows: Pairs, world: RowsWorld) -> Declares:
    """Write rows, and return how to declare a source of k and v."""
    folder.mkdir()
    if kind == "table" and world.database is None:
        kind = "parquet"
    (source, has_key), name = _WRITERS[kind](folder, rows, world), folder.name.replace("-", "_")

    def declare(env: StreamExecutionEnvironment) -> DataStream:
        stream = env.from_source(source, name)
        return stream.select("k", "v") if has_key else stream.select(k=world.key.of_text, v="v")

    return declare


def changed(folder: Path) -> None:
    """Write all files of sources again: text files have their last line twice, the others are only touched."""
    for path in sorted(folder.glob("in-*/*")):
        if path.suffix in (".csv", ".json") and path.stat().st_size:
            lines = path.read_bytes()
            path.write_bytes(lines + lines.splitlines(keepends=True)[-1])
        os.utime(path, (2_000_000_000, 2_000_000_000))


def _values(_folder: Path, rows: Pairs, _world: RowsWorld) -> Written:
    return Values(rows, _SCHEMA), False


def _csv(folder: Path, rows: Pairs, _world: RowsWorld) -> Written:
    _write_csv(folder, rows)
    return Csv(str(folder), schema=_SCHEMA, null_value=functions.NULL), False


def _lenient(folder: Path, rows: Pairs, world: RowsWorld) -> Written:
    """Write records that do not fit, too, for a reader that drops them if it reads that column."""
    _write_csv(folder, rows, _MISFIT)
    world.spark.conf.set(functions.FOLDER.format(name=folder.name), str(folder))
    world.drop_records()
    reads = functions.lenient if folder.name == "in-0" else functions.another_lenient
    return FunctionSource(reads), False


def _write_csv(folder: Path, rows: Pairs, more: str = "") -> None:
    for number in (0, 1):
        lines = [
            f"{functions.NULL if x is None else _quoted(x)},{'' if v is None else v}\n" for x, v in rows[number::2]
        ]
        (folder / f"{number}.csv").write_text("".join(["x,v\n", *lines, more]))


def _quoted(text: str) -> str:
    """Return a text in quotes: without them, Spark reads an empty one as NULL, whatever stands for NULL."""
    assert '"' not in text
    return f'"{text}"'


def _json(folder: Path, rows: Pairs, _world: RowsWorld) -> Written:
    for number in (0, 1):
        lines = [json.dumps({"x": x, "v": v}) + "\n" for x, v in rows[number::2]]
        (folder / f"{number}.json").write_text("".join(lines))
    return Json(str(folder), schema=_SCHEMA), False


def _parquet(folder: Path, rows: Pairs, world: RowsWorld) -> Written:
    for number, table in enumerate(_tables(rows, world)):
        parquet.write_table(table, folder / f"{number}.parquet")
    return Parquet(str(folder)), world.key.stored is not None


def _orc(folder: Path, rows: Pairs, world: RowsWorld) -> Written:
    world.take_equal_keys()  # ORC's reader returns the first of a batch of zeros for all
    for number, table in enumerate(_tables(rows, world)):
        orc.write_table(table, folder / f"{number}.orc")
    return Orc(str(folder)), world.key.stored is not None


def _tables(rows: Pairs, world: RowsWorld) -> list[pa.Table]:
    stored = world.key.stored
    parts = [rows[number::2] for number in (0, 1)]
    columns = [[x for x, _ in part] for part in parts]
    return [
        pa.table(
            {
                "x" if stored is None else "k": pa.array(texts, pa.string()) if stored is None else stored(texts),
                "v": pa.array([v for _, v in part], pa.int64()),
            }
        )
        for texts, part in zip(columns, parts, strict=True)
    ]


def _table(folder: Path, rows: Pairs, world: RowsWorld) -> Written:
    """Fill a table whose texts have a collation of the database."""
    server, is_english = world.database, len(rows) % 2 == 0
    assert server is not None
    there = replace(server, database=ENGLISH) if is_english else server
    collation = '"default"' if is_english else IGNORES_CASE
    has_key = world.key.of_text == "x"
    name = f"t_{folder.parent.name}_{folder.name}".replace("-", "_").lower()
    cells = ", ".join(f"({_literal(x)}, {'NULL' if v is None else v})" for x, v in rows)
    there.sql(
        f"CREATE TABLE {name} ({'k' if has_key else 'x'} TEXT COLLATE {collation}, v BIGINT); "
        f"INSERT INTO {name} VALUES {cells}"
    )
    source = Jdbc(there.url, table=name, user=there.user, password=PASSWORD, driver=DRIVER)
    return source, has_key


def _literal(text: str | None) -> str:
    return "NULL" if text is None else "'" + text.replace("'", "''") + "'"


_WRITERS: Mapping[str, Callable[[Path, Pairs, RowsWorld], Written]] = {
    "values": _values,
    "csv": _csv,
    "json": _json,
    "parquet": _parquet,
    "orc": _orc,
    "lenient": _lenient,
    "table": _table,
}
SOURCES = (*_WRITERS, "parquet")
"""Kinds of sources: `lenient` drops records that do not fit, `table` is one of a database with a collation."""
