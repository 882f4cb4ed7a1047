"""Operator ids that survive recompilation: Flink's StreamGraphHasherV2, bit for bit.

With a uid, the id is the hash of the uid. Without one, it depends on the operator's position: its number in a
breadth-first walk from the sources, the number of outputs it is chained to, and the ids of its inputs; name and
function do not matter.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from struct import pack

import mmh3

from graph_compiler.compiler.job_graph.chaining import ChainBreak
from graph_compiler.graphs.stream_graph import StreamGraph, StreamNode
from graph_compiler.identifiers import OperatorId


def hash_nodes(graph: StreamGraph, breaks: Mapping[str, ChainBreak | None]) -> dict[int, OperatorId]:
    """Return the operator id of every node, by node id. `breaks` has the edges that are not chainable."""
    hashes: dict[int, bytes] = {}
    sources = sorted(node.id for node in graph.nodes if not graph.in_edges[node.id])
    queue, enqueued = deque(sources), set(sources)
    while queue:
        node = graph.node[queue.popleft()]
        if not _can_be_hashed(node, graph, hashes):
            enqueued.discard(node.id)  # a later input will enqueue it again
            continue
        hashes[node.id] = _hash(node, graph, breaks, hashes)
        for edge in graph.out_edges[node.id]:
            if edge.target_id not in enqueued:
                enqueued.add(edge.target_id)
                queue.append(edge.target_id)
    return {id: OperatorId(digest.hex()) for id, digest in hashes.items()}


def _can_be_hashed(node: StreamNode, graph: StreamGraph, hashes: Mapping[int, bytes]) -> bool:
    return node.settings.uid is not None or all(edge.source_id in hashes for edge in graph.in_edges[node.id])


def _hash(
    node: StreamNode, graph: StreamGraph, breaks: Mapping[str, ChainBreak | None], hashes: Mapping[int, bytes]
) -> bytes:
    if node.settings.uid is not None:
        return mmh3.hash_bytes(node.settings.uid.encode())
    chained_outputs = sum(breaks[edge.id] is None for edge in graph.out_edges[node.id])
    digest = bytearray(mmh3.hash_bytes(pack("<i", len(hashes)) * (1 + chained_outputs)))
    for edge in graph.in_edges[node.id]:
        for position, byte in enumerate(hashes[edge.source_id]):
            digest[position] = (digest[position] * 37 ^ byte) & 0xFF
    return bytes(digest)
