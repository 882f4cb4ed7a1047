"""Warnings of weeks that begin on Thursdays, and of days of runs in another zone than the schedule's."""

from datetime import timedelta

import pytest

from graph_compiler import (
    Csv,
    EventTimeSessionWindows,
    Parquet,
    Schedule,
    SlidingEventTimeWindows,
    StreamExecutionEnvironment,
    TumblingEventTimeWindows,
)
from graph_compiler.compiler.checks.validation import find_warnings
from graph_compiler.declaration.windows import CALENDAR, Window, duration_of, wrong_interval
from graph_compiler.options.reader import read_options


def warnings_of(env: StreamExecutionEnvironment) -> list[str]:
    pipeline = env.pipeline()
    options, wrong = read_options(pipeline.config)
    assert not wrong
    return [str(problem) for problem in find_warnings(pipeline, options)]


def windowed(window: Window) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("weekly")
    rows = env.from_source(Csv("/in", schema="k INT, at TIMESTAMP"), "in").key_by("k")
    rows.window(window).aggregate(n="count(*)").name("weekly").sink_to(Parquet("/out")).name("out")
    return env


@pytest.mark.parametrize(
    "window",
    [
        TumblingEventTimeWindows("at", "1 week"),
        TumblingEventTimeWindows("at", "7 days"),
        TumblingEventTimeWindows("at", "interval 13 days 24 hours"),
        SlidingEventTimeWindows("at", "4 weeks", "1 week"),
    ],
)
def test_windows_of_weeks_without_an_offset_are_warned_of(window: Window) -> None:
    (said,) = warnings_of(windowed(window))
    assert said.startswith(f"weekly: its windows of {window.step} begin on Thursdays, at midnight UTC")
    assert 'hint: offset="4 days" lets them begin on Mondays' in said


@pytest.mark.parametrize(
    "window",
    [
        TumblingEventTimeWindows("at", "1 week", "4 days"),
        TumblingEventTimeWindows("at", "1 week", offset="0 days"),
        TumblingEventTimeWindows("at", "1 day"),
        SlidingEventTimeWindows("at", "1 week", "1 day"),
        SlidingEventTimeWindows("at", "4 weeks", "1 week", "-3 days"),
        EventTimeSessionWindows("at", "1 week"),
    ],
)
def test_other_windows_are_not_warned_of(window: Window) -> None:
    assert warnings_of(windowed(window)) == []


def test_durations_are_sums_of_their_parts() -> None:
    assert duration_of("interval 1 week -2 days 1.5 seconds") == timedelta(days=5, seconds=1.5)


@pytest.mark.parametrize("text", ["1.5 hours", "0.5 days", "1 month 2 days", "1 year 1 second", "2", "days"])
def test_intervals_that_spark_does_not_read_are_refused(text: str) -> None:
    assert wrong_interval(text, CALENDAR) is not None


@pytest.mark.parametrize("text", ["1 year 6 months", "interval -2 days 1.25 seconds", "10 MINUTES", "1.5 second"])
def test_intervals_that_spark_reads_are_taken(text: str) -> None:
    assert wrong_interval(text, CALENDAR) is None


def daily(cron: str | None, zone: str, target: str, condition: str = "k > 1", **config: str) -> list[str]:
    schedule = Schedule(cron=cron, timezone=zone, every=None if cron else timedelta(hours=1))
    options = {"airflow.run-date-timezone": config["own"]} if config else {}
    env = StreamExecutionEnvironment("daily", schedule=schedule, config=options)
    rows = env.from_source(Csv("/in", schema="k INT, day STRING"), "in").filter(condition).name("kept")
    rows.sink_to(Parquet(target)).name("out")
    return [line.partition(":")[0] for line in warnings_of(env)]


VIENNA, LATE = "Europe/Vienna", "30 0 * * *"


