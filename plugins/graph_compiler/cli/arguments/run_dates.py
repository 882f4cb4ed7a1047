"""The date of a run under the project's own Airflow, and what its id is named after."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDate:
    """A day, and a time of that day in UTC, in ISO form, which the run's id contains."""

    day: str
    named_after: str


def run_date(day: str, now: datetime) -> RunDate:
    """Return the date of a run: its id contains its day, and what clocks show `now`, to the microsecond.

    So each run of a date has its own id, also after earlier ones were removed: what they have published remembers them.
    """
    moment = datetime.combine(date.fromisoformat(day), now.astimezone(UTC).timetz())
    return RunDate(day=day, named_after=moment.isoformat())
