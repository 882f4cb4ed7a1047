"""`graph-compiler status`: a run and its tasks, as Airflow knows them."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from graph_compiler.cli.arguments.airflows import ApiUrl, ClientDag, asking
from graph_compiler.cli.client_view import show_status, status_document
from graph_compiler.cli.console import AsJson, ExitCode, standard_output
from graph_compiler.run_client import RunState


def status(
    dag: ClientDag,
    run_id: Annotated[str | None, typer.Argument(metavar="RUN", help="Run id; default: the newest run.")] = None,
    api_url: ApiUrl = None,
    as_json: AsJson = False,
) -> None:
    """Show a run and its tasks: states, tries, times. Exit code 1: the run has failed."""
    with asking(api_url) as client:
        run = client.status(dag, run_id)
        if as_json:
            typer.echo(json.dumps(status_document(run), indent=1))
        else:
            show_status(run, standard_output())
        raise typer.Exit(ExitCode.LEFT_TO_DO if run.state is RunState.FAILED else ExitCode.DONE)
