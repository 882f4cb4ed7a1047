"""`graph-compiler result`: what a run has published."""

from __future__ import annotations

import json

import typer

from graph_compiler.cli.arguments.airflows import ApiUrl, ClientDag, asking
from graph_compiler.cli.arguments.runs import RunId
from graph_compiler.cli.client_view import result_document, show_result
from graph_compiler.cli.console import AsJson, ExitCode, standard_output
from graph_compiler.run_client import RunState


def result(dag: ClientDag, run_id: RunId, api_url: ApiUrl = None, as_json: AsJson = False) -> None:
    """Show what a run has published: sinks, targets, rows, data contracts. Exit code 1: the run has not finished."""
    with asking(api_url) as client:
        run = client.status(dag, run_id)
        found = client.result(dag, run_id)
        if as_json:
            typer.echo(json.dumps(result_document(run, found), indent=1))
        else:
            show_result(run, found, standard_output())
        raise typer.Exit(ExitCode.DONE if run.state is RunState.FINISHED else ExitCode.LEFT_TO_DO)
