"""A digest of what each operator computes: if fingerprints are equal, a staged result may be reused (decision 3).

An operator id identifies an operator's position, a fingerprint what it computes: its parameters, the source of its
function's module, the fingerprints of its inputs with their partitioners, and the session it runs in.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.operators import Operator, Sink, Source
from graph_compiler.deployment.documents.wire import Json, to_wire
from graph_compiler.extensions import package_of
from graph_compiler.graphs.stream_graph import StreamGraph, StreamNode
from graph_compiler.graphs.topology import post_order


def own_facts(node: StreamNode, graph: StreamGraph) -> dict[str, Json]:
    """Return everything that determines a node's output, except its inputs."""
    return {
        "operator": to_wire(node.operator),
        "parallelism": node.settings.parallelism,
        "inputs": [
            [edge.output_tag, edge.partitioner.identity, edge.type_number]
            for edge in graph.in_edges[node.id]
        ],
        **_packages(node.operator),
    }


def _packages(operator: Operator) -> dict[str, Json]:
    """Return the versions of other packages whose code runs; empty if only ours does."""
    found = [package_of(type(operator), Operator)]
    if isinstance(operator, Source | Sink):
        found.append(package_of(type(operator.connector), Connector))
    named: list[Json] = [package for package in found if package is not None]
    return {"packages": named} if named else {}


def own_digests(graph: StreamGraph) -> dict[int, str]:
    """Return a sha256 of the own facts of each node, by node id."""
    return {node.id: digest(own_facts(node, graph)) for node in graph.nodes}


def fingerprints(
    graph: StreamGraph, digests: Mapping[int, str], session: Mapping[str, str]
) -> dict[int, str]:
    """Return a sha256 of all that determines a node's rows: its own digest, its inputs', the session's settings."""
    found: dict[int, str] = {}
    ids = [node.id for node in graph.nodes]
    for id in post_order(ids, lambda id: [edge.source_id for edge in graph.in_edges[id]]):
        inputs = [found[edge.source_id] for edge in graph.in_edges[id]]
        found[id] = digest({"own": digests[id], "inputs": inputs, "session": dict(session)})
    return found


def digest(content: object) -> str:
    """Return the sha256 of a JSON document, independent of the order of its keys."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
