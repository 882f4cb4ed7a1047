"""Compile the pipeline that a user names, with the options this deployment sets for all pipelines."""

from __future__ import annotations

from pathlib import Path

from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.options.deployment_options import DeploymentOptions
from graph_compiler.projects.pipeline_files import load_pipeline


def compile_named(name: str) -> CompiledPipeline:
    """Compile `flights` or `pipelines/flights.py`; raises as `load_pipeline` and `deployment_options` do."""
    return compile_pipeline(load_pipeline(name), deployment_options())


def deployment_options() -> DeploymentOptions:
    """Return what the environment or airflow.cfg sets for all pipelines; raises ConfigurationError."""
    return EmbeddedAirflow(Path.cwd()).options
