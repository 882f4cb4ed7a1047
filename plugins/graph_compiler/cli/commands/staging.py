"""`graph-compiler staging list | show | gc`: what is in the staging root, and what can be removed."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from graph_compiler.cli.arguments.runs import DagName, layout_of
from graph_compiler.cli.console import AsJson, ExitCode, example, speaking_plainly, standard_error, standard_output
from graph_compiler.cli.running.airflow_answers import ask_airflow
from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.cli.staging_view import collection_json, list_json, run_json, show_collection, show_list, show_run
from graph_compiler.errors import ParameterError
from graph_compiler.options.durations import parse_duration_with_unit
from graph_compiler.staging.attempts.attempts import find_run
from graph_compiler.staging.gc.collection import Policy, collect
from graph_compiler.staging.gc.liveness import MINIMUM_SILENCE
from graph_compiler.staging.gc.removal import forget, remove
from graph_compiler.staging.gc.survey import survey, survey_run
from graph_compiler.staging.store.root_probe import store_time
from graph_compiler.staging.store.stores import store_of

staging = typer.Typer(
    name="staging", help="Show what runs have staged, and remove what is no longer needed.", no_args_is_help=True
)


@staging.command(name="list", epilog=example("staging list --json"))
def list_runs(as_json: AsJson = False) -> None:
    """List every run: size, age, state, attempts, results still kept."""
    with speaking_plainly():
        airflow = EmbeddedAirflow(Path.cwd())
        root = airflow.staging_root
        inventory = survey(store_of(root), root)
        word = ask_airflow(airflow, (run.identity for run in inventory.runs))
        policy = Policy(now=time.time(), airflow=word.states)
        if as_json:
            typer.echo(list_json(inventory, policy))
        else:
            show_list(inventory, policy, standard_output())
            _warn_if_unknown(word.silence)


@staging.command(epilog=example("staging show flights manual__2013-01-01"))
def show(
    dag: DagName,
    run_ids: Annotated[list[str], typer.Argument(metavar="RUN...", help="Run ids, as Airflow shows them.")],
    as_json: AsJson = False,
) -> None:
    """Show the staged results of runs: epochs, rows, bytes, location, the task that wrote and those that read them."""
    with speaking_plainly():
        layouts = [layout_of(dag, run_id) for run_id in run_ids]
        for layout in layouts:
            find_run(store_of(layout.root), layout)
        runs = [survey_run(store_of(layout.root), layout) for layout in layouts]
        if as_json:
            typer.echo(json.dumps([run_json(run) for run in runs], indent=1))
        else:
            for run in runs:
                show_run(run, standard_output())


@staging.command(epilog=example('staging gc --older-than "7 d" --dry-run'))
def gc(
    older_than: Annotated[
        str | None,
        typer.Option(
            help="Remove runs whose last change is older than this: 7 d, 12 h; default: each pipeline's staging.ttl."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be removed, and remove nothing.")] = False,
    tables_dropped: Annotated[
        bool,
        typer.Option("--tables-dropped", help="Confirm that the tables listed by an earlier gc have been dropped."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Remove old runs and what killed runs left, but nothing a live run may read. Exit code 1: tables are left."""
    with speaking_plainly():
        airflow = EmbeddedAirflow(Path.cwd())
        root = airflow.staging_root
        store = store_of(root)
        inventory = survey(store, root)
        word = ask_airflow(airflow, (run.identity for run in inventory.runs))
        policy = Policy(
            now=store_time(store, root) if inventory.runs else time.time(),
            older_than=_seconds(older_than, word.silence),
            airflow=word.states,
            tables_dropped=tables_dropped,
        )
        found = collect(inventory, policy)
        if not dry_run:
            found = replace(found, removals=tuple(remove(store, found, root)))
            forget(store, found.forgotten)
        if as_json:
            typer.echo(collection_json(found, is_dry=dry_run))
        else:
            show_collection(found, standard_output(), is_dry=dry_run)
            _warn_if_unknown(word.silence)
        raise typer.Exit(ExitCode.LEFT_TO_DO if found.tables else ExitCode.DONE)


def _warn_if_unknown(silence: str | None) -> None:
    if silence is not None:
        words = f"Airflow could not be asked which runs are live ({silence}): judged by their age"
        standard_error().print(Text(words), soft_wrap=True)


def _seconds(text: str | None, silence: str | None) -> float | None:
    if text is None:
        return None
    try:
        seconds = parse_duration_with_unit(text).total_seconds()
    except ValueError as error:
        raise ParameterError(f"--older-than is '{text}'\n  {error}") from None
    if silence is not None and seconds < MINIMUM_SILENCE:
        raise ParameterError(
            f"--older-than is '{text}', and Airflow cannot say which runs are live: {silence}\n  allowed: 1 h and more"
        )
    return seconds
