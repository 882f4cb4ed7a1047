"""`graph-compiler explain`: what a pipeline compiles to, as text, a document or a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import graph_compiler
from graph_compiler.cli.arguments.asked_run import Run
from graph_compiler.cli.arguments.pipelines import PipelineName, compile_named
from graph_compiler.cli.arguments.runs import layout_of
from graph_compiler.cli.commands.dry_run import Plans, ask_spark, show_findings
from graph_compiler.cli.console import AsJson, ExitCode, speaking_plainly
from graph_compiler.cli.running.airflow_answers import read_submit_commands
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.explain.documents.page import BUILT
from graph_compiler.explain.render import Format, Graph, has_flink_plan, render
from graph_compiler.explain.text.actual_text import RegionAfterRun, actual_json, actual_text
from graph_compiler.explain.text.submit_text import submit_text
from graph_compiler.projects.pipeline_files import load_pipeline
from graph_compiler.staging.attempts.attempts import attempt_documents, find_run, last_execution, regions_of
from graph_compiler.staging.store.stores import store_of


def explain(
    pipeline: PipelineName,
    graph: Annotated[Graph | None, typer.Option(help="Show one of Flink's graphs instead of the tasks.")] = None,
    format: Annotated[
        Format | None,
        typer.Option(
            help="Output format; html: an interactive page; flink: for Flink's plan visualizer; default: text.",
            show_default=False,
        ),
    ] = None,
    spark: Plans = False,
    submit: Annotated[
        bool, typer.Option("--submit", help="Show the spark-submit command of each task; needs Airflow.")
    ] = False,
    run_id: Annotated[
        str | None,
        typer.Option(
            "--run", metavar="RUN", help="Show what ran beside what was declared: the execution graph of a run."
        ),
    ] = None,
    dag: Annotated[
        str | None,
        typer.Option(help="With --run, for a pipeline in another Dag: PIPELINE@DAG:GROUP:MAP_INDEX, as in `history`."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the tasks a pipeline compiles to, why each cut is there, and what is repeated if a task fails."""
    form = Format.JSON if as_json else format or Format.TEXT
    wrong = _why_contradictory(graph, form, spark=spark, submit=submit, run=run_id is not None, dag=dag is not None)
    if as_json and format not in (None, Format.JSON):
        wrong = f"--json and --format {format} contradict each other"
    if wrong is not None:
        raise typer.BadParameter(wrong)
    with speaking_plainly():
        if run_id is not None:
            typer.echo(_graph_after(dag or load_pipeline(pipeline).name, run_id, form))
            return
        compiled = compile_named(pipeline)
        if submit:
            describe_pipeline(compiled)  # its problems first
            raise typer.Exit(_show_submissions(pipeline, form))
        typer.echo(render(compiled, graph, form, _page() if form is Format.HTML else ""))
        if spark:
            answer = ask_spark(Run.by_default(compiled), shows_plans=True)
            show_findings(compiled, answer)
            problems = len(answer.findings)
            raise typer.Exit(ExitCode.LEFT_TO_DO if problems else ExitCode.DONE)


def _why_contradictory(
    graph: Graph | None, form: Format, *, spark: bool, submit: bool, run: bool, dag: bool
) -> str | None:
    """Return which options cannot be combined, None if all can."""
    is_plain = form in (Format.TEXT, Format.JSON)
    contradictions = {
        "--spark prints text: it cannot be combined with --json, --format or --graph": (
            spark and (form is not Format.TEXT or graph is not None)
        ),
        "--submit prints text or JSON: it cannot be combined with --spark, --graph or another --format": (
            submit and (spark or graph is not None or not is_plain)
        ),
        "--run prints the execution graph as text or JSON: it cannot be combined with --spark, --submit, another "
        "--graph or another --format": (
            run and (spark or submit or graph not in (None, Graph.EXECUTION) or not is_plain)
        ),
        "--dag says where the run of --run is: add --run": dag and not run,
        "the page has every graph: leave --graph out": form is Format.HTML and graph is not None,
        "Flink has no plan document of subtasks; allowed: --graph stream, --graph job": (
            form is Format.FLINK and not has_flink_plan(graph)
        ),
    }
    return next((words for words, is_there in contradictions.items() if is_there), None)


def _show_submissions(pipeline: str, form: Format) -> ExitCode:
    found = read_submit_commands(pipeline)
    typer.echo(to_json(found) if form is Format.JSON else submit_text(found))
    is_refused = any(task.problem is not None for task in found.tasks)
    return ExitCode.LEFT_TO_DO if is_refused else ExitCode.DONE


def _graph_after(dag: str, run_id: str, form: Format) -> str:
    """Return the execution graph of a run, from the documents of the last attempt at each of its regions."""
    layout = layout_of(dag, run_id)
    store = store_of(layout.root)
    find_run(store, layout)
    found: list[RegionAfterRun] = []
    for region_id in regions_of(store, layout):
        last = next(iter(attempt_documents(store, layout, region_id)[-1:]), None)
        attempt = last_execution(store, layout, region_id)
        descriptor = None if last is None else last.read_descriptor()
        if attempt is not None and descriptor is not None:
            found.append(
                RegionAfterRun(
                    region=descriptor.region,
                    state=attempt.state,
                    attempt=attempt.attempt_number + 1,
                    report=attempt.report,
                )
            )
    if form is Format.JSON:
        return to_json(actual_json(run_id, found))
    return actual_text(f"{dag} · {run_id} · execution graph after the run", found)


def _page() -> str:
    """Return the HTML of the web view's page, empty if it has not been built."""
    file = Path(graph_compiler.__file__).parent / BUILT
    return file.read_text() if file.is_file() else ""
