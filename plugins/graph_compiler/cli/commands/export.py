"""`graph-compiler export`: any pipeline as a document that declares the same pipeline."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from graph_compiler.cli.arguments.pipelines import PipelineName
from graph_compiler.cli.console import speaking_plainly
from graph_compiler.projects.pipeline_files import load_pipeline


class ExportForm(StrEnum):
    """The formats in which a pipeline can be written."""

    YAML = "yaml"


def export(
    pipeline: PipelineName,
    to: Annotated[ExportForm, typer.Option(help="Output format.")] = ExportForm.YAML,
) -> None:
    """Print a pipeline as YAML that declares the same pipeline: equal operators, ids and fingerprints."""
    # Imported when called: building the models of the whole API takes longer than most commands.
    from graph_compiler.projects.yaml.writing.export import export_pipeline

    writers = {ExportForm.YAML: export_pipeline}
    with speaking_plainly():
        typer.echo(writers[to](load_pipeline(pipeline)), nl=False)
