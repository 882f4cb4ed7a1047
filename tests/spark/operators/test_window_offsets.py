"""Where windows begin: at 1970-01-01, a Thursday, or `offset` later."""

from datetime import date, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from graph_compiler import SlidingEventTimeWindows, TumblingEventTimeWindows
from graph_compiler.declaration.windows import Window

pytestmark = pytest.mark.spark

EPOCH = datetime(1970, 1, 1)


def begins(spark: SparkSession, window: Window, *times: str) -> list[datetime]:
    rows = spark.createDataFrame([(time,) for time in times], "t STRING").selectExpr("CAST(t AS TIMESTAMP_NTZ) AS at")
    found = rows.selectExpr(f"{window.spark_function()} AS w").selectExpr("w.start").distinct().collect()
    return sorted(row[0] for row in found)


@pytest.mark.parametrize(
    ("offset", "weekdays"), [(None, {3}), ("4 days", {0}), ("-3 days", {0}), ("3 days", {6}), ("0 days", {3})]
)
def test_a_week_begins_on_the_day_of_its_offset(spark: SparkSession, offset: str | None, weekdays: set[int]) -> None:
    days = [f"{date(2024, 4, 1) + timedelta(days=number)} 12:00:00" for number in range(7)]
    found = begins(spark, TumblingEventTimeWindows("at", "1 week", offset), *days)
    assert {each.weekday() for each in found} == weekdays


def test_rows_of_one_calendar_week_are_in_one_window(spark: SparkSession) -> None:
    times = ("2024-04-01 00:00:00", "2024-04-03 12:00:00", "2024-04-07 23:59:59")
    assert begins(spark, TumblingEventTimeWindows("at", "1 week", "4 days"), *times) == [datetime(2024, 4, 1)]
    assert len(begins(spark, TumblingEventTimeWindows("at", "1 week"), *times)) == 2


def test_sliding_windows_begin_at_the_offset_of_their_slide(spark: SparkSession) -> None:
    window = SlidingEventTimeWindows("at", "2 weeks", "1 week", "4 days")
    found = begins(spark, window, "2024-04-03 12:00:00")
    assert found == [datetime(2024, 3, 25), datetime(2024, 4, 1)]


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(hours=st.integers(1, 400), shift=st.data())
def test_each_row_is_in_the_window_that_arithmetic_finds(spark: SparkSession, hours: int, shift: st.DataObject) -> None:
    offset = shift.draw(st.integers(1 - hours, hours - 1))
    at = datetime(2024, 2, 29, 13, 7)
    (found,) = begins(spark, TumblingEventTimeWindows("at", f"{hours} hours", f"{offset} hours"), str(at))
    size, moved = timedelta(hours=hours), EPOCH + timedelta(hours=offset)
    assert found == at - (at - moved) % size
