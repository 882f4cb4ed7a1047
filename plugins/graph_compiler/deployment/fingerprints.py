"""What each operator computes, as a digest: equal fingerprints mean a staged result may be reused (DESIGN D3).

An operator id says *where* an operator sits; a fingerprint says *what* comes out of it: its parameters, the source
of its function's module, the fingerprints of its inputs with their partitioners, and the session it runs in.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from graph_compiler.deployment.wire import to_wire
from graph_compiler.graphs.stream_graph import StreamGraph
from graph_compiler.graphs.topology import post_order


def fingerprints(graph: StreamGraph, session: Mapping[str, str]) -> dict[int, str]:
    """Give a sha256 for every node, by node id. `session` holds the settings that can change a result."""
    found: dict[int, str] = {}
    ids = [node.id for node in graph.nodes]
    for id in post_order(ids, lambda id: [edge.source_id for edge in graph.in_edges[id]]):
        node = graph.node[id]
        found[id] = digest(
            {
                "operator": to_wire(node.operator),
                "parallelism": node.parallelism if node.parallelism_configured else None,
                "inputs": [
                    [
                        found[edge.source_id],
                        edge.output_tag,
                        edge.partitioner.identity,
                        edge.type_number,
                    ]
                    for edge in graph.in_edges[id]
                ],
                "session": dict(sorted(session.items())),
            }
        )
    return found


def digest(content: object) -> str:
    """Give the sha256 of a JSON document, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
