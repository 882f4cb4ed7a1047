"""The graph of regions, in groups that are to share a task."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from graph_compiler.declaration.resources.slot_sharing_group import SlotSharingGroup
from graph_compiler.graphs.job_graph import JobGraph
from graph_compiler.graphs.regions import DeploymentRegion, DeploymentTask
from graph_compiler.graphs.stream_graph import StagingReason
from graph_compiler.graphs.topology import post_order
from graph_compiler.identifiers import TaskName, listing

Group = tuple[int, ...]
"""Regions that share a task, by number."""
Pair = tuple[int, int]
Refusals = Mapping[Pair, str]
"""Why two regions are in different tasks, though neither a declaration nor an option separates them."""

RESOURCES_DIFFER = "their slot sharing groups differ"
PARTED = "other rows between them are staged for another task"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRegion:
    """A region to be put in a task; `pin` is its declared task id, `order` its place in the declaration.

    `stages_source`: all it does is to stage a source.
    """

    region: DeploymentRegion
    order: int
    pin: str | None
    stages_source: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionGraph:
    """The graph of regions: which region reads from which, and which pairs may or must be separated."""

    named: Sequence[NamedRegion]
    producers: Sequence[frozenset[int]]
    parted: frozenset[Pair]
    requested: Sequence[Pair]

    @classmethod
    def of(cls, named: Sequence[NamedRegion], graph: JobGraph) -> RegionGraph:
        """Return the graph of the regions of a cut job graph."""
        number_of = {id: n for n, each in enumerate(named) for id in each.region.vertex_ids}
        producers: list[set[int]] = [set() for _ in named]
        parted: set[Pair] = set()
        requested: dict[Pair, None] = {}
        first_readers: dict[int, int] = {}  # of previous versions: staging one needs no application of its own
        for edge in graph.staged_edges:
            pair = number_of[edge.source_id], number_of[edge.target_id]
            if pair[0] == pair[1] or edge.staging is None:
                continue
            producers[pair[1]].add(pair[0])
            if edge.staging.reason.parts_tasks:
                parted.add(pair)
            elif edge.staging.reason is StagingReason.DECLARED_IN_TASK:
                requested[pair] = None
            elif edge.staging.reason is StagingReason.PREVIOUS_VERSION:
                first_readers[pair[0]] = min(pair[1], first_readers.get(pair[0], pair[1]))
        requested |= dict.fromkeys(first_readers.items())
        return cls(
            named=named,
            producers=[frozenset(each) for each in producers],
            parted=frozenset(parted),
            requested=list(requested),
        )

    def task(self, group: Group) -> DeploymentTask:
        """Return the task of a group: its name is pinned, or that of the region declared first."""
        members = [self.named[number] for number in group]
        first = min(members, key=lambda each: (each.pin is None, each.stages_source, each.order))
        return DeploymentTask.of(TaskName(first.region.id), [each.region for each in members])

    def resources(self, group: Group) -> frozenset[SlotSharingGroup]:
        """Return what regions run with: one value, or they cannot share a task."""
        return frozenset(self.named[number].region.slot_sharing_group for number in group)

    def why_not_one(self, group: Group) -> str | None:
        """Return why regions cannot share a task whatever else there is, None if they can."""
        if len(self.resources(group)) > 1:
            return RESOURCES_DIFFER
        if len(pins := self.pins(group)) > 1:
            return pinned_words(pins)
        if self.is_parted(group, group):
            return PARTED
        return None

    def waits_for_one(self, waiting: Group, group: Group) -> str:
        """Return that one task waits for a group."""
        return f"{self.name(waiting)} waits for {self.name(group)} only"

    def is_parted(self, group: Group, other: Group) -> bool:
        """Whether an edge from one group to another must connect two tasks."""
        producers = set(group)
        return any(
            (producer, reader) in self.parted for reader in other for producer in self.producers[reader] & producers
        )

    def pins(self, group: Iterable[int]) -> set[str]:
        """Return the pinned task ids among regions."""
        return {pin for number in group if (pin := self.named[number].pin) is not None}

    def name(self, group: Group) -> str:
        """Return the name that a task of these regions would have, in quotes."""
        return f"'{self.task(group).id}'"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupGraph:
    """Groups as single nodes: their readers, all that comes before each as bits, and an order in which they can run."""

    readers: Sequence[frozenset[int]]
    before: Sequence[int]
    order: Sequence[int]

    @classmethod
    def of(cls, groups: Sequence[Group], regions: RegionGraph) -> GroupGraph:
        """Return the graph of these groups; raises CycleError if groups wait for each other."""
        group_of = {region: number for number, group in enumerate(groups) for region in group}
        reads = [
            {group_of[p] for n in group for p in regions.producers[n]} - {number} for number, group in enumerate(groups)
        ]
        readers: list[set[int]] = [set() for _ in groups]
        before = [0] * len(groups)
        order = post_order(
            sorted(range(len(groups)), key=lambda number: groups[number][0]), lambda number: sorted(reads[number])
        )
        for number in order:
            for producer in reads[number]:
                readers[producer].add(number)
                before[number] |= before[producer] | 1 << producer
        return cls(readers=[frozenset(each) for each in readers], before=before, order=order)


def pinned_words(pins: Iterable[str]) -> str:
    """Return that pinned task ids differ."""
    return f"their task ids are pinned: {listing(repr(pin) for pin in sorted(pins))}"
