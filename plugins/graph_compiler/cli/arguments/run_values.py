"""The day and the parameters of a run, parsed from the command line."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Annotated

import typer

from graph_compiler.declaration.parameters.parameter import ParameterValue
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.deployment.describe.run_parameters import check_parameters, parse_parameter
from graph_compiler.errors import ParameterError

Params = Annotated[
    list[str] | None, typer.Option("--param", help="A parameter of the pipeline: name=value.")
]


def read_day(text: str | None) -> str:
    """Return a day, by default today; raises ParameterError for text that is not a day."""
    try:
        return (date.today() if text is None else date.fromisoformat(text)).isoformat()
    except ValueError:
        raise ParameterError(f"--date is '{text}'\n  allowed: a day, such as 2013-01-01") from None


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
