"""The day and the parameters of a run, parsed from the command line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import Annotated

import typer

from graph_compiler.declaration.operators import Sink, Source
from graph_compiler.declaration.parameters.parameter import ParameterValue
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.deployment.describe.run_parameters import check_parameters, parse_parameter
from graph_compiler.errors import ParameterError
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.identifiers import listing, shown

_DAY = re.compile(
    r"\{[{%][^}]*(?<![.\w])(?:ds|ds_nodash|run_date|logical_date|data_interval_\w+|ts\w*)\b"
)
"""A template that asks for the day of a run."""

Params = Annotated[
    list[str] | None, typer.Option("--param", help="A parameter of the pipeline: name=value.")
]


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
