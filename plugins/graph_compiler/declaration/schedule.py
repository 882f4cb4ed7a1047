"""When a pipeline runs, said beside what it does: for pipelines that no Dag file of their own is written for.

Schedule(cron="0 6 * * 1-5", timezone="Europe/Vienna", start=date(2026, 1, 1))
Schedule(assets=("/data/orders",))       whenever a pipeline that writes there has published
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, available_timezones

from graph_compiler.errors import Problem
from graph_compiler.identifiers import did_you_mean, listing

PRESETS = [
    "@once",
    "@continuous",
    "@hourly",
    "@daily",
    "@weekly",
    "@monthly",
    "@quarterly",
    "@yearly",
]
"""Airflow's names for schedules."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """One of `cron` (an expression or a preset), `every` or `assets` (places or URIs, all of them); none: by hand.

    `start` and `end` bound the logical dates, in `timezone`; `catchup` runs every interval since the start.
    """

    cron: str | None = None
    every: timedelta | None = None
    assets: tuple[str, ...] = ()
    start: date | datetime | None = None
    end: date | datetime | None = None
    timezone: str = "UTC"
    catchup: bool = False

    def moment(self, day: date | datetime | None) -> datetime | None:
        """Give a bound as a time in the schedule's time zone, the beginning of a day."""
        if day is None:
            return None
        zone: tzinfo = ZoneInfo(self.timezone)
        if isinstance(day, datetime):
            return day.astimezone(zone) if day.tzinfo else day.replace(tzinfo=zone)
        return datetime(day.year, day.month, day.day, tzinfo=zone)


def find_schedule_problems(schedule: Schedule) -> tuple[Problem, ...]:
    """Give everything wrong with a schedule; a Problem's key is `schedule.<field>`."""
    return tuple(_problems(schedule))


def _problems(schedule: Schedule) -> Iterator[Problem]:
    ways = [way for way in ("cron", "every", "assets") if getattr(schedule, way)]
    if len(ways) > 1:
        yield Problem(
            key=f"schedule.{ways[1]}", message=f"there are {listing(ways)}", allowed="one of them"
        )
    if schedule.cron is not None and (allowed := _what_cron_allows(schedule.cron)):
        hint = did_you_mean(schedule.cron, PRESETS)
        yield Problem(
            key="schedule.cron", message=f"is {schedule.cron!r}", allowed=allowed, hint=hint
        )
    if schedule.every is not None and schedule.every <= timedelta(0):
        yield Problem(
            key="schedule.every", message=f"is {schedule.every}", allowed="more than no time"
        )
    if schedule.timezone not in available_timezones():
        hint = did_you_mean(schedule.timezone, available_timezones())
        yield Problem(
            key="schedule.timezone",
            message=f"there is no time zone {schedule.timezone!r}",
            allowed="a name of the IANA database, such as Europe/Vienna",
            hint=hint,
        )
        return
    start, end = schedule.moment(schedule.start), schedule.moment(schedule.end)
    if start and end and end < start:
        yield Problem(
            key="schedule.end", message=f"is {schedule.end}, before the start, {schedule.start}"
        )
    if schedule.catchup and start is None:
        yield Problem(
            key="schedule.catchup",
            message="there is no start to catch up from",
            hint="say 'start', too",
        )


def _what_cron_allows(text: str) -> str | None:
    """Say what would be a schedule, None if this is one."""
    # Imported when called: Spark's driver may import a declaration, and has no croniter.
    from croniter import croniter

    if text.startswith("@"):
        return None if text in PRESETS else ", ".join(PRESETS)
    if croniter.is_valid(text) and len(text.split()) == 5:
        return None
    return f"five fields, as in '0 6 * * 1-5', or one of {', '.join(PRESETS)}"
