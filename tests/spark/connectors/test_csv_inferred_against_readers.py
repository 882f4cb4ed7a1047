"""CSV files without a declared schema: their records are what Python and DuckDB find in them, are set aside, or fail.

Many files are drawn for each dialect, and read in one job: each is in a folder `n=…`.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession
from pyspark.sql.types import DataType, StringType

from graph_compiler import Csv
from graph_compiler.errors import SchemaChangedError
from graph_compiler.spark_runtime.columns.declared_schema import type_words
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.connectors.source import MISFIT
from graph_compiler.spark_runtime.connectors.text_records import MARK
from graph_compiler.spark_runtime.results.pinned_settings import pinned
from tests.harness.text_values import MISFITS, typed

pytestmark = [pytest.mark.spark, pytest.mark.ci]

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "id": ("1", "-2", "2147483648", "0", "7"),
    "code": ("007", "1", "12", "0"),
    "amount": ("1.5", "3", "0.30000000000000004", "1234567890.12345678901", "1e3", "", "100"),
    "day": ("2024-01-05", "2024-02-29", ""),
    "flag": ("true", "FALSE", ""),
    "name": ("a", "Zoë", "it's", " b ", "x y", "NaN", "-", "", "#c", "2024-01-05", "1"),
}
ODD = {
    "id": ("x", "1.5", "99999999999999999999", " 5", "", "+5", "1e2"),
    "code": ("", "x", "01"),
    "amount": ("3,50", "1.005.0", "1d", "0x1", "12E4", "+1.5", "007.5", "-1e-3"),
    "day": ("2024-01-05 banana", "2024", "2024-13-01"),
    "flag": ("yes", "1"),
    "name": ("{sep}", "a{sep}b", '"', 'say "hi"', '"{sep}"', "\\"),
}
FEW_JOBS = {
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
    "spark.sql.files.openCostInBytes": "1000",
}


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How files are written, and what declares that; `seed`: with which files."""

    options: Mapping[str, str] = field(default_factory=dict)
    encoding: str = "utf-8"
    end: str = "\n"
    seed: int = 0

    @property
    def sep(self) -> str:
        return {"\\t": "\t"}.get(self.options.get("sep", ","), self.options.get("sep", ","))

    @property
    def for_python(self) -> dict[str, Any]:
        quote, escape = self.options.get("quote", '"'), self.options.get("escape", "\\")
        own = {"doublequote": True} if escape == quote else {"doublequote": False, "escapechar": escape}
        return {"delimiter": self.sep, "quotechar": quote, "strict": True, **own}


DIALECTS = {
    "plain": Dialect(),
    "doubled": Dialect(options={"escape": '"'}, seed=1),
    "semicolon": Dialect(options={"sep": ";", "escape": '"'}, end="\r\n", seed=2),
    "tab": Dialect(options={"sep": "\\t", "quote": "'", "escape": "'"}, seed=3),
    "caret": Dialect(options={"sep": "|", "escape": "^"}, seed=4),
    "latin": Dialect(options={"encoding": "ISO-8859-1", "escape": '"'}, encoding="latin-1", seed=5),
    "utf-16": Dialect(options={"encoding": "UTF-16", "multiLine": "true", "escape": '"'}, encoding="utf-16", seed=6),
    "multi": Dialect(options={"multiLine": "true", "escape": '"'}, seed=7),
}


@dataclass(frozen=True)
class Written:
    """A file, and its text."""

    name: str
    content: bytes
    text: str


def odd_values(name: str, dialect: Dialect) -> tuple[str, ...]:
    """Return odd values; those with quotes only where both writers escape them alike."""
    is_alike = dialect.for_python["doublequote"]
    return tuple(value for value in ODD[name] if is_alike or not set(value) & {'"', "\\"})


