"""Find a run, and its folder, by the name a user types."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout, staging_root_at

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


def savepoint_place(path: str) -> str:
    """Return the place of a savepoint as it was typed: from the working folder, or a URI; raises StagingError."""
    return staging_root_at(path if "://" in path or path.startswith("file:") else str(Path(path).absolute()))
