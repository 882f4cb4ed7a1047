"""Regions that read back, in the same task, what another region stages there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from graph_compiler.compiler.tasks.region_groups import (
    PARTED,
    RESOURCES_DIFFER,
    Group,
    GroupGraph,
    Pair,
    Refusals,
    RegionGraph,
    pinned_words,
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
            resources=frozenset({self.regions.named[group[0]].region.slot_sharing_group}),
        )

    def _joined(self, parts: Sequence[_Task]) -> _Task:
        """Return the task of all parts, of which the first comes before the others."""
        bits = reduce(or_, (part.bits for part in parts))
        return _Task(
            members=tuple(member for part in parts for member in part.members),
            bits=bits,
            after=parts[0].after,
            hard=reduce(or_, (part.hard for part in parts)),
            awaited=tuple(
                member for part in parts for member in part.awaited if self._outside(member, bits)
            ),
            pins=frozenset[str]().union(*(part.pins for part in parts)),
            resources=frozenset[str]().union(*(part.resources for part in parts)),
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
                return (
                    f"{self.regions.name(first)} does not wait for {self.regions.name(not_needed)}"
                )
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
    resources: frozenset[str]


def _root(first_of: list[int], group: int) -> int:
    while first_of[group] != group:
        first_of[group] = group = first_of[first_of[group]]
    return group
