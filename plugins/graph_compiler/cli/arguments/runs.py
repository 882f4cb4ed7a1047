"""Find a run, and its folder, by the name a user types."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.declaration.operators import Sink, Source
from graph_compiler.declaration.parameters.parameter import ParameterValue
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.deployment.describe.run_parameters import check_parameters, parse_parameter
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.errors import ParameterError
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.identifiers import listing, shown

DagName = Annotated[
    str,
    typer.Argument(
        help="Name of the pipeline, which is the Dag's id. For a pipeline in another Dag, as `staging list` "
        "shows it: PIPELINE@DAG:GROUP:MAP_INDEX."
    ),
]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="Run id, as Airflow shows it.")]


def run_words(run_id: str, logical_date: str | None) -> str:
    """Return a run's display name: its id, and its logical date if the id does not contain it."""
    if logical_date is None or logical_date in run_id:
        return run_id
    return f"{run_id} (logical date {logical_date})"


def layout_of(dag: str, run_id: str) -> StagingLayout:
    """Return the paths of a run in this deployment's staging root; raises ConfigurationError and StagingError."""
    root = EmbeddedAirflow(Path.cwd()).staging_root
    return StagingLayout(root=root, identity=RunIdentity.named(dag, run_id))


_DAY = re.compile(r"\{[{%][^}]*(?<![.\w])(?:ds|ds_nodash|run_date|logical_date|data_interval_\w+|ts\w*)\b")
"""A template that asks for the day of a run."""

Params = Annotated[list[str] | None, typer.Option("--param", help="A parameter of the pipeline: name=value.")]


def read_day(text: str | None) -> str:
    """Return a day, by default today; raises ParameterError for text that is not a day."""
    try:
        return (date.today() if text is None else date.fromisoformat(text)).isoformat()
    except ValueError:
        raise ParameterError(f"--date is '{text}'\n  allowed: a day, such as 2013-01-01") from None


def hint_of_day(text: str | None, day: str, compiled: CompiledPipeline, failure: str) -> str | None:
    """Return a hint at --date for a failure that names today in a place with a template; None if a date was given."""
    if text is not None or not any(written in failure for written in (day, day.replace("-", ""))):
        return None
    places = (
        place
        for node in compiled.stream_graph.nodes
        if isinstance(node.operator, Source | Sink)
        for place in node.operator.connector.texts().values()
    )
    asking = [place for place in places if _DAY.search(place)]
    if not asking:
        return None
    return (
        f"hint: the day in {listing(map(shown, dict.fromkeys(asking)))} is {day}, today, since no date is given; "
        "--date 2013-01-01 sets another one"
    )


def read_params(texts: Sequence[str] | None, pipeline: Pipeline) -> dict[str, ParameterValue]:
    """Return the values of `name=value`; raises ParameterError for parameters the pipeline does not declare."""
    pairs = [text.partition("=") for text in texts or ()]
    for name, separator, _ in pairs:
        if not separator:
            raise ParameterError(f"parameter '{name}' has no value\n  allowed: --param name=value")
    defaults = dict(pipeline.params)
    given = {name: parse_parameter(name, value, defaults) for name, _, value in pairs}
    check_parameters(pipeline, given)
    return given
