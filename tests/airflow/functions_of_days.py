"""A function of a pipeline that takes the day of the run."""

from typing import Any


def with_day(rows: Any, day: str) -> Any:
    return rows.where(rows.day == day)
