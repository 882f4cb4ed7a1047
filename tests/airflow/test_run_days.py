"""Both nights of daylight saving: which days the runs of a schedule have, by Airflow's own timetable."""

import warnings
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment, param
from tests.airflow.functions_of_days import with_day

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]
ZONES = (
    *("Europe/Vienna", "Europe/London", "America/New_York", "America/St_Johns", "UTC"),
    *("Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Chatham"),
)
THIS_YEAR = datetime.now(UTC).year  # rules of zones change; the nights are found, not written here


def runs(cron: str, zone: str, *, most: int = 10_000) -> list[datetime]:
    """Return the logical dates of a year."""
    from airflow.timetables.base import TimeRestriction
    from airflow.timetables.trigger import CronTriggerTimetable
    from pendulum import instance

    table = CronTriggerTimetable(cron, timezone=zone)
    first, end = (datetime(year, 1, 2, tzinfo=UTC) for year in (THIS_YEAR, THIS_YEAR + 1))
    restriction = TimeRestriction(instance(first), instance(end), catchup=True)
    found: list[datetime] = []
    last: Any = None
    while len(found) < most:
        info = table.next_dagrun_info(last_automated_data_interval=last, restriction=restriction)
        if info is None:
            break
        last = info.data_interval
        assert info.logical_date is not None
        found.append(info.logical_date.astimezone(UTC))
    return found


def env(target: str = "/out/{{ ds }}", condition: str = "v > 1") -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("daily")
    rows = env.from_source(Csv("/in"), "in").filter(condition).name("kept")
    rows.sink_to(Parquet(target)).name("out")
    return env


def warning_of(env: StreamExecutionEnvironment, cron: str, zone: str) -> str:
    from airflow.sdk import CronTriggerTimetable

    return warning("two runs have the same day", env, CronTriggerTimetable(cron, timezone=zone), zone)


def warning(words_in_it: str, env: StreamExecutionEnvironment, schedule: Any, zone: str = "UTC") -> str:
    """Return the warnings with these words when a Dag is built; they are in its documentation, too."""
    from graph_compiler.airflow_backend import build_dag

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dag = build_dag(env, schedule=schedule, start_date=datetime(2026, 1, 1, tzinfo=ZoneInfo(zone)))
    found = [str(each.message) for each in caught if words_in_it in str(each)]
    assert all(words.partition(": ")[2] in (dag.doc_md or "") for words in found)
    return "".join(found)


@settings(max_examples=25, deadline=None)
@given(zone=st.sampled_from(ZONES), minute=st.integers(0, 1439))
@example(zone="Europe/Vienna", minute=90)
def test_a_schedule_is_warned_of_where_two_runs_have_the_same_day(zone: str, minute: int) -> None:
    cron = f"{minute % 60} {minute // 60} * * *"
    days = Counter(f"{date:%Y-%m-%d}" for date in runs(cron, zone))
    is_twice = max(days.values()) > 1
    told = warning_of(env(), cron, zone)
    # A time that a night does not have is moved by Airflow, and may then be on the next day without our knowing.
    is_moved = any(
        (run.astimezone(ZoneInfo(zone)).hour * 60 + run.astimezone(ZoneInfo(zone)).minute) != minute
        for run in runs(cron, zone)
    )
    assert bool(told) == is_twice or is_moved
    if told:
        first, last = told.partition("a time from ")[2][:14].split(" to ")
        for safe in (first, last):
            hour, at = map(int, safe.split(":"))
            assert not warning_of(env(), f"{at} {hour} * * *", zone)


@pytest.mark.parametrize("zone", ["Europe/Vienna", "Europe/London"])
def test_hourly_runs_have_each_hour_of_both_nights_once(zone: str) -> None:
    dates = runs("0 * * * *", zone)
    assert {(after - before).total_seconds() for before, after in pairwise(dates)} == {3600.0}
    assert not warning_of(env("/out/{{ ts_nodash }}"), "0 * * * *", zone)


