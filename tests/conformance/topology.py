"""Compile a topology of the corpus with the product's compiler, and return the result in the form of Flink's answer.

It maps names: every value below is read from a field of a graph, every decision is the compiler's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from graph_compiler.compiler.checks.validation import STREAM_GRAPH_CHECKS, validated_options
from graph_compiler.compiler.execution_graph.execution_graph_builder import build_execution_graph
from graph_compiler.compiler.job_graph.job_graph_generator import generate_job_graph
from graph_compiler.compiler.stream_graph.stream_graph_generator import generate_stream_graph
from graph_compiler.declaration.connectors import Csv, Parquet
from graph_compiler.declaration.operators import (
    ChainingStrategy,
    Filter,
    Operator,
    OperatorAttributes,
    OperatorSettings,
    Sink,
    Source,
)
from graph_compiler.declaration.partitioners import (
    BroadcastPartitioner,
    CustomPartitioner,
    ExchangeMode,
    ForwardForConsecutiveHashPartitioner,
    ForwardForUnspecifiedPartitioner,
    ForwardPartitioner,
    GlobalPartitioner,
    HashPartitioner,
    Partitioner,
    RebalancePartitioner,
    RescalePartitioner,
    ShufflePartitioner,
)
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.resources.slot_sharing_group import SlotSharingGroup
from graph_compiler.declaration.transformations import (
    FeedbackTransformation,
    MultipleInputTransformation,
    OneInputTransformation,
    PartitionTransformation,
    PhysicalTransformation,
    SideOutputTransformation,
    SinkTransformation,
    SourceTransformation,
    Transformation,
    TwoInputTransformation,
    UnionTransformation,
)
from graph_compiler.errors import InvalidPipelineError
from graph_compiler.explain.documents.graph_json import job_graph_json, stream_graph_json
from graph_compiler.graphs.job_graph import JobGraph
from tests.conformance.execution import ExecutionAnswer

Json = dict[str, Any]
KEYS = ("key",)
JOB_KEYS = {
    "runtime_mode": "execution.runtime-mode",
    "parallelism": "parallelism.default",
    "max_parallelism": "pipeline.max-parallelism",
    "chaining": "pipeline.operator-chaining.enabled",
    "scheduler": "jobmanager.scheduler",
    "batch_shuffle_mode": "execution.batch-shuffle-mode",
    "checkpoint_interval": "execution.checkpointing.interval",
}
# Flink's own defaults where ours differ.
FLINK_DEFAULTS = {
    "execution.batch-shuffle-mode": "ALL_EXCHANGES_BLOCKING",
    "execution.runtime-mode": "STREAMING",
    "jobmanager.scheduler": "AdaptiveBatch",
}
NAMES = {
    "map": "Map",
    "filter": "Filter",
    "flat_map": "Flat Map",
    "process": "Process",
    "assign_watermarks": "Timestamps/Watermarks",
    "operator": "Op",
    "async": "async wait operator",
    "full_window_partition": "MapPartition",
    "reduce": "Keyed Reduce",
    "window_reduce": "TumblingProcessingTimeWindows",
    "window_all": "TumblingProcessingTimeWindows",
    "co_map": "Co-Map",
    "co_process": "Co-Process",
    "broadcast_process": "Co-Process-Broadcast",
    "multi_input": "MultiInput",
}
KEYED_NAMES = {"process": "KeyedProcess", "broadcast_process": "Co-Process-Broadcast-Keyed"}
SINK_NAMES = {"legacy": "Unnamed", "print": "Print to Std. Out", "new": "Sink"}
WINDOW = "Window(TumblingProcessingTimeWindows(5000), ProcessingTimeTrigger, ReduceF, PassThroughWindowFunction)"
TRIGGER_WINDOW = (
    "TriggerWindow(TumblingProcessingTimeWindows(5000), ReducingStateDescriptor{name=window-contents, "
    "defaultValue=null, serializer=org.apache.flink.api.common.typeutils.base.LongSerializer@2c1156a7}, "
    "ProcessingTimeTrigger(), AllWindowedStream.reduce(AllWindowedStream.java:246))"
)
DESCRIPTIONS = {"window_reduce": WINDOW, "window_all": TRIGGER_WINDOW}
UNKEYED = ("assign_watermarks",)  # Flink's API makes nothing keyed of these, whatever they read
STRATEGIES = {"co_map": "HEAD", "co_process": "HEAD", "broadcast_process": "HEAD", "multi_input": "HEAD_WITH_SOURCES"}
ATTRIBUTES = {
    "async": OperatorAttributes(is_yielding=True),
    "full_window_partition": OperatorAttributes(outputs_only_after_end=True),
}
PARTITIONERS: dict[str, Callable[[int], Partitioner]] = {
    "forward": lambda _: ForwardPartitioner(),
    "rebalance": lambda _: RebalancePartitioner(),
    "rescale": lambda _: RescalePartitioner(),
    "shuffle": lambda _: ShufflePartitioner(),
    "broadcast": lambda _: BroadcastPartitioner(),
    "global": lambda _: GlobalPartitioner(),
    "hash": lambda id: HashPartitioner(KEYS, id),
    "custom": lambda id: CustomPartitioner("0", id),
    "forward_consecutive_hash": lambda id: ForwardForConsecutiveHashPartitioner(HashPartitioner(KEYS, id)),
    "forward_unspecified": lambda _: ForwardForUnspecifiedPartitioner(),
}


def compile_topology(spec: Json) -> Json:
    """Declare and compile a topology; return the result in the form of the corpus."""
    pipeline = Pipeline(
        name=spec["name"],
        transformations=declare([node | {"job": spec["job"]} for node in spec["nodes"]]),
        config=config_of(spec["job"]),
    )
    answer: Json = {}
    try:
        phase = "stream_graph"
        options = validated_options(pipeline, checks=STREAM_GRAPH_CHECKS)
        stream_graph = generate_stream_graph(pipeline, options)
        answer["stream_graph"] = stream_graph_json(stream_graph, options)
        phase = "job_graph"
        job_graph = generate_job_graph(stream_graph, options)
        answer["job_graph"] = job_graph_json(job_graph)
        answer["execution_graph"] = execution_json(job_graph)
    except InvalidPipelineError as error:
        return {**answer, "error": {"phase": phase, "message": str(error)}}
    return answer


def config_of(job: Json) -> tuple[tuple[str, str], ...]:
    declared = {JOB_KEYS[key]: value for key, value in job.items() if key in JOB_KEYS} | job.get("config", {})
    return tuple((key, str(value)) for key, value in (FLINK_DEFAULTS | declared).items())


def declare(nodes: list[Json]) -> tuple[Transformation, ...]:
    """Make one transformation for each node; ids are counted as in Flink's API."""
    found: list[Transformation] = []
    ids: dict[str, int] = {}
    keyed: set[str] = set()
    for node in (with_tags(node, nodes) for node in nodes):
        if node["kind"] == "close_iteration":
            iteration = found[ids[node["inputs"][0]] - 1]
            assert isinstance(iteration, FeedbackTransformation)
            feedback = tuple(ids[name] for name in node["inputs"][1:])
            found[iteration.id - 1] = FeedbackTransformation(
                id=iteration.id, inputs=iteration.inputs, feedback=feedback
            )
            continue
        inputs = [ids[name] for name in node.get("inputs", [])]
        if node["kind"] in ("broadcast_process", "window_all"):  # the API makes a partition of its own before it
            inner = BroadcastPartitioner() if node["kind"] == "broadcast_process" else HashPartitioner(KEYS, 0)
            found.append(PartitionTransformation(id=len(found) + 1, inputs=(inputs[-1],), partitioner=inner))
            inputs[-1] = len(found)
        is_keyed = [name in keyed for name in node.get("inputs", [])]
        found.append(transformation(node, len(found) + 1, tuple(inputs), is_keyed, found))
        ids[node["id"]] = len(found)
        if node["kind"] in ("key_by", "reinterpret_keyed"):
            keyed.add(node["id"])
    return tuple(found)


