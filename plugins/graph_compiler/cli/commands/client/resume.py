"""`graph-compiler resume`: let a failed or canceled run continue."""

from __future__ import annotations

import json

import typer
from rich.text import Text

from graph_compiler.cli.arguments.airflows import ApiUrl, ClientDag, asking
from graph_compiler.cli.arguments.runs import RunId
from graph_compiler.cli.client_view import client_call, status_document, task_document
from graph_compiler.cli.console import AsJson, standard_output
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import listing


def resume(dag: ClientDag, run_id: RunId, api_url: ApiUrl = None, as_json: AsJson = False) -> None:
    """Let a failed or canceled run continue: what failed, did not run, or was lost runs again, and nothing else."""
    with asking(api_url) as client:
        tasks = client.resume(dag, run_id)
        run = client.status(dag, run_id)
        if as_json:
            resumed = [task_document(task) for task in tasks]
            typer.echo(json.dumps({**status_document(run), "resumed": resumed}, indent=1))
            return
        lost = [task.name for task in tasks if task.state is ExecutionState.FINISHED]
        others = [task.name for task in tasks if task.state is not ExecutionState.FINISHED]
        lines = [f"runs again: {listing(others)}"]
        if lost:
            lines.append(f"and, because staged rows are lost: {listing(lost)}")
        lines.append(f"Next:  {client_call('status', run, api_url)}   shows how far it is")
        standard_output().print(Text("\n".join(lines)), soft_wrap=True)
