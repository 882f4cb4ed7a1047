"""A graph for any renderer: nodes in groups, and labeled edges. Values only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One box: `words` is its name, then what is set of it; `group` is a place in `Picture.groups`."""

    id: str
    words: tuple[str, ...]
    group: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """One arrow: how rows travel, and in `reason` why it is a cut, None if it is none."""

    source: str
    target: str
    words: tuple[str, ...]
    reason: str | None
    is_staged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A whole graph; nodes stand group by group, edges by target in input order."""

    title: str
    groups: tuple[str, ...]
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