@pytest.mark.parametrize(
    ("declared", "names"),
    [
        (env("/out/{{ ds }}"), "out"),
        (env("/out/{{ ds_nodash }}"), "out"),
        (env("/out/{{ run_date }}"), "out"),
        (env("/out/{{ ts }}", "day = :run_date"), "kept"),
        (env("/out/{{ run_date }}", "day = :run_date"), "kept and out"),
    ],
)
def test_operators_that_use_the_day_are_named(declared: StreamExecutionEnvironment, names: str) -> None:
    assert f"{names} would replace the rows" in warning_of(declared, "@daily", "Europe/London")


def test_a_function_with_the_day_is_named() -> None:
    declared = env("/out/{{ ts }}")
    rows = declared.from_source(Csv("/other"), "other")
    rows.transform(with_day, day=param("run_date")).name("dated").sink_to(Parquet("/o/{{ ts }}"))
    assert "dated would replace" in warning_of(declared, "30 1 * * *", "Europe/Vienna")


@pytest.mark.parametrize(
    ("cron", "zone"),
    [
        ("@daily", "Europe/Vienna"),
        ("30 2 * * *", "Europe/Vienna"),
        ("30 1 * * *", "UTC"),
        ("0 * * * *", "Europe/London"),
        ("0 0,12 * * *", "Europe/London"),
        ("@hourly", "Europe/London"),
    ],
)
def test_other_schedules_are_not_warned_of(cron: str, zone: str) -> None:
    assert not warning_of(env(), cron, zone)


def test_runs_that_do_not_use_the_day_are_not_warned_of() -> None:
    assert not warning_of(env("/out/{{ ts }}/{{ run_id }}"), "@daily", "Europe/London")


def test_the_hint_for_paths_gives_each_run_the_day_of_its_zone() -> None:
    from airflow.sdk import DAG
    from pendulum import instance

    told = warning_of(env(), "30 1 * * *", "Europe/Vienna")
    template = told[told.rindex("{{") : told.rindex("}}") + 2]
    render = DAG("p").get_template_env().from_string(template).render
    dates = runs("30 1 * * *", "Europe/Vienna")
    days = [render(logical_date=instance(date)) for date in dates]
    first = datetime.fromisoformat(days[0])
    assert days == [f"{first + timedelta(days=number):%Y-%m-%d}" for number in range(len(dates))]


def test_run_date_in_the_zone_of_the_schedule_is_not_warned_of() -> None:
    declared = env("/out/{{ run_date }}", "day = :run_date")
    own = StreamExecutionEnvironment("daily", config={"airflow.run-date-timezone": "Europe/Vienna"})
    rows = own.from_source(Csv("/in"), "in").filter("day = :run_date").name("kept")
    rows.sink_to(Parquet("/out/{{ run_date }}")).name("out")
    assert warning_of(declared, "30 1 * * *", "Europe/Vienna")
    assert not warning_of(own, "30 1 * * *", "Europe/Vienna")
    assert warning_of(own, "@daily", "Europe/London")


class Run:
    """What Airflow knows of a run."""

    def __init__(self, moment: str | None, run_type: str = "scheduled", run_id: str | None = None) -> None:
        self.run_id = run_id or f"{run_type}__{moment}"
        self.logical_date = None if moment is None else datetime.fromisoformat(moment)
        self.run_after = datetime.fromisoformat("2026-07-01T22:30:00+00:00")
        self.run_type = run_type


