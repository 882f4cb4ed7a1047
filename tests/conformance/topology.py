"""Compile a topology of the corpus with the product's compiler, and return the result in the form of Flink's answer.

It maps names: every value below is read from a field of a graph, every decision is the compiler's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

from graph_compiler.compiler.checks.operator_checks import declared_parallelism
from graph_compiler.compiler.checks.validation import STREAM_GRAPH_CHECKS, validated_options
from graph_compiler.compiler.execution_graph.execution_graph_builder import build_execution_graph
from graph_compiler.compiler.job_graph.job_graph_generator import generate_job_graph
from graph_compiler.compiler.stream_graph.stream_graph_generator import generate_stream_graph
from graph_compiler.declaration.connectors import Csv, Parquet
from graph_compiler.declaration.environment import StreamExecutionEnvironment
from graph_compiler.declaration.operators import (
    AggregateAll,
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
from graph_compiler.declaration.resources.resource_spec import CORES, MEMORY, OFF_HEAP, ResourceSpec
from graph_compiler.declaration.resources.slot_sharing_group import SlotSharingGroup
from graph_compiler.declaration.streams import KeyedStream
from graph_compiler.declaration.transformations import (
    FeedbackTransformation,
    MultipleInputTransformation,
    OneInputTransformation,
    PartitionTransformation,
    SideOutputTransformation,
    SinkOperator,
    SinkTopology,
    SinkTransformation,
    SourceTransformation,
    Transformation,
    TwoInputTransformation,
    UnionTransformation,
)
from graph_compiler.errors import InvalidPipelineError
from graph_compiler.explain.documents.graph_json import job_graph_json, stream_graph_json
from graph_compiler.graphs.job_graph import JobGraph
from graph_compiler.graphs.stream_graph import StreamGraph
from graph_compiler.options.reader import read_options
from tests.conformance.execution import ExecutionAnswer

Json = dict[str, Any]
KEYS = ("key",)
RESOURCES = ("min_resources", "preferred_resources")
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
STRATEGIES = {
    "full_window_partition": "NEVER",
    "co_map": "HEAD",
    "co_process": "HEAD",
    "broadcast_process": "HEAD",
    "multi_input": "HEAD_WITH_SOURCES",
}
CALLED = {"disable": "NEVER", "new_chain": "HEAD"}
ATTRIBUTES = {
    "async": OperatorAttributes(is_yielding=True),
    "full_window_partition": OperatorAttributes(outputs_only_after_end=True),
}
WRITER = Sink(Parquet("/out"), has_writer=True, attributes=OperatorAttributes(is_yielding=True))
TOPOLOGIES = {
    "pre_write": SinkTopology(pre_write=(SinkOperator(name="pre-write", operator=Filter("true"), uid="pw"),)),
    "committing": SinkTopology(has_committer=True),
    "pre_commit": SinkTopology(pre_commit=(RebalancePartitioner(),)),
    "post_commit": SinkTopology(
        post_commit=(GlobalPartitioner(), SinkOperator(name="post-commit", operator=WRITER, uid="oc"))
    ),
}
"""What each word of a sink's `api` adds, as the sinks do with which Flink was asked."""
CALLS: dict[str, Callable[[KeyedStream], object]] = {
    "forward": lambda stream: stream.forward(),
    "rebalance": lambda stream: stream.rebalance(),
    "rescale": lambda stream: stream.rescale(),
    "shuffle": lambda stream: stream.shuffle(),
    "broadcast": lambda stream: stream.broadcast(),
    "global": lambda stream: stream.global_(),
    "custom": lambda stream: stream.partition_custom("0"),
}
"""Calls on a stream; partitions with an exchange mode, and those that are not here, are no calls of Flink's API."""
OPERATORS: dict[str, Operator] = {"window_all": AggregateAll((("n", "count(*)"),))}  # never parallel
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
    answer: Json = {}
    phase = "build"  # of the environment, before any transformation
    try:
        config = config_of(spec["job"])
        if wrong := read_options(config)[1]:
            raise InvalidPipelineError(spec["name"], wrong)
        phase = "stream_graph"
        nodes = [node | {"job": spec["job"]} for node in spec["nodes"]]
        pipeline = Pipeline(name=spec["name"], transformations=declare(nodes), config=config)
        options = validated_options(pipeline, checks=STREAM_GRAPH_CHECKS)
        stream_graph = generate_stream_graph(pipeline, options)
        answer["stream_graph"] = with_resources(stream_graph_json(stream_graph, options), stream_graph)
        phase = "job_graph"
        job_graph = generate_job_graph(stream_graph, options)
        answer["job_graph"] = with_resources(job_graph_json(job_graph), job_graph)
        answer["execution_graph"] = execution_json(job_graph)
    except InvalidPipelineError as error:
        return {**answer, "error": {"phase": phase, "message": str(error)}}
    return answer


