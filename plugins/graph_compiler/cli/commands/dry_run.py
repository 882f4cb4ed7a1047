"""`graph-compiler dry-run`: have Spark analyze a pipeline in a separate process, and show its findings."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.text import Text

import graph_compiler
from graph_compiler.cli.arguments.pipelines import PipelineName, compile_named
from graph_compiler.cli.arguments.runs import Params, hint_of_day, read_day, read_params
from graph_compiler.cli.console import AsJson, ExitCode, speaking_plainly, standard_error, standard_output
from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.cli.running.local_spark import artifact_settings, submit_variable
from graph_compiler.declaration.parameters.parameter import ParameterValue
from graph_compiler.deployment.describe.local_task import DeskRun, desk_task
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
_RUN = "dry_run"

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
    as_json: AsJson = False,
) -> None:
    """Let Spark analyze a pipeline without its data: columns, types, SQL. Exit code 1 if it finds a problem."""
    with speaking_plainly():
        compiled = compile_named(pipeline)
        params = read_params(param, compiled.pipeline)
        run_day = read_day(day)
        answer = ask_spark(compiled, run_day, params, shows_plans=spark, infers=infer)
    findings = []
    for finding in answer.findings:
        hint = hint_of_day(day, run_day, compiled, finding.message)
        message = f"{finding.message}\n  {hint}" if hint else finding.message
        findings.append(replace(finding, message=message))
    answer = replace(answer, findings=tuple(findings))
    if as_json:
        typer.echo(_answer_json(compiled, answer))
    else:
        show_findings(compiled, answer)
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


def ask_spark(
    compiled: CompiledPipeline,
    day: str,
    params: Mapping[str, ParameterValue],
    *,
    shows_plans: bool,
    infers: bool = False,
) -> DryRunAnswer:
    """Return Spark's findings; raises DryRunFailedError if the analysis itself fails."""
    given = {**dict(compiled.pipeline.params), **params}
    regions = describe_regions(compiled)
    with TemporaryDirectory(prefix="dry-run-") as folder:
        run = DeskRun(day=day, params=given, run_id=_RUN, staging_root=folder)
        request = DryRunRequest(
            tasks=tuple(desk_task(region, run, execution_id=_RUN) for region in regions),
            shows_plans=shows_plans,
            infers=infers,
        )
        put_artifacts(store_of(folder), request.tasks[0])
        with standard_error().status("Spark is reading columns"):
            return _analyze(request, Path(folder))


def _analyze(request: DryRunRequest, folder: Path) -> DryRunAnswer:
    path = folder / REQUEST
    path.write_text(to_json(request))
    done = subprocess.run(
        [sys.executable, str(_PROGRAM), str(path)],
        env=EmbeddedAirflow(Path.cwd()).child_environment()
        | {"SPARK_LOCAL_IP": "127.0.0.1"}
        | submit_variable(artifact_settings({}, request.tasks[0])),
        capture_output=True,
        text=True,
        check=False,
    )
    answer = folder / ANSWER
    if not answer.exists():
        raise DryRunFailedError(f"Spark did not answer:\n{done.stderr[-2_000:]}")
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
