"""Lineage in OpenLineage's classes: an attempt at a region is a run, whose parent is the run of its Airflow task.

job      <dag>.<task>.<region>, in the namespace of Airflow's jobs
run      one id for each execution, the same from whichever process it is sent
events   START and COMPLETE, FAIL or ABORT, with the times of the attempt
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

from airflow.providers.openlineage.plugins import macros
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import (
    dataset_version_dataset,
    error_message_run,
    input_statistics_input_dataset,
    job_type_job,
    output_statistics_output_dataset,
    parent_run,
    schema_dataset,
)
from openlineage.client.uuid import generate_static_uuid

from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import RegionId
from graph_compiler.staging.attempts.attempt_lineage import AttemptLineage, Dataset, LineageColumn, columns
from graph_compiler.staging.attempts.task_attempt import TimedAttempt

PRODUCER = "urn:graph_compiler"
"""Who has sent an event: OpenLineage wants a URI."""
_STATES = {
    ExecutionState.FINISHED: RunState.COMPLETE,
    ExecutionState.CANCELED: RunState.ABORT,
    ExecutionState.FAILED: RunState.FAIL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRun:
    """A job, and the id of one of its runs, as OpenLineage identifies them."""

    namespace: str
    name: str
    run_id: str

    @classmethod
    def of_dag(cls, instance: Any) -> Self:
        """Return the run of a task instance's Dag."""
        return cls(
            namespace=macros.lineage_root_job_namespace(instance),
            name=macros.lineage_root_job_name(instance),
            run_id=macros.lineage_root_run_id(instance),
        )

    @classmethod
    def of_try(cls, instance: Any, number: int | None) -> Self:
        """Return a try of a task instance: an attempt that died belongs to an earlier one."""
        own = instance if number is None else instance.model_copy(update={"try_number": number})
        return cls(
            namespace=macros.lineage_job_namespace(),
            name=macros.lineage_job_name(instance),
            run_id=macros.lineage_run_id(own),
        )


def attempt_events(
    attempt: TimedAttempt, region_id: RegionId, lineage: AttemptLineage, task: JobRun, root: JobRun
) -> tuple[RunEvent, RunEvent]:
    """Return the events of an attempt that has ended; `task` is its Airflow task's try, `root` the Dag's run."""
    execution = attempt.execution
    started, ended = (datetime.fromtimestamp(at, UTC) for at in (execution.started, attempt.ended))
    facets: dict[str, Any] = {"parent": _parent(task, root)}
    if execution.reason is not None and execution.state is ExecutionState.FAILED:
        facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(
            message=execution.reason, programmingLanguage="PYTHON", producer=PRODUCER
        )
    key = f"{task.run_id} {region_id} {execution.execution_id}"
    run = Run(runId=str(generate_static_uuid(started, key.encode())), facets=facets)
    kind = job_type_job.JobTypeJobFacet(
        processingType="BATCH", integration="SPARK", jobType="REGION", producer=PRODUCER
    )
    job = Job(namespace=task.namespace, name=f"{task.name}.{region_id}", facets={"jobType": kind})
    start, end = (
        RunEvent(
            eventType=state,
            eventTime=at.isoformat(),
            run=run,
            job=job,
            inputs=inputs(lineage),
            outputs=outputs(lineage),
            producer=PRODUCER,
        )
        for state, at in ((RunState.START, started), (_STATES.get(execution.state, RunState.FAIL), ended))
    )
    return start, end


def inputs(lineage: AttemptLineage) -> list[InputDataset]:
    """Return the inputs, with their columns as far as they are known, and how much a staged result has."""
    facet = input_statistics_input_dataset.InputStatisticsInputDatasetFacet
    return [
        InputDataset(**_named(each), inputFacets=_statistics("inputStatistics", facet, each)) for each in lineage.inputs
    ]


def outputs(lineage: AttemptLineage) -> list[OutputDataset]:
    """Return the outputs, with their columns, rows and bytes."""
    facet = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet
    return [
        OutputDataset(**_named(each), outputFacets=_statistics("outputStatistics", facet, each))
        for each in lineage.outputs
    ]


def _named(dataset: Dataset) -> dict[str, Any]:
    place = dataset.place
    return {"namespace": place.namespace, "name": place.name, "facets": _facets(dataset)}


def _statistics(name: str, facet: Any, dataset: Dataset) -> dict[str, Any]:
    if dataset.rows is None:
        return {}
    return {name: facet(rowCount=dataset.rows, size=dataset.bytes, producer=PRODUCER)}


def _parent(task: JobRun, root: JobRun) -> parent_run.ParentRunFacet:
    return parent_run.ParentRunFacet(
        run=parent_run.Run(runId=task.run_id),
        job=parent_run.Job(namespace=task.namespace, name=task.name),
        root=parent_run.Root(
            run=parent_run.RootRun(runId=root.run_id), job=parent_run.RootJob(namespace=root.namespace, name=root.name)
        ),
        producer=PRODUCER,
    )


def _facets(dataset: Dataset) -> dict[str, Any]:
    facets: dict[str, Any] = {}
    if dataset.schema is not None:
        facets["schema"] = schema_dataset.SchemaDatasetFacet(
            fields=list(_fields(columns(dataset.schema))), producer=PRODUCER
        )
    if dataset.version is not None:
        facets["version"] = dataset_version_dataset.DatasetVersionDatasetFacet(
            datasetVersion=dataset.version, producer=PRODUCER
        )
    return facets


def _fields(within: Iterable[LineageColumn]) -> Iterator[schema_dataset.SchemaDatasetFacetFields]:
    for column in within:
        yield schema_dataset.SchemaDatasetFacetFields(
            name=column.name, type=column.type, fields=list(_fields(column.fields))
        )