def config_of(job: Json) -> tuple[tuple[str, str], ...]:
    declared = {JOB_KEYS[key]: value for key, value in job.items() if key in JOB_KEYS} | job.get("config", {})
    return tuple((key, str(value)) for key, value in (FLINK_DEFAULTS | declared).items())


def with_resources(answer: Json, graph: StreamGraph | JobGraph) -> Json:
    """Write resources as Flink does; in both graphs, the document lists them in the graph's order."""
    if isinstance(graph, StreamGraph):
        specs = [(node.settings.min_resources, node.settings.preferred_resources) for node in graph.nodes]
    else:
        specs = [(vertex.min_resources, vertex.preferred_resources) for vertex in graph.vertices]
    for record, (least, preferred) in zip(answer.get("nodes") or answer["vertices"], specs, strict=True):
        record |= {"min_resources": flinks_text(least), "preferred_resources": flinks_text(preferred)}
    return answer


def flinks_text(spec: ResourceSpec | None) -> str:
    """Return the text of Flink's ResourceSpec."""
    if spec is None:
        return "ResourceSpec{UNKNOWN}"
    amounts = spec.amounts()
    cores, heap, off_heap = amounts.pop(CORES), int(amounts.pop(MEMORY)), int(amounts.pop(OFF_HEAP))
    others = "".join(f", {name}={amount.normalize()}" for name, amount in amounts.items())
    return (
        f"ResourceSpec{{cpuCores={cores.normalize()}, taskHeapMemory={flinks_size(heap)}, "
        f"taskOffHeapMemory={flinks_size(off_heap)}, managedMemory=0 bytes{others}}}"
    )


def flinks_size(size: int) -> str:
    units = [(1 << 40, "tb"), (1 << 30, "gb"), (1 << 20, "mb"), (1 << 10, "kb")]
    unit = next(((factor, name) for factor, name in units if size > factor), None)
    return f"{size} bytes" if unit is None else f"{Decimal(size) / unit[0]:.3f}{unit[1]} ({size} bytes)"


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
            found[iteration.id - 1] = replace(iteration, feedback=(*iteration.feedback, *feedback))
            ids[node["id"]] = feedback[-1]
            continue
        inputs = [ids[name] for name in node.get("inputs", [])]
        is_keyed = [name in keyed for name in node.get("inputs", [])]
        if any(is_keyed):
            call_on_keys(node, is_keyed)
        if node["kind"] in ("broadcast_process", "window_all"):  # the API makes a partition of its own before it
            id = len(found) + 1
            inner = BroadcastPartitioner() if node["kind"] == "broadcast_process" else HashPartitioner(KEYS, id)
            found.append(PartitionTransformation(id=id, inputs=(inputs[-1],), partitioner=inner))
            inputs[-1] = id
        found.append(transformation(node, len(found) + 1, tuple(inputs), is_keyed, found))
        ids[node["id"]] = len(found)
        if node["kind"] in ("key_by", "reinterpret_keyed"):
            keyed.add(node["id"])
    return tuple(found)


def call_on_keys(node: Json, is_keyed: list[bool]) -> None:
    """Make the call that Flink's API refuses on a keyed stream; raises InvalidPipelineError if ours does."""
    name = None
    if node["kind"] == "partition" and "exchange_mode" not in node:
        name = node["partitioner"]
    elif node["kind"] == "broadcast_process" and is_keyed[-1]:
        name = "broadcast"
    if name in CALLS:
        env = StreamExecutionEnvironment("keyed")
        CALLS[name](env.from_source(Csv("/in"), "in").key_by(*KEYS))


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
            called = CALLED.get(node.get("chaining", ""))
            strategy = None if called is None else ChainingStrategy(called)
            return FeedbackTransformation(id=id, inputs=inputs, settings=settings_of(node), chaining_strategy=strategy)
        case "key_by":
            return PartitionTransformation(id=id, inputs=inputs, partitioner=HashPartitioner(KEYS, id))
        case "reinterpret_keyed":
            return PartitionTransformation(id=id, inputs=inputs, partitioner=ForwardPartitioner())
        case "partition":
            mode = ExchangeMode(node.get("exchange_mode", "UNDEFINED"))
            partitioner = PARTITIONERS[node["partitioner"]](id)
            return PartitionTransformation(id=id, inputs=inputs, partitioner=partitioner, exchange_mode=mode)
    relevant = is_keyed[:1] if kind == "broadcast_process" else is_keyed
    has_keys = kind == "window_all" or (relevant and all(relevant) and kind not in UNKEYED)
    common: Json = {"id": id, "inputs": inputs, "settings": settings_of(node)}
    return physical(node, kind, KEYS if has_keys else (), common, found)


