"""Rules that Flink 1.20's sources show and no stored answer does, as topologies in the corpus's form."""

from typing import Any

import pytest

from tests.conformance.topology import compile_topology

Json = dict[str, Any]
SOURCE: Json = {"id": "s", "kind": "source"}
HASH = "aabbccddeeff00112233445566778899"
CALLS = ("forward", "rebalance", "rescale", "shuffle", "broadcast", "global", "custom")


def node(id: str, kind: str, *inputs: str, **settings: object) -> Json:
    return {"id": id, "kind": kind, "inputs": list(inputs), **settings}


def compiled(*nodes: Json, config: dict[str, str] | None = None, **job: object) -> Json:
    spec = {"runtime_mode": "STREAMING", "parallelism": 2, "config": config or {}} | job
    return compile_topology({"name": "rule", "job": spec, "nodes": list(nodes)})


def refused_in(answer: Json) -> str | None:
    phase: str | None = answer.get("error", {}).get("phase")
    return phase


def sink(api: str, **settings: object) -> Json:
    return node("o", "sink", "s", api=api, **settings)


@pytest.mark.parametrize("partitioner", CALLS)
def test_a_call_on_a_keyed_stream_that_undoes_its_keys_is_refused(partitioner: str) -> None:
    keyed = node("k", "key_by", "s")
    call = node("p", "partition", "k", partitioner=partitioner)
    assert refused_in(compiled(SOURCE, keyed, call, node("m", "map", "p"))) == "stream_graph"
    assert refused_in(compiled(SOURCE, keyed | {"kind": "reinterpret_keyed"}, call, node("m", "map", "p"))) is not None
    raw = call | {"exchange_mode": "UNDEFINED"}  # a transformation of its own, which Flink does not check
    assert refused_in(compiled(SOURCE, keyed, raw, node("m", "map", "p"))) is None


@pytest.mark.parametrize(("first", "second", "phase"), [("s", "k", "stream_graph"), ("k", "s", None)])
def test_keys_may_not_be_broadcast(first: str, second: str, phase: str | None) -> None:
    process = node("b", "broadcast_process", first, second)
    assert refused_in(compiled(SOURCE, node("k", "key_by", "s"), process)) == phase


@pytest.mark.parametrize(
    ("settings", "phase"),
    [
        ({}, None),
        ({"parallelism": 1, "max_parallelism": 1}, None),
        ({"parallelism": 2}, "stream_graph"),
        ({"max_parallelism": 2}, "stream_graph"),
    ],
)
def test_an_operator_that_is_not_parallel(settings: Json, phase: str | None) -> None:
    assert refused_in(compiled(SOURCE, node("w", "window_all", "s", **settings))) == phase


def test_a_source_that_is_not_parallel_may_have_a_maximum() -> None:
    source = SOURCE | {"api": "legacy", "parallel": False, "parallelism": 1, "max_parallelism": 8}
    assert refused_in(compiled(source, sink("legacy"))) is None


@pytest.mark.parametrize(
    ("uid_hash", "phase"),
    [
        (HASH, None),
        (HASH.upper(), None),
        ("", "stream_graph"),
        (HASH[1:], "stream_graph"),
        (HASH + "0", "stream_graph"),
        (HASH + "\n", "stream_graph"),
        ("g" + HASH[1:], "stream_graph"),
        ("٠" * 32, "stream_graph"),  # digits, but not hexadecimal ones
    ],
)
def test_a_uid_hash(uid_hash: str, phase: str | None) -> None:
    answer = compiled(SOURCE, node("m", "map", "s", uid_hash=uid_hash))
    assert refused_in(answer) == phase
    if phase is None:
        (vertex,) = answer["job_graph"]["vertices"]
        assert vertex["operator_ids"][0]["user_defined"] == HASH


@pytest.mark.parametrize("api", ["new", "committing"])
def test_a_sink_that_becomes_several_operators_has_no_uid_hash(api: str) -> None:
    assert refused_in(compiled(SOURCE, sink(api, uid_hash=HASH))) == "stream_graph"


