"""Places that a drawn pipeline reads, with rows (x, v) whose text x becomes the key."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
from pyarrow import orc, parquet

from graph_compiler import (
    Csv,
    DataStream,
    FunctionSource,
    Json,
    Orc,
    Parquet,
    Values,
)
from tests.machine.of_rows import functions
from tests.machine.of_rows.keys import Key
from tests.machine.of_rows.rows_world import Declares, RowsWorld

SOURCES = ("values", "csv", "json", "parquet", "parquet", "orc", "lenient")
"""Kinds of sources; `lenient` drops records that do not fit."""
Pairs = Sequence[tuple[str | None, int | None]]
_SCHEMA = "x STRING, v BIGINT"
_NULL = "nil"
_NO_RECORD = "x,not a number\n"


def written(kind: str, folder: Path, rows: Pairs, world: RowsWorld) -> Declares:
    """Write the rows into two files, and return how to declare the source."""
    folder.mkdir()
    name, of_text = folder.name.replace("-", "_"), world.key.of_text

    def typed(stream: DataStream) -> DataStream:
        return stream.select("v", k=of_text).select("k", "v")

    if kind == "values":
        return lambda env: typed(env.from_source(Values(rows, _SCHEMA), name))
    if kind in ("csv", "lenient"):
        for number in (0, 1):
            (folder / f"{number}.csv").write_text(_csv(rows[number::2], kind == "lenient"))
        if kind == "lenient":
            world.spark.conf.set(functions.FOLDER, str(folder))
            return lambda env: typed(env.from_source(FunctionSource(functions.lenient), name))
        source = Csv(str(folder), schema=_SCHEMA, null_value=_NULL)
        return lambda env: typed(env.from_source(source, name))
    if kind == "json":
        for number in (0, 1):
            lines = [json.dumps({"x": x, "v": v}) + "\n" for x, v in rows[number::2]]
            (folder / f"{number}.json").write_text("".join(lines))
        return lambda env: typed(env.from_source(Json(str(folder), schema=_SCHEMA), name))
    return _in_columns(kind, folder, rows, world.key, typed)


def _in_columns(
    kind: str, folder: Path, rows: Pairs, key: Key, typed: Callable[[DataStream], DataStream]
) -> Declares:
    """Write files whose columns have types: the key itself, if such files can hold it."""
    values, name = key.stored, folder.name.replace("-", "_")
    first = "x" if values is None else "k"
    for number in (0, 1):
        part = rows[number::2]
        texts = [x for x, _ in part]
        column = pa.array(texts, pa.string()) if values is None else values(texts)
        table = pa.table({first: column, "v": pa.array([v for _, v in part], pa.int64())})
        if kind == "orc":
            orc.write_table(table, folder / f"{number}.orc")
        else:
            parquet.write_table(table, folder / f"{number}.parquet")
    source = Orc(str(folder)) if kind == "orc" else Parquet(str(folder))
    if values is None:
        return lambda env: typed(env.from_source(source, name))
    return lambda env: env.from_source(source, name).select("k", "v")


def _csv(rows: Pairs, has_misfits: bool) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(
        [("x", "v"), *[(_NULL if x is None else x, v) for x, v in rows]]
    )
    return text.getvalue() + (_NO_RECORD if has_misfits else "")


def changed(folder: Path) -> None:
    """Write all files of sources again: the first half of their bytes, twice."""
    for path in sorted(folder.glob("in-*/*")):
        if path.is_file() and path.name[0] not in "._":
            path.write_bytes(path.read_bytes())
            lines = path.read_bytes() if path.suffix in (".csv", ".json") else b""
            if lines:
                path.write_bytes(lines + lines.splitlines(keepends=True)[-1])
            os.utime(path, (2_000_000_000, 2_000_000_000))