def draw_file(dice: Random, dialect: Dialect, *, is_plain: bool) -> Written:
    """Draw a file; values that are odd are in some of them only, since they decide the inferred types."""
    buffer, pools = (
        io.StringIO(),
        {name: (*fitting, *(() if is_plain else odd_values(name, dialect))) for name, fitting in COLUMNS.items()},
    )
    writer = csv.writer(buffer, lineterminator=dialect.end, **dialect.for_python)
    writer.writerow(COLUMNS)
    for _ in range(dice.randint(0, 4)):
        fields = [dice.choice(pool).replace("{sep}", dialect.sep) for pool in pools.values()]
        if not is_plain and dice.random() < 0.15:
            fields = dice.choice((fields[:-1], [*fields, "x"], fields[:1]))
        writer.writerow(fields)
    text = buffer.getvalue()
    if dice.random() < 0.2:
        text = text.removesuffix(dialect.end)
    content = text.encode(dialect.encoding)
    is_zip = dice.random() < 0.15
    return Written("part.csv.gz" if is_zip else "part.csv", gzip.compress(content) if is_zip else content, text)


def records_of(file: Written, dialect: Dialect) -> list[list[str]]:
    return list(csv.reader(io.StringIO(file.text, newline=""), **dialect.for_python))[1:]


def value_of(text: str, kind: DataType) -> object:
    """Return the value of a text in an inferred column; MISFITS if the value loses something of it."""
    if text == "":
        return None
    if kind == StringType():
        return text
    words = type_words(kind)
    value = typed(text, words)
    if words in ("INT", "BIGINT") and (text.startswith("+") or (text.removeprefix("-")[0] == "0" and value != 0)):
        return MISFITS
    if isinstance(value, float) and is_code(text.removeprefix("-")):
        return MISFITS
    if isinstance(value, float) and len(text) > 15 and Fraction(Decimal(text)) != Fraction(repr(value)):
        return MISFITS
    return value


def is_code(text: str) -> bool:
    """Whether a program would hardly write a number like this: +1.5, 007.5."""
    return text.startswith("+") or (text[0] == "0" and text[1:2].isdigit())


@pytest.mark.parametrize("is_plain", [True, False])
@pytest.mark.parametrize("name", DIALECTS)
def test_inferred_columns_have_the_values_that_python_finds(
    name: str, is_plain: bool, spark: SparkSession, tmp_path: Path
) -> None:
    dialect = DIALECTS[name]
    dice = Random(dialect.seed)
    files = [draw_file(dice, dialect, is_plain=is_plain or number < 3) for number in range(25)]
    for number, file in enumerate(files):
        (tmp_path / f"n={number}").mkdir()
        (tmp_path / f"n={number}" / file.name).write_bytes(file.content)
    with pinned(spark, FEW_JOBS):
        rows = read_source(Csv(str(tmp_path), options=dialect.options, rejects="bad"), spark)
        kinds = {each: rows.schema[each].dataType for each in COLUMNS}
        found = rows.collect()
    wrong = []
    for number, file in enumerate(files):
        own = [row for row in found if row.n == number]
        wrong += [f"{each} in {file.text!r}" for each in differences(own, records_of(file, dialect), kinds)]
    assert not wrong, f"{kinds}\n" + "\n".join(sorted(wrong, key=len))


def differences(rows: Sequence[Row], records: Sequence[Sequence[str]], kinds: Mapping[str, DataType]) -> Iterator[str]:
    if len(rows) != len(records):
        yield f"{len(rows)} rows of {len(records)} records"
        return
    for row, record in zip(rows, records, strict=True):
        fits = len(record) == len(kinds)
        values = [value_of(*each) for each in zip(record, kinds.values(), strict=True)] if fits else [MISFITS]
        if (MISFITS in values) != (row[MISFIT] is not None):
            yield f"set aside: {row[MISFIT]}; expected: {values}"
        elif MISFITS not in values and [row[name] for name in kinds] != values:
            yield f"{row} is not {values}"


