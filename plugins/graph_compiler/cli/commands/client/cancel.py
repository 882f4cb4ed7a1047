"""`graph-compiler cancel`: end a run."""

from __future__ import annotations

import json

import typer
from rich.text import Text

from graph_compiler.cli.arguments.airflows import ApiUrl, ClientDag, asking
from graph_compiler.cli.arguments.runs import RunId
from graph_compiler.cli.client_view import client_call, show_status, status_document
from graph_compiler.cli.console import AsJson, standard_output


def cancel(dag: ClientDag, run_id: RunId, api_url: ApiUrl = None, as_json: AsJson = False) -> None:
    """End a run: its running tasks are killed, and the others do not start. What tasks have finished is kept."""
    with asking(api_url) as client:
        run = client.cancel(dag, run_id)
        if as_json:
            typer.echo(json.dumps(status_document(run), indent=1))
            return
        console = standard_output()
        show_status(run, console)
        words = (
            "canceled; Airflow marks it as failed. Staged rows of finished tasks, and published rows, stay.\n"
            f"Next:  {client_call('resume', run, api_url)}   continues from there"
        )
        console.print(Text(words), soft_wrap=True)
