"""How a person names a run, and where it lies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.deployment.documents.staging_layout import StagingLayout

DagName = Annotated[str, typer.Argument(help="Name of the pipeline, the Dag's id.")]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="Run id, as Airflow shows it.")]


def layout_of(dag: str, run_id: str) -> StagingLayout:
    """Give the paths of a run in this deployment's staging root; raises ConfigurationError."""
    root = EmbeddedAirflow(Path.cwd()).staging_root
    return StagingLayout(root=str(root), pipeline=dag, run_id=run_id)