@pytest.mark.parametrize(
    ("run", "zone", "day"),
    [
        (Run("2026-03-26T23:30:00+00:00"), "UTC", "2026-03-26"),
        (Run("2026-03-26T23:30:00+00:00"), "Europe/Vienna", "2026-03-27"),
        (Run("2026-03-29T22:30:00+00:00"), "Europe/Vienna", "2026-03-30"),
        (Run("2026-03-27T00:30:00+01:00"), "UTC", "2026-03-26"),
        (Run("2026-03-27T00:00:00+00:00"), "America/New_York", "2026-03-26"),
        (Run("2026-03-27T00:00:00+00:00", "manual"), "America/New_York", "2026-03-27"),
        (Run("2026-03-27T01:00:00+00:00", "manual"), "America/New_York", "2026-03-26"),
        (Run("2026-03-26T23:30:00+00:00", "backfill"), "Europe/Vienna", "2026-03-27"),
        # A backfill that repeats a run changes its type, and not its id.
        (Run("2026-03-27T00:00:00+00:00", "backfill", "manual__2026-03-27_a"), "America/New_York", "2026-03-27"),
        (Run("2026-03-27T00:00:00+00:00", "backfill", "of_mine"), "America/New_York", "2026-03-27"),
        (Run("2026-03-27T00:00:00+00:00", "backfill", "scheduled__2026-03-27"), "America/New_York", "2026-03-26"),
        (Run("2026-03-27T00:00:00+00:00", "backfill"), "America/New_York", "2026-03-26"),
        (Run("2026-03-27T00:00:00+00:00", "operator_triggered", "manual__x"), "America/New_York", "2026-03-27"),
        (Run(None, "asset_triggered"), "Europe/Vienna", "2026-07-02"),
        (Run(None, "asset_triggered"), "UTC", "2026-07-01"),
    ],
)
def test_run_date_is_the_day_in_the_zone_that_the_pipeline_asks_for(run: Run, zone: str, day: str) -> None:
    from graph_compiler.airflow_backend.dag.logical_dates import with_run_date

    assert with_run_date({"dag_run": run}, zone)["run_date"] == day  # type: ignore[typeddict-item]


def test_each_local_day_of_a_year_is_one_run_date() -> None:
    from graph_compiler.airflow_backend.dag.logical_dates import with_run_date

    days = [
        with_run_date({"dag_run": Run(date.isoformat())}, "Europe/Vienna")["run_date"]  # type: ignore[typeddict-item]
        for date in runs("30 0 * * *", "Europe/Vienna")
    ]
    first = datetime.fromisoformat(days[0])
    assert days == [f"{first + timedelta(days=number):%Y-%m-%d}" for number in range(len(days))]


def test_a_task_renders_the_day_of_its_pipelines_zone() -> None:
    from graph_compiler.airflow_backend import build_dag

    own = StreamExecutionEnvironment("daily", config={"airflow.run-date-timezone": "Europe/Vienna"})
    own.from_source(Csv("/in"), "in").filter("day = :run_date").sink_to(Parquet("/out/{{ run_date }}")).name("out")
    task: Any = build_dag(own).tasks[0]
    context: Any = {"dag_run": Run("2026-03-26T23:30:00+00:00"), "params": {}}
    task.render_template_fields(context)
    assert task.parameters["run_date"] == "2026-03-27"
    assert "/out/2026-03-27" in task.places.values()


def days_that_may_be_empty(path: str) -> StreamExecutionEnvironment:
    declared = StreamExecutionEnvironment("daily")
    rows = declared.from_source(Csv(path, schema="v INT", if_missing="empty"), "of_the_day")
    rows.sink_to(Parquet("/out/{{ ts_nodash }}")).name("out")
    return declared


def test_runs_at_midnight_are_warned_of_where_the_day_that_begins_may_be_empty() -> None:
    from airflow.sdk import DAG, CronDataIntervalTimetable, CronTriggerTimetable
    from airflow.sdk.execution_time import macros

    words = "names the day that begins then"
    begins = days_that_may_be_empty("/in/{{ ds }}")
    told = warning(words, begins, "@daily")
    assert "the path of of_the_day" in told
    assert warning(words, begins, CronTriggerTimetable("0 0 * * *", timezone="UTC"))
    assert not warning(words, begins, CronDataIntervalTimetable("@daily", timezone="UTC")), "its ds has ended"
    assert not warning(words, begins, "0 22 * * *")
    assert not warning(words, begins, None)

    template = told[told.rindex("{{") : told.rindex("}}") + 2]
    ended = days_that_may_be_empty(f"/in/{template}")
    assert not warning(words, ended, "@daily")
    assert DAG("p").get_template_env().from_string(template).render(ds="2026-03-01", macros=macros) == "2026-02-28"
