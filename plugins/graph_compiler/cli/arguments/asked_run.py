"""The run that a user asks for on the command line: of which pipeline, for which day, with which parameters.

`run`, `dry-run` and `submit` read it, and pass this one value to what carries it out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated

import typer

from graph_compiler.cli.arguments.pipelines import compile_named
from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.declaration.operators import Sink, Source
from graph_compiler.declaration.parameters.parameter import ParameterValue
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.deployment.describe.local_task import DeskRun
from graph_compiler.deployment.describe.run_parameters import check_parameters, parse_parameter
from graph_compiler.deployment.documents.stream import SavepointRestoreSettings
from graph_compiler.errors import ParameterError
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.graphs.operator_names import NamedOutput
from graph_compiler.identifiers import listing, shown

Params = Annotated[list[str] | None, typer.Option("--param", help="A parameter of the pipeline: name=value.")]

_DAY = re.compile(r"\{[{%][^}]*(?<![.\w])(?:ds|ds_nodash|run_date|logical_date|data_interval_\w+|ts\w*)\b")
"""A template that asks for the day of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Until:
    """An operator to run up to, and how much of its rows to show."""

    output: NamedOutput
    limit: int
    counts: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What the user asked for. `params` are those that were given; `is_dated`: the day was, too, and is not today's.

    With `until`, a run writes only below a temporary folder. `start` is the savepoint that its stream begins with.
    """

    compiled: CompiledPipeline
    airflow: EmbeddedAirflow
    day: str
    params: Mapping[str, ParameterValue]
    is_dated: bool
    until: Until | None = None
    preview_sorted_by: str | None = None
    start: SavepointRestoreSettings | None = None

    @classmethod
    def of(cls, pipeline: str, params: Sequence[str] | None = None, day: str | None = None) -> Run:
        """Return a run of a named pipeline with parameters `name=value`, by default for today.

        Raises ParameterError for a parameter or a day that is not valid, and what `compile_named` raises.
        """
        run = cls.by_default(compile_named(pipeline))
        run = replace(run, params=_read_params(params, run.compiled.pipeline))
        return run if day is None else replace(run, day=_read_day(day), is_dated=True)

    @classmethod
    def by_default(cls, compiled: CompiledPipeline) -> Run:
        """Return a run for today with the defaults of all parameters, which are not checked."""
        airflow = EmbeddedAirflow(Path.cwd())
        return cls(compiled=compiled, airflow=airflow, day=date.today().isoformat(), params={}, is_dated=False)

    @property
    def name(self) -> str:
        """Return the pipeline's name, which is the id of its Dag."""
        return self.compiled.pipeline.name

    def without_airflow(self, run_id: str, staging_root: str) -> DeskRun:
        """Return the same run for tasks that this machine runs, with all parameters."""
        params = {**dict(self.compiled.pipeline.params), **self.params}
        return DeskRun(day=self.day, params=params, run_id=run_id, staging_root=staging_root)

    def explained(self, failure: str) -> str:
        """Return a failure, with a hint at --date if it names today in a place with a template and no day was given."""
        if self.is_dated or not any(written in failure for written in (self.day, self.day.replace("-", ""))):
            return failure
        places = (
            place
            for node in self.compiled.stream_graph.nodes
            if isinstance(node.operator, Source | Sink)
            for place in node.operator.texts().values()
        )
        asking = [place for place in places if _DAY.search(place)]
        if not asking:
            return failure
        return (
            f"{failure}\n  hint: the day in {listing(map(shown, dict.fromkeys(asking)))} is {self.day}, today, since "
            "no date is given; --date 2013-01-01 sets another one"
        )


def named_after(day: str, now: datetime) -> str:
    """Return what the id of a run under the project's Airflow contains: its day, with what clocks show in UTC `now`.

    So each run of a date has its own id, also after earlier ones were removed: what they have published remembers them.
    """
    return datetime.combine(date.fromisoformat(day), now.astimezone(UTC).timetz()).isoformat()


def _read_day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise ParameterError(f"--date is '{text}'\n  allowed: a day, such as 2013-01-01") from None


def _read_params(texts: Sequence[str] | None, pipeline: Pipeline) -> dict[str, ParameterValue]:
    defaults = dict(pipeline.params)
    given = {name: parse_parameter(name, value, defaults) for name, value in split_params(texts)}
    check_parameters(pipeline, given)
    return given


def split_params(texts: Sequence[str] | None) -> list[tuple[str, str]]:
    """Return the names and values of `name=value` as they are written; raises ParameterError without a value."""
    pairs = [text.partition("=") for text in texts or ()]
    for name, separator, _ in pairs:
        if not separator:
            raise ParameterError(f"parameter '{name}' has no value\n  allowed: --param name=value")
    return [(name, value) for name, _, value in pairs]
