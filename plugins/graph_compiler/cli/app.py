"""The command line: one function for each command; `ExitCode` has their exit codes."""

from __future__ import annotations

from pathlib import Path

import typer

from graph_compiler.cli.commands.client.cancel import cancel
from graph_compiler.cli.commands.client.result import result
from graph_compiler.cli.commands.client.resume import resume
from graph_compiler.cli.commands.client.status import status
from graph_compiler.cli.commands.client.submit import submit
from graph_compiler.cli.commands.diff import diff
from graph_compiler.cli.commands.discard import discard
from graph_compiler.cli.commands.dry_run import dry_run
from graph_compiler.cli.commands.explain import explain
from graph_compiler.cli.commands.export import export
from graph_compiler.cli.commands.history import history
from graph_compiler.cli.commands.new import new
from graph_compiler.cli.commands.positions import positions, streams
from graph_compiler.cli.commands.replay import replay
from graph_compiler.cli.commands.run import run
from graph_compiler.cli.commands.schema import schema
from graph_compiler.cli.commands.set_up.doctor import doctor
from graph_compiler.cli.commands.set_up.env import env
from graph_compiler.cli.commands.set_up.options import options
from graph_compiler.cli.commands.set_up.warm import warm
from graph_compiler.cli.commands.staging import staging
from graph_compiler.cli.commands.tables import tables
from graph_compiler.cli.commands.ui import ui
from graph_compiler.cli.commands.validate import validate
from graph_compiler.cli.console import example
from graph_compiler.cli.running.airflow_answers import access_of_airflow
from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow

app = typer.Typer(
    help="Compile declared Spark pipelines to Airflow tasks, and run them.\n\n"
    "Run it in the folder that holds pipelines/.",
    epilog="Exit codes: 0 success; 1 something needs your attention; 2 the declaration or the "
    "command line is wrong. COMMAND --help shows examples.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
DECLARE, ASK, RUN, CLIENT, LOOK_BACK, SET_UP = (
    "Write a pipeline",
    "Ask the compiler",
    "Run it",
    "Runs of an Airflow",
    "Look back at runs",
    "Set up",
)


@app.callback()
def _open_stores() -> None:
    """Let every command reach a staging root in an object store."""
    access_of_airflow(EmbeddedAirflow(Path.cwd())).open_stores()


app.command(rich_help_panel=DECLARE, epilog=example("new sales --yaml"))(new)
app.command(rich_help_panel=DECLARE, epilog=example("export flights --to yaml"))(export)
app.command(rich_help_panel=DECLARE, epilog=example("schema"))(schema)
app.command(rich_help_panel=ASK, epilog=example("validate pipelines/flights.py"))(validate)
app.command(rich_help_panel=ASK, epilog=example("explain flights --graph job --format mermaid"))(explain)
app.command(rich_help_panel=ASK, epilog=example("diff main:pipelines/flights.py flights --summary"))(diff)
app.command("dry-run", rich_help_panel=ASK, epilog=example("dry-run flights --spark"))(dry_run)
app.command(rich_help_panel=RUN, epilog=example("run flights --date 2013-01-01 --param late_after=30 --in-process"))(
    run
)
app.command(rich_help_panel=RUN, epilog=example("ui --port 8081"))(ui)
app.command(rich_help_panel=CLIENT, epilog=example("submit flights --date 2013-01-01 --detached"))(submit)
app.command(rich_help_panel=CLIENT, epilog=example("status flights"))(status)
app.command(rich_help_panel=CLIENT, epilog=example("cancel flights manual__2013-01-01"))(cancel)
app.command(rich_help_panel=CLIENT, epilog=example("resume flights manual__2013-01-01"))(resume)
app.command(rich_help_panel=CLIENT, epilog=example("result flights manual__2013-01-01 --json"))(result)
app.command(rich_help_panel=LOOK_BACK, epilog=example("history flights manual__2013-01-01 --json"))(history)
app.command(
    rich_help_panel=LOOK_BACK, epilog=example("replay flights manual__2013-01-01 late_routes --attempt 1 --shell")
)(replay)
app.command(rich_help_panel=LOOK_BACK, epilog=example("discard flights manual__2013-01-01 late_routes"))(discard)
app.add_typer(staging, rich_help_panel=LOOK_BACK)
app.add_typer(positions, rich_help_panel=LOOK_BACK)
app.add_typer(streams, rich_help_panel=LOOK_BACK)
app.add_typer(tables, rich_help_panel=LOOK_BACK)
app.command(rich_help_panel=SET_UP, epilog=example("doctor --json"))(doctor)
app.command(rich_help_panel=SET_UP, epilog=example("warm"))(warm)
app.command(rich_help_panel=SET_UP, epilog=example("options --json"))(options)
app.command(rich_help_panel=SET_UP, epilog=example("env --json"))(env)
