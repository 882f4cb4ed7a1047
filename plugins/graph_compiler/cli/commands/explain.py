"""`graph-compiler explain`: what a pipeline compiles to, as text, a document or a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import graph_compiler
from graph_compiler.cli.arguments.asked_run import Run
from graph_compiler.cli.arguments.pipelines import PipelineName, compile_named
from graph_compiler.cli.commands.dry_run import Plans, ask_spark, show_findings
from graph_compiler.cli.console import AsJson, ExitCode, speaking_plainly
from graph_compiler.cli.running.airflow_answers import read_submit_commands
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.explain.documents.page import BUILT
from graph_compiler.explain.render import Format, Graph, has_flink_plan, render
from graph_compiler.explain.text.submit_text import submit_text


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
    as_json: AsJson = False,
) -> None:
    """Show the tasks a pipeline compiles to, why each cut is there, and what is repeated if a task fails."""
    if as_json and format not in (None, Format.JSON):
        raise typer.BadParameter(f"--json and --format {format} contradict each other")
    form = Format.JSON if as_json else format or Format.TEXT
    if spark and (form is not Format.TEXT or graph):
        raise typer.BadParameter("--spark prints text: it cannot be combined with --json, --format or --graph")
    if submit and (spark or graph or form not in (Format.TEXT, Format.JSON)):
        raise typer.BadParameter(
            "--submit prints text or JSON: it cannot be combined with --spark, --graph or another --format"
        )
    if form is Format.HTML and graph:
        raise typer.BadParameter("the page has every graph: leave --graph out")
    if form is Format.FLINK and not has_flink_plan(graph):
        raise typer.BadParameter("Flink has no plan document of subtasks; allowed: --graph stream, --graph job")
    with speaking_plainly():
        compiled = compile_named(pipeline)
        if submit:
            describe_pipeline(compiled)  # its problems first
            found = read_submit_commands(pipeline)
            typer.echo(to_json(found) if form is Format.JSON else submit_text(found))
            is_refused = any(task.problem is not None for task in found.tasks)
            raise typer.Exit(ExitCode.LEFT_TO_DO if is_refused else ExitCode.DONE)
        typer.echo(render(compiled, graph, form, _page() if form is Format.HTML else ""))
        if spark:
            answer = ask_spark(Run.by_default(compiled), shows_plans=True)
            show_findings(compiled, answer)
            problems = len(answer.findings)
            raise typer.Exit(ExitCode.LEFT_TO_DO if problems else ExitCode.DONE)


def _page() -> str:
    """Return the HTML of the web view's page, empty if it has not been built."""
    file = Path(graph_compiler.__file__).parent / BUILT
    return file.read_text() if file.is_file() else ""