@pytest.mark.parametrize(
    ("cron", "zone", "target", "condition", "named"),
    [
        (LATE, VIENNA, "/out/day={{ ds }}", "k > 1", ["out"]),
        (LATE, VIENNA, "/out/day={{ ds_nodash }}", "k > 1", ["out"]),
        (LATE, VIENNA, "/out/day={{ run_date }}", "day = :run_date", ["kept", "out"]),
        ("@daily", VIENNA, "/out/day={{ run_date }}", "k > 1", ["out"]),
        ("0 * * * *", VIENNA, "/out/day={{ ds }}", "k > 1", ["out"]),
        (None, VIENNA, "/out/day={{ ds }}", "k > 1", ["out"]),
        ("0 20 * * *", "America/New_York", "/out/day={{ ds }}", "k > 1", ["out"]),
        ("0 6 * * *", VIENNA, "/out/day={{ ds }}", "day = :run_date", []),
        (LATE, "UTC", "/out/day={{ ds }}", "day = :run_date", []),
        (LATE, VIENNA, "/out/{{ ts_nodash }}/{{ params.ds }}/{{ dag.ds }}/ds", "k > 1", []),
    ],
)
def test_days_in_another_zone_than_the_schedules_are_warned_of(
    cron: str | None, zone: str, target: str, condition: str, named: list[str]
) -> None:
    target = target.replace("{{ params.ds }}", "{{ 'ds' }}")
    assert daily(cron, zone, target, condition) == named


def test_run_date_in_the_zone_of_the_schedule_is_not_warned_of() -> None:
    assert daily(LATE, VIENNA, "/out/day={{ run_date }}", "day = :run_date", own=VIENNA) == []
    assert daily(LATE, VIENNA, "/out/day={{ ds }}", "day = :run_date", own=VIENNA) == ["out"]
    assert daily(LATE, "UTC", "/out/day={{ run_date }}", own="Asia/Tokyo") == []
    assert daily(LATE, "UTC", "/out/day={{ run_date }}", own="America/New_York") == ["out"]


def test_the_warning_names_the_option() -> None:
    schedule = Schedule(cron=LATE, timezone=VIENNA)
    env = StreamExecutionEnvironment("daily", schedule=schedule)
    env.from_source(Csv("/in", schema="k INT"), "in").sink_to(Parquet("/out/{{ ds }}")).name("out")
    (said,) = warnings_of(env)
    assert "the schedule is in Europe/Vienna, but ds is a day in UTC" in said
    assert 'hint: config={"airflow.run-date-timezone": "Europe/Vienna"} makes run_date the day' in said
    assert "use {{ run_date }} for ds" in said


def of_the_day(
    cron: str, path: str, zone: str = "UTC", *, if_missing: str | None = "empty", own: str = "UTC"
) -> list[str]:
    config = {"airflow.run-date-timezone": own}
    env = StreamExecutionEnvironment("daily", schedule=Schedule(cron=cron, timezone=zone), config=config)
    rows = env.from_source(Csv(path, schema="k INT", if_missing=if_missing), "of_the_day")
    rows.sink_to(Parquet("/out/{{ logical_date.int_timestamp }}")).name("out")
    return [said for said in warnings_of(env) if "names the day that begins" in said]


@pytest.mark.parametrize("cron", ["@daily", "@weekly", "0 0 * * *", "0 0 * * 1-5"])
@pytest.mark.parametrize("path", ["/in/{{ ds }}", "/in/{{ds_nodash}}.csv", "/in/day={{ run_date }}/*.csv"])
def test_a_source_of_the_day_that_begins_is_warned_of_if_it_may_be_empty(cron: str, path: str) -> None:
    (said,) = of_the_day(cron, path)
    assert said.startswith("of_the_day: its path names the day that begins when the run starts")
    assert "macros.ds_add(ds, -1)" in said
    assert of_the_day(cron, path, if_missing=None) == []


@pytest.mark.parametrize(
    ("cron", "path", "zone", "own", "is_warned_of"),
    [
        ("0 22 * * *", "/in/{{ ds }}", "UTC", "UTC", False),
        ("@hourly", "/in/{{ ds }}", "UTC", "UTC", False),
        ("@daily", "/in/{{ macros.ds_add(ds, -1) }}", "UTC", "UTC", False),
        ("@daily", "/in/all", "UTC", "UTC", False),
        ("@daily", "/in/{{ ds }}", "Europe/Vienna", "UTC", False),  # 23:00 UTC of the day before
        ("@daily", "/in/{{ ds }}", "America/New_York", "UTC", True),
        ("@daily", "/in/{{ run_date }}", "Europe/Vienna", "Europe/Vienna", True),
        ("@daily", "/in/{{ run_date }}", "Europe/Vienna", "UTC", False),
    ],
)
def test_the_day_that_has_ended_is_not_warned_of(cron: str, path: str, zone: str, own: str, is_warned_of: bool) -> None:
    assert bool(of_the_day(cron, path, zone, own=own)) == is_warned_of
