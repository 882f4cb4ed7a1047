"""Lineage, through Airflow's provider for OpenLineage: its transport, its namespace, its policy.

of the task      the provider asks its operator, when it begins and when it has ended
of an attempt    we send its events when it has ended

`openlineage_events` has OpenLineage's classes, and is imported where the provider is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Protocol, cast

from airflow.sdk import get_current_context

from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.identifiers import RegionId
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments
from graph_compiler.staging.attempts.attempt_lineage import (
    AttemptLineage,
    RegionPlaces,
    attempt_lineage,
    declared_lineage,
    task_lineage,
)
from graph_compiler.staging.attempts.task_attempt import EndedRegion, TimedAttempt
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.store.stores import store_of


class RunsRegions(Protocol):
    """A task that runs regions: with places unrendered, in order."""

    @property
    def regions(self) -> Sequence[RegionDescriptor]:
        """Its regions."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The rendered parameters of its run."""

    @property
    def application_args(self) -> Sequence[str] | None:
        """The keys of the descriptors that it has submitted."""


def _places(task: RunsRegions) -> Mapping[RegionId, RegionPlaces]:
    return {region.region_id: RegionPlaces(region=region, values=task.parameters) for region in task.regions}


class ReportsLineage:
    """The methods that the provider calls on a task, if it is installed; a mixin of an operator."""

    def get_openlineage_facets_on_start(self: RunsRegions) -> Any:
        """Return the provider's `OperatorLineage` of a task that begins: the places of its sources and sinks."""
        return _facets(declared_lineage(list(_places(self).values())))

    def get_openlineage_facets_on_complete(self: RunsRegions, _instance: Any) -> Any:
        """Return the `OperatorLineage` of a task that has ended, or failed, from the reports of its executions."""
        return _facets(task_lineage(list(_ended(self, self.application_args or ()))))


def _ended(task: RunsRegions, descriptors: Sequence[str]) -> Iterator[AttemptLineage]:
    places = _places(task)
    for key in descriptors:
        documents = AttemptDocuments.beside(key)
        execution = documents.read_descriptor()
        if execution is not None and execution.region.region_id in places:
            log = ManifestLog(store=documents.store, layout=execution.layout)
            report = documents.done_by().read_report()
            yield attempt_lineage(places[execution.region.region_id], report, log)


def _facets(lineage: AttemptLineage) -> Any:
    from airflow.providers.openlineage.extractors import OperatorLineage

    from graph_compiler.airflow_backend.notify.openlineage_events import inputs, outputs

    return OperatorLineage(inputs=inputs(lineage), outputs=outputs(lineage))


@dataclass(frozen=True, slots=True)
class Lineage:
    """Sends the events of attempts; `in_background` is given a name, and what waits for the network."""

    in_background: Callable[[str, Callable[[], None]], None]

    def is_wanted(self) -> bool:
        """Whether Airflow's provider for OpenLineage is installed, and has somewhere to send to."""
        if find_spec("airflow.providers.openlineage") is None:
            return False
        from airflow.providers.openlineage.api import is_openlineage_active

        return bool(is_openlineage_active())

    def send(self, contents: Sequence[EndedRegion]) -> None:
        """Send the events of attempts that are not reported yet; none if the policy for this task is to send none.

        It reads the context of the task that is running in this process: the triggerer has none, and sends none. The
        provider reports what it could not send.
        """
        from airflow.providers.openlineage.api import emit
        from airflow.providers.openlineage.utils.emission_policy import resolve_task_emission_policy

        from graph_compiler.airflow_backend.notify.openlineage_events import JobRun, attempt_events

        try:
            context = get_current_context()
        except RuntimeError:
            return
        instance, operator = context["ti"], cast(Any, context["task"])
        policy = resolve_task_emission_policy(operator=operator, dag_id=instance.dag_id, task_id=instance.task_id)
        if not (policy.emit and policy.extract_operator_metadata):
            return
        places, root = _places(operator), JobRun.of_dag(instance)
        events = [
            event
            for region_id, log, attempt in _unreported(contents)
            if region_id in places
            for event in attempt_events(
                attempt,
                region_id,
                attempt_lineage(places[region_id], attempt.execution.report, log),
                JobRun.of_try(instance, attempt.execution.try_number),
                root,
            )
        ]

        def emit_all() -> None:
            for event in events:
                emit(event)

        if events:
            self.in_background("lineage", emit_all)


def _unreported(ended: Sequence[EndedRegion]) -> Iterator[tuple[RegionId, ManifestLog, TimedAttempt]]:
    for region in ended:
        task = region.execution
        log = ManifestLog(store=store_of(task.staging_root), layout=task.layout)
        for attempt in region.attempts:
            if attempt.was_reached and not attempt.is_reported:
                yield task.region.region_id, log, attempt
