"""A graph for any renderer: nodes in groups, and labeled edges, as values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One box: `words` is its name, then its settings; `group` is an index in `Picture.groups`."""

    id: str
    words: tuple[str, ...]
    group: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """One arrow: how rows move, and in `reason` why it is staged, None if it is not."""

    source: str
    target: str
    words: tuple[str, ...]
    reason: str | None
    is_staged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A whole graph; nodes are ordered by group, edges by target and input."""

    title: str
    groups: tuple[str, ...]
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
