"""Parquet and ORC files whose columns, types and fields differ: rows are pyarrow's, or the source is refused.

pyarrow writes and reads the files; it knows nothing of how Spark merges them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from pyarrow import orc, parquet
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from graph_compiler import Orc, Parquet
from graph_compiler.errors import SchemaChangedError
from graph_compiler.spark_runtime.connectors import read_source

pytestmark = [pytest.mark.spark, pytest.mark.ci]

FORMATS = {Parquet: parquet.write_table, Orc: orc.write_table}
TYPES: Mapping[str, Mapping[pa.DataType, tuple[object, ...]]] = {
    "id": {
        pa.int32(): (1, -2, 2**31 - 1),
        pa.int64(): (3, 2**40, -(2**63)),
        pa.int16(): (7, None),
        pa.float64(): (1.5, 2.0),
    },
    "amount": {
        pa.decimal128(9, 2): (Decimal("1.50"), None),
        pa.decimal128(20, 4): (Decimal("2.2500"), Decimal("1234567890123.4567")),
    },
    "day": {pa.date32(): (date(2024, 2, 29), None)},
    "at": {pa.timestamp("us"): (datetime(2024, 1, 5, 12, 34, 56, 123456), None)},
    "name": {pa.string(): ("a", "Zoë", "", None)},
    "flag": {pa.bool_(): (True, None)},
}
FIELDS = {"lat": (pa.float64(), 1.5), "code": (pa.string(), "x"), "n": (pa.int32(), 5)}
"""Fields of the column `pos`."""
DECLARED = (
    "id BIGINT, amount DECIMAL(20,4), day DATE, at TIMESTAMP_NTZ, name STRING, flag BOOLEAN, "
    "pos STRUCT<lat: DOUBLE, code: STRING, n: INT>"
)
PLAIN = {name: next(iter(types)) for name, types in TYPES.items()} | {"id": pa.int64(), "amount": pa.decimal128(20, 4)}


def draw_table(dice: Random) -> pa.Table:
    """Draw a file: its columns are in any order; one may be missing, have another type, or be new."""
    names = dice.sample(tuple(TYPES), len(TYPES))
    kinds = dict(PLAIN)
    odd = dice.choice(("none", "type", "type", "missing", "new", "no struct"))
    if odd == "type":
        changed = dice.choice(("id", "amount"))
        kinds[changed] = dice.choice(tuple(TYPES[changed]))
    if odd == "missing":
        names.remove(dice.choice(names))
    count = dice.randint(1, 3)
    columns = {
        name: pa.array([dice.choice(TYPES[name][kinds[name]]) for _ in range(count)], kinds[name]) for name in names
    }
    if odd != "no struct":
        fields = dice.sample(tuple(FIELDS), dice.randint(2, 3))
        kind = pa.struct([(name, FIELDS[name][0]) for name in fields])
        columns["pos"] = pa.array([dice.choice(({n: FIELDS[n][1] for n in fields}, None)) for _ in range(count)], kind)
    if odd == "new":
        columns["extra"] = pa.array(["e"] * count)
    order = dice.sample(tuple(columns), len(columns))
    return pa.table({name: columns[name] for name in order})


def as_row(values: Mapping[str, object], names: Sequence[str]) -> str:
    """Return a row as text: a missing column, or field, is NULL; all numbers are written alike."""
    return repr([plain(values.get(name), name) for name in names])


def plain(value: object, name: str) -> object:
    if name == "pos" and isinstance(value, Row | dict):
        fields = value.asDict() if isinstance(value, Row) else value
        return [fields.get(one) for one in FIELDS]
    return Decimal(value).normalize() if isinstance(value, int | float | Decimal) and value is not True else value


def rows_or_failure(source: Parquet | Orc, spark: SparkSession) -> tuple[list[Row], Exception | None]:
    """Return the rows of a source, or why it has none."""
    try:
        return read_source(source, spark).collect(), None
    except (SchemaChangedError, PySparkException) as failure:
        return [], failure


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("policy", ["fail", "evolve", "ignore"])
@pytest.mark.parametrize("seed", range(4))
def test_rows_are_those_of_pyarrow_or_the_source_is_refused(
    kind: type[Parquet | Orc], policy: str, seed: int, spark: SparkSession, tmp_path: Path
) -> None:
    dice = Random(seed)
    tables = [draw_table(dice) for _ in range(dice.randint(2, 4))]
    for number, table in enumerate(tables):
        FORMATS[kind](table, f"{tmp_path}/{number}.{kind('x').spark_format}")
    source = kind(str(tmp_path), schema=DECLARED, on_schema_change=policy)
    rows, failure = rows_or_failure(source, spark)
    if failure is not None:
        assert policy != "ignore" or "does not fit" in str(failure), failure
        assert isinstance(failure, PySparkException) or f"{tmp_path}/" in str(failure)
        return
    names = [name for name in rows[0].asDict() if policy == "evolve" or name != "extra"]
    expected = [as_row(row, names) for table in tables for row in table.to_pylist()]
    assert sorted(as_row(row.asDict(), names) for row in rows) == sorted(expected)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("seed", range(10, 14))
def test_without_a_schema_files_have_one_type_for_each_column_or_are_refused(
    kind: type[Parquet | Orc], seed: int, spark: SparkSession, tmp_path: Path
) -> None:
    dice = Random(seed)
    tables = [draw_table(dice) for _ in range(3)]
    for number, table in enumerate(tables):
        FORMATS[kind](table, f"{tmp_path}/{number}.{kind('x').spark_format}")
    types = [{table.schema.field(n).type for table in tables if n in table.column_names} for n in ("id", "amount")]
    if any(len(each) > 1 for each in types):
        with pytest.raises(SchemaChangedError, match=f"files differ in column '(id|amount)'.*{tmp_path}"):
            read_source(kind(str(tmp_path)), spark)
        return
    rows = read_source(kind(str(tmp_path)), spark)
    expected = [as_row(row, rows.columns) for table in tables for row in table.to_pylist()]
    assert set(rows.columns) == {name for table in tables for name in table.column_names}
    assert sorted(as_row(row.asDict(), rows.columns) for row in rows.collect()) == sorted(expected)
