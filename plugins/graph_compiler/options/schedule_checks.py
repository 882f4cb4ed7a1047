"""Check whether Airflow accepts a schedule."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import get_type_hints
from zoneinfo import available_timezones

from graph_compiler.declaration.dag.schedule import PRESETS, Schedule
from graph_compiler.declaration.value_types import fits, value_words
from graph_compiler.errors import Problem
from graph_compiler.identifiers import did_you_mean, listing, shown


def schedule_problems(schedule: object) -> Iterator[Problem]:
    """Yield every problem of a schedule; its key is `schedule.<field>`."""
    if not isinstance(schedule, Schedule):
        said = f"Schedule(cron={schedule!r})" if isinstance(schedule, str) else None
        yield Problem(key="schedule", message=f"is {shown(schedule)}", allowed="a Schedule", hint=said)
        return
    yield from list(_odd_values(schedule)) or _problems(schedule)


def _odd_values(schedule: Schedule) -> Iterator[Problem]:
    for name, kind in get_type_hints(Schedule).items():
        value = getattr(schedule, name)
        if not fits(value, kind):
            yield Problem(key=f"schedule.{name}", message=f"is {shown(value)}", allowed=value_words(kind))
    if fits(schedule.assets, tuple[str, ...]) and not all(map(str.strip, schedule.assets)):
        yield Problem(key="schedule.assets", message="one of them is empty", allowed="places or URIs")


def _problems(schedule: Schedule) -> Iterator[Problem]:
    ways = [way for way in ("cron", "every", "assets") if getattr(schedule, way)]
    if len(ways) > 1:
        yield Problem(key=f"schedule.{ways[1]}", message=f"there are {listing(ways)}", allowed="one of them")
    if schedule.cron is not None and (allowed := _allowed_schedules(schedule.cron)):
        hint = did_you_mean(schedule.cron, PRESETS)
        yield Problem(key="schedule.cron", message=f"is {schedule.cron!r}", allowed=allowed, hint=hint)
    if schedule.every is not None and schedule.every <= timedelta(0):
        yield Problem(key="schedule.every", message=f"is {schedule.every}", allowed="a positive duration")
    yield from _asset_problems(schedule.assets)
    if schedule.timezone not in available_timezones():
        hint = did_you_mean(schedule.timezone, available_timezones())
        yield Problem(
            key="schedule.timezone",
            message=f"there is no time zone {schedule.timezone!r}",
            allowed="a name of the IANA database, such as Europe/Vienna",
            hint=hint,
        )
        return
    try:
        start, end = _in_utc(schedule, schedule.start), _in_utc(schedule, schedule.end)
    except OverflowError:
        yield Problem(key="schedule", message=f"from {schedule.start} to {schedule.end} is out of the supported range")
        return
    if start and end and end < start:
        yield Problem(key="schedule.end", message=f"is {schedule.end}, before the start, {schedule.start}")
    if schedule.catchup and start is None:
        yield Problem(key="schedule.catchup", message="there is no start to catch up from", hint="also set 'start'")


def _in_utc(schedule: Schedule, bound: date | datetime | None) -> datetime | None:
    """Return a bound as Airflow stores it; raises OverflowError if that is out of range."""
    moment = schedule.moment(bound)
    return None if moment is None else moment.astimezone(UTC)


def _asset_problems(places: tuple[str, ...]) -> Iterator[Problem]:
    for place in places:
        if "{{" in place or "{%" in place:
            yield Problem(
                key="schedule.assets",
                message=f"'{place}' is a template, but a schedule must be known before any run",
                hint="write the place as text; for the sink of another pipeline, its path with the default parameters",
            )
        elif "/" in place and not place.startswith("/") and ":/" not in place:
            yield Problem(
                key="schedule.assets",
                message=f"'{place}' is a relative path",
                allowed="an absolute path, a URI, or the name of an asset",
            )


def _allowed_schedules(text: str) -> str | None:
    """Return the allowed schedules, None if the text is one of them."""
    # Imported when called: most declarations have no schedule.
    from croniter import croniter

    if text.startswith("@"):
        return None if text in PRESETS else ", ".join(PRESETS)
    if croniter.is_valid(text) and len(text.split()) == 5:
        return None
    return f"five fields, as in '0 6 * * 1-5', or one of {', '.join(PRESETS)}"
