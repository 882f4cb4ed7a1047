"""A region with the values of one run and one try."""

from __future__ import annotations

from collections.abc import Mapping

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowFailException

from graph_compiler.airflow_backend.run_identities import identity_of_task
from graph_compiler.declaration.parameters.parameter import RUN_DATE
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.deployment.describe.run_parameters import check_parameters, parse_parameter
from graph_compiler.deployment.describe.templates import fill_places
from graph_compiler.deployment.documents.descriptor import (
    VERSION,
    ExecutionAttempt,
    RegionDescriptor,
    TaskDeploymentDescriptor,
)
from graph_compiler.errors import InvalidPipelineError, ParameterError


def rendered(region: RegionDescriptor, places: Mapping[str, str]) -> RegionDescriptor:
    """Return a region with the paths that Airflow has rendered; raises AirflowFailException if they are invalid."""
    try:
        return fill_places(region, places)
    except InvalidPipelineError as error:
        raise AirflowFailException(str(error)) from None


def task_of_run(
    region: RegionDescriptor,
    pipeline: Pipeline,
    parameters: Mapping[str, object],
    *,
    staging_root: str,
    clears_others: bool,
    context: Context,
) -> TaskDeploymentDescriptor:
    """Return the descriptor of a try; raises AirflowFailException if parameters are invalid."""
    instance = context["ti"]
    defaults = {RUN_DATE: "", **dict(pipeline.params)}
    try:
        values = {
            name: parse_parameter(name, str(value), defaults) for name, value in parameters.items()
        }
        check_parameters(pipeline, values)
    except ParameterError as error:
        raise AirflowFailException(f"pipeline '{region.pipeline}': {error}") from None
    return TaskDeploymentDescriptor(
        version=VERSION,
        identity=identity_of_task(region, instance),
        region=region,
        attempt=ExecutionAttempt(
            execution_id=str(instance.id),
            attempt_number=instance.try_number - 1,
        ),
        staging_root=staging_root,
        parameters=tuple(values.items()),
        logical_date=_logical_date(context),
        clears_others=clears_others,
    )


def _logical_date(context: Context) -> str | None:
    run = context.get("dag_run")
    return None if run is None or run.logical_date is None else run.logical_date.isoformat()
