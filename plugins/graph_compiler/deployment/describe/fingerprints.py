"""A digest of what each operator computes: if fingerprints are equal, a staged result may be reused (decision 3).

An operator id identifies an operator's position, a fingerprint what it computes: its parameters, the source of its
function's module, the fingerprints of its inputs with their partitioners, the session it runs in, and the contents of
the files that its code may read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from graph_compiler.declaration.artifacts.user_artifact import ArtifactKind, UserArtifact
from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.functions import FunctionRef
from graph_compiler.declaration.operators import Backfill, Operator, PreviousVersion, Sink, Source
from graph_compiler.deployment.documents.wire import Json, digest, to_wire, values_within
from graph_compiler.extensions import package_of
from graph_compiler.graphs.stream_graph import StreamGraph, StreamNode
from graph_compiler.graphs.topology import post_order

OwnFacts: TypeAlias = Mapping[str, Json]


def own_facts(node: StreamNode, graph: StreamGraph, artifacts: Sequence[UserArtifact]) -> OwnFacts:
    """Return everything that determines a node's output, except its inputs; `artifacts` are those of the pipeline."""
    packages = _packages(node.operator)
    operator = node.operator
    if isinstance(operator, PreviousVersion):  # it decides whether a run reads, not which rows
        operator = replace(operator, backfill=Backfill.REFUSE)
    elif isinstance(operator, Source) and operator.unbounded:
        operator = replace(operator, connector=operator.connector.what_arrives())
    return {
        "operator": to_wire(operator),
        "parallelism": node.settings.parallelism,
        "inputs": [[edge.output_tag, edge.partitioner.identity, edge.type_number] for edge in graph.in_edges[node.id]],
        **packages,
        **_files(node.operator, artifacts, runs_other_code=bool(packages)),
    }


def _files(operator: Operator, artifacts: Sequence[UserArtifact], *, runs_other_code: bool) -> dict[str, Json]:
    """Return the contents of the files that may change an operator's rows; empty if there are none.

    A file is read by code: by a function, that of another package, or that of a jar. SQL anywhere may call what is in a
    jar. A Python environment does not count, as an installed package does not (decision 3).
    """
    jars = [each for each in artifacts if each.kind is ArtifactKind.JAR]
    files = [each for each in artifacts if each.kind is ArtifactKind.FILE]
    if files and not (runs_other_code or jars or next(values_within(operator, FunctionRef), None)):
        files = []
    found: dict[str, Json] = {f"{each.kind}:{each.name}": each.version for each in (*jars, *files)}
    return {"files": found} if found else {}


def _packages(operator: Operator) -> dict[str, Json]:
    """Return the versions of other packages whose code runs; empty if only ours does."""
    found = [package_of(type(operator), Operator)]
    if isinstance(operator, Source | Sink):
        found.append(package_of(type(operator.connector), Connector))
    named: list[Json] = [package for package in found if package is not None]
    return {"packages": named} if named else {}


def facts_of(graph: StreamGraph, artifacts: Sequence[UserArtifact] = ()) -> dict[int, OwnFacts]:
    """Return the own facts of each node, by its id."""
    return {node.id: own_facts(node, graph, artifacts) for node in graph.nodes}


def digests_of(facts: Mapping[int, OwnFacts]) -> dict[int, str]:
    """Return a sha256 of each node's own facts."""
    return {id: digest(own) for id, own in facts.items()}


def fingerprints(graph: StreamGraph, digests: Mapping[int, str], session: Mapping[str, str]) -> dict[int, str]:
    """Return a sha256 of all that determines a node's rows: its own digest, its inputs', the session's settings."""
    found: dict[int, str] = {}
    ids = [node.id for node in graph.nodes]
    for id in post_order(ids, lambda id: [edge.source_id for edge in graph.in_edges[id]]):
        inputs = [found[edge.source_id] for edge in graph.in_edges[id]]
        found[id] = digest({"own": digests[id], "inputs": inputs, "session": dict(session)})
    return found