def with_tags(node: Json, nodes: list[Json]) -> Json:
    """Add the side outputs that others read to each node, since a declaration names them at the operator."""
    taken = [other["tag"] for other in nodes if other["kind"] == "side_output" and other["inputs"] == [node["id"]]]
    return node | {"tags": sorted(set(taken))}


def transformation(  # noqa: PLR0911  # one row of a table each
    node: Json, id: int, inputs: tuple[int, ...], is_keyed: list[bool], found: list[Transformation]
) -> Transformation:
    kind = node["kind"]
    match kind:
        case "union":
            return UnionTransformation(id=id, inputs=inputs)
        case "side_output":
            return SideOutputTransformation(id=id, inputs=inputs, tag=node["tag"])
        case "iterate":
            return FeedbackTransformation(id=id, inputs=inputs)
        case "key_by":
            return PartitionTransformation(id=id, inputs=inputs, partitioner=HashPartitioner(KEYS, id))
        case "reinterpret_keyed":
            return PartitionTransformation(id=id, inputs=inputs, partitioner=ForwardPartitioner())
        case "partition":
            mode = ExchangeMode(node.get("exchange_mode", "UNDEFINED"))
            partitioner = PARTITIONERS[node["partitioner"]](id)
            return PartitionTransformation(id=id, inputs=inputs, partitioner=partitioner, exchange_mode=mode)
    relevant = is_keyed[:1] if kind == "broadcast_process" else is_keyed
    keys = KEYS if relevant and all(relevant) and kind not in UNKEYED else ()
    settings = ("uid", "uid_hash", "slot_sharing_group", "co_location_group", "parallelism", "max_parallelism")
    description = node.get("description", DESCRIPTIONS.get(kind))
    given = {key: node[key] for key in settings if key in node}
    if group := given.pop("slot_sharing_group", None):
        given["slot_sharing_group"] = SlotSharingGroup(group)
    declared = OperatorSettings(description=description, **given)
    common: Json = {"id": id, "inputs": inputs, "settings": declared}
    return physical(node, kind, keys, common, found)