def settings_of(node: Json) -> OperatorSettings:
    names = ("uid", "uid_hash", "co_location_group", "max_parallelism", "buffer_timeout")
    given = {key: node[key] for key in names if key in node}
    group = node.get("slot_sharing_group")
    least, preferred = (resources_of(node.get(key, node.get("resources"))) for key in RESOURCES)
    return OperatorSettings(
        description=node.get("description", DESCRIPTIONS.get(node["kind"])),
        parallelism=None if node.get("parallelism") == -1 else node.get("parallelism"),  # Flink's "not set"
        slot_sharing_group=None if group is None else SlotSharingGroup(group),
        min_resources=least,
        preferred_resources=preferred,
        **given,
    )


def resources_of(amounts: Json | None) -> ResourceSpec | None:
    if amounts is None:
        return None
    return ResourceSpec(
        cpu_cores=amounts.get("cpu", 0),
        memory=f"{amounts.get('heap_mb', 0)}m",
        off_heap_memory=f"{amounts.get('off_heap_mb', 0)}m",
    )


def physical(node: Json, kind: str, keys: tuple[str, ...], common: Json, found: list[Transformation]) -> Transformation:
    is_legacy = node.get("api") == "legacy"
    default = "HEAD" if kind == "source" and is_legacy else STRATEGIES.get(kind, "ALWAYS")
    fixed = kind == "broadcast_process"  # its operator's factory decides, whatever the transformation says
    declared = None if fixed else CALLED.get(node.get("chaining", ""))
    common["chaining_strategy"] = ChainingStrategy(declared or node.get("chaining_strategy", default))
    if kind == "source":
        bounded, parallel = node.get("bounded", True), node.get("parallel", True)
        tags = OperatorAttributes(output_tags=tuple(node["tags"]))
        source = Source(Csv("/in"), is_bounded=bounded, is_legacy=is_legacy, is_parallel=parallel, attributes=tags)
        return SourceTransformation(
            name=node.get("name", "Custom Source" if is_legacy else "Source"), operator=source, **common
        )
    if kind == "sink":
        api = node.get("api", "legacy")
        writer = replace(WRITER, connector=Parquet(f"/out/{common['id']}"))
        is_one = api in ("legacy", "print")
        legacy = replace(writer, has_writer=False, attributes=OperatorAttributes())
        return SinkTransformation(
            name=node.get("name", SINK_NAMES.get(api, "Sink")),
            operator=legacy if is_one else writer,
            state_keys=keys,
            topology=topology_of(api.split("+")),
            **common,
        )
    attributes = replace(ATTRIBUTES.get(kind, OperatorAttributes()), output_tags=tuple(node.get("tags", ())))
    operator = replace(OPERATORS.get(kind, Filter("true")), attributes=attributes)
    name = node.get("name", KEYED_NAMES.get(kind, NAMES[kind]) if keys else NAMES[kind])
    if kind == "multi_input":
        return MultipleInputTransformation(name=name, operator=operator, **common)
    if kind in ("co_map", "co_process", "broadcast_process"):
        return TwoInputTransformation(name=name, operator=operator, state_keys=keys, **common)
    if kind == "full_window_partition" and "parallelism" not in node:  # the API sets that of its input
        by_id = {each.id: each for each in found}
        size = declared_parallelism(by_id[common["inputs"][0]], by_id, node["job"].get("parallelism", 1))
        common["settings"] = replace(common["settings"], parallelism=size)
    if kind == "window_all":
        own = {"parallelism": node.get("parallelism", 1), "max_parallelism": node.get("max_parallelism", 1)}
        common["settings"] = replace(common["settings"], **own)
    inherits = kind == "assign_watermarks"
    return OneInputTransformation(
        name=name, operator=operator, state_keys=keys, inherits_parallelism=inherits, **common
    )


def topology_of(words: list[str]) -> SinkTopology:
    """Combine what the words of a sink's `api` add."""
    found = [TOPOLOGIES[word] for word in words if word in TOPOLOGIES]
    return SinkTopology(
        pre_write=tuple(step for each in found for step in each.pre_write),
        has_committer=any(each.has_committer for each in found),
        pre_commit=tuple(step for each in found for step in each.pre_commit),
        post_commit=tuple(step for each in found for step in each.post_commit),
    )


def execution_json(job_graph: JobGraph) -> Json:
    try:
        graph = build_execution_graph(job_graph)
        if graph is None:
            return {"skipped": "undecided parallelism (dynamic graph)"}
        return ExecutionAnswer(job_graph, graph).json()
    except InvalidPipelineError as error:
        return {"error": str(error)}
