"""When a pipeline runs, as part of its declaration: for pipelines without their own Dag file.

Schedule(cron="0 6 * * 1-5", timezone="Europe/Vienna", start=date(2026, 1, 1))
Schedule(assets=("/data/orders",))       after every publication there
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from graph_compiler.declaration.refusals.constructors import HeldToForm

PRESETS = ["@once", "@continuous", "@hourly", "@daily", "@weekly", "@monthly", "@quarterly", "@yearly"]
"""Airflow's names for schedules."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule(metaclass=HeldToForm):
    """One of `cron` (an expression or a preset), `every`, or `assets` (places or URIs, all of them); without: by hand.

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
        """Return a bound as a time in the schedule's time zone; a date is the start of its day."""
        if day is None:
            return None
        zone: tzinfo = ZoneInfo(self.timezone)
        if isinstance(day, datetime):
            return day.astimezone(zone) if day.tzinfo else day.replace(tzinfo=zone)
        return datetime(day.year, day.month, day.day, tzinfo=zone)
