"""Which runs have a logical date, and the error if a template needs one that is missing.

Scheduled runs, backfills and most manual runs have one. Runs that an asset triggers do not, nor do those that the API
starts with `logical_date: null`. Our `run_date` exists in every run: the day of the logical date, or of `run_after`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, time, timedelta
from typing import Any, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from airflow.sdk import Asset, AssetAll, AssetAny, Context, CronTriggerTimetable
from airflow.sdk.exceptions import AirflowFailException
from jinja2 import Environment, UndefinedError

from graph_compiler.airflow_backend.dag.template_variables import variables_in
from graph_compiler.compiler.checks.expression_checks import parameters_of
from graph_compiler.compiler.checks.time_checks import AT_MIDNIGHT, reading_the_day_that_begins
from graph_compiler.declaration.operators import Operator, Sink, Source
from graph_compiler.declaration.parameters.parameter import RUN_DATE
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.transformations import label
from graph_compiler.errors import Problem
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.identifiers import listing
from graph_compiler.options.model import PipelineOptions

NEEDS_LOGICAL_DATE = frozenset(
    {"data_interval_end", "data_interval_start", "ds", "ds_nodash", "logical_date", "ts"}
    | {"ts_nodash", "ts_nodash_with_tz", "task_instance_key_str"}
)
"""Airflow's variables that do not exist in runs without a logical date."""


def places_without_logical_date(
    compiled: CompiledPipeline, schedule: object, templates: Environment
) -> tuple[Problem, ...]:
    """Find places that need the logical date in a Dag that only assets trigger."""
    is_by_assets = isinstance(schedule, Asset | AssetAll | AssetAny | list | tuple)
    return tuple(_using_logical_date(compiled, templates)) if is_by_assets else ()


def _using_logical_date(compiled: CompiledPipeline, templates: Environment) -> Iterator[Problem]:
    for node in compiled.stream_graph.nodes:
        if not isinstance(node.operator, Source | Sink):
            continue
        for text in node.operator.texts().values():
            if asked := variables_in(text, templates) & NEEDS_LOGICAL_DATE:
                yield Problem(
                    operator=node.declared_name,
                    message=f"'{text}' uses {listing(sorted(asked))}, but a run triggered by an "
                    "asset has no logical date",
                    hint=f"{{{{ {RUN_DATE} }}}} is the day in every run",
                    declared_at=node.declared_at,
                )


def with_run_date(context: Context, zone: str = "UTC") -> Context:
    """Add `run_date` to Jinja's variables: the run's day in a time zone.

    Who starts a run by hand, or by another Dag, for a day (`submit --date`) means that day, which Airflow keeps as its
    midnight in UTC.
    """
    run = context["dag_run"]
    moment = (run.logical_date or run.run_after).astimezone(UTC)
    is_day = _is_asked_for(run) and moment.time() == time() and run.logical_date is not None
    day = moment if is_day else moment.astimezone(ZoneInfo(zone))
    return cast(Context, {**context, RUN_DATE: f"{day:%Y-%m-%d}"})


def _is_asked_for(run: Any) -> bool:
    """Whether a person or a Dag started a run, and no schedule.

    A backfill that repeats a run makes it one of its own, but keeps the id; a schedule gives ids with its name.
    """
    if run.run_type != "backfill":
        return run.run_type in ("manual", "operator_triggered")
    return not str(run.run_id).startswith(("backfill__", "scheduled__"))


@contextmanager
def explaining_templates(pipeline: str, places: Mapping[str, str]) -> Iterator[None]:
    """Raise AirflowFailException with our message if a template needs a missing variable: a retry cannot help."""
    asking = [f"'{text}' ({key})" for key, text in places.items() if "{{" in text or "{%" in text]
    try:
        yield
    except UndefinedError as error:
        raise AirflowFailException(
            f"pipeline '{pipeline}': {error}\n  found: in one of {listing(asking)}\n"
            f"  hint: a run that the API or an asset started may have no logical date, and then no ds; "
            f"{{{{ {RUN_DATE} }}}} is the day in every run, and graph-compiler submit --date 2013-01-01 gives a run "
            "a logical date"
        ) from None


