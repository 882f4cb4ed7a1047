"""A function over pandas that changes nothing changes no value: each type is kept, or the task fails.

The exceptions are those of the table in docs/operators.md.
"""

import math
import re
import struct
import subprocess
import sys
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.types import LongType, StructType

from graph_compiler import DataStream, Parquet, StreamExecutionEnvironment, Values
from graph_compiler.declaration.functions import FunctionRef
from graph_compiler.declaration.operators import ApplyInPandas, Batches, MapPartitions, Operator
from graph_compiler.deployment.documents.report import Failure, ThrowableType
from graph_compiler.spark_runtime.operators import Scope, evaluate
from graph_compiler.spark_runtime.operators.pandas_frames import exact
from graph_compiler.spark_runtime.spark_internals.versions import rounds_within_lists
from tests.harness.pandas_conversions import HAS_TWO_WAYS, to_arrow, to_pandas
from tests.spark import functions
from tests.spark.conftest import RunPipeline

pytestmark = [pytest.mark.spark, pytest.mark.ci]

DOCS = Path(__file__).parents[3] / "docs" / "operators.md"
LARGE = 2**53 + 1
WITHIN = 2**53 - 1 if rounds_within_lists() else LARGE
KEPT = {
    "BOOLEAN": ["true", "false"],
    "TINYINT": ["127", "-128"],
    "SMALLINT": ["32767", "-32768"],
    "INT": [str(2**31 - 1), str(-(2**31))],
    "BIGINT": [str(2**53 - 1), str(-(2**53) + 1)],
    "FLOAT": ["-0.0F", "float('Infinity')", "float('1.4E-45')", "0.1F"],
    "DOUBLE": ["-0.0D", "double('-Infinity')", "4.9E-324D", "1.7976931348623157E308D", "0.1D"],
    "DECIMAL(38,0)": ["99999999999999999999999999999999999999BD"],
    "DECIMAL(38,10)": ["1234567890123456789012345678.0123456789BD", "-0.0000000001BD"],
    "STRING": ["''", "'nan'", "'None'", "'NaT'", "'ä\\u0000'"],
    "BINARY": ["X''", "X'00FF'"],
    "DATE": ["date'0001-01-01'", "date'9999-12-31'"],
    "TIMESTAMP": ["timestamp'1677-09-22 00:00:00.000001'", "timestamp'2262-04-11 00:00:00'"],
    "TIMESTAMP_NTZ": ["timestamp_ntz'1677-09-22 00:00:00.000001'"],
    "INTERVAL DAY TO SECOND": ["interval '-106750 23:59:59.999999' day to second"],
    "VARIANT": [f"parse_json('{{\"a\": {LARGE}}}')"],
    "ARRAY<BIGINT>": [f"array({WITHIN}L, NULL)", f"array({WITHIN}L)", "array()"],
    "ARRAY<STRUCT<a: BIGINT>>": [f"array(named_struct('a', {WITHIN}L), named_struct('a', NULL))"],
    "ARRAY<TIMESTAMP>": ["array(timestamp'9999-12-31 00:00:00.000001', NULL)"],
    "ARRAY<INTERVAL DAY TO SECOND>": ["array(interval '106751991' day)"],
    "MAP<STRING, BIGINT>": [f"map('a', {WITHIN}L, 'b', NULL)", "map()"],
    "STRUCT<a: BIGINT, b: ARRAY<BIGINT>>": [
        f"named_struct('a', {WITHIN}L, 'b', array({WITHIN}L, NULL))",
        "named_struct('a', NULL, 'b', NULL)",
    ],
}
"""Values that come back as they are, with and without a NULL beside them."""
NAN_IS_NULL = {
    "FLOAT": "float('NaN')",
    "DOUBLE": "double('NaN')",
    "ARRAY<DOUBLE>": "array(double('NaN'))",
    "MAP<STRING, DOUBLE>": "map('a', double('NaN'))",
    "STRUCT<a: DOUBLE>": "named_struct('a', double('NaN'))",
}
FAILS = {
    "BIGINT": (f"{LARGE}L", "pandas would round column 'v' (BIGINT)"),
    "BIGINT below": (f"{-LARGE}L", "pandas would round column 'v' (BIGINT)"),
    "TIMESTAMP": ("timestamp'9999-12-31 00:00:00'", "out of bounds"),
    "TIMESTAMP_NTZ": ("timestamp_ntz'0001-01-01 00:00:00'", "out of bounds"),
    "INTERVAL DAY TO SECOND": ("interval '-106753' day", "pandas cannot hold column 'v'"),
}
OF_FRAMES = ("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "BINARY", "DATE", "TIMESTAMP")
"""Spark converts a batch with these types only in a different way."""
OPERATORS: dict[str, Callable[[str], Operator]] = {
    "map_partitions": lambda ddl: MapPartitions(FunctionRef.of(functions.unchanged_frames), True, ddl, Batches.PANDAS),
    "apply_in_pandas": lambda ddl: ApplyInPandas(FunctionRef.of(functions.unchanged_frame), True, ("k",), ddl),
    "with the key": lambda ddl: ApplyInPandas(FunctionRef.of(functions.unchanged_frame_of_key), True, ("k",), ddl),
    "in batches": lambda ddl: ApplyInPandas(FunctionRef.of(functions.unchanged_frames_of_key), True, ("k",), ddl),
}


def scope(spark: SparkSession) -> Scope:
    def nothing(*_: object) -> DataFrame:
        raise AssertionError

    return Scope(
        spark=spark,
        parameters={},
        parallelism=None,
        read=nothing,
        materialize=nothing,
        stop_clock=nothing,
        contracts=[],
        is_dry=False,
    )


def table(spark: SparkSession, values: dict[str, list[str]]) -> DataFrame:
    """Return a key `k` and a column for each type, in one partition."""
    rows = [
        "SELECT 1 AS k, "
        + ", ".join(
            f"CAST({each[n % len(each)]} AS {kind}) AS `c{at}`" for at, (kind, each) in enumerate(values.items())
        )
        for n in range(max(map(len, values.values())))
    ]
    return spark.sql(" UNION ALL ".join(rows)).coalesce(1)


def test_a_key_with_a_dot_is_a_column_and_no_field(spark: SparkSession) -> None:
    rows = spark.sql("SELECT 'x' AS `a.b`, 1 AS n, named_struct('b', id) AS a FROM range(3)").coalesce(1)
    counts = ApplyInPandas(FunctionRef.of(functions.rows_of_group), True, ("a.b",), "n LONG")
    assert [row.n for row in evaluate(counts, {0: [rows]}, scope(spark)).collect()] == [3], "one group"


def shown(value: object) -> object:
    """Return a value that is equal to others only if all its bits are."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else struct.pack(">d", value)
    if isinstance(value, Row | list):
        return [shown(item) for item in value]
    if isinstance(value, dict):
        return {key: shown(item) for key, item in value.items()}
    return repr(bytes(value)) if isinstance(value, bytearray) else repr(value)


def ddl(rows: DataFrame) -> str:
    return ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in rows.schema)


@pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS.keys())
@pytest.mark.parametrize("null", [[], ["NULL"]], ids=["no NULL", "NULL"])
@pytest.mark.parametrize("kinds", [tuple(KEPT), OF_FRAMES], ids=["all types", "of frames"])
def test_a_function_that_changes_nothing_changes_no_value(
    operator: Callable[[str], Operator], null: list[str], kinds: tuple[str, ...], spark: SparkSession
) -> None:
    rows = table(spark, {kind: [*KEPT[kind], *null] for kind in kinds})
    found = evaluate(operator(ddl(rows)), {0: [rows]}, scope(spark))
    assert sorted(map(repr, map(shown, found.collect()))) == sorted(map(repr, map(shown, rows.collect())))


@pytest.mark.parametrize(
    "value",
    [
        f"array({LARGE}L, NULL)",
        f"array(array({LARGE}L, NULL))",
        f"map('a', {LARGE}L, 'b', NULL)",
        f"named_struct('a', array({LARGE}L, NULL))",
        f"array(named_struct('a', {LARGE}L), named_struct('a', NULL))",
    ],
)
@pytest.mark.parametrize("operator", list(OPERATORS.values())[:2], ids=list(OPERATORS)[:2])
def test_whole_numbers_within_a_column_are_kept_or_refused(
    operator: Callable[[str], Operator], value: str, spark: SparkSession
) -> None:
    """Spark 4.1 rounds them, beside a NULL; without one, it does not."""
    for text in (value, value.replace("NULL", "1L")):
        rows = spark.sql(f"SELECT 1 AS k, {text} AS v").coalesce(1)
        found = evaluate(operator(ddl(rows)), {0: [rows]}, scope(spark))
        if "NULL" in text and rounds_within_lists():
            with pytest.raises(PySparkException, match=r"pandas would round column 'v' \(BIGINT within it\)"):
                found.collect()
        else:
            assert shown(found.collect()) == shown(rows.collect())


@pytest.mark.parametrize("operator", list(OPERATORS.values())[:2], ids=list(OPERATORS)[:2])
def test_nan_comes_back_as_null(operator: Callable[[str], Operator], spark: SparkSession) -> None:
    rows = table(spark, {kind: [value] for kind, value in NAN_IS_NULL.items()})
    (row,) = evaluate(operator(ddl(rows)), {0: [rows]}, scope(spark)).collect()
    assert list(row)[1:] == [None, None, [None], {"a": None}, Row(a=None)]


@pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS.keys())
@pytest.mark.parametrize(("value", "words"), FAILS.values(), ids=FAILS.keys())
def test_a_value_that_a_frame_cannot_hold_fails(
    operator: Callable[[str], Operator], value: str, words: str, spark: SparkSession
) -> None:
    rows = spark.sql(f"SELECT 1 AS k, {value} AS v UNION ALL SELECT 1, NULL").coalesce(1)
    with pytest.raises(PySparkException, match=re.escape(words)):
        evaluate(operator(ddl(rows)), {0: [rows]}, scope(spark)).collect()


@pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS.keys())
@pytest.mark.parametrize("result", ["", ", v INTERVAL YEAR TO MONTH"])
def test_an_interval_of_years_fails(operator: Callable[[str], Operator], result: str, spark: SparkSession) -> None:
    rows = spark.sql("SELECT 1 AS k, INTERVAL '1-2' YEAR TO MONTH AS v")
    with pytest.raises(PySparkException):
        evaluate(operator(f"k INT{result}"), {0: [rows]}, scope(spark)).collect()


def test_large_numbers_are_kept_in_batches_without_null_and_in_arrows(spark: SparkSession) -> None:
    rows = spark.sql(f"SELECT 1 AS k, {LARGE}L AS v").coalesce(1)
    for operator in OPERATORS.values():
        (row,) = evaluate(operator("k INT, v BIGINT"), {0: [rows]}, scope(spark)).collect()
        assert row.v == LARGE
    rows = rows.union(spark.sql("SELECT 1, CAST(NULL AS BIGINT)")).coalesce(1)
    arrow = MapPartitions(FunctionRef.of(functions.same_batches), True, "k INT, v BIGINT", Batches.ARROW)
    assert {row.v for row in evaluate(arrow, {0: [rows]}, scope(spark)).collect()} == {LARGE, None}


def test_the_page_has_every_type_of_this_table() -> None:
    text = DOCS.read_text().partition("| in a frame of pandas |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1:4:2] for line in text.splitlines()[2:]]
    page = {kind: verdict for kinds, verdict in cells for kind in re.findall("`(.+?)`", kinds)}
    plain = {re.split(r"[(<]", kind)[0] for kind in KEPT}
    assert set(page) == plain | {"INTERVAL YEAR TO MONTH"}
    assert {kind for kind, verdict in page.items() if "NULL for NaN" in verdict} == {
        re.split("<", kind)[0] for kind in NAN_IS_NULL
    }
    failing = {kind for kind, verdict in page.items() if "fails" in verdict}
    refused = {kind.partition(" below")[0] for kind in FAILS}
    assert failing == refused | {"INTERVAL YEAR TO MONTH"}


NUMBERS = st.lists(st.none() | st.integers(-(2**63), 2**63 - 1) | st.integers(2**53 - 2, 2**53 + 2))


@pytest.mark.filterwarnings("ignore:The copy keyword is deprecated")
@given(NUMBERS, st.booleans())
def test_whole_numbers_are_kept_or_refused(numbers: list[int | None], is_beside_text: bool) -> None:
    """Through Spark's own conversions, without a worker: a batch with text is converted in a different way."""
    schema = StructType().add("v", LongType())
    is_beside_text = is_beside_text and HAS_TWO_WAYS
    frame = pd.DataFrame({"v": to_pandas(pa.array(numbers, pa.int64()), LongType(), is_beside_text=is_beside_text)})
    function = exact(functions.unchanged_frame, "f", schema, schema)
    has_large = any(number is not None and abs(number) >= 2**53 for number in numbers)
    if None in numbers and has_large and not is_beside_text:
        with pytest.raises(OverflowError):
            function(frame)
        return
    found = function(frame)
    assert isinstance(found, pd.DataFrame)
    assert to_arrow(found, schema).to_pylist() == numbers


ZONED = datetime(2024, 1, 2, 0, 30, tzinfo=timezone(timedelta(hours=2)))
RESULTS: dict[str, pd.Series] = {
    "fractions": pd.Series([1.5, None]),
    "numbers": pd.Series([2.0, None]),
    "2^53": pd.Series([2.0**53]),
    "2^63": pd.Series([2.0**63]),
    "infinity": pd.Series([float("inf")]),
    "NaN": pd.Series([float("nan")]),
    "float32": pd.Series([0.1], dtype="float32"),
    "int64": pd.Series([LARGE, 1]),
    "uint64": pd.Series([2**64 - 1], dtype="uint64"),
    "Int64": pd.Series([LARGE, None], dtype="Int64"),
    "Float64": pd.Series([1.5, None], dtype="Float64"),
    "Arrow's": pd.Series([2**40], dtype="int64[pyarrow]"),
    "ints": pd.Series([LARGE, None], dtype=object),
    "huge": pd.Series([2**70], dtype=object),
    "mixed": pd.Series([1.5, 2], dtype=object),
    "an infinite object": pd.Series([float("inf"), 2], dtype=object),
    "Decimals": pd.Series([Decimal("1.005"), None, Decimal("NaN")]),
    "whole Decimals": pd.Series([Decimal("2.000"), None, Decimal("NaN")]),
    "missing": pd.Series([True, pd.NA, None, float("nan"), 3], dtype=object),
    "large Decimals": pd.Series([Decimal("12345678901234567890123456789.5")]),
    "categories": pd.Series([1.5, 2.0]).astype("category"),
    "lists": pd.Series([[1.5]]),
    "lists of ints": pd.Series([[LARGE, None], None]),
    "arrays": pd.Series([np.array([1.5]), np.array([1])]),
    "lists of lists": pd.Series([[[1], [Decimal("2.5")]]]),
    "dicts": pd.Series([{"a": 1.5}]),
    "pairs": pd.Series([[("a", 1.5)]]),
    "tuples": pd.Series([(1.5,)]),
    "text": pd.Series(["12", "1.5"]),
    "texts": pd.Series(["12", None], dtype=object),
    "Booleans": pd.Series([True, False]),
    "flags": pd.Series([1, 0]),
    "flags of floats": pd.Series([1.0, None]),
    "0.3": pd.Series([0.3]),
    "0.3 as an object": pd.Series([0.3, None], dtype=object),
    "2": pd.Series([2, 1]),
    "2 as an object": pd.Series([2, None], dtype=object),
    "NaN only": pd.Series([float("nan")] * 2),
    "1e300": pd.Series([1e300]),
    "1e300 as an object": pd.Series([1e300], dtype=object),
    "minus 1e39": pd.Series([-1e39, 1.0]),
    "large float32": pd.Series([3.4028234e38, float("-inf")]),
    "seconds": pd.Series([1704153600, 1704153601]),
    "bytes": pd.Series([b"ab", b"\xff", None]),
    "dates": pd.Series([date(2024, 1, 2), None, date(1, 1, 1)], dtype=object),
    "times": pd.Series(pd.to_datetime(["2024-01-02T03:04:05.678901", None])),
    "nanoseconds": pd.Series(pd.to_datetime(["2024-01-02T03:04:05.123456789"])),
    "times with a zone": pd.Series(pd.to_datetime(["2024-01-02T00:30+02:00"])),
    "times in London": pd.Series(pd.to_datetime(["2024-01-02", "2024-07-02"])).dt.tz_localize("Europe/London"),
    "times in UTC": pd.Series(pd.to_datetime(["2024-01-02T00:30", None])).dt.tz_localize("UTC"),
    "Arrow's times with a zone": pd.Series([ZONED], dtype=pd.ArrowDtype(pa.timestamp("us", "Europe/Berlin"))),
    "Arrow's days": pd.Series([date(2024, 1, 2)], dtype=pd.ArrowDtype(pa.date32())),
    "datetimes": pd.Series([datetime(2024, 1, 2, 3), None, pd.NaT], dtype=object),
    "datetimes with a zone": pd.Series([ZONED], dtype=object),
    "Timestamps": pd.Series([pd.Timestamp("2024-01-02T00:00:00.123456789")], dtype=object),
    "times of NumPy": pd.Series([np.datetime64("2024-01-02T00:00:00.123456789")], dtype=object),
    "times of day": pd.Series([time(3, 4)], dtype=object),
    "durations": pd.Series(pd.to_timedelta(["5s", None])),
    "a nanosecond": pd.Series(pd.to_timedelta([1], unit="ns")),
    "timedeltas": pd.Series([timedelta(seconds=5), None, pd.NaT], dtype=object),
    "Timedeltas": pd.Series([pd.Timedelta(1, unit="ns")], dtype=object),
    "durations of NumPy": pd.Series([np.timedelta64(1, "ns")], dtype=object),
    "lists of datetimes": pd.Series([[datetime(2024, 1, 2, 3)], [ZONED]]),
    "lists of Timestamps": pd.Series([[pd.Timestamp("2024-01-02T00:00:00.123456789")]]),
    "lists of durations": pd.Series([[timedelta(seconds=5), pd.Timedelta(1, unit="ns")]]),
    "lists of flags": pd.Series([[True, False, None]]),
    "lists of 0.3": pd.Series([[0.3]]),
    "lists of 1e300": pd.Series([np.array([1e300])]),
    "lists of text": pd.Series([["x", None]]),
}
TYPES = (
    "TINYINT", "INT", "BIGINT", "DECIMAL(10,2)", "DECIMAL(38,3)", "ARRAY<BIGINT>", "ARRAY<INT>",
    "ARRAY<ARRAY<BIGINT>>", "BOOLEAN", "FLOAT", "DOUBLE", "STRING", "BINARY", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ",
    "INTERVAL DAY TO SECOND", "ARRAY<BOOLEAN>", "ARRAY<FLOAT>", "ARRAY<STRING>", "ARRAY<DATE>", "ARRAY<TIMESTAMP>",
    "ARRAY<TIMESTAMP_NTZ>", "ARRAY<INTERVAL DAY TO SECOND>", "ARRAY<BINARY>",
)  # fmt: skip
KEPT_RESULTS = {
    "TINYINT": {"flags", "numbers", "whole Decimals", "NaN only"},
    "INT": {"flags", "numbers", "whole Decimals", "2 as an object"},
    "BIGINT": {"flags", "2^53", "int64", "Int64", "ints", "seconds", "whole Decimals"},
    "DECIMAL(10,2)": {"whole Decimals"},
    "DECIMAL(38,3)": {"Decimals", "whole Decimals", "2"},
    "ARRAY<BIGINT>": {"lists of ints"},
    "BOOLEAN": {"Booleans", "flags", "flags of floats", "NaN only"},
    "FLOAT": {"float32", "fractions", "0.3", "infinity", "large float32", "NaN only"},
    "DOUBLE": {"float32", "fractions", "0.3", "1e300", "infinity", "0.3 as an object"},
    "STRING": {"text", "texts"},
    "BINARY": {"bytes", "text", "texts", "NaN only"},
    "DATE": {"dates", "times", "times in UTC", "Arrow's days", "datetimes"},
    "TIMESTAMP": {"times", "times with a zone", "times in UTC", "datetimes", "datetimes with a zone"},
    "TIMESTAMP_NTZ": {"times", "times in UTC", "datetimes"},
    "INTERVAL DAY TO SECOND": {"durations", "timedeltas"},
    "ARRAY<BOOLEAN>": {"lists of flags"},
    "ARRAY<FLOAT>": {"lists", "arrays"},
    "ARRAY<STRING>": {"lists of text"},
    "ARRAY<TIMESTAMP>": {"lists of datetimes"},
}
"""Some of what is not refused."""


@pytest.mark.filterwarnings("ignore:.*pandas >= 3")
@pytest.mark.parametrize("kind", TYPES)
def test_results_are_exactly_what_was_returned_or_refused(kind: str, spark: SparkSession) -> None:
    schema = spark.sql(f"SELECT CAST(NULL AS {kind}) AS v").schema
    kept = set()
    for name, series in RESULTS.items():
        try:
            checked = exact(functions.unchanged_frame, "f", StructType(), schema)(pd.DataFrame({"v": series}))
            assert isinstance(checked, pd.DataFrame)
            found = to_arrow(checked, schema).to_pylist()
        except (OverflowError, TypeError, ValueError, AttributeError, pa.ArrowException, PySparkException):
            continue
        is_narrow = "FLOAT" in kind
        assert all(same(each, value, is_narrow) for each, value in zip(found, series, strict=True)), (name, found)
        kept.add(name)
    assert kept >= KEPT_RESULTS.get(kind, set()), KEPT_RESULTS[kind] - kept


def same(found: object, value: Any, is_narrow: bool) -> bool:
    """Return whether Spark has what a function has returned; a text may have a value of another type as text."""
    if isinstance(found, list):
        return all(same(each, item, is_narrow) for each, item in zip(found, value, strict=True))
    if value is None or value is pd.NA or value is pd.NaT or value != value:  # noqa: PLR0124  # NaN
        return found is None
    if isinstance(found, float) and is_narrow:
        return math.isclose(found, float(value), rel_tol=1e-6)
    return bool(SAME[type(found)](found, value))


def same_decimal(found: Decimal, value: Any) -> bool:
    if isinstance(value, float | np.floating):
        return abs(found - Decimal(float(value))) <= Decimal("0.005")
    return Fraction(found) == Fraction(value)


def same_time(found: datetime, value: Any) -> bool:
    at = pd.Timestamp(value)
    if found.tzinfo is None and at.tzinfo is not None and at.utcoffset():
        return False
    in_utc = [each if each.tzinfo else each.tz_localize("UTC") for each in (pd.Timestamp(found), at)]
    return bool(in_utc[0] == in_utc[1])


def is_text_of(found: str, value: Any) -> bool:
    match value:
        case str() | bytes():
            return found == (value if isinstance(value, str) else value.decode())
        case date() | np.datetime64():
            return bool(pd.Timestamp(found) == pd.Timestamp(value))
        case time():
            return time.fromisoformat(found) == value
        case bool() | np.bool_():
            return found == str(value).lower()
        case int() | float() | Decimal() | np.number():
            return not isinstance(value, np.timedelta64) and float(found) == float(value)
    return False


SAME: dict[type, Callable[[Any, Any], bool]] = {
    bool: lambda found, value: found == value or str(found).lower() == value,
    int: lambda found, value: Fraction(found) == Fraction(value),
    float: lambda found, value: (
        math.isclose(found, value, rel_tol=1e-15) if isinstance(value, Decimal) else found == float(value)
    ),
    Decimal: same_decimal,
    bytes: lambda found, value: found == (value.encode() if isinstance(value, str) else value),
    datetime: same_time,
    date: lambda found, value: (
        isinstance(value, date | np.datetime64)
        and found == pd.Timestamp(value).date()
        and not pd.Timestamp(value).utcoffset()
    ),
    timedelta: lambda found, value: isinstance(value, timedelta) and pd.Timedelta(found) == pd.Timedelta(value),
    str: is_text_of,
    type(None): lambda *_: False,
}


class _InOrder(NamedTuple):
    a: str
    b: str


class _Exchanged(NamedTuple):
    b: str
    a: str


STRUCTS = {
    "a dictionary": ({"b": "B", "a": "A"}, ("A", "B")),
    "a field less": ({"b": "B"}, (None, "B")),
    "another field": ({"b": "B", "c": "A"}, None),
    "another case": ({"A": "A", "b": "B"}, None),
    "a row": (Row(a="A", b="B"), ("A", "B")),
    "a row in another order": (Row(b="B", a="A"), None),
    "a row of others": (Row(c="A", d="B"), None),
    "a named tuple": (_InOrder("A", "B"), ("A", "B")),
    "a named tuple in another order": (_Exchanged("B", "A"), None),
    "a tuple": (("A", "B"), ("A", "B")),
    "a list": (["A", "B"], ("A", "B")),
    "a short tuple": (("A",), None),
    "a long tuple": (("A", "B", "C"), None),
}


@pytest.mark.parametrize("name", STRUCTS)
def test_fields_of_structs_are_kept_or_refused(name: str, spark: SparkSession) -> None:
    value, fields = STRUCTS[name]
    wanted = None if fields is None else dict(zip("ab", fields, strict=True))
    for kind, returned, found in (
        ("STRUCT<a: STRING, b: STRING>", value, wanted),
        ("ARRAY<STRUCT<a: STRING, b: STRING>>", [value, None], [wanted, None]),
        ("MAP<STRING, STRUCT<a: STRING, b: STRING>>", {"k": value}, [("k", wanted)]),
    ):
        schema = spark.sql(f"SELECT CAST(NULL AS {kind}) AS v").schema
        function = exact(functions.unchanged_frame, "f", StructType(), schema)
        frame = pd.DataFrame({"v": pd.Series([returned, None], dtype=object)})
        if fields is None:
            with pytest.raises(OverflowError, match="allowed: the fields a, b, in this order"):
                function(frame)
        else:
            checked = function(frame)
            assert isinstance(checked, pd.DataFrame)
            assert to_arrow(checked, schema).to_pylist() == [found, None]


def failure_of(declare: Callable[[DataStream], DataStream], run: RunPipeline, out: Path) -> Failure:
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Values([("a", LARGE), ("a", None)], "k STRING, id BIGINT"), "rows")
    declare(rows).name("bad").sink_to(Parquet(f"{out}/out")).name("out")
    (*_, report) = run(env.pipeline())
    assert report.failure is not None
    assert not (out / "out").exists()
    return report.failure


