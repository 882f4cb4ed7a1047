"""Compile one pipeline for `diff` in a separate process: its file is the argument, the import path the input."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import typer

from graph_compiler.cli.arguments.compiling import deployment_options
from graph_compiler.cli.console import speaking_plainly
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.errors import InvalidPipelineError
from graph_compiler.explain.diff.plan_summary import plan_summary
from graph_compiler.projects.pipeline_files import load_declared, nothing_declared, pipeline_at


def summarize(file: Path) -> None:
    """Print the PlanSummary of the pipeline a file declares."""
    sys.path[:] = json.load(sys.stdin)
    with speaking_plainly():
        module = pipeline_at(file)
        pipeline = load_declared(module)
        if pipeline is None:
            raise InvalidPipelineError(file.stem, [nothing_declared(module)])
        compiled = compile_pipeline(pipeline, deployment_options())
        typer.echo(to_json(plan_summary(compiled, describe_pipeline(compiled), str(module.root))))


if __name__ == "__main__":
    typer.run(summarize)
