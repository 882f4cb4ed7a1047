"""Random topologies of all kinds of nodes and settings: they compile, or are refused with a message."""

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conformance.topology import PARTITIONERS, compile_topology

Json = dict[str, Any]
TEXTS = ["ö → \\", 'a"b', "<x>&amp;", "\u00a0", "日本 😀", "a'b", ""]
SINKS = ["legacy", "print", "new", "committing", "committing+pre_write+pre_commit+post_commit"]
ONE_INPUT = (
    *("map", "filter", "process", "assign_watermarks", "operator", "async", "full_window_partition", "window_all"),
    *("key_by", "reinterpret_keyed", "partition", "iterate", "sink", "sink"),
)
SEVERAL_INPUTS = {"union": 3, "co_map": 2, "co_process": 2, "broadcast_process": 2, "multi_input": 3}
SETTINGS: dict[str, list[Any]] = {
    "name": TEXTS,
    "description": [*TEXTS, "two\nlines"],
    "parallelism": [1, 2, 3],
    "max_parallelism": [4, 128],
    "uid": ["u", "v", ""],
    "uid_hash": ["A" * 32, "b" * 32],
    "slot_sharing_group": ["g", "default", "default/0", ""],
    "co_location_group": ["c"],
    "buffer_timeout": [-1, 0, 5],
    "chaining": ["disable", "new_chain"],
    "resources": [{"cpu": 1, "heap_mb": 100}],
}
ALWAYS: dict[str, dict[str, list[Any]]] = {"sink": {"api": SINKS}, "partition": {"partitioner": list(PARTITIONERS)}}
OFTEN: dict[str, dict[str, list[Any]]] = {
    "source": {"api": ["legacy"], "bounded": [False], "parallel": [False]},
    "partition": {"exchange_mode": ["PIPELINED", "BATCH", "UNDEFINED", "HYBRID_FULL"]},
}
JOB: dict[str, list[Any]] = {
    "scheduler": ["Default", "AdaptiveBatch"],
    "batch_shuffle_mode": ["ALL_EXCHANGES_PIPELINED", "ALL_EXCHANGES_HYBRID_SELECTIVE"],
    "max_parallelism": [4, 256],
    "chaining": [False],
    "config": [
        {"execution.batch.adaptive.auto-parallelism.enabled": "false"},
        {"pipeline.vertex-description-mode": "CASCADING"},
    ],
}


def some(of: dict[str, list[Any]], random: Random, share: float) -> Json:
    return {key: random.choice(values) for key, values in of.items() if random.random() < share}


def topology(random: Random) -> Json:
    mode = random.choice(["STREAMING", "BATCH", "AUTOMATIC"])
    nodes: list[Json] = [{"id": "n0", "kind": "source"}]
    streams, iterations = ["n0"], list[str]()
    for number in range(1, random.randint(2, 25)):
        id, share = f"n{number}", random.choice([0.0, 0.03])
        kind = random.choice(["source", *ONE_INPUT, *SEVERAL_INPUTS, "close_iteration"])
        count = 0 if kind == "source" else SEVERAL_INPUTS.get(kind, 1)
        node = {"id": id, "kind": kind, "inputs": [random.choice(streams[-6:]) for _ in range(count)]}
        if kind == "close_iteration":
            if not iterations:
                continue
            node["inputs"] = [random.choice(iterations), *node["inputs"]]
        if kind == "iterate":
            iterations.append(id)
        node |= some(ALWAYS.get(kind, {}), random, 1.0) | some(OFTEN.get(kind, {}), random, 0.4)
        nodes.append(node | some(SETTINGS, random, share))
        if kind != "sink":
            streams.append(id)
    job = {"runtime_mode": mode, "parallelism": random.randint(1, 3)} | some(JOB, random, 0.2)
    return {"name": "any", "job": job, "nodes": nodes}


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_any_topology_compiles_or_is_refused(seed: int) -> None:
    spec = topology(Random(seed))
    answer = compile_topology(spec)
    assert compile_topology(spec) == answer
    if "error" in answer:
        assert answer["error"]["phase"] in ("build", "stream_graph", "job_graph")
        assert answer["error"]["message"]
        return
    vertices = answer["job_graph"]["vertices"]
    ids = {each["generated"] for vertex in vertices for each in vertex["operator_ids"]}
    hashes = {node["hash"] for node in answer["stream_graph"]["nodes"]}
    assert {vertex["id"] for vertex in vertices} <= ids <= hashes
    for edge in answer["job_graph"]["edges"]:
        if edge["forward"]:
            assert vertices[edge["source"]]["parallelism"] == vertices[edge["target"]]["parallelism"]
    slots = {vertex["co_location_group"]: vertex["slot_sharing_group"] for vertex in vertices}
    for vertex in vertices:
        if vertex["co_location_group"] is not None:
            assert slots[vertex["co_location_group"]] == vertex["slot_sharing_group"]
