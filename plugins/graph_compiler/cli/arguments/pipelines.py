"""A pipeline as an argument of commands, completed by the shell."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.identifiers import PIPELINES
from graph_compiler.options.modes import DeploymentOptions
from graph_compiler.projects.pipeline_files import load_pipeline, pipeline_names


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


def compile_named(name: str) -> CompiledPipeline:
    """Compile `flights` or `pipelines/flights.py`; raises as `load_pipeline` and `deployment_options` do."""
    return compile_pipeline(load_pipeline(name), deployment_options())


def deployment_options() -> DeploymentOptions:
    """Return what the environment or airflow.cfg sets for all pipelines; raises ConfigurationError."""
    return EmbeddedAirflow(Path.cwd()).options
