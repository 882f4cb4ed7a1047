"""What the provider for OpenLineage asks a task: its datasets, those of all its regions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

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
from graph_compiler.staging.results.manifest_log import ManifestLog


class ReportsLineage:
    """The methods that the provider calls on a task, if it is installed; a mixin of an operator."""

    def get_openlineage_facets_on_start(self: RunsRegions) -> Any:
        """Return the provider's `OperatorLineage` of a task that begins: the places of its sources and sinks."""
        return _facets(declared_lineage(list(places_of(self).values())))

    def get_openlineage_facets_on_complete(self: RunsRegions, _instance: Any) -> Any:
        """Return the `OperatorLineage` of a task that has ended, or failed, from the reports of its executions."""
        return _facets(task_lineage(list(_ended(self, self.application_args or ()))))


def _ended(task: RunsRegions, descriptors: Sequence[str]) -> Iterator[AttemptLineage]:
    places = places_of(task)
    for key in descriptors:
        documents = AttemptDocuments.beside(key)
        execution = documents.read_descriptor()
        if execution is not None and execution.region.region_id in places:
            log = ManifestLog(store=documents.store, layout=execution.layout)
            report = documents.done_by().read_report()
            yield attempt_lineage(places[execution.region.region_id], report, log)


def _facets(lineage: AttemptLineage) -> Any:
    from airflow.providers.openlineage.extractors import OperatorLineage

    from graph_compiler.airflow_backend.lineage.events import read, written

    return OperatorLineage(inputs=read(lineage), outputs=written(lineage))


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


def places_of(task: RunsRegions) -> Mapping[RegionId, RegionPlaces]:
    """Return the places of each region."""
    return {region.region_id: RegionPlaces(region=region, values=task.parameters) for region in task.regions}
