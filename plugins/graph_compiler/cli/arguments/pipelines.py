"""A pipeline as an argument of commands, completed by the shell."""

from __future__ import annotations

from typing import Annotated

import typer

from graph_compiler.identifiers import PIPELINES
from graph_compiler.projects.pipeline_files import pipeline_names


def completed_names(incomplete: str) -> list[str]:
    """Return the pipeline names that complete what was typed."""
    return [name for name in pipeline_names() if name.startswith(incomplete)]


PipelineName = Annotated[
    str,
    typer.Argument(
        help=f"A pipeline's module or YAML file in {PIPELINES}/, such as flights, or the file's path.",
        autocompletion=completed_names,
    ),
]
