"""Checksums of rows: equal for equal rows in any order, different for anything that is different."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from graph_compiler.spark_runtime.results.row_checksum import ObservedChecksum

pytestmark = [pytest.mark.spark, pytest.mark.ci]


def checksum(rows: DataFrame) -> str | None:
    observed = ObservedChecksum.of(rows)
    observed.rows.write.format("noop").mode("overwrite").save()
    return observed.value(rows.count())


SAME = {
    "another order": ("VALUES (1, 'a'), (2, 'b')", "VALUES (2, 'b'), (1, 'a')"),
    "maps in another order": ("SELECT map('a', 1, 'b', 2)", "SELECT map('b', 2, 'a', 1)"),
    "maps of maps in another order": ("SELECT map(1, map('a', 1, 'b', 2))", "SELECT map(1, map('b', 2, 'a', 1))"),
    "NaN": ("SELECT double('NaN')", "SELECT -double('NaN')"),
    "no rows": ("SELECT 1 WHERE false", "SELECT 2 WHERE false"),
}
DIFFERENT = {
    "a value": ("VALUES (1, 'a')", "VALUES (1, 'b')"),
    "one row more": ("VALUES (1)", "VALUES (1), (1)"),
    "a pair that exclusive or would cancel": ("VALUES (1), (1)", "VALUES (2), (2)"),
    "values between rows": ("VALUES (1, 'a'), (2, 'b')", "VALUES (1, 'b'), (2, 'a')"),
    "the place of NULL": ("VALUES (CAST(NULL AS INT), 1)", "VALUES (1, CAST(NULL AS INT))"),
    "NULL and false": ("SELECT CAST(NULL AS BOOLEAN)", "SELECT false"),
    "zeros": ("SELECT 0.0D", "SELECT -0.0D"),
    "zeros in arrays": ("SELECT array(0.0D)", "SELECT array(-0.0D)"),
    "float zeros": ("SELECT float(0.0)", "SELECT -float(0.0)"),
    "the place of NULL in arrays": ("SELECT array(NULL, 1)", "SELECT array(1, NULL)"),
    "the bounds of arrays": ("SELECT array(array(1), array(2, 3))", "SELECT array(array(1, 2), array(3))"),
    "the order in arrays": ("SELECT array(1, 2)", "SELECT array(2, 1)"),
    "empty and NULL": ("SELECT CAST(array() AS ARRAY<INT>)", "SELECT CAST(NULL AS ARRAY<INT>)"),
    "a struct of NULL and NULL": ("SELECT named_struct('a', CAST(NULL AS INT))", "SELECT CAST(NULL AS STRUCT<a: INT>)"),
    "who has what in maps": ("SELECT map('a', 1, 'b', 2)", "SELECT map('a', 2, 'b', 1)"),
    "letters of a string": ("SELECT 'a'", "SELECT 'A'"),
    "binary": ("SELECT X'00'", "SELECT X'0000'"),
    "instants": ("SELECT timestamp'2020-01-01 00:00:00'", "SELECT timestamp'2020-01-01 00:00:00.000001'"),
    "large decimals": ("SELECT 12345678901234567890.01", "SELECT 12345678901234567890.02"),
}
NOT_COMPARABLE = {
    "variants": "SELECT parse_json('1')",
    "variants inside": "SELECT array(parse_json('1'))",
    "strings of a collation": "SELECT 'a' COLLATE UTF8_LCASE",
    "structs of such strings": "SELECT map(1, named_struct('s', 'a' COLLATE UTF8_LCASE))",
}


@pytest.mark.parametrize(("one", "other"), SAME.values(), ids=SAME)
def test_equal_rows_have_equal_checksums(one: str, other: str, spark: SparkSession) -> None:
    found = checksum(spark.sql(one))
    assert found is not None
    assert found == checksum(spark.sql(other))


@pytest.mark.parametrize(("one", "other"), DIFFERENT.values(), ids=DIFFERENT)
def test_different_rows_have_different_checksums(one: str, other: str, spark: SparkSession) -> None:
    found = {checksum(spark.sql(one)), checksum(spark.sql(other))}
    assert None not in found
    assert len(found) == 2


@pytest.mark.parametrize("query", NOT_COMPARABLE.values(), ids=NOT_COMPARABLE)
def test_unhashable_types_have_no_checksum(query: str, spark: SparkSession) -> None:
    assert checksum(spark.sql(query)) is None


def test_every_type_that_can_be_staged_is_hashed_or_known_not_to_be(spark: SparkSession) -> None:
    query = (
        "SELECT 1Y, 2S, 3, 4L, 5.5, float(6), 7.0D, 'x', X'01', true, date'2020-01-01', now(), "
        "timestamp_ntz'2020-01-01 00:00:00', interval '1' year, interval '1' day, "
        "named_struct('a.b', 1, 'c', array(map('k', 1.5D))) AS `with a.dot`"
    )
    found = checksum(spark.sql(query))
    assert found is not None
    assert len(found) == 16


def test_checksums_do_not_depend_on_partitioning(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.range(10_000).selectExpr("id", "id % 7 AS k", "CAST(id AS STRING) AS s")
    found = set()
    for partitions in (1, 3, 8):
        observed = ObservedChecksum.of(rows.repartition(partitions, "k"))
        observed.rows.write.parquet(f"{tmp_path}/{partitions}")
        found.add(observed.value(10_000))
    assert len(found) == 1
    assert None not in found


def test_an_unexpected_number_of_rows_has_no_checksum(spark: SparkSession) -> None:
    observed = ObservedChecksum.of(spark.range(5))
    observed.rows.write.format("noop").mode("overwrite").save()
    assert observed.value(6) is None


SMALL = st.lists(
    st.tuples(
        st.none() | st.integers(-1, 2),
        st.none() | st.sampled_from([0.0, -0.0, float("nan"), 1.5]),
        st.none() | st.lists(st.none() | st.sampled_from(["", "a"]), max_size=2),
    ),
    max_size=3,
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(one=SMALL, other=SMALL)
def test_checksums_are_equal_exactly_where_the_rows_are(
    one: list[object], other: list[object], spark: SparkSession
) -> None:
    schema = "a int, b double, c array<string>"
    is_same = sorted(map(repr, one)) == sorted(map(repr, other))
    found = [checksum(spark.createDataFrame(rows, schema)) for rows in (one, other)]
    assert (found[0] == found[1]) is is_same
