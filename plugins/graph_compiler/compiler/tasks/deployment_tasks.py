"""Deployment regions → tasks: which regions one Spark application runs, so that a cut need not cost another start.

    sums ─┬▒▶ by_day       by_day and by_user wait for the same task, and no task waits for them:
          └▒▶ by_user      the tasks are {sums} → {by_day, by_user}

A task starts when all that its regions read of others is there, and ends with its last region. So under AUTO, regions
share a task only if none of them waits longer for that, and none is held up by the failure of another that it does
not read:

1. All regions of a task become ready after the same other regions.
2. If another task waits for a region, all other regions of its task come before that region.

`.stage(reason, same_task=True)` asks for one task in any case; refused is only what would make tasks wait for each
other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import or_

from graph_compiler.compiler.tasks.region_groups import (
    PARTED,
    RESOURCES_DIFFER,
    Group,
    GroupGraph,
    NamedRegion,
    Pair,
    Refusals,
    RegionGraph,
    pinned_words,
)
from graph_compiler.graphs.job_graph import JobGraph
from graph_compiler.graphs.regions import Apart, Deployment
from graph_compiler.graphs.topology import CycleError
from graph_compiler.identifiers import TaskName
from graph_compiler.options.model import PipelineOptions
from graph_compiler.options.modes import ShuffleMode


def deployment_tasks(named: Sequence[NamedRegion], graph: JobGraph, options: PipelineOptions) -> Deployment:
    """Return the regions in tasks, both in an order in which they can run."""
    regions = RegionGraph.of(named, graph)
    groups: list[Group] = [(number,) for number in range(len(named))]
    refused: dict[Pair, str] = {}
    for step in _steps(regions, options):
        groups, found = step(groups)
        refused = {**found, **refused}  # the first reason counts
    return _deployment(regions, groups, refused)


def _steps(
    regions: RegionGraph, options: PipelineOptions
) -> list[Callable[[list[Group]], tuple[list[Group], Refusals]]]:
    if options.shuffle_mode is ShuffleMode.ALL_EXCHANGES_BLOCKING:
        return []
    if options.shuffle_mode is not ShuffleMode.AUTO or not options.task_sharing:
        return [partial(_as_requested, regions)]
    steps = (_as_requested, with_readers, _with_siblings)
    return [partial(step, regions) for step in steps]


def _as_requested(regions: RegionGraph, groups: list[Group]) -> tuple[list[Group], Refusals]:
    """Join what was asked to share a task, unless tasks would wait for each other."""
    found = list(groups)
    refused: dict[Pair, str] = {}
    for pair in regions.requested:
        one, other = (next(group for group in found if end in group) for end in pair)
        if one == other:
            continue
        joined = tuple(sorted((*one, *other)))
        after = [*(group for group in found if group not in (one, other)), joined]
        why = regions.why_not_one(joined) or _why_waiting(regions, after, joined)
        if why is None:
            found = after
        else:
            refused[pair] = why
    return found, refused


def _why_waiting(regions: RegionGraph, groups: list[Group], joined: Group) -> str | None:
    """Return why a group makes groups wait for each other, None if it does not."""
    try:
        GroupGraph.of(groups, regions)
    except CycleError as error:
        around = (groups[number] for number in error.cycle if isinstance(number, int))
        between = next(group for group in around if group != joined)
        return f"{regions.name(between)}, in another task, runs between them"
    return None


def _with_siblings(regions: RegionGraph, groups: list[Group]) -> tuple[list[Group], Refusals]:
    """Join groups that become ready after the same ones, if no task waits for them."""
    graph = GroupGraph.of(groups, regions)
    alike: dict[tuple[int, object], list[int]] = {}
    for number, group in enumerate(groups):
        alike.setdefault((graph.before[number], regions.resources(group)), []).append(number)
    found: list[Group] = []
    refused: dict[Pair, str] = {}
    for numbers in alike.values():
        leaves = [groups[number] for number in numbers if not graph.readers[number]]
        for number in (number for number in numbers if graph.readers[number]):
            group = groups[number]
            found.append(group)
            if leaves:
                waiting = groups[min(graph.readers[number])]
                refused[group[0], leaves[0][0]] = regions.waits_for_one(waiting, group)
        pins = regions.pins(number for group in leaves for number in group)
        alone = [group for group in leaves if len(pins) > 1 and regions.pins(group)]
        found += alone
        together = sorted(number for group in leaves if group not in alone for number in group)
        if together:
            found.append(tuple(together))
        others = [*(group[0] for group in alone[1:]), *together[:1]] if alone else []
        refused |= {(alone[0][0], other): pinned_words(pins) for other in others}
    return found, refused


def _deployment(regions: RegionGraph, groups: list[Group], refused: Refusals) -> Deployment:
    """Return the tasks, in an order in which they can run."""
    tasks = [regions.task(groups[number]) for number in GroupGraph.of(groups, regions).order]
    region = {each.region.id: each.region for each in regions.named}
    task_of = {id: task.id for task in tasks for id in task.region_ids}
    pairs: dict[tuple[TaskName, TaskName], str] = {}
    for ends, why in refused.items():
        one, other = (task_of[regions.named[number].region.id] for number in ends)
        if one != other:
            pairs.setdefault((one, other), why)
    return Deployment(
        regions=tuple(region[id] for task in tasks for id in task.region_ids),
        tasks=tuple(tasks),
        apart=tuple(Apart(task=a, other=b, explanation=why) for (a, b), why in pairs.items()),
    )


def with_readers(regions: RegionGraph, groups: list[Group]) -> tuple[list[Group], Refusals]:
    """Join groups with those that read their staged rows, if none has to wait for that (`deployment_tasks`)."""
    return _Readers(regions, groups, GroupGraph.of(groups, regions)).join()


@dataclass(frozen=True, slots=True)
class _Readers:
    regions: RegionGraph
    groups: list[Group]
    graph: GroupGraph

    def join(self) -> tuple[list[Group], Refusals]:
        """Go from the last group to the first: a group's readers are in their tasks already."""
        first_of = list(range(len(self.groups)))
        tasks: dict[int, _Task] = {}  # by the group that comes first
        refused: dict[Pair, str] = {}
        for group in reversed(self.graph.order):
            own = tasks[group] = self._task(group)
            readers = [r for r in sorted(self.graph.readers[group]) if not own.hard >> r & 1]
            if not readers:
                continue
            firsts = dict.fromkeys(_root(first_of, reader) for reader in readers)
            parts = [own, *(tasks[first] for first in firsts)]
            joined = self._joined(parts)
            if (why := self._why_not(joined, parts)) is not None:
                refused |= {(self.groups[group][0], self.groups[r][0]): why for r in readers}
                continue
            for first in firsts:
                del tasks[first]
                first_of[first] = group
            tasks[group] = joined
        found = (
            tuple(sorted(number for member in task.members for number in self.groups[member]))
            for task in tasks.values()
        )
        return sorted(found), refused

    def _task(self, number: int) -> _Task:
        group, readers = self.groups[number], self.graph.readers[number]
        parted = (each for each in readers if self.regions.is_parted(group, self.groups[each]))
        return _Task(
            members=(number,),
            bits=1 << number,
            after=self.graph.before[number],
            hard=sum(1 << each for each in parted),
            awaited=(number,) if readers else (),
            pins=frozenset(self.regions.pins(group)),
            resources=self.regions.resources(group),
        )

    def _joined(self, parts: Sequence[_Task]) -> _Task:
        """Return the task of all parts, of which the first comes before the others."""
        bits = reduce(or_, (part.bits for part in parts))
        return _Task(
            members=tuple(member for part in parts for member in part.members),
            bits=bits,
            after=parts[0].after,
            hard=reduce(or_, (part.hard for part in parts)),
            awaited=tuple(member for part in parts for member in part.awaited if self._outside(member, bits)),
            pins=frozenset[str]().union(*(part.pins for part in parts)),
            resources=frozenset[object]().union(*(part.resources for part in parts)),
        )

    def _outside(self, member: int, bits: int) -> list[int]:
        """Return the groups that read a member, and are not among some groups."""
        return [reader for reader in self.graph.readers[member] if not bits >> reader & 1]

    def _why_not(self, joined: _Task, parts: Sequence[_Task]) -> str | None:
        """Return why groups cannot share a task, None if they can."""
        if len(joined.resources) > 1:
            return RESOURCES_DIFFER
        if len(joined.pins) > 1:
            return pinned_words(joined.pins)
        if joined.hard & joined.bits:
            return PARTED
        needed = [part.after & ~joined.bits for part in parts]
        for part, own in zip(parts, needed, strict=True):
            if others := reduce(or_, needed) & ~own:
                not_needed = self.groups[(others & -others).bit_length() - 1]
                first = self.groups[part.members[0]]
                return f"{self.regions.name(first)} does not wait for {self.regions.name(not_needed)}"
        for member in joined.awaited:
            if joined.bits & ~(self.graph.before[member] | 1 << member):
                reader = min(self._outside(member, joined.bits))
                return self.regions.waits_for_one(self.groups[reader], self.groups[member])
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """Groups that share a task; sets of groups are bits: bit n is group n.

    `after`: what comes before its first group, and is needed by all of them. `hard`: groups that must not share a task
    with one of these. `awaited`: members that groups outside read.
    """

    members: tuple[int, ...]
    bits: int
    after: int
    hard: int
    awaited: tuple[int, ...]
    pins: frozenset[str]
    resources: frozenset[object]


def _root(first_of: list[int], group: int) -> int:
    while first_of[group] != group:
        first_of[group] = group = first_of[first_of[group]]
    return group
