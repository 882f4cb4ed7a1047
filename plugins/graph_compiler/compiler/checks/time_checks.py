"""Days and weeks that begin at another time than their author may think: warnings of `validate`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from graph_compiler.compiler.checks.expression_checks import parameters_of
from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.connectors.connector import IfMissing
from graph_compiler.declaration.connectors.files import FileConnector
from graph_compiler.declaration.operators import Operator, Sink, Source, WindowAggregate
from graph_compiler.declaration.parameters.parameter import RUN_DATE
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.transformations import PhysicalTransformation, problem_at
from graph_compiler.declaration.windows import WEEK, duration_of
from graph_compiler.errors import Problem
from graph_compiler.identifiers import listing
from graph_compiler.options.model import PipelineOptions

_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_DAY = re.compile(rf"(?<![.\w'\"])(ds|ds_nodash|{RUN_DATE})\b")
_WHOLE_DAY = re.compile(rf"\{{\{{\s*(ds|ds_nodash|{RUN_DATE})\s*\}}\}}")
AT_MIDNIGHT = frozenset({"@daily", "@weekly", "@monthly", "@quarterly", "@yearly"})
_SAMPLES = tuple(datetime(2026, 1, 1, tzinfo=UTC) + timedelta(weeks=week) for week in range(53))
"""Moments of a year, which show how far a time zone is from UTC."""
_MINUTES = 24 * 60


def weeks(pipeline: Pipeline) -> Iterator[Problem]:
    """Find windows of whole weeks without an offset: they begin on Thursdays, as 1970-01-01 was one."""
    for transformation in pipeline.operators:
        operator = transformation.operator
        if not isinstance(operator, WindowAggregate):
            continue
        window = operator.window
        if window.step is None or "offset" in window.lengths() or duration_of(window.step) % WEEK:
            continue
        yield problem_at(
            transformation,
            f"its windows of {window.step} begin on Thursdays, at midnight UTC",
            hint='offset="4 days" lets them begin on Mondays, offset="3 days" on Sundays; "0 days" is for Thursdays',
        )


def days_of_runs(pipeline: Pipeline, options: PipelineOptions) -> Iterator[Problem]:
    """Find uses of the run's day that may differ from the day in the time zone of the schedule."""
    schedule = pipeline.schedule
    if schedule is None or not (schedule.cron or schedule.every):
        return
    zone = schedule.timezone
    others = {"ds", "ds_nodash"} if _may_differ(schedule.cron, zone, "UTC") else set()
    if _may_differ(schedule.cron, zone, options.run_date_timezone):
        others.add(RUN_DATE)
    for transformation in pipeline.operators:
        used = sorted(set(_days_in(transformation.operator)) & others)
        if not used:
            continue
        in_utc = options.run_date_timezone == "UTC" or RUN_DATE not in used
        yield problem_at(
            transformation,
            f"the schedule is in {zone}, but {listing(used)} {'is a day' if len(used) == 1 else 'are days'} in "
            f"{'UTC' if in_utc else 'another time zone'}: it may not be the day on which the run is scheduled",
            hint=f'config={{"airflow.run-date-timezone": "{zone}"}} makes run_date the day in {zone}'
            + ("" if used == [RUN_DATE] else "; use {{ run_date }} for ds"),
        )


def days_that_begin(pipeline: Pipeline, options: PipelineOptions) -> Iterator[Problem]:
    """Find sources that may be empty, and whose path names the day that begins when the run is scheduled."""
    schedule = pipeline.schedule
    if schedule is None or schedule.cron is None:
        return
    for transformation in reading_the_day_that_begins(pipeline, schedule.cron, schedule.timezone, options):
        yield problem_at(
            transformation,
            f"its path names the day that begins when the run starts ('{schedule.cron}'): if_missing='empty' reads no "
            "rows, because the files of that day come later",
            hint='a time at which they are there: Schedule(cron="0 22 * * *"); or the day before: '
            "{{ macros.ds_add(ds, -1) }}",
        )


def reading_the_day_that_begins(
    pipeline: Pipeline, cron: str, zone: str, options: PipelineOptions
) -> Iterator[PhysicalTransformation]:
    """Yield the sources of the day of a run at midnight that have no rows if nothing is at their path."""
    if cron not in AT_MIDNIGHT and cron.split()[:2] != ["0", "0"]:
        return
    zones = {"ds": "UTC", "ds_nodash": "UTC", RUN_DATE: options.run_date_timezone}
    for transformation in pipeline.operators:
        operator = transformation.operator
        if not isinstance(operator, Source) or not isinstance(operator.connector, FileConnector):
            continue
        if operator.connector.if_missing != IfMissing.EMPTY:
            continue
        named = {zones[name] for path in operator.connector.paths for name in _WHOLE_DAY.findall(path)}
        if any(all(_is_behind(zone, other, sample) for sample in _SAMPLES) for other in named):
            yield transformation


def _is_behind(zone: str, other: str, moment: datetime) -> bool:
    """Whether midnight in a zone is on the same day, or at the same time, in another one."""
    return _minutes_ahead(moment, zone) <= _minutes_ahead(moment, other)


def _days_in(operator: Operator) -> Iterator[str]:
    if RUN_DATE in parameters_of(operator):
        yield RUN_DATE
    if isinstance(operator, Source | Sink) and isinstance(operator.connector, Connector):
        for text in operator.texts().values():
            for template in _TEMPLATE.findall(text):
                yield from _DAY.findall(template)


def _may_differ(cron: str | None, zone: str, other: str) -> bool:
    """Whether a run's day in its schedule's zone may differ from that in another zone."""
    fields = (cron or "").split()
    is_one_time = len(fields) == 5 and all(field.isascii() and field.isdecimal() for field in fields[:2])
    if cron in AT_MIDNIGHT:
        fields, is_one_time = ["0", "0"], True
    for sample in _SAMPLES:
        ahead = _minutes_ahead(sample, zone) - _minutes_ahead(sample, other)
        if not is_one_time:
            if ahead:
                return True
        elif not 0 <= int(fields[1]) * 60 + int(fields[0]) - ahead < _MINUTES:
            return True
    return False


def _minutes_ahead(moment: datetime, zone: str) -> int:
    offset = moment.astimezone(ZoneInfo(zone)).utcoffset()
    return 0 if offset is None else int(offset.total_seconds()) // 60
