"""`graph-compiler submit`: start a run in an Airflow, and follow it to its end unless it is detached."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from graph_compiler.cli.arguments.airflows import ApiUrl, asking
from graph_compiler.cli.arguments.asked_run import Params, Run, split_params
from graph_compiler.cli.arguments.pipelines import completed_names
from graph_compiler.cli.client_view import changes, client_call, result_document, show_result, status_document
from graph_compiler.cli.console import AsJson, ExitCode, standard_error, standard_output
from graph_compiler.declaration.parameters.parameter import json_value
from graph_compiler.projects.pipeline_files import pipeline_names
from graph_compiler.run_client import RunClient, RunClientError, RunNotFoundError, RunResult, RunState, RunStatus

_NOTHING = RunResult(sinks=(), contracts=(), failures=())


def submit(
    pipeline: Annotated[
        str,
        typer.Argument(
            metavar="PIPELINE_OR_DAG",
            help="A pipeline of this project, or the id of any Dag that Airflow knows.",
            autocompletion=completed_names,
        ),
    ],
    param: Params = None,
    day: Annotated[
        str | None, typer.Option("--date", help="Logical date of the run: 2013-01-01; default: now.")
    ] = None,
    run_id: Annotated[
        str | None, typer.Option(help="Run id; default: manual__, the date, and a unique suffix.")
    ] = None,
    detached: Annotated[
        bool, typer.Option("--detached", "-d", help="Print the run's id, and do not wait for its end.")
    ] = False,
    api_url: ApiUrl = None,
    as_json: AsJson = False,
) -> None:
    """Start a run in an Airflow with a scheduler, and follow it to its end.

    Ctrl-C stops following, and the run continues. `graph-compiler run` needs no scheduler.
    """
    console = standard_error() if as_json else standard_output()
    with asking(api_url) as client:
        dag, params = _dag_and_params(pipeline, param)
        run = client.submit(dag, params=params, date=day, run_id=run_id)
        _warn_without_scheduler(client)
        if detached:
            _show_detached(run, api_url, as_json=as_json)
        else:
            _follow(client, run, api_url, console, as_json=as_json)


def _warn_without_scheduler(client: RunClient) -> None:
    with suppress(RunClientError):  # the run has started, and its id must be printed in any case
        if not client.has_scheduler():
            standard_error().print("no scheduler is running: the run is queued until one starts")


def _dag_and_params(name: str, texts: Sequence[str] | None) -> tuple[str, Mapping[str, object]]:
    """Return the Dag of a pipeline and typed parameters; for other Dags, values are JSON, else text."""
    if name.endswith((".py", ".yaml")) or name.removeprefix("pipelines.") in pipeline_names():
        run = Run.of(name, texts)
        return run.name, {key: json_value(value) for key, value in run.params.items()}
    return name, {key: _json_or_text(value) for key, value in split_params(texts)}


def _json_or_text(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _show_detached(run: RunStatus, api_url: str | None, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(status_document(run), indent=1))
        return
    console = standard_output()
    console.print(Text(run.run_id), soft_wrap=True)
    show_next(run, api_url, standard_error())


def _follow(client: RunClient, run: RunStatus, api_url: str | None, console: Console, *, as_json: bool) -> None:
    console.print(Text(f"{run.dag_id} · {run.run_id}"), soft_wrap=True)
    shown: dict[str, str] = {}

    def show(found: RunStatus) -> None:
        for line in changes(found, shown):
            console.print(Text(line), soft_wrap=True)

    try:
        ended = client.wait(run.dag_id, run.run_id, on_look=show)
    except KeyboardInterrupt:
        standard_error().print("no longer followed; the run continues")
        show_next(run, api_url, standard_error())
        raise typer.Exit(ExitCode.LEFT_TO_DO) from None
    try:
        result = client.result(run.dag_id, run.run_id)
    except RunNotFoundError as error:
        standard_error().print(Text(str(error)), soft_wrap=True)
        result = _NOTHING
    if as_json:
        typer.echo(json.dumps(result_document(ended, result), indent=1))
    else:
        show_result(ended, result, console)
    if ended.state is not RunState.FINISHED:
        call = client_call("resume", run, api_url)
        console.print(Text(f"Next:  {call}   runs what did not finish"), soft_wrap=True)
        raise typer.Exit(ExitCode.LEFT_TO_DO)


def show_next(run: RunStatus, api_url: str | None, console: Console) -> None:
    """Print the commands that follow a run, and cancel it."""
    for word, what in (
        ("status", "shows how far it is"),
        ("cancel", "ends it"),
        ("result", "shows what it has published"),
    ):
        console.print(Text(f"  {client_call(word, run, api_url)}   {what}"), soft_wrap=True)
