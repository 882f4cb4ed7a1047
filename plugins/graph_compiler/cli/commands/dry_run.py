"""`graph-compiler dry-run`: have Spark analyze a pipeline in a separate process, and show its findings."""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

import graph_compiler
from graph_compiler.cli.arguments.asked_run import Params, Run
from graph_compiler.cli.arguments.pipelines import PipelineName
from graph_compiler.cli.console import AsJson, ExitCode, speaking_plainly, standard_error, standard_output
from graph_compiler.cli.running.local_spark import (
    SUBMIT_ARGUMENTS,
    artifact_settings,
    submit_arguments,
    tuned,
    without_damaged_archive,
)
from graph_compiler.cli.running.resident_spark import (
    Watch,
    repeat_command,
    require_resident_spark,
    start_driver,
    working_folder,
)
from graph_compiler.cli.running.signals import ended_as_by_ctrl_c
from graph_compiler.deployment.describe.local_task import desk_task
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.dry_run import ANSWER, REQUEST, DryRunAnswer, DryRunRequest
from graph_compiler.deployment.documents.report import Failure
from graph_compiler.deployment.documents.wire import from_json, to_json
from graph_compiler.errors import GraphCompilerError
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.identifiers import counted
from graph_compiler.staging.attempts.artifact_copies import put_artifacts
from graph_compiler.staging.store.stores import store_of

_PROGRAM = Path(graph_compiler.__file__).parent / "spark_runtime" / "dry_run.py"
_RUN, _LOG = "dry_run", "driver.log"

Plans = Annotated[bool, typer.Option("--spark", help="Also show Spark's physical plan of each job vertex.")]

Infer = Annotated[
    bool,
    typer.Option("--infer", help="Also read the files of sources without schema=, and print the columns to declare."),
]


class DryRunFailedError(GraphCompilerError):
    """The analysis itself failed."""


def dry_run(
    pipeline: PipelineName,
    day: Annotated[str | None, typer.Option("--date", help="Day for {{ ds }} in paths: 2013-01-01.")] = None,
    param: Params = None,
    spark: Plans = False,
    infer: Infer = False,
    watch: Watch = False,
    as_json: AsJson = False,
) -> None:
    """Let Spark analyze a pipeline without its data: columns, types, SQL. Exit code 1 if it finds a problem."""
    if watch:
        repeat_command(as_json=as_json)
    with speaking_plainly():
        run = Run.of(pipeline, param, day)
        answer = ask_spark(run, shows_plans=spark, infers=infer)
    findings = tuple(replace(finding, message=run.explained(finding.message)) for finding in answer.findings)
    answer = replace(answer, findings=findings)
    if as_json:
        typer.echo(_answer_json(run.compiled, answer))
    else:
        show_findings(run.compiled, answer)
    raise typer.Exit(ExitCode.LEFT_TO_DO if findings else ExitCode.DONE)


def show_findings(compiled: CompiledPipeline, answer: DryRunAnswer) -> None:
    """Print Spark's findings, and the plans that it was asked for."""
    console = standard_output()
    for plan in answer.plans:
        console.print(Text(f"region {plan.region_id} · {plan.vertex}\n{plan.plan}"), soft_wrap=True)
    for inferred in answer.schemas:
        place = f", declared at {inferred.declared_at}" if inferred.declared_at else ""
        text = f"{inferred.operator}{place}:\n  schema={json.dumps(inferred.schema, ensure_ascii=False)}"
        console.print(Text(text), soft_wrap=True)
    for finding in answer.findings:
        region_id = compiled.deployment.regions[0].id
        console.print(Text(finding.words(compiled.pipeline.name, region_id)), soft_wrap=True)
    for warning in answer.warnings:
        words = warning.words(compiled.pipeline.name, compiled.deployment.regions[0].id)
        console.print(Text(f"warning: {words}"), soft_wrap=True)
    operators = len(compiled.stream_graph.nodes)
    found = counted(len(answer.findings), "problem") if answer.findings else "no problems"
    console.print(f"{compiled.pipeline.name}: {operators} operators analyzed, {found} found", highlight=False)


def ask_spark(run: Run, *, shows_plans: bool, infers: bool = False) -> DryRunAnswer:
    """Return Spark's findings; raises DryRunFailedError if the analysis itself fails."""
    regions = describe_regions(run.compiled)
    with working_folder("dry-run-") as folder:
        desk = run.without_airflow(_RUN, folder)
        request = DryRunRequest(
            tasks=tuple(desk_task(region, desk, execution_id=_RUN) for region in regions),
            shows_plans=shows_plans,
            infers=infers,
        )
        put_artifacts(store_of(folder), request.tasks[0])
        with standard_error().status("Spark is reading columns"):
            return _analyze(request, Path(folder), run)


def _analyze(request: DryRunRequest, folder: Path, run: Run) -> DryRunAnswer:
    path = folder / REQUEST
    path.write_text(to_json(request))
    environment = run.airflow.child_environment() | {"SPARK_LOCAL_IP": "127.0.0.1"}
    settings = tuned(artifact_settings({}, request.tasks[0]), run.compiled, environment)
    environment[SUBMIT_ARGUMENTS] = submit_arguments(settings)
    require_resident_spark(environment)
    log = folder / _LOG
    process = start_driver(_PROGRAM, path, environment, log)
    with ended_as_by_ctrl_c():
        try:
            process.wait()
        except BaseException:  # Ctrl-C above all: Spark must not outlive the command
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
    answer = folder / ANSWER
    if not answer.exists():
        said = log.read_text(errors="replace")[-2_000:].rstrip()
        raise DryRunFailedError(f"Spark did not answer:\n{said}{without_damaged_archive(environment)}")
    return from_json(DryRunAnswer, answer.read_text())


def _answer_json(compiled: CompiledPipeline, answer: DryRunAnswer) -> str:
    document = {
        "pipeline": compiled.pipeline.name,
        "operators": len(compiled.stream_graph.nodes),
        "findings": [_finding_json(finding) for finding in answer.findings],
        "warnings": [_finding_json(warning) for warning in answer.warnings],
        "plans": [{"task": plan.region_id, "vertex": plan.vertex, "plan": plan.plan} for plan in answer.plans],
        "schemas": [{"operator": inferred.operator, "schema": inferred.schema} for inferred in answer.schemas],
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def _finding_json(finding: Failure) -> dict[str, object]:
    return {
        "operator": finding.operator,
        "message": finding.message,
        "file": finding.declared_at.file if finding.declared_at else None,
        "line": finding.declared_at.line if finding.declared_at else None,
    }
