"""The command line: one function for each command; `exit_codes.py` says what each ends with."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from graph_compiler.cli.diff import diff
from graph_compiler.cli.dry_run import analyse
from graph_compiler.cli.embedded_airflow import EmbeddedAirflow
from graph_compiler.cli.exit_codes import ExitCode
from graph_compiler.cli.explain import Plans, explain
from graph_compiler.cli.history import history_json, run_history, show_history
from graph_compiler.cli.pipelines import PipelineName
from graph_compiler.cli.plain_words import AsJson, example, speaking_plainly
from graph_compiler.cli.replay import find_execution, replay_execution
from graph_compiler.cli.run import Run, follow_run
from graph_compiler.cli.staging import staging
from graph_compiler.cli.ui import ui
from graph_compiler.cli.validate import validate
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.parameters import ParameterValue
from graph_compiler.declaration.pipeline_files import load_pipeline
from graph_compiler.declaration.yaml_spec.export import export_pipeline
from graph_compiler.declaration.yaml_spec.schema import schema_json
from graph_compiler.deployment.parameters import parse_parameter
from graph_compiler.deployment.staging_layout import StagingLayout
from graph_compiler.errors import ParameterError

app = typer.Typer(
    help="Compile declared Spark pipelines to Airflow tasks, and run them.\n\n"
    "Run it in the folder that holds pipelines/. On the way of a pipeline: validate says what is wrong with it, "
    "explain which tasks it becomes, dry-run what Spark makes of its columns, run what comes out, "
    "diff what a change does; history, replay and staging look back at runs.",
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


class ExportForm(StrEnum):
    """What a pipeline can be written as."""

    YAML = "yaml"


DagName = Annotated[str, typer.Argument(help="Name of the pipeline, the Dag's id.")]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="Run id, as Airflow shows it.")]


@app.command(epilog=example("schema"))
def schema() -> None:
    """Print the JSON Schema of pipelines in YAML, by which editors complete and check (docs/yaml.md)."""
    typer.echo(schema_json(), nl=False)


@app.command(epilog=example("export flights --to yaml"))
def export(
    pipeline: PipelineName,
    to: Annotated[ExportForm, typer.Option(help="What to write it as.")] = ExportForm.YAML,
) -> None:
    """Print a pipeline as YAML that declares the same: the same operators, ids and fingerprints."""
    writers = {ExportForm.YAML: export_pipeline}
    with speaking_plainly():
        typer.echo(writers[to](load_pipeline(pipeline)), nl=False)


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
        compiled = compile_pipeline(load_pipeline(pipeline))
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
        compiled = compile_pipeline(load_pipeline(pipeline))
        params = _assignments(param or [], dict(compiled.pipeline.params))
        found = analyse(compiled, _day(day), params, shows_plans=spark)
        raise typer.Exit(ExitCode.LEFT_TO_DO if found else ExitCode.DONE)


@app.command(epilog=example("replay flights manual__2013-01-01 late_routes --attempt 0 --shell"))
def replay(
    dag: DagName,
    run_id: RunId,
    task: Annotated[str, typer.Argument(help="Task id.")],
    attempt: Annotated[
        int | None, typer.Option(help="Number of the attempt, from 0; the last if not given.")
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(help="Folder for what it writes; a new temporary one if not given."),
    ] = None,
    shell: Annotated[
        bool,
        typer.Option("--shell", help="Open a PySpark session with its operators as DataFrames."),
    ] = False,
) -> None:
    """Run one execution again, with the inputs it had, and everything it writes below a scratch folder.

    With --shell, open a PySpark session instead in which each of its operators is a DataFrame.
    """
    with speaking_plainly():
        root = EmbeddedAirflow(Path.cwd()).staging_root
        layout = StagingLayout(root=str(root), pipeline=dag, run_id=run_id)
        raise typer.Exit(
            replay_execution(find_execution(layout, task, attempt), layout, into, shell=shell)
        )


@app.command(epilog=example("history flights manual__2013-01-01 --json"))
def history(
    dag: DagName,
    run_id: RunId,
    as_json: AsJson = False,
) -> None:
    """Show every attempt at every task of a run: state, time, worker, and why it did not finish."""
    with speaking_plainly():
        layout = StagingLayout(
            root=str(EmbeddedAirflow(Path.cwd()).staging_root), pipeline=dag, run_id=run_id
        )
        found = run_history(layout)
        if as_json:
            typer.echo(history_json(found))
        else:
            show_history(layout, found, Console())


@app.command(epilog=example("env"))
def env() -> None:
    """Print the environment `run` gives to Airflow: eval "$(graph-compiler env)" makes it your shell's."""
    for name, value in EmbeddedAirflow(Path.cwd()).environment().items():
        typer.echo(f"export {name}={shlex.quote(value)}")


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
