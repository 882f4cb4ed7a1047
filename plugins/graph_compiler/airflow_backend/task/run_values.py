"""The regions of a task with the values of one run and one try."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowFailException

from graph_compiler.airflow_backend.dag.arguments import Arguments
from graph_compiler.airflow_backend.run_identities import identity_of_task
from graph_compiler.airflow_backend.task.task_try import TaskTry
from graph_compiler.declaration.connectors.file_uris import staging_place
from graph_compiler.declaration.operators import Source
from graph_compiler.declaration.parameters.parameter import RUN_DATE
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.windows import Flush
from graph_compiler.deployment.describe.run_parameters import check_parameters, parse_parameter
from graph_compiler.deployment.describe.templates import fill_places
from graph_compiler.deployment.documents.descriptor import (
    VERSION,
    ExecutionAttempt,
    RegionDescriptor,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.stream import SavepointRestoreSettings
from graph_compiler.errors import InvalidPipelineError, ParameterError
from graph_compiler.staging.attempts.attempts import count_attempts, failure_times
from graph_compiler.staging.store.stores import store_of
from graph_compiler.tested_versions import installed_version


def rendered(regions: Sequence[RegionDescriptor], places: Mapping[str, str]) -> tuple[RegionDescriptor, ...]:
    """Return regions with the paths that Airflow has rendered; raises AirflowFailException if they are invalid."""
    try:
        return fill_places(regions, places)
    except InvalidPipelineError as error:
        raise AirflowFailException(str(error)) from None


def try_of_run(
    regions: Sequence[RegionDescriptor],
    arguments: Arguments,
    parameters: Mapping[str, object],
    *,
    staging_root: str,
    clears_others: bool,
    context: Context,
) -> TaskTry:
    """Return the executions of a try; raises AirflowFailException if parameters are invalid."""
    instance, pipeline = context["ti"], arguments.pipeline
    defaults = {RUN_DATE: "", **dict(pipeline.params)}
    try:
        values = {name: parse_parameter(name, str(value), defaults) for name, value in parameters.items()}
        check_parameters(pipeline, values)
    except ParameterError as error:
        raise AirflowFailException(f"pipeline '{pipeline.name}': {error}") from None
    identity = identity_of_task(regions[0], instance)
    layout = StagingLayout(root=staging_root, identity=identity)
    pyspark = installed_version("pyspark")
    start = _savepoint(pipeline, context)
    return TaskTry(
        [
            TaskDeploymentDescriptor(
                version=VERSION,
                identity=identity,
                region=region.begun_with(start).bound(values, arguments.mapped_over(values)),
                attempt=ExecutionAttempt(
                    execution_id=str(instance.id),
                    attempt_number=count_attempts(store_of(staging_root), layout, region.region_id),
                ),
                staging_root=staging_root,
                parameters=tuple(values.items()),
                logical_date=_logical_date(context),
                clears_others=clears_others,
                try_number=instance.try_number,
                turn=turn if len(regions) > 1 else None,
                from_start=_from_start(context),
                compiled_for=pyspark,
                data_interval_end=_data_interval_end(context) if region.flush is Flush.DATA_INTERVAL_END else None,
            )
            for turn, region in enumerate(regions)
        ]
    )


def earlier_failures(regions: Sequence[RegionDescriptor], staging_root: str, context: Context) -> tuple[float, ...]:
    """Return when earlier tries of a task failed in this run, since it was cleared for the last time."""
    instance = context["ti"]
    layout = StagingLayout(root=staging_root, identity=identity_of_task(regions[0], instance))
    ids = [region.region_id for region in regions]
    # Clearing adds the retries to the tries so far; if the retries have changed since, this may be less than none.
    before = max(0, instance.max_tries - (instance.task.retries or 0))
    tries = max(0, instance.try_number - before - 1)
    failures = failure_times(store_of(staging_root), layout, ids, but=str(instance.id))
    return failures[-tries:] if tries else ()


def _logical_date(context: Context) -> str | None:
    run = context.get("dag_run")
    return None if run is None or run.logical_date is None else run.logical_date.isoformat()


def _data_interval_end(context: Context) -> str | None:
    run = context.get("dag_run")
    return None if run is None or run.data_interval_end is None else run.data_interval_end.isoformat()


def _from_start(context: Context) -> bool:
    """Whether the run was triggered with `{"graph_compiler": {"from_start": true}}`."""
    return _asked(context).get("from_start") is True


def _savepoint(pipeline: Pipeline, context: Context) -> SavepointRestoreSettings | None:
    """Return the savepoint with which the run was triggered: `{"graph_compiler": {"savepoint": {"path": "/…"}}}`.

    Raises AirflowFailException if it is none, or if the pipeline has no stream, and would ignore it.
    """
    if (found := _asked(context).get("savepoint")) is None:
        return None
    if not any(isinstance(each.operator, Source) and each.operator.unbounded for each in pipeline.operators):
        raise AirflowFailException(
            f"pipeline '{pipeline.name}': the run was triggered with the savepoint {found!r}, and none of its sources "
            "is unbounded\n  allowed: a savepoint for a pipeline with a stream"
        )
    known = {each.name for each in fields(SavepointRestoreSettings)}
    path = found.get("path") if isinstance(found, dict) and found.keys() <= known else None
    place = staging_place(path) if isinstance(path, str) else None
    allows = found.get("allow_non_restored_state", False) if isinstance(found, dict) else None
    if place is None or not isinstance(allows, bool):
        raise AirflowFailException(
            f"pipeline '{pipeline.name}': the run was triggered with the savepoint {found!r}\n"
            '  allowed: {"path": "/an/absolute/path, or a URI"}, and "allow_non_restored_state": true or false'
        )
    return SavepointRestoreSettings(path=place, allow_non_restored_state=allows)


def _asked(context: Context) -> dict[str, object]:
    """Return what the run was triggered with for this program."""
    run = context.get("dag_run")
    asked = (getattr(run, "conf", None) or {}).get("graph_compiler")
    return asked if isinstance(asked, dict) else {}