@pytest.mark.parametrize(
    ("api", "uid", "phase"),
    [
        ("committing", None, None),
        ("committing+pre_commit", None, None),
        ("committing+pre_write", None, "stream_graph"),
        ("committing+post_commit", "", "stream_graph"),
        ("new+pre_write", "u", None),
        ("new+pre_commit", "u", "stream_graph"),
        ("new+post_commit", "u", "stream_graph"),
    ],
)
def test_parts_of_a_sink_with_uids_need_one_on_the_sink_and_a_commit_needs_a_committer(
    api: str, uid: str | None, phase: str | None
) -> None:
    settings = {} if uid is None else {"uid": uid}
    assert refused_in(compiled(SOURCE, sink(api, **settings))) == phase


def test_parts_of_a_sink_have_its_settings_and_neither_its_description_nor_its_resources() -> None:
    group = {"slot_sharing_group": "g", "co_location_group": "c", "max_parallelism": 8, "parallelism": 3}
    own = {"name": "N", "uid": "u", "description": "D", "resources": {"cpu": 1, "heap_mb": 100}}
    every = sink("committing+pre_write+pre_commit+post_commit", **own, **group)
    answer = compiled(SOURCE | {"parallelism": 3}, every)
    nodes = answer["stream_graph"]["nodes"][1:]
    assert [each["name"] for each in nodes] == ["N: pre-write", "N: Writer", "N: Committer", "N: post-commit: Writer"]
    for each in nodes:
        assert {key: each[key] for key in group} == group
        assert each["min_resources"] == each["preferred_resources"] == "ResourceSpec{UNKNOWN}"
    contents = [each["contents"] for each in answer["stream_graph"]["plan_json"]["nodes"]]
    assert contents == ["Source: Source", *(each["name"] for each in nodes)]


def test_results_before_and_after_a_committer_are_blocking_in_a_batch_job() -> None:
    answer = compiled(SOURCE, sink("committing+post_commit", uid="u"), runtime_mode="BATCH", scheduler="Default")
    assert [edge["result_type"] for edge in answer["job_graph"]["edges"]] == ["BLOCKING", "BLOCKING"]


def test_only_the_first_part_of_a_sink_is_keyed() -> None:
    answer = compiled(SOURCE, node("k", "key_by", "s"), node("o", "sink", "k", api="committing"), runtime_mode="BATCH")
    strategies = {each["name"]: each["chaining_strategy"] for each in answer["stream_graph"]["nodes"]}
    assert strategies == {"Source: Source": "ALWAYS", "Sink: Writer": "HEAD", "Sink: Committer": "ALWAYS"}


def loop(*, feedback: str = "m", **iteration: object) -> list[Json]:
    head = node("i", "iterate", "s", **iteration)
    return [SOURCE, head, node("m", "map", "i"), node("c", "close_iteration", "i", feedback)]


def test_an_iteration_has_its_own_parallelism_and_maximum_and_its_head_has_all_resources() -> None:
    nodes = loop(parallelism=3, max_parallelism=16, resources={"cpu": 2, "heap_mb": 1536})
    nodes[2]["parallelism"] = 3
    ends = {each["id"]: each for each in compiled(*nodes)["stream_graph"]["nodes"] if each["id"] < 0}
    assert [(ends[id]["parallelism"], ends[id]["max_parallelism"]) for id in (-1, -2)] == [(3, 16), (3, 3)]
    gigabytes = "taskHeapMemory=1.500gb (1610612736 bytes), taskOffHeapMemory=0 bytes, managedMemory=0 bytes"
    nothing = "taskHeapMemory=0 bytes, taskOffHeapMemory=0 bytes, managedMemory=0 bytes"
    assert ends[-1]["min_resources"] == f"ResourceSpec{{cpuCores=2, {gigabytes}}}"
    assert ends[-2]["min_resources"] == f"ResourceSpec{{cpuCores=0, {nothing}}}"


@pytest.mark.parametrize(
    ("between", "phase"),
    [
        ([node("f", "partition", "m", partitioner="rebalance")], None),
        ([node("f", "union", "m", "s")], None),
        ([node("f", "union", "s", "m")], None),
        ([node("f", "side_output", "m", tag="x")], None),
        ([node("f", "window_all", "m")], "stream_graph"),
        ([node("f", "map", "s")], "stream_graph"),
    ],
)
def test_what_may_flow_back(between: list[Json], phase: str | None) -> None:
    *nodes, close = loop(feedback="f")
    assert refused_in(compiled(*nodes, *between, close)) == phase


