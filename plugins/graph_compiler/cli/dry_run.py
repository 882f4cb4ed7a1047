"""`graph-compiler dry-run`: have Spark analyse a pipeline in a process of its own, and say what it found."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.text import Text

import graph_compiler
from graph_compiler.cli.embedded_airflow import EmbeddedAirflow
from graph_compiler.declaration.parameters import ParameterValue
from graph_compiler.declaration.pipeline import RUN_DATE
from graph_compiler.deployment.describe import describe_regions
from graph_compiler.deployment.descriptor import (
    VERSION,
    ExecutionAttempt,
    RegionDescriptor,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.dry_run import ANSWER, REQUEST, DryRunAnswer, DryRunRequest
from graph_compiler.deployment.templates import fill_places, find_places
from graph_compiler.deployment.wire import from_json, to_json
from graph_compiler.errors import GraphCompilerError
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline

_PROGRAM = Path(graph_compiler.__file__).parent / "spark_runtime" / "dry_run.py"
_ATTEMPT = ExecutionAttempt(run_id="dry_run", execution_id="dry_run", attempt_number=0)


class DryRunFailedError(GraphCompilerError):
    """The analysis itself could not be done."""


def analyse(
    compiled: CompiledPipeline,
    day: str,
    params: Mapping[str, ParameterValue],
    *,
    shows_plans: bool,
) -> int:
    """Print what Spark finds, and its plans if asked; gives the number of findings. Raises DryRunFailedError."""
    console = Console()
    given = {**dict(compiled.pipeline.params), **params}
    regions = describe_regions(compiled)
    with TemporaryDirectory(prefix="dry-run-") as folder:
        tasks = tuple(_task(region, day, given, folder) for region in regions)
        request = DryRunRequest(tasks=tasks, shows_plans=shows_plans)
        with console.status("Spark is reading columns"):
            answer = _ask(request, Path(folder))
    for plan in answer.plans:
        console.print(Text(f"task {plan.region_id} · {plan.vertex}\n{plan.plan}"), soft_wrap=True)
    for finding in answer.findings:
        region_id = regions[0].region_id
        console.print(Text(finding.words(compiled.pipeline.name, region_id)), soft_wrap=True)
    operators = len(compiled.stream_graph.nodes)
    found = f"{len(answer.findings)} found wrong" if answer.findings else "nothing found wrong"
    console.print(
        f"{compiled.pipeline.name}: {operators} operators analysed, {found}", highlight=False
    )
    return len(answer.findings)


def _ask(request: DryRunRequest, folder: Path) -> DryRunAnswer:
    path = folder / REQUEST
    path.write_text(to_json(request))
    done = subprocess.run(
        [sys.executable, str(_PROGRAM), str(path)],
        env=EmbeddedAirflow(Path.cwd()).child_environment() | {"SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        check=False,
    )
    answer = folder / ANSWER
    if not answer.exists():
        raise DryRunFailedError(f"Spark did not answer:\n{done.stderr[-2_000:]}")
    return from_json(DryRunAnswer, answer.read_text())


def _task(
    region: RegionDescriptor, day: str, params: Mapping[str, ParameterValue], folder: str
) -> TaskDeploymentDescriptor:
    rendered = {key: _render(text, day, params) for key, text in find_places(region).items()}
    return TaskDeploymentDescriptor(
        version=VERSION,
        region=fill_places(region, rendered),
        attempt=_ATTEMPT,
        staging_root=folder,
        parameters=((RUN_DATE, day), *params.items()),
    )


def _render(text: str, day: str, params: Mapping[str, ParameterValue]) -> str:
    """Render what Airflow would, of what there is without a run: `params`, `ds`, `ds_nodash`, `run_id`."""
    # Imported when called: Airflow brings Jinja, and the compiler alone does without.
    from jinja2 import StrictUndefined, TemplateError
    from jinja2.sandbox import SandboxedEnvironment

    known = {"ds": day, "ds_nodash": day.replace("-", ""), "run_id": _ATTEMPT.run_id}
    try:
        template = SandboxedEnvironment(undefined=StrictUndefined).from_string(text)
        return str(template.render(params=dict(params), **known))
    except TemplateError as error:
        raise DryRunFailedError(
            f"'{text}' cannot be rendered without a run: {error}\n  allowed: params, {', '.join(known)}"
        ) from None
