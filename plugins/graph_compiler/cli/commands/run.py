"""`graph-compiler run`: run a pipeline once, under Airflow or in one Spark session, and show its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from graph_compiler.cli.arguments.asked_run import Params, Run, Until
from graph_compiler.cli.arguments.pipelines import PipelineName
from graph_compiler.cli.arguments.runs import savepoint_place
from graph_compiler.cli.console import AsJson, ExitCode, program_name, speaking_plainly, standard_error, standard_output
from graph_compiler.cli.running.airflow_run import run_under_airflow
from graph_compiler.cli.running.dag_files import require_dag
from graph_compiler.cli.running.finished_run import FinishedRun
from graph_compiler.cli.running.first_rows import FirstRows
from graph_compiler.cli.running.in_process_run import run_in_process
from graph_compiler.cli.running.resident_spark import Watch, repeat_command
from graph_compiler.cli.running.run_document import run_json
from graph_compiler.cli.running.run_view import contracts_table, outputs_table, preview_table
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.deployment.documents.stream import SavepointRestoreSettings
from graph_compiler.errors import ParameterError
from graph_compiler.graphs.operator_names import find_output
from graph_compiler.identifiers import counted
from graph_compiler.projects.pipeline_files import find_pipeline

LIMIT = 20


def run(  # the parameters are the command's options
    pipeline: PipelineName,
    day: Annotated[str | None, typer.Option("--date", help="Logical date of the run: 2013-01-01.")] = None,
    param: Params = None,
    in_process: Annotated[
        bool, typer.Option("--in-process", help="Run all tasks in one Spark session, without Airflow, which is faster.")
    ] = False,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="OPERATOR",
            help="Run only what this operator needs, show its rows, and write no sink. Implies --in-process.",
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=0, help=f"How many rows --until shows; default: {LIMIT}.")] = None,
    count: Annotated[
        bool, typer.Option("--count", help="Also count all rows of --until; this computes all of them.")
    ] = False,
    sort: Annotated[str | None, typer.Option(help="Column to sort the preview by, largest first.")] = None,
    watch: Watch = False,
    from_savepoint: Annotated[
        str | None,
        typer.Option("--from-savepoint", metavar="PATH", help="Let the stream of the pipeline begin with a savepoint."),
    ] = None,
    allow_non_restored_state: Annotated[
        bool,
        typer.Option("--allow-non-restored-state", help="Also if the pipeline has no operator for its state any more."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run a pipeline once, and show the result.

    It runs under the project's own Airflow; with --in-process or --until, without Airflow in one Spark session.
    """
    _check_until(
        until, given={"--limit": limit is not None, "--count": count, "--watch": watch}, sorts=sort is not None
    )
    start = _start(from_savepoint, until, allows=allow_non_restored_state)
    if watch:
        repeat_command(as_json=as_json)
    console = standard_error() if as_json else standard_output()
    with speaking_plainly():
        asked = replace(Run.of(pipeline, param, day), preview_sorted_by=sort)
        if until is not None:
            output = find_output(asked.compiled.stream_graph, until)
            asked = replace(asked, until=Until(output=output, limit=LIMIT if limit is None else limit, counts=count))
        if start is not None:
            asked = _begun_with(asked, start)
        if in_process or until is not None:
            finished = run_in_process(asked, console)
        else:
            dags = Path(asked.airflow.environment()["AIRFLOW__CORE__DAGS_FOLDER"])
            require_dag(asked.compiled.pipeline, find_pipeline(pipeline), dags)
            finished = run_under_airflow(asked, console)
    if finished.failure is not None:
        finished = replace(finished, failure=asked.explained(finished.failure))
    if as_json:
        typer.echo(run_json(finished))
    else:
        _show(finished, pipeline, console)
    raise typer.Exit(ExitCode.DONE if finished.failure is None else ExitCode.LEFT_TO_DO)


def _check_until(until: str | None, *, given: Mapping[str, bool], sorts: bool) -> None:
    """Raise BadParameter for options that need --until, or that it does not have."""
    if until is None and (alone := [option for option, is_given in given.items() if is_given]):
        why = ": a whole run publishes its sinks each time" if alone == ["--watch"] else ""
        raise typer.BadParameter(f"{' and '.join(alone)} need{'' if alone[1:] else 's'} --until OPERATOR{why}")
    if until is not None and sorts:
        raise typer.BadParameter("--sort applies to the rows of a sink; --until shows rows in the order they arrive")


def _start(path: str | None, until: str | None, *, allows: bool) -> SavepointRestoreSettings | None:
    """Return the savepoint that is asked for; raises BadParameter for options that do not go together."""
    if path is None:
        if allows:
            raise typer.BadParameter("--allow-non-restored-state needs --from-savepoint PATH")
        return None
    if until is not None:
        raise typer.BadParameter("--until writes no sink, and --from-savepoint begins a stream: use one of them")
    with speaking_plainly():
        return SavepointRestoreSettings(path=savepoint_place(path), allow_non_restored_state=allows)


def _begun_with(run: Run, start: SavepointRestoreSettings) -> Run:
    """Return a run whose stream begins with a savepoint; raises ParameterError if there is none, or several."""
    queries = [region.stream for region in describe_pipeline(run.compiled).regions if region.stream is not None]
    if len(queries) != 1:
        found = counted(len(queries), "stream")
        raise ParameterError(
            f"--from-savepoint is given, and pipeline '{run.name}' has {found}\n  allowed: a pipeline with one stream"
        )
    return replace(run, start=start)


def _show(run: FinishedRun, pipeline: str, console: Console) -> None:
    if run.failure is not None:
        console.print(Text(run.failure), soft_wrap=True)
        return
    if run.run_id is not None:
        console.print(outputs_table(run.sinks))
    if (contracts := contracts_table(run.found)) is not None:
        console.print(contracts)
    if isinstance(run.preview, FirstRows):
        console.print(preview_table(run.preview, console.width))
    elif run.preview is not None:
        console.print(run.preview)
    console.print(f"Log: {run.log}", soft_wrap=True, highlight=False)
    if run.run_id is not None:
        name = run.compiled.pipeline.name
        console.print(
            f"Next:  {program_name()} explain {pipeline}   shows why the cuts are where they are\n"
            f"       {program_name()} history {name} {run.run_id}   shows each attempt at each task\n"
            f"       {program_name()} run {pipeline} --until OPERATOR   shows the rows of one operator\n"
            f"       edit {find_pipeline(pipeline).shown}, then run again",
            highlight=False,
            soft_wrap=True,
        )