@pytest.mark.parametrize(
    ("settings", "phase"),
    [
        ({"uid": "u", "uid_hash": HASH, "name": "N", "description": "D", "slot_sharing_group": "g"}, None),
        ({"uid_hash": "zz"}, "stream_graph"),
        ({"max_parallelism": 0}, "stream_graph"),
        ({"chaining": "disable"}, "stream_graph"),
        ({"chaining": "new_chain"}, "stream_graph"),
    ],
)
def test_settings_of_an_iteration(settings: Json, phase: str | None) -> None:
    answer = compiled(*loop(**settings))
    assert refused_in(answer) == phase
    if phase is None:
        ends = [each for each in answer["stream_graph"]["nodes"] if each["id"] < 0]
        assert [end["name"] for end in ends] == ["IterationSource-2", "IterationSink-2"]
        assert [end["slot_sharing_group"] for end in ends] == ["default", "default"]


def test_an_iteration_may_flow_back_into_itself() -> None:
    assert refused_in(compiled(*loop(feedback="i"))) is None


def test_feedback_of_an_iteration_that_nothing_reads_is_checked_too() -> None:
    unread = [node("j", "iterate", "s"), node("d", "close_iteration", "j", "s")]
    assert refused_in(compiled(SOURCE, *unread, sink("legacy"))) == "stream_graph"
    assert refused_in(compiled(SOURCE, unread[0], sink("legacy"))) is None
    assert refused_in(compiled(SOURCE, unread[0], sink("legacy"), runtime_mode="BATCH")) is None


def test_an_unbounded_source_that_only_flows_back_makes_nothing_streaming() -> None:
    unbounded = {"id": "u", "kind": "source", "bounded": False}
    *nodes, close = loop(feedback="f")
    both = node("f", "union", "m", "u")
    assert refused_in(compiled(*nodes, unbounded, both, close, runtime_mode="AUTOMATIC")) == "stream_graph"
    read = node("n", "map", "f")
    assert refused_in(compiled(*nodes, unbounded, both, close, read, runtime_mode="AUTOMATIC")) is None


@pytest.mark.parametrize(
    ("groups", "phase"), [((None, None), "job_graph"), (("g", "g"), None), (("g", "h"), "job_graph")]
)
def test_co_location_in_a_batch_job(groups: tuple[str | None, str | None], phase: str | None) -> None:
    nodes = []
    for number, group in enumerate(groups):
        named = {} if group is None else {"slot_sharing_group": group}
        nodes.append({"id": f"s{number}", "kind": "source", "co_location_group": "c", **named})
        nodes.append(node(f"o{number}", "sink", f"s{number}"))
    assert refused_in(compiled(*nodes, runtime_mode="BATCH")) == phase


def test_a_slot_sharing_group_may_look_like_a_region_of_the_default_group() -> None:
    located = [{"id": id, "kind": "source", "co_location_group": "c"} for id in "st"]
    located[1]["slot_sharing_group"] = "default/0"
    answer = compiled(*located, node("o", "sink", "s"), node("p", "sink", "t"), runtime_mode="BATCH")
    assert refused_in(answer) == "job_graph"


def test_co_located_subtasks_in_one_region_are_not_refused() -> None:
    nodes = [SOURCE | {"co_location_group": "c"}, node("p", "partition", "s", partitioner="rebalance")]
    answer = compiled(*nodes, node("m", "map", "p", co_location_group="c"))
    assert "error" not in answer["execution_graph"]


@pytest.mark.parametrize(
    ("timeout", "mode", "phase"),
    [
        (0, "UNDEFINED", "job_graph"),
        (5, "BATCH", "job_graph"),
        (-1, "UNDEFINED", None),
        (5, "PIPELINED", None),
        (5, None, None),  # chained: there are no buffers
    ],
)
def test_a_buffer_timeout_in_a_batch_job(timeout: int, mode: str | None, phase: str | None) -> None:
    source = SOURCE | {"buffer_timeout": timeout}
    moved = node("p", "partition", "s", partitioner="rebalance", exchange_mode=mode)
    nodes = [source, node("m", "map", "s")] if mode is None else [source, moved, node("m", "map", "p")]
    assert refused_in(compiled(*nodes, runtime_mode="BATCH", scheduler="Default")) == phase


