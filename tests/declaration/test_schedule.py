from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from graph_compiler.declaration.dag.schedule import PRESETS, Schedule
from graph_compiler.options.schedule_checks import schedule_problems


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule(),
        *(Schedule(cron=preset) for preset in PRESETS),
        Schedule(cron="*/5 0-6 1,15 JAN mon#1"),
        Schedule(every=timedelta(minutes=5)),
        Schedule(assets=("/data/a", "s3://b/c", "orders")),
        Schedule(cron="@daily", start=date(2013, 1, 1), end=date(2013, 1, 1), catchup=True),
        Schedule(cron="@daily", timezone="Europe/Vienna"),
    ],
    ids=str,
)
def test_valid_schedules_are_accepted(schedule: Schedule) -> None:
    assert list(schedule_problems(schedule)) == []


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        (Schedule(cron="@dayly"), "schedule.cron: is '@dayly'"),
        (Schedule(cron="61 * * * *"), "schedule.cron: is '61 * * * *'"),
        (Schedule(cron="* * * *"), "allowed: five fields"),
        (Schedule(cron="* * * * * *"), "allowed: five fields"),
        (Schedule(cron="@daily", every=timedelta(1)), "schedule.every: there are cron and every"),
        (Schedule(every=timedelta(0)), "schedule.every: is 0:00:00"),
        (Schedule(assets=("{{ params.x }}/a",)), "'{{ params.x }}/a' is a template"),
        (Schedule(assets=("output/a",)), "'output/a' is a relative path"),
        (Schedule(timezone="Europe/Wien"), "did you mean 'Europe/Vienna'?"),
        (Schedule(start=date(2013, 1, 2), end=date(2013, 1, 1)), "before the start"),
        (Schedule(cron="@daily", catchup=True), "there is no start to catch up from"),
        ("@daily", "schedule: is '@daily'\n  allowed: a Schedule\n  hint: Schedule(cron='@daily')"),
        (Schedule(cron=5), "schedule.cron: is 5\n  allowed: text"),  # type: ignore[arg-type]
        (Schedule(every=5), "schedule.every: is 5"),  # type: ignore[arg-type]
        (Schedule(assets="/data"), "schedule.assets: is '/data'"),  # type: ignore[arg-type]
        (Schedule(assets=("/data", " ")), "schedule.assets: one of them is empty"),
        (Schedule(start="2026"), "schedule.start: is '2026'"),  # type: ignore[arg-type]
        (Schedule(timezone=None), "schedule.timezone: is None"),  # type: ignore[arg-type]
        (Schedule(start=date(1, 1, 1), timezone="Asia/Tokyo"), "is out of the supported range"),
    ],
    ids=str,
)
def test_invalid_schedules_are_refused(schedule: Schedule, words: str) -> None:
    assert words in "\n".join(map(str, schedule_problems(schedule)))


def test_a_day_starts_in_the_schedules_time_zone() -> None:
    schedule = Schedule(timezone="Europe/Vienna")
    vienna = ZoneInfo("Europe/Vienna")
    assert schedule.moment(date(2026, 7, 1)) == datetime(2026, 7, 1, tzinfo=vienna)
    assert schedule.moment(datetime(2026, 7, 1, 6)) == datetime(2026, 7, 1, 6, tzinfo=vienna)
    assert schedule.moment(datetime(2026, 7, 1, 6, tzinfo=UTC)) == datetime(2026, 7, 1, 6, tzinfo=UTC)
    assert schedule.moment(None) is None
