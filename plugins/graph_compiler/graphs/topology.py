"""Algorithms on any directed graph, over plain ids; they do not depend on our graph types."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

from graph_compiler.errors import GraphCompilerError

Id = TypeVar("Id", bound=Hashable)


class CycleError(GraphCompilerError):
    """The graph has a cycle; `cycle` lists it, first id repeated at the end."""

    def __init__(self, cycle: tuple[object, ...]) -> None:
        super().__init__(cycle)
        self.cycle = cycle


def post_order(roots: Iterable[Id], successors: Callable[[Id], Iterable[Id]]) -> list[Id]:
    """List every id reachable from `roots` after its successors, each once; raises CycleError.

    Roots and successors are visited in the given order. There is no recursion, so only memory limits the depth.
    """
    finished: dict[Id, None] = {}
    for root in roots:
        path: dict[Id, Iterator[Id]] = {} if root in finished else {root: iter(successors(root))}
        while path:
            current, pending = next(reversed(path.items()))
            for successor in pending:
                if successor in path:
                    ids = list(path)
                    raise CycleError((*ids[ids.index(successor) :], successor))
                if successor not in finished:
                    path[successor] = iter(successors(successor))
                    break
            else:
                finished[current] = None
                del path[current]
    return list(finished)


def connected_components(ids: Iterable[Id], links: Iterable[tuple[Id, Id]]) -> list[list[Id]]:
    """Group ids that are connected by undirected links; groups and members in the order of `ids` (union-find)."""
    parent: dict[Id, Id] = {id: id for id in ids}

    def root(id: Id) -> Id:
        while parent[id] != id:
            parent[id] = id = parent[parent[id]]
        return id

    for one, other in links:
        parent[root(other)] = root(one)
    groups: dict[Id, list[Id]] = {}
    for id in parent:
        groups.setdefault(root(id), []).append(id)
    return list(groups.values())


def strongly_connected_components(successors: Mapping[Id, Iterable[Id]]) -> list[list[Id]]:
    """Group ids that reach each other (Kosaraju); members in the order of the mapping."""
    predecessors: dict[Id, list[Id]] = {id: [] for id in successors}
    for id, following in successors.items():
        for successor in following:
            predecessors[successor].append(id)
    component: dict[Id, Id] = {}
    for start in reversed(_finishing_order(successors)):
        pending = [start]
        while pending:
            id = pending.pop()
            if id not in component:
                component[id] = start
                pending.extend(predecessors[id])
    groups: dict[Id, list[Id]] = {}
    for id in successors:
        groups.setdefault(component[id], []).append(id)
    return list(groups.values())


def _finishing_order(successors: Mapping[Id, Iterable[Id]]) -> list[Id]:
    """List ids in the order in which a depth-first walk leaves them; cycles are allowed."""
    left: dict[Id, None] = {}
    entered: set[Id] = set()
    for root in successors:
        path = [] if root in entered else [(root, iter(successors[root]))]
        entered.add(root)
        while path:
            id, pending = path[-1]
            following = next((successor for successor in pending if successor not in entered), None)
            if following is None:
                left[id] = None
                path.pop()
            else:
                entered.add(following)
                path.append((following, iter(successors[following])))
    return list(left)