def test_a_buffer_timeout_is_disabled_where_rows_come_only_after_the_end() -> None:
    last = node("w", "full_window_partition", "s", buffer_timeout=5)
    moved = [node("p", "partition", "w", partitioner="rebalance"), node("m", "map", "p")]
    answer = compiled(SOURCE, last, *moved)
    assert [edge["result_type"] for edge in answer["job_graph"]["edges"]][-1] == "BLOCKING"


def test_only_the_next_operator_has_its_rows_after_the_end_too() -> None:
    last = node("w", "full_window_partition", "s", chaining="new_chain")
    chained = [node("a", "map", "w"), node("b", "map", "a")]
    moved = [node(f"p{id}", "partition", id, partitioner="rebalance") for id in "wab"]
    read = [node(f"m{id}", "map", f"p{id}") for id in "wab"]
    edges = compiled(SOURCE, last, *chained, *moved, *read)["job_graph"]["edges"]
    assert sorted(edge["result_type"] for edge in edges if edge["ship_strategy"] == "REBALANCE") == [
        "BLOCKING",
        "BLOCKING",
        "PIPELINED_BOUNDED",
    ]


AUTO_OFF = {"execution.batch.adaptive.auto-parallelism.enabled": "false"}


def test_subpartitions_of_a_pointwise_result_in_a_dynamic_graph_are_dealt_evenly() -> None:
    moved = [node("p", "partition", "s", partitioner="rescale"), node("m", "map", "p", parallelism=5)]
    answer = compiled(SOURCE, *moved, config=AUTO_OFF, runtime_mode="BATCH")
    source, target = answer["execution_graph"]["vertices"]
    assert [task["produced"][0]["subpartitions"] for task in source["subtasks"]] == [3, 3]
    read = [task["consumed"][0] for task in target["subtasks"]]
    assert [(each["partitions"], each["subpartition_range"]) for each in read] == [
        ([0], [0, 0]),
        ([0], [1, 1]),
        ([0], [2, 2]),
        ([1], [1, 2]),
        ([1], [0, 0]),
    ]


@pytest.mark.parametrize(("most", "phase"), [(2, None), (1, "job_graph")])
def test_the_smallest_maximum_of_a_forward_group_is_enough_for_its_parallelism(most: int, phase: str | None) -> None:
    tied = [
        node("p", "partition", "s", partitioner="forward"),
        node("m", "map", "p", max_parallelism=most, chaining="new_chain"),
    ]
    assert refused_in(compiled(SOURCE | {"parallelism": 2}, *tied, runtime_mode="BATCH")) == phase


def test_forced_checkpoints_of_an_iteration_may_not_be_unaligned() -> None:
    forced = {"execution.checkpointing.force": "true"}
    unaligned = {"execution.checkpointing.unaligned.enabled": "true"}
    assert refused_in(compiled(*loop(), config=forced, checkpoint_interval=1000)) is None
    assert refused_in(compiled(*loop(), config=forced | unaligned, checkpoint_interval=1000)) == "job_graph"


@pytest.mark.parametrize(
    ("nodes", "phase"),
    [
        ([node("x", "side_output", "s", tag="a"), node("y", "side_output", "x", tag="b")], "stream_graph"),
        ([node("x", "map", "s", name="two\nlines")], "stream_graph"),
        ([node("x", "multi_input", *(64 * ["s"]))], None),
    ],
    ids=["side output of a side output", "line break in a name", "more than 63 inputs"],
)
def test_a_difference_on_purpose(nodes: list[Json], phase: str | None) -> None:
    assert refused_in(compiled(SOURCE, *nodes, node("m", "map", nodes[-1]["id"]))) == phase


@pytest.mark.parametrize(
    ("description", "escaped"),
    [
        ("ö → \\", "&ouml; &rarr; &#92;"),
        ("\"a\" <b> & 'c'", "&quot;a&quot; &lt;b&gt; &amp; 'c'"),
        ("&lt;\n日本 😀", "&amp;lt;<br/>日本 😀"),
        ("\u00a0Σ€", "&nbsp;&Sigma;&euro;"),
    ],
)
def test_descriptions_are_escaped_in_the_job_plan_only(description: str, escaped: str) -> None:
    answer = compiled(SOURCE | {"description": description}, sink("legacy", chaining="disable"))
    *_, vertex = answer["job_graph"]["plan_json"]["nodes"]
    assert vertex["description"] == f"{escaped}<br/>"
    source, *_ = answer["stream_graph"]["plan_json"]["nodes"]
    assert source["contents"] == description
