"""The places of a task's sources and sinks, with the parameters that Airflow has rendered for its run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.identifiers import RegionId
from graph_compiler.staging.lineage.attempt_lineage import RegionPlaces


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
    return {
        region.region_id: RegionPlaces(region=region, values=task.parameters)
        for region in task.regions
    }
