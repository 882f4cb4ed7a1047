"""Which tasks must run again when a staged result is lost (decision 11).

    Flink's restart set over deployment regions  −  regions that did not read the lost rows, or read equal ones

Flink restarts every consumer of a recomputed result: a new copy may differ from the one it has read. Here the copies
can be compared, so a region may be spared, with a reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from graph_compiler.deployment.documents.descriptor import RegionDescriptor, StagedInput
from graph_compiler.deployment.documents.manifest import Manifest
from graph_compiler.deployment.documents.wire import values_within
from graph_compiler.deployment.scheduling.failover import restart_set
from graph_compiler.deployment.scheduling.region_topology import (
    region_ids,
    region_topology,
    region_vertex,
    staged_partition,
    upstream,
)
from graph_compiler.errors import DamagedDocumentError, OtherVersionError
from graph_compiler.identifiers import IntermediateDataSetId, RegionId
from graph_compiler.staging.attempts.attempts import last_descriptor
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.results.release import FinishedReader, differing_readers, finished_readers


class Spared(StrEnum):
    """Why a region that Flink restarts is not repeated."""

    COMPUTED_AGAIN = "its reader computes again what is lost"
    READS_ANOTHER = "it reads nothing of the lost result"
    NOT_FINISHED = "it has not finished from it"
    SAME_ROWS = "it has finished from the same rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartSet:
    """The regions that Flink restarts if `asking` needs `lost`, and all of `unavailable` is lost.

    `producers` have computed what is unavailable. `upstream` are the regions that `asking` reads from, directly or not.
    """

    asking: RegionId
    lost: StagedInput
    unavailable: tuple[IntermediateDataSetId, ...]
    regions: tuple[RegionId, ...]
    producers: frozenset[RegionId]
    upstream: frozenset[RegionId]

    @property
    def others(self) -> tuple[RegionId, ...]:
        """The regions without the asking one."""
        return tuple(region_id for region_id in self.regions if region_id != self.asking)

    def readers(self, log: ManifestLog) -> tuple[FinishedReader, ...]:
        """Return the regions that have read the lost result and finished, and have outputs that are available."""
        return finished_readers(log, self.lost.id, self.others, recomputing=self.unavailable)

    def verdicts(self, log: ManifestLog, manifest: Manifest) -> Mapping[RegionId, Spared | None]:
        """Return for each region why it is spared if `manifest` replaces the lost copy; None if it runs again."""
        readers = self.readers(log)
        differing = differing_readers(log, manifest, readers)
        finished = {reader.region_id for reader in readers}

        def verdict(region_id: RegionId) -> Spared | None:
            if region_id in finished:
                return None if region_id in differing else Spared.SAME_ROWS
            if region_id in self.producers:
                return Spared.COMPUTED_AGAIN
            reads_it = region_id in self.lost.consumers
            return Spared.NOT_FINISHED if reads_it else Spared.READS_ANOTHER

        return {region_id: verdict(region_id) for region_id in self.others}


def restarts(
    log: ManifestLog, region: RegionDescriptor, lost: StagedInput, unavailable: Sequence[IntermediateDataSetId]
) -> RestartSet:
    """Return what Flink would restart if `region` finds results lost; `lost` is the one that it is about to replace."""
    topology = region_topology((region, *_upstream(log, region)))
    partitions = {staged_partition(id) for id in unavailable}
    return RestartSet(
        asking=region.region_id,
        lost=lost,
        unavailable=tuple(unavailable),
        regions=region_ids(restart_set(topology, region_vertex(region.region_id), partitions)),
        producers=frozenset(
            region_ids(
                group.producer(partition)
                for group in topology.groups
                for partition in group.partitions()
                if partition in partitions
            )
        ),
        upstream=upstream(topology, region.region_id),
    )


def _upstream(log: ManifestLog, region: RegionDescriptor) -> Iterator[RegionDescriptor]:
    """Return the last descriptors of the regions upstream of a region; an unreadable one is only known by name."""
    seen, waiting = {region.region_id}, _producers(region)
    while waiting:
        region_id = waiting.pop()
        if region_id in seen:
            continue
        seen.add(region_id)
        try:
            last = last_descriptor(log.store, log.layout, region_id)
        except (DamagedDocumentError, OtherVersionError):
            last = None
        if last is not None:
            yield last.region
            waiting += _producers(last.region)


def _producers(region: RegionDescriptor) -> list[RegionId]:
    return [staged.producer for staged in values_within(region, StagedInput)]