IDS = "k STRING, id BIGINT"
WAYS: dict[str, Callable[[DataStream], DataStream]] = {
    "map_partitions": lambda rows: rows.select("id").global_().map_partitions(functions.unchanged_frames, "id BIGINT"),
    "apply_in_pandas": lambda rows: rows.key_by("k").apply_in_pandas(functions.unchanged_frame, IDS),
    "after another function": lambda rows: (
        rows.map_partitions(functions.same_batches, IDS, batches="arrow")
        .key_by("k")
        .apply_in_pandas(functions.unchanged_frame, IDS)
    ),
}


@pytest.mark.parametrize("declare", WAYS.values(), ids=WAYS.keys())
def test_a_rounded_column_is_named_with_its_operator(
    declare: Callable[[DataStream], DataStream], run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    failure = failure_of(declare, run_pipeline, tmp_path)
    assert failure.operator == "bad"
    assert failure.throwable_type is ThrowableType.NON_RECOVERABLE_ERROR
    first = "pandas would round column 'id' (BIGINT) for tests.spark.functions:unchanged_fr"
    assert failure.message.startswith(first)
    assert "\n  hint: cast the column to STRING before" in failure.message


@pytest.mark.parametrize(
    ("result", "kind", "words"),
    [
        ("half", "INT", "its function returns values for column 'v' that its type would change"),
        ("half", "INT", "found: float64; allowed: what int32 holds exactly"),
        ("large", "BIGINT", "found: float64; allowed: what int64 holds exactly"),
        ("ratio", "DECIMAL(10,2)", "found: object; allowed: what decimal128(10, 2) holds exactly"),
        ("object", "INT", "returns a value that its type would change, in column 'v', of tests.spark.functions:with_r"),
    ],
)
def test_a_result_that_its_column_would_change_is_named(
    result: str, kind: str, words: str, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    failure = failure_of(
        lambda rows: (
            rows.filter("id IS NULL").key_by("k").apply_in_pandas(functions.with_result, f"v {kind}", result=result)
        ),
        run_pipeline,
        tmp_path,
    )
    assert failure.operator == "bad"
    assert failure.throwable_type is ThrowableType.NON_RECOVERABLE_ERROR
    assert words in failure.message
    assert "hint: round" in failure.message


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("timestamp'9999-12-31 00:00:00'", "pandas cannot hold a timestamp of its input"),
        ("interval '106753' day", "pandas cannot hold column 'it's'"),
    ],
)
def test_times_out_of_pandas_range_are_named(
    column: str, words: str, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    failure = failure_of(
        lambda rows: (
            rows.with_columns({"it's": column})
            .drop("id")
            .key_by("k")
            .apply_in_pandas(functions.count_of_key, "k STRING, n BIGINT")
        ),
        run_pipeline,
        tmp_path,
    )
    assert failure.operator == "bad"
    assert failure.throwable_type is ThrowableType.NON_RECOVERABLE_ERROR
    assert words in failure.message


NOT_NULL = {
    "a column": ("v BIGINT NOT NULL", "1L", "CAST(NULL AS BIGINT)"),
    "text": ("v STRING NOT NULL", "'a'", "CAST(NULL AS STRING)"),
    "a field": (
        "v STRUCT<`a.b`: BIGINT NOT NULL>",
        "named_struct('a.b', 1L)",
        "named_struct('a.b', CAST(NULL AS BIGINT))",
    ),
    "a field of items": (
        "v ARRAY<STRUCT<a: BIGINT NOT NULL, b: STRING>>",
        "array(named_struct('a', 1L, 'b', 'x'), NULL)",
        "array(named_struct('a', 1L, 'b', ''), named_struct('a', CAST(NULL AS BIGINT), 'b', ''))",
    ),
    "a field of a value": (
        "v MAP<STRING, STRUCT<a: BIGINT NOT NULL>>",
        "map('a', named_struct('a', 1L), 'b', NULL)",
        "map('a', named_struct('a', CAST(NULL AS BIGINT)))",
    ),
}
"""A declared column, a value that it holds, and a NULL that it does not."""
WITH_ARROW = {
    **OPERATORS,
    "arrow": lambda ddl: MapPartitions(FunctionRef.of(functions.same_batches), True, ddl, Batches.ARROW),
}


@pytest.mark.parametrize("operator", WITH_ARROW.values(), ids=WITH_ARROW.keys())
@pytest.mark.parametrize(("declared", "value", "null"), NOT_NULL.values(), ids=NOT_NULL.keys())
def test_a_null_in_a_column_that_is_declared_not_null_fails_the_task(
    declared: str, value: str, null: str, operator: Callable[[str], Operator], spark: SparkSession
) -> None:
    """Also where nothing reads the column."""
    kept, lost = (spark.sql(f"SELECT 1 AS k, {each} AS v").coalesce(1) for each in (value, null))
    schema = f"k INT NOT NULL COMMENT 'of it', {declared}"
    rows = evaluate(operator(schema), {0: [kept]}, scope(spark))
    assert [shown(row) for row in rows.collect()] == [shown(row) for row in kept.collect()]
    assert rows.schema == StructType.fromDDL(schema), "with NOT NULL and its comment"
    bad = evaluate(operator(schema), {0: [lost]}, scope(spark))
    asked = (bad, bad.select("k"), bad.filter("v IS NOT NULL"), bad.selectExpr("count(*)"))
    for each in asked:
        with pytest.raises(PySparkException, match="its function returns NULL for column 'v', which its schema"):
            each.collect()


def test_a_null_of_a_function_is_named_with_its_operator(run_pipeline: RunPipeline, tmp_path: Path) -> None:
    failure = failure_of(
        lambda rows: (
            rows.filter("id IS NULL")
            .key_by("k")
            .apply_in_pandas(functions.unchanged_frame, "k STRING, id BIGINT NOT NULL")
        ),
        run_pipeline,
        tmp_path,
    )
    assert failure.operator == "bad"
    assert failure.throwable_type is ThrowableType.NON_RECOVERABLE_ERROR
    assert "its function returns NULL for column 'id', which its schema declares NOT NULL" in failure.message


def test_workers_need_nothing_of_this_package(tmp_path: Path) -> None:
    (tmp_path / "user_code.py").write_text("def same(frame):\n    return frame\n")
    program = (
        "import pickle, sys\n"
        "import pandas\n"
        "function = pickle.loads(sys.stdin.buffer.read())\n"
        "print(function(pandas.DataFrame({'v': [1.0, None]})).v[0])\n"
        "assert not any(name.startswith('graph_compiler') for name in sys.modules)\n"
    )
    made = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from user_code import same\n"
        "from pyspark import cloudpickle\n"
        "from pyspark.sql.types import LongType, StructType\n"
        "from graph_compiler.spark_runtime.operators.pandas_frames import exact\n"
        "schema = StructType().add('v', LongType())\n"
        "sys.stdout.buffer.write(cloudpickle.dumps(exact(same, 'f', schema, schema)))\n"
    )
    pickled = subprocess.run([sys.executable, "-c", made, str(tmp_path)], check=True, capture_output=True).stdout
    answer = subprocess.run(
        [sys.executable, "-c", program],
        input=pickled,
        check=True,
        capture_output=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path)},
    )
    assert answer.stdout.decode().strip() == "1.0"


def test_frames_of_a_functions_own_are_only_checked_on_their_way_back(spark: SparkSession) -> None:
    rows = spark.sql("SELECT * FROM VALUES (1, 9007199254740993L), (1, NULL) AS t(k, id)")
    one = rows.coalesce(1).groupBy("k")
    kept = one.applyInPandas(lambda frame: frame, "k INT, id LONG").collect()
    assert {row.id for row in kept} == {9007199254740992, None}  # as docs/operators.md says
    halved = one.applyInPandas(lambda frame: frame.fillna(1) / 2, "k INT, id LONG")
    with pytest.raises(Exception, match="convertToArrowArraySafely"):
        halved.collect()