# Whether the days of a schedule's runs are those of its time zone: Airflow's `ds` is a day in UTC, and so is `run_date`
# unless the pipeline has the option `airflow.run-date-timezone`.
#
#     30 1 * * *  Europe/Vienna     Sat 28 March 01:30 = 00:30 UTC     ds 2026-03-28
#                                   Sun 29 March 01:30 = 00:30 UTC     ds 2026-03-29
#                                   Mon 30 March 01:30 = 23:30 UTC     ds 2026-03-29, again
#
# In autumn, a day has no run. A time of day that is on the same day in UTC all year has neither.

_DAYS = frozenset({"ds", "ds_nodash", RUN_DATE})
_DAY = 1440
"""Minutes."""


def what_days_lose(compiled: CompiledPipeline, timetable: object, templates: Environment) -> str | None:
    """Return a warning if two runs of a Dag have the same day, or a day has none, and operators use the day."""
    text, zone = getattr(timetable, "expression", None), getattr(timetable, "timezone", None)
    minute = _minute_of_day(str(text))
    offsets = _offsets(str(getattr(zone, "name", zone)))
    if minute is None or len({(minute - offset) // _DAY for offset in offsets}) < 2:
        return None
    own = compiled.options.run_date_timezone
    days = _DAYS - {RUN_DATE} if own == str(getattr(zone, "name", zone)) else _DAYS
    if not (names := tuple(dict.fromkeys(_using_days(compiled, templates, days)))):
        return None
    first, last = max(0, *offsets), min(_DAY, _DAY + min(offsets)) - 1
    return (
        f"Its runs are at {_clock(minute)} in {zone}, but {{{{ ds }}}} and run_date are days in UTC: in spring, two "
        f"runs have the same day, and in autumn a day has none. {listing(names)} would replace the rows of that day, "
        f"and have none for the other. Hint: a time from {_clock(first)} to {_clock(last)}, which is on the same "
        f"day in UTC all year; or {{{{ run_date }}}} and the option airflow.run-date-timezone: {zone}; or in paths "
        f"{{{{ logical_date.in_timezone('{zone}') | ds }}}}."
    )


def what_midnight_misses(pipeline: Pipeline, options: PipelineOptions, timetable: object) -> str | None:
    """Return a warning if the runs of a Dag read the day that begins, and have no rows if nothing is there.

    The runs of a timetable with data intervals have the day that has ended.
    """
    if not isinstance(timetable, CronTriggerTimetable):
        return None
    zone = str(getattr(timetable.timezone, "name", timetable.timezone))
    found = reading_the_day_that_begins(pipeline, timetable.expression, zone, options)
    if not (names := [label(each) for each in found]):
        return None
    return (
        f"Its runs are at midnight, and the path of {listing(names)} names the day that begins then: "
        "if_missing='empty' reads no rows, because the files of that day come later. Hint: a time at which they are "
        "there, such as schedule='0 22 * * *'; or in paths the day before, {{ macros.ds_add(ds, -1) }}."
    )


def _minute_of_day(cron: str) -> int | None:
    """Return the minute of the day of an expression that has only one; None for all others."""
    if cron in AT_MIDNIGHT:
        return 0
    fields = cron.split()
    if len(fields) != 5 or not all(field.isascii() and field.isdecimal() for field in fields[:2]):
        return None
    return int(fields[1]) * 60 + int(fields[0])


def _offsets(zone: str) -> tuple[int, ...]:
    """Return how many minutes a time zone is before UTC, in each week of this year."""
    try:
        known = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError):
        return (0,)
    weeks = (datetime(datetime.now(UTC).year, 1, 1, tzinfo=UTC) + timedelta(weeks=n) for n in range(53))
    found = (week.astimezone(known).utcoffset() or timedelta() for week in weeks)
    return tuple(sorted({int(offset.total_seconds()) // 60 for offset in found}))


def _using_days(compiled: CompiledPipeline, templates: Environment, days: frozenset[str]) -> Iterator[str]:
    for node in compiled.stream_graph.nodes:
        if not days.isdisjoint(parameters_of(node.operator)) or any(
            variables_in(text, templates) & days for text in _places(node.operator)
        ):
            yield node.declared_name


def _places(operator: Operator) -> tuple[str, ...]:
    if not isinstance(operator, Source | Sink):
        return ()
    return tuple(operator.texts().values())


def _clock(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"
