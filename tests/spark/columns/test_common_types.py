"""Two columns in one operator: every value of both is kept and compared exactly, or the operator is refused."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, DecimalType, StructType

from graph_compiler import DataStream, Parquet, StreamExecutionEnvironment, Values
from graph_compiler.deployment.documents.report import ThrowableType
from graph_compiler.spark_runtime.columns.exact_casts import share_a_type
from graph_compiler.spark_runtime.operators.columns import ColumnsError, require_time
from tests.spark.conftest import RunPipeline

pytestmark = [pytest.mark.spark, pytest.mark.ci]

LARGE = 2**53 + 1


def of_digits(precision: int, scale: int) -> list[str]:
    whole, last = "9" * (precision - scale) or "0", "0" * (scale - 1) + "1" if scale else ""
    nines = f"{whole}.{'9' * scale}"
    return [nines, f"-{nines}", f"0.{last}", "0"]


SAMPLES: dict[str, list[str]] = {
    "TINYINT": ["127", "-128", "0"],
    "SMALLINT": ["32767", "-32768", "7"],
    "INT": [str(2**31 - 1), str(-(2**31)), str(2**24 + 1), "7"],
    "BIGINT": [str(2**63 - 1), str(-(2**63)), str(LARGE), str(LARGE - 1), "7"],
    "FLOAT": ["0.1", "16777216", "3.4028235E38", "1.4E-45", "7"],
    "DOUBLE": ["0.1", str(LARGE - 1), "1.7976931348623157E308", "4.9E-324", "7"],
    "DECIMAL(15,0)": of_digits(15, 0),
    "DECIMAL(16,0)": of_digits(16, 0),
    "DECIMAL(10,2)": of_digits(10, 2),
    "DECIMAL(20,0)": [*of_digits(20, 0), str(LARGE)],
    "DECIMAL(38,0)": [*of_digits(38, 0), str(LARGE)],
    "DECIMAL(38,18)": of_digits(38, 18),
    "DECIMAL(38,19)": of_digits(38, 19),
    "DECIMAL(38,38)": of_digits(38, 38),
    "STRING": ["007", "7", "9007199254740992.5", "2024-1-1", "true", "x"],
    "STRING COLLATE UTF8_LCASE": ["007", "x"],
    "BOOLEAN": ["true", "false"],
    "BINARY": ["x", "7"],
    "DATE": ["1582-10-15", "9998-12-31", "2024-01-01"],
    "TIMESTAMP": ["1900-01-01 00:00:00", "2024-01-01 00:00:00", "2024-03-31 02:30:00.000001"],
    "TIMESTAMP_NTZ": ["1900-01-01 00:00:00", "2024-01-01 00:00:00", "2024-03-31 02:30:00.000001"],
    "INTERVAL DAY": ["106751991", "-1"],
    "INTERVAL DAY TO SECOND": ["1 00:00:00.000001", "0 00:00:00"],
    "ARRAY<BIGINT>": [f"array({LARGE})", "array(7)"],
    "ARRAY<INT>": ["array(7)", "array(NULL)"],
    "ARRAY<DOUBLE>": [f"array({LARGE - 1}D)"],
    "ARRAY<STRING>": ["array('007')"],
    "MAP<STRING,BIGINT>": [f"map('a',{LARGE}L)"],
    "MAP<STRING,DOUBLE>": [f"map('a',{LARGE - 1}D)"],
    "MAP<STRING,INT>": ["map('a',7)"],
    "STRUCT<a:BIGINT,b:STRING>": [f"struct({LARGE}L AS a,'x' AS b)"],
    "STRUCT<a:DOUBLE,b:STRING>": [f"struct({LARGE - 1}D AS a,'x' AS b)"],
    "STRUCT<a:INT,b:STRING>": ["struct(7 AS a,'x' AS b)"],
}
PAIRS = list(combinations(SAMPLES, 2))


def column(kind: str, number: int) -> str:
    values = SAMPLES[kind]
    value = values[number % len(values)]
    return f"CAST({value if '(' in value else repr(value)} AS {kind})"


def exact(value: object) -> object:
    """Return a value that is equal to others only if it means the same."""
    match value:
        case bool():
            found: object = value
        case int() | float() | Decimal():
            found = Fraction(value)
        case bytearray() | bytes():
            found = bytes(value).decode()
        case datetime():
            found = value.replace(tzinfo=UTC)
        case date():
            found = datetime(value.year, value.month, value.day, tzinfo=UTC)
        case dict():
            found = {key: exact(item) for key, item in value.items()}
        case list() | tuple():
            found = [exact(item) for item in value]
        case _:
            found = value
    return found


def table(spark: SparkSession, kinds: list[str]) -> DataFrame:
    """Return a column `c0`, `c1` … of each type, with all its samples."""
    rows = [
        "SELECT " + ", ".join(f"{column(kind, n)} AS c{at}" for at, kind in enumerate(kinds))
        for n in range(max(map(len, SAMPLES.values())))
    ]
    return spark.sql(" UNION ALL ".join(rows))


def parsed(spark: SparkSession, kind: str) -> DataType:
    return spark.sql(f"SELECT CAST(NULL AS {kind}) AS c").schema[0].dataType


def known(spark: SparkSession) -> dict[str, DataType]:
    return {kind: parsed(spark, kind) for kind in SAMPLES}


def works(analyze: Callable[[], DataFrame]) -> bool:
    try:
        return bool(analyze().schema)
    except AnalysisException:
        return False


@pytest.fixture(scope="module")
def allowed(spark: SparkSession) -> list[tuple[str, str]]:
    types = known(spark)
    return [pair for pair in PAIRS if share_a_type(types[pair[0]], types[pair[1]])]


def test_a_union_of_allowed_types_keeps_every_value(spark: SparkSession, allowed: list[tuple[str, str]]) -> None:
    can = [
        pair
        for pair in allowed
        if works(lambda pair=pair: table(spark, [pair[0]]).union(table(spark, [pair[1]])))  # type: ignore[misc]
    ]
    one, other = (table(spark, [pair[side] for pair in can]) for side in (0, 1))
    wanted = [[exact(value) for value in row] for rows in (one, other) for row in rows.collect()]
    found = [[exact(value) for value in row] for row in one.union(other).collect()]
    assert [list(each) for each in zip(*found, strict=True)] == [list(each) for each in zip(*wanted, strict=True)]
    assert {("INT", "DOUBLE"), ("BIGINT", "DECIMAL(38,18)"), ("DATE", "TIMESTAMP")} <= set(can)


def test_a_join_of_allowed_types_pairs_exactly_equal_values(
    spark: SparkSession, allowed: list[tuple[str, str]]
) -> None:
    can = [
        pair
        for pair in allowed
        if works(
            lambda pair=pair: (
                table(spark, [pair[0]])  # type: ignore[misc]
                .alias("a")
                .join(table(spark, [pair[1]]).alias("b"))
                .selectExpr("a.c0 = b.c0")
            )
        )
    ]
    one, other = (table(spark, [pair[side] for pair in can]) for side in (0, 1))
    equal = [f"a.c{at} <=> b.c{at}" for at in range(len(can))]
    found = one.alias("a").crossJoin(other.alias("b"))
    for row in found.selectExpr("struct(a.*) AS x", "struct(b.*) AS y", f"array({','.join(equal)}) AS z").collect():
        wrong = [
            (pair, left, right)
            for pair, left, right, same in zip(can, row.x, row.y, row.z, strict=True)
            if same != (exact(left) == exact(right)) and "COLLATE" not in "".join(pair)
        ]
        assert wrong == []


def test_each_refused_pair_of_types_changes_a_value(spark: SparkSession, allowed: list[tuple[str, str]]) -> None:
    """Otherwise it would be refused without a reason."""
    without_reason = []
    for pair in set(PAIRS) - set(allowed):
        one, other = (table(spark, [kind]) for kind in pair)
        if not works(lambda one=one, other=other: one.union(other)):  # type: ignore[misc]
            continue  # Spark refuses it, too
        wanted = [exact(row[0]) for rows in (one, other) for row in rows.collect()]
        try:
            found = [exact(row[0]) for row in one.union(other).collect()]
        except Exception:  # a text that is not a number, or a number with too many digits
            continue
        if found == wanted:
            without_reason.append(pair)
    assert without_reason == []


@st.composite
def decimals(draw: st.DrawFn) -> DecimalType:
    precision = draw(st.integers(1, 38))
    return DecimalType(precision, draw(st.integers(0, precision)))


@settings(max_examples=60, deadline=None)
@given(decimals(), decimals())
def test_decimals_share_a_type_if_sparks_common_type_has_the_digits_of_both(
    spark: SparkSession, one: DecimalType, other: DecimalType
) -> None:
    sides = [spark.createDataFrame([], StructType().add("c", kind)) for kind in (one, other)]
    common = sides[0].union(sides[1]).schema[0].dataType
    assert isinstance(common, DecimalType)
    holds = all(
        common.scale >= kind.scale and common.precision - common.scale >= kind.precision - kind.scale
        for kind in (one, other)
    )
    assert share_a_type(one, other) == holds


Declare = Callable[[DataStream, DataStream], DataStream]
OPERATORS: dict[str, Declare] = {
    "union": lambda a, b: a.union(b).filter("true"),
    "union of three": lambda a, b: a.union(a.cast(id="DECIMAL(25,0)"), b).filter("true"),
    "union into a sink": lambda a, b: a.union(b),
    "union_by_name": lambda a, b: a.union_by_name(b.rename({"k": "o"}), allow_missing_columns=True),
    "intersect": lambda a, b: a.intersect(b),
    "except": lambda a, b: a.except_(b, all=True),
    "join": lambda a, b: a.join(b.rename({"k": "o"}), on="id"),
    "join of other names": lambda a, b: a.join(b.rename({"k": "o", "id": "ID2"}), on={"id": "id2"}),
    "full join": lambda a, b: a.join(b.rename({"k": "o"}), on="id", how="full"),
    "semi join": lambda a, b: a.join(b, on=["k", "id"], how="semi"),
    "anti join": lambda a, b: a.join(b, on=["k", "id"], how="anti"),
    "interval join": lambda a, b: a.with_columns(t="current_timestamp()").interval_join(
        b.select(id="id", u="current_timestamp()"), on="id", times=("t", "u"), lower="0 minutes", upper="1 hour"
    ),
}


def two_streams(kind: str) -> tuple[StreamExecutionEnvironment, DataStream, DataStream]:
    env = StreamExecutionEnvironment("p")
    one = env.from_source(Values([("a", LARGE)], "k STRING, id BIGINT"), "ids")
    other = env.from_source(Values([("a", LARGE)], "k STRING, id BIGINT"), "others")
    return env, one, other.cast(id=kind).name("cast")


@pytest.mark.parametrize("declare", OPERATORS.values(), ids=OPERATORS.keys())
@pytest.mark.parametrize("kind", ["DOUBLE", "STRING"])
def test_operators_refuse_types_whose_values_change(
    declare: Declare, kind: str, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    env, one, other = two_streams(kind)
    declare(one, other).sink_to(Parquet(f"{tmp_path}/out"))
    (*_, report) = run_pipeline(env.pipeline())
    failure = report.failure
    assert failure is not None
    assert failure.throwable_type is ThrowableType.NON_RECOVERABLE_ERROR
    assert "Spark casts them to a type that changes values" in failure.message
    assert "allowed: equal types, or two whose common type holds every value" in failure.message
    assert "hint: choose the type yourself, before: cast(" in failure.message
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("declare", OPERATORS.values(), ids=OPERATORS.keys())
def test_operators_take_types_whose_common_type_holds_every_value(
    declare: Declare, run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path
) -> None:
    env, one, other = two_streams("DECIMAL(20,0)")
    declare(one, other).sink_to(Parquet(f"{tmp_path}/out"))
    assert [report.failure for report in run_pipeline(env.pipeline())] == [None]
    rows = spark.read.parquet(f"{tmp_path}/out").collect()
    assert {int(row["id"]) for row in rows} <= {LARGE}


@pytest.mark.parametrize("times", ["'2024-01-01T10:00:00Z'", "1704103200"])
def test_an_interval_join_is_of_times(times: str, run_pipeline: RunPipeline, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment("p")
    one = env.from_source(Values([(1,)], "id BIGINT"), "ids").sql(f"SELECT *, {times} AS t FROM {{input}}")
    other = one.select(id="id", u="t")
    joined = one.interval_join(other, on="id", times=("t", "u"), lower="0 minutes", upper="1 hour")
    joined.name("both").sink_to(Parquet(f"{tmp_path}/out"))
    (report,) = run_pipeline(env.pipeline())
    assert report.failure is not None
    assert report.failure.message.startswith("its time 't' of the left side is ")
    assert "allowed: DATE, TIMESTAMP and TIMESTAMP_NTZ" in report.failure.message


@pytest.mark.parametrize("value", ["'2024-01-01T10:00:00Z'", "1704103200"])
def test_a_time_is_neither_a_text_nor_a_number(value: str, spark: SparkSession) -> None:
    with pytest.raises(ColumnsError, match="its time 'T' of the left side is"):
        require_time(spark.range(1).selectExpr(f"{value} AS t"), "T", "the left side")


def test_all_columns_that_change_are_named_with_their_casts(run_pipeline: RunPipeline, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment("p")
    ids = env.from_source(Values([(1,)], "id BIGINT"), "ids")
    one = ids.with_columns(day="DATE '2024-01-01'")
    other = one.select(id="CAST(id AS DOUBLE)", day="'2024-01-01'")
    one.join(other, on=["id", "day"]).name("both").sink_to(Parquet(f"{tmp_path}/out"))
    (report,) = run_pipeline(env.pipeline())
    assert report.failure is not None
    assert report.failure.operator == "both"
    assert report.failure.message.splitlines()[0] == (
        "it joins 'id' (BIGINT) with 'id' (DOUBLE) and 'day' (DATE) with 'day' (STRING), "
        "and Spark casts them to a type that changes values"
    )
    casts = (
        'cast(id="BIGINT") on the right, where it is DOUBLE (fractions are cut) and cast(day="DATE") on the right, '
        "where it is STRING"
    )
    assert casts in report.failure.message
