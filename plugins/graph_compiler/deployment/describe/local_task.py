"""A region's task without Airflow: its places are rendered here, from values that do not need an Airflow run.

Templates may name `params`, `run_date`, `ds`, `ds_nodash` and `run_id`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from graph_compiler.declaration.parameters.parameter import RUN_DATE, ParameterValue, json_value
from graph_compiler.declaration.windows import Flush
from graph_compiler.deployment.describe.templates import fill_places, find_places
from graph_compiler.deployment.documents.descriptor import (
    VERSION,
    ExecutionAttempt,
    RegionDescriptor,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.errors import GraphCompilerError
from graph_compiler.tested_versions import installed_version


class RenderingError(GraphCompilerError):
    """A template is invalid, or needs a value that only an Airflow run has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskRun:
    """A run without Airflow. `day` is its logical date, such as 2013-01-01; `params` are all of the pipeline's."""

    day: str
    params: Mapping[str, ParameterValue]
    run_id: str
    staging_root: str


def desk_task(
    region: RegionDescriptor, run: DeskRun, *, execution_id: str, attempt_number: int = 0
) -> TaskDeploymentDescriptor:
    """Return the descriptor for one Spark application; raises RenderingError."""
    rendered = {key: _render(text, run) for key, text in find_places([region]).items()}
    (filled,) = fill_places([region], rendered)
    return TaskDeploymentDescriptor(
        version=VERSION,
        identity=RunIdentity.own(region.pipeline, run.run_id),
        region=filled.bound(run.params),
        attempt=ExecutionAttempt(execution_id=execution_id, attempt_number=attempt_number),
        staging_root=run.staging_root,
        parameters=((RUN_DATE, run.day), *run.params.items()),
        data_interval_end=_end_of(run.day) if region.flush is Flush.DATA_INTERVAL_END else None,
        compiled_for=installed_version("pyspark"),
    )


def _end_of(day: str) -> str:
    """Return the end of a day, in UTC."""
    return (datetime.fromisoformat(day).replace(tzinfo=UTC) + timedelta(days=1)).isoformat()


def _render(text: str, run: DeskRun) -> str:
    if not any(marker in text for marker in ("{{", "{%", "{#")):
        return text
    # Imported when called: most places are no templates, and Jinja takes longer to import than this package.
    from jinja2 import StrictUndefined, TemplateError
    from jinja2.sandbox import SandboxedEnvironment

    known = {RUN_DATE: run.day, "ds": run.day, "ds_nodash": run.day.replace("-", ""), "run_id": run.run_id}
    try:
        template = SandboxedEnvironment(undefined=StrictUndefined).from_string(text)
        return str(template.render(params={name: json_value(value) for name, value in run.params.items()}, **known))
    except TemplateError as error:
        raise RenderingError(
            f"'{text}' cannot be rendered without a run: {error}\n  allowed: params, {', '.join(known)}\n"
            "  hint: {{ run_date }} and {{ ds }} are the day that --date gives; only a run under Airflow "
            "(graph-compiler run, without --in-process) has its other variables"
        ) from None
