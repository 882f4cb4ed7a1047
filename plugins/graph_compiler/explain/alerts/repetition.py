"""What the next try of a failed task repeats, from the descriptors of its regions."""

from __future__ import annotations

from collections.abc import Sequence, Set

from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.explain.alerts.alert import RepeatedRegion, Repetition, ReusedResult
from graph_compiler.identifiers import RegionId


def repetition(
    regions: Sequence[RegionDescriptor], finished: Set[RegionId], others: Sequence[RegionDescriptor]
) -> Repetition:
    """Return what a task of `regions` repeats if those `finished` are kept; `others` are of the pipeline's other tasks.

    Of results that several operators read, each is named once, by the operator that computed it.
    """
    again = tuple(region for region in regions if region.region_id not in finished)
    known = (*regions, *others)
    names = {each.node_id: each.name for region in known for each in region.operators}
    task_of = {region.region_id: str(region.task_name) for region in known}
    running = {region.region_id for region in again}
    reused = {
        (read.node_id, read.output_tag): read.staged.producer
        for region in again
        for operator in region.operators
        for read in operator.inputs
        if read.staged is not None and read.staged.producer not in running
    }
    return Repetition(
        regions=tuple(map(_repeated, again)),
        kept=tuple(str(each.region_id) for each in regions if each.region_id in finished),
        reused=tuple(
            ReusedResult(
                name=names.get(node_id, producer) + (f".{tag}" if tag else ""),
                task=task_of.get(producer, str(producer)),
            )
            for (node_id, tag), producer in reused.items()
        ),
    )


def _repeated(region: RegionDescriptor) -> RepeatedRegion:
    return RepeatedRegion(region=str(region.region_id), operators=tuple(each.name for each in region.operators))