def physical(node: Json, kind: str, keys: tuple[str, ...], common: Json, found: list[Transformation]) -> Transformation:
    is_legacy = node.get("api") == "legacy"
    default = "HEAD" if kind == "source" and is_legacy else STRATEGIES.get(kind, "ALWAYS")
    fixed = kind == "broadcast_process"  # its operator's factory decides, whatever the transformation says
    declared = None if fixed else {"disable": "NEVER", "new_chain": "HEAD"}.get(node.get("chaining", ""))
    common["chaining_strategy"] = ChainingStrategy(declared or node.get("chaining_strategy", default))
    if kind == "source":
        bounded, parallel = node.get("bounded", True), node.get("parallel", True)
        source = Source(Csv("/in"), is_bounded=bounded, is_legacy=is_legacy, is_parallel=parallel)
        return SourceTransformation(
            name=node.get("name", "Custom Source" if is_legacy else "Source"), operator=source, **common
        )
    if kind == "sink":
        api = node.get("api", "legacy")
        has_writer = api == "new"
        sink = Sink(
            Parquet(f"/out/{common['id']}"),
            has_writer=has_writer,
            attributes=OperatorAttributes(is_yielding=has_writer),
        )
        return SinkTransformation(name=node.get("name", SINK_NAMES[api]), operator=sink, state_keys=keys, **common)
    attributes = replace(ATTRIBUTES.get(kind, OperatorAttributes()), output_tags=tuple(node.get("tags", ())))
    operator: Operator = Filter("true", attributes=attributes)
    name = node.get("name", KEYED_NAMES.get(kind, NAMES[kind]) if keys else NAMES[kind])
    if kind == "multi_input":
        return MultipleInputTransformation(name=name, operator=operator, **common)
    if kind in ("co_map", "co_process", "broadcast_process"):
        return TwoInputTransformation(name=name, operator=operator, state_keys=keys, **common)
    if kind == "full_window_partition":  # the API fixes both
        before = found[common["inputs"][0] - 1]
        assert isinstance(before, PhysicalTransformation)
        common |= {
            "chaining_strategy": ChainingStrategy.NEVER,
            "settings": replace(common["settings"], parallelism=before.settings.parallelism or 2),
        }
    if kind == "window_all":
        common["settings"] = replace(common["settings"], parallelism=1, max_parallelism=1)
    inherits = kind == "assign_watermarks"
    return OneInputTransformation(
        name=name, operator=operator, state_keys=keys, inherits_parallelism=inherits, **common
    )


def execution_json(job_graph: JobGraph) -> Json:
    try:
        graph = build_execution_graph(job_graph)
    except InvalidPipelineError as error:
        return {"error": str(error)}
    if graph is None:
        return {"skipped": "undecided parallelism (dynamic graph)"}
    return ExecutionAnswer(job_graph, graph).json()
