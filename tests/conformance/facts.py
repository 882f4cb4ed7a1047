"""The facts of an answer that are compared; `python -m tests.conformance.facts CASES…` packs those of Flink's.

`cases.json.xz` holds, for each topology, its spec and the facts of what Apache Flink 1.20.1 answered. The older answers
do not say resources: those are compared where Flink's answer has them.
"""

from __future__ import annotations

import gzip
import json
import lzma
import sys
from pathlib import Path
from typing import Any

Json = dict[str, Any]
RESOURCES = ["min_resources", "preferred_resources"]
PACKED = Path(__file__).parent / "cases.json.xz"
NODE = [
    "id",
    "name",
    "parallelism",
    "max_parallelism",
    "slot_sharing_group",
    "co_location_group",
    "chaining_strategy",
    "hash",
    "in_edges",
    "out_edges",
]
STREAM_EDGE = ["source", "target", "type_number", "partitioner", "exchange_mode", "output_tag", "chainable", "edge_id"]
VERTEX = [
    "index",
    "id",
    "name",
    "parallelism",
    "max_parallelism",
    "parallelism_configured",
    "slot_sharing_group",
    "co_location_group",
    "operator_ids",
    "produced_datasets",
]
JOB_EDGE = [
    "source",
    "target",
    "input_num",
    "source_id",
    "target_id",
    "distribution",
    "result_type",
    "ship_strategy",
    "dataset",
    "forward",
    "broadcast",
]


def facts(answer: Json) -> Json:
    """Keep what has a meaning outside Flink, in a fixed order."""
    found: Json = {"refused_in": answer.get("error", {}).get("phase")}
    if "nodes" in answer.get("stream_graph", {}):
        found["stream_graph"] = _stream_graph(answer["stream_graph"])
    if "job_graph" in answer:
        found["job_graph"] = _job_graph(answer["job_graph"])
    if "execution_graph" in answer:
        found["execution_graph"] = _execution_graph(answer["execution_graph"])
    return found


def _stream_graph(graph: Json) -> Json:
    return {
        **{key: graph[key] for key in ("job_type", "dynamic", "sources", "sinks", "virtual_nodes", "plan_json")},
        "nodes": sorted((_pick(node, NODE) for node in graph["nodes"]), key=lambda node: node["id"]),
        "edges": sorted((_pick(edge, STREAM_EDGE) for edge in graph["edges"]), key=lambda edge: edge["edge_id"]),
    }


def _job_graph(graph: Json) -> Json:
    return {
        **{key: graph[key] for key in ("job_type", "vertex_creation_order", "plan_json")},
        "logical_pipelined_regions": _sets(graph["logical_pipelined_regions"]),
        "vertices": [_pick(vertex, VERTEX) for vertex in graph["vertices"]],
        "edges": sorted(
            (_pick(edge, JOB_EDGE) for edge in graph["edges"]), key=lambda edge: (edge["target"], edge["input_num"])
        ),
    }


def _execution_graph(graph: Json) -> Json:
    if "vertices" not in graph:
        return {"refused_or_undecided": True}
    failover = {
        question: {task: sorted(tasks) for task, tasks in answers.items()}
        for question, answers in graph.get("failover", {}).items()
    }
    return {
        "vertices": graph["vertices"],
        "pipelined_regions": _sets(graph["pipelined_regions"]),
        "failover": failover,
        "scheduling": graph.get("scheduling"),
    }


def comparable(found: Json, wanted: Json) -> Json:
    """Return our facts without the resources of nodes and vertices that Flink's answer does not have."""
    for section, kind in (("stream_graph", "nodes"), ("job_graph", "vertices")):
        records = found.get(section, {}).get(kind, [])
        if not any(key in record for record in wanted.get(section, {}).get(kind, []) for key in RESOURCES):
            for record in records:
                for key in RESOURCES:
                    record.pop(key, None)
    return found


def _pick(record: Json, keys: list[str]) -> Json:
    return {key: record.get(key) for key in keys} | {key: record[key] for key in RESOURCES if key in record}


def _sets(groups: list[list[Any]]) -> list[list[Any]]:
    return sorted(sorted(group) for group in groups)


def load() -> dict[str, tuple[Json, Json]]:
    """Return (spec, facts) by name."""
    return {
        name: (case["spec"], case["facts"]) for name, case in json.loads(lzma.decompress(PACKED.read_bytes())).items()
    }


def pack(*folders: Path) -> None:
    """Read NAME.spec.json and NAME.flink.json.gz, and keep the facts."""
    found = {}
    for path in sorted((path for cases in folders for path in cases.glob("*.spec.json")), key=lambda path: path.name):
        name = path.name.removesuffix(".spec.json")
        answer = json.loads(gzip.decompress(path.with_name(f"{name}.flink.json.gz").read_bytes()))
        found[name] = {"spec": json.loads(path.read_text()), "facts": facts(answer)}
    PACKED.write_bytes(lzma.compress(json.dumps(found, separators=(",", ":")).encode(), preset=9))


if __name__ == "__main__":
    pack(*map(Path, sys.argv[1:]))
