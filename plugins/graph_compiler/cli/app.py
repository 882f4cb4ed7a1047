"""The command line: one function for each command; `exit_codes.py` says what each ends with."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from graph_compiler.cli.compiling import compile_named
from graph_compiler.cli.diff import diff
from graph_compiler.cli.doctor import doctor
from graph_compiler.cli.dry_run import analyse
from graph_compiler.cli.embedded_airflow import EmbeddedAirflow
from graph_compiler.cli.env import env
from graph_compiler.cli.exit_codes import ExitCode
from graph_compiler.cli.explain import Plans, explain
from graph_compiler.cli.export import export
from graph_compiler.cli.history import history
from graph_compiler.cli.new import new
from graph_compiler.cli.options import options
from graph_compiler.cli.pipelines import PipelineName
from graph_compiler.cli.plain_words import example, speaking_plainly
from graph_compiler.cli.replay import replay
from graph_compiler.cli.run import Run, follow_run
from graph_compiler.cli.schema import schema
from graph_compiler.cli.staging import staging
from graph_compiler.cli.ui import ui
from graph_compiler.cli.validate import validate
from graph_compiler.declaration.parameters import ParameterValue
from graph_compiler.deployment.parameters import parse_parameter
from graph_compiler.errors import ParameterError

app = typer.Typer(
    help="Compile declared Spark pipelines to Airflow tasks, and run them.\n\n"
    "Run it in the folder that holds pipelines/. new begins a pipeline. On its way: validate says what is wrong "
    "with it, explain which tasks it becomes, dry-run what Spark makes of its columns, run what comes out, "
    "diff what a change does; history, replay and staging look back at runs. options shows "
    "what is set for all pipelines, doctor what is wrong with the machine.",
    epilog="Exit codes: 0 done; 1 something is left for a person to do; 2 the declaration or the call is wrong. "
    "COMMAND --help has an example of each.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(staging)
app.command(epilog=example("validate pipelines/flights.py"))(validate)
app.command(epilog=example("ui --port 8081"))(ui)
app.command(epilog=example("explain flights --graph job --format mermaid"))(explain)
app.command(epilog=example("diff main:pipelines/flights.py flights --summary"))(diff)
app.command(epilog=example("new sales --yaml"))(new)
app.command(epilog=example("doctor --json"))(doctor)
app.command(epilog=example("options --json"))(options)
app.command(epilog=example("history flights manual__2013-01-01 --json"))(history)
app.command(epilog=example("replay flights manual__2013-01-01 late_routes --attempt 0 --shell"))(
    replay
)
app.command(epilog=example("schema"))(schema)
app.command(epilog=example("export flights --to yaml"))(export)
app.command(epilog=example("env --json"))(env)


@app.command(epilog=example("run flights --date 2013-01-01 --param late_after=30"))
def run(
    pipeline: PipelineName,
    day: Annotated[
        str | None, typer.Option("--date", help="Logical date of the run: 2013-01-01.")
    ] = None,
    param: Annotated[
        list[str] | None, typer.Option(help="A parameter of the pipeline: name=value.")
    ] = None,
    sort: Annotated[
        str | None, typer.Option(help="Column to sort the preview by, largest first.")
    ] = None,
) -> None:
    """Run a pipeline once under an Airflow of its own (`airflow dags test`), and show what comes out."""
    with speaking_plainly():
        compiled = compile_named(pipeline)
        request = Run(
            compiled=compiled,
            day=_day(day),
            params=_assignments(param or [], dict(compiled.pipeline.params)),
            preview_sorted_by=sort,
        )
        came_through = follow_run(request, EmbeddedAirflow(Path.cwd()))
        raise typer.Exit(ExitCode.DONE if came_through else ExitCode.LEFT_TO_DO)


@app.command(name="dry-run", epilog=example("dry-run flights --spark"))
def dry_run(
    pipeline: PipelineName,
    day: Annotated[
        str | None, typer.Option("--date", help="Day for {{ ds }} in paths: 2013-01-01.")
    ] = None,
    param: Annotated[
        list[str] | None, typer.Option(help="A parameter of the pipeline: name=value.")
    ] = None,
    spark: Plans = False,
) -> None:
    """Let Spark analyse a pipeline without its data: columns, types, SQL. Exit code 1 where it finds something."""
    with speaking_plainly():
        compiled = compile_named(pipeline)
        params = _assignments(param or [], dict(compiled.pipeline.params))
        found = analyse(compiled, _day(day), params, shows_plans=spark)
        raise typer.Exit(ExitCode.LEFT_TO_DO if found else ExitCode.DONE)


def _day(text: str | None) -> str:
    try:
        return (date.today() if text is None else date.fromisoformat(text)).isoformat()
    except ValueError:
        raise ParameterError(f"--date is '{text}'\n  allowed: a day, such as 2013-01-01") from None


def _assignments(
    texts: list[str], defaults: Mapping[str, ParameterValue]
) -> dict[str, ParameterValue]:
    pairs = [text.partition("=") for text in texts]
    for name, separator, _ in pairs:
        if not separator:
            raise ParameterError(f"parameter '{name}' has no value\n  allowed: --param name=value")
    return {name: parse_parameter(name, value, defaults) for name, _, value in pairs}
