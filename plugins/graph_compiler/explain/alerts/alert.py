"""An alert as a value: what failed, why, whether Airflow tries again, and what that repeats.

    context of a callback, documents of the try  →  Alert  →  Message  →  text, HTML, blocks of Slack

What is not known where the callback runs is None, and `unknown` says why.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar, cast

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A page about a failure."""

    label: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AirflowTry:
    """Airflow's try, from 1, of at most `tries`. `seconds`: the delay of the next one.

    `is_retried`: whether Airflow tries again; `why_not` says why it does not although tries are left.
    """

    try_number: int | None = None
    tries: int | None = None
    is_retried: bool | None = None
    seconds: float | None = None
    why_not: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedRegion:
    """A region that runs again, with its operators."""

    region: str
    operators: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReusedResult:
    """A staged result that is read again, not computed again; `task` has staged it."""

    name: str
    task: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """What the next try of a task does; `kept` are the regions of the task that have finished."""

    regions: tuple[RepeatedRegion, ...]
    kept: tuple[str, ...] = ()
    reused: tuple[ReusedResult, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedTask:
    """A failed try of a task. `pipeline` None: it is not a task of a pipeline.

    `operator` is the one that failed, `last_seen` what the driver was doing when it died.
    """

    task_id: str
    map_index: int | None
    pipeline: str | None = None
    group: str | None = None
    operator: str | None = None
    declared_at: str | None = None
    last_seen: str | None = None
    cause: str | None = None
    attempt: AirflowTry = AirflowTry()
    repetition: Repetition | None = None
    links: tuple[Link, ...] = ()
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """What people read: of one task, or of a run that failed.

    `reason` is Airflow's word for why the run failed, None for an alert of a task. `others` are ids of failed tasks
    without details, `not_run` is the number of tasks that did not run because others failed.
    """

    dag_id: str
    run_id: str
    reason: str | None = None
    tasks: tuple[FailedTask, ...] = ()
    others: tuple[str, ...] = ()
    not_run: int = 0
    links: tuple[Link, ...] = ()
    unknown: tuple[str, ...] = ()


def redacted(value: Value, redact: Callable[[str], str]) -> Value:
    """Return a value with all texts in it redacted, before anything cuts or escapes them."""
    return cast("Value", _redacted(value, redact))


def _redacted(value: Any, redact: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, tuple):
        return tuple(_redacted(one, redact) for one in value)
    if is_dataclass(value) and not isinstance(value, type):
        found = {each.name: getattr(value, each.name) for each in fields(value)}
        return replace(value, **{name: _redacted(one, redact) for name, one in found.items()})
    return value
