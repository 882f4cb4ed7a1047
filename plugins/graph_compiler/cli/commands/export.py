"""`graph-compiler export`: any pipeline as a document that declares the same pipeline."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from graph_compiler.cli.arguments.pipelines import PipelineName
from graph_compiler.cli.console import speaking_plainly
from graph_compiler.projects.pipeline_files import find_pipeline, load_pipeline


class ExportForm(StrEnum):
    """The formats in which a pipeline can be written."""

    YAML = "yaml"


def export(
    pipeline: PipelineName,
    to: Annotated[ExportForm, typer.Option(help="Output format.")] = ExportForm.YAML,
    name: Annotated[str | None, typer.Option(help="Its name in the document; default: the same name.")] = None,
) -> None:
    """Print a pipeline as YAML that declares the same pipeline: equal operators, ids and fingerprints."""
    # Imported when called: building the models of the whole API takes longer than most commands.
    from graph_compiler.projects.yaml.export import export_pipeline

    writers = {ExportForm.YAML: export_pipeline}
    with speaking_plainly():
        declared = load_pipeline(pipeline)
        text = writers[to](replace(declared, name=name or declared.name), Path.cwd())
    schema, _, document = text.partition("\n")
    same = "targets" if name else "name and the same targets"
    typer.echo(
        f"{schema}\n"
        f"# Exported from {find_pipeline(pipeline).shown}: it has the same {same}. "
        "Change them, or keep only one of the two files.\n"
        f"{document}",
        nl=False,
    )