@pytest.mark.parametrize("name", [name for name, dialect in DIALECTS.items() if dialect.encoding == "utf-8"])
def test_duckdb_and_python_find_the_same_fields(name: str, tmp_path: Path) -> None:
    dialect = DIALECTS[name]
    dice = Random(dialect.seed)
    for number in range(25):
        file = draw_file(dice, dialect, is_plain=True)
        path = tmp_path / f"{number}{file.name}"
        path.write_bytes(file.content)
        if not (records := records_of(file, dialect)):
            continue
        settings = dialect.for_python
        found = duckdb.read_csv(
            str(path),
            header=True,
            all_varchar=True,
            delimiter=dialect.sep,
            quotechar=settings["quotechar"],
            escapechar=settings.get("escapechar", settings["quotechar"]),
        ).fetchall()
        assert [[value or "" for value in row] for row in found] == records


SECOND_FILES = {
    "same": ("a,b\nz,w\n", [("x", "y"), ("z", "w")]),
    "a blank line": ("a,b\n\nz,w\n", [("x", "y"), ("z", "w")]),
    "other case": ("A,B\nz,w\n", [("x", "y"), ("z", "w")]),
    "quoted": ('"a","b"\nz,w\n', [("x", "y"), ("z", "w")]),
    "header only": ("a,b\n", [("x", "y")]),
    "0 bytes": ("", [("x", "y")]),
    "other order": ("b,a\nz,w\n", None),
    "other name": ("a,c\nz,w\n", None),
    "one more": ("a,b,c\nz,w,v\n", None),
    "one less": ("a\nz\n", None),
    "none": ("z,w\n", None),
    "twice": ("a,b\nz,w\na,b\n", None),
    "other separator": ("a;b\nz;w\n", None),
}


@pytest.mark.parametrize("name", SECOND_FILES)
@pytest.mark.parametrize("schema", [None, "a STRING, b STRING"])
def test_a_file_with_another_header_is_refused(
    name: str, schema: str | None, spark: SparkSession, tmp_path: Path
) -> None:
    second, expected = SECOND_FILES[name]
    (tmp_path / "1.csv").write_text("a,b\nx,y\n")
    (tmp_path / "2.csv").write_text(second)
    source = Csv(str(tmp_path), schema=schema)
    if expected is not None:
        assert sorted(map(tuple, read_source(source, spark).collect())) == expected
        return
    with pytest.raises((SchemaChangedError, PySparkException)) as failure:
        read_source(source, spark).collect()
    assert str(tmp_path) in str(failure.value)
    assert isinstance(failure.value, SchemaChangedError) or MARK in str(failure.value)


NAMES = {
    "numbered": ("a0,b1\nx,y\n", ["a0", "b1"]),
    "all numbered": ("c0,c1,c2\nx,y,z\n", ["c0", "c1", "c2"]),
    "numbers below": ("c0,c1\n1,2\n", ["c0", "c1"]),
    "twice": ("id,id,name\nx,y,z\n", ["id0", "id1", "name"]),
    "empty": ("id,,name\nx,y,z\n", ["id", "_c1", "name"]),
    "first is empty": (",b\nx,y\n", ["_c0", "b"]),
    "only numbers": ("0,1\nx,y\n", ["0", "1"]),
}


@pytest.mark.parametrize("is_declared", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_a_header_is_found_whatever_its_columns_are_called(
    name: str, is_declared: bool, spark: SparkSession, tmp_path: Path
) -> None:
    text, names = NAMES[name]
    (tmp_path / "in.csv").write_text(text)
    is_as_written = text.startswith(",".join(names))
    if is_declared and not is_as_written:
        return
    schema = ", ".join(f"`{each}` STRING" for each in names) if is_declared else None
    rows = read_source(Csv(f"{tmp_path}/in.csv", schema=schema), spark)
    assert rows.columns == names
    assert [[str(value) for value in row] for row in rows.collect()] == [text.splitlines()[1].split(",")]
