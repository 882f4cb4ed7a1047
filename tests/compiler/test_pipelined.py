"""`.pipelined(reason)`: the reader runs in its producer's task, in every shuffle mode, or is refused."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from graph_compiler import Csv, DataStream, InvalidPipelineError, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.partitioners import ExchangeMode
from graph_compiler.deployment.describe.fingerprints import digests_of, facts_of, fingerprints
from graph_compiler.explain.pictures.graph_pictures import job_picture
from graph_compiler.explain.plan.plan_writer import plan_of
from graph_compiler.explain.text.plan_text import explain_text
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.graphs.job_graph import ResultPartitionType
from graph_compiler.graphs.stream_graph import StreamGraph
from tests.conftest import SHUFFLE_MODES, with_options

BLOCKING = "ALL_EXCHANGES_BLOCKING"
GUIDE = Path(__file__).parents[2] / "docs/guide.md"
Declare = Callable[[DataStream], object]


def compile_in(mode: str, declare: Declare) -> CompiledPipeline:
    env = StreamExecutionEnvironment("p")
    declare(env.from_source(Csv("/in"), "in"))
    return compile_pipeline(with_options(env.pipeline(), shuffle_mode=mode))


def tasks(compiled: CompiledPipeline) -> list[list[str]]:
    vertex = compiled.job_graph.vertex
    return [[vertex[id].name for id in region.vertex_ids] for region in compiled.deployment.regions]


def out(stream: DataStream, name: str = "out") -> None:
    stream.sink_to(Parquet(f"/out/{name}")).name(name)


def counted(stream: DataStream) -> None:
    """in ─▶ by k ═▶ by v: the second exchange is pipelined."""
    by_k = stream.key_by("k").aggregate(v="count(*)").name("by_k")
    out(by_k.pipelined("a few rows").key_by("v").aggregate(n="count(*)").name("by_v"))


def test_every_vertex_is_a_task_except_across_edges_declared_pipelined() -> None:
    compiled = compile_in(BLOCKING, counted)
    assert tasks(compiled) == [["Source: in"], ["by_k", "by_v -> Sink: out"]]
    words = "every job vertex a task, except across edges declared `.pipelined(reason)`"
    assert words in GUIDE.read_text()


@pytest.mark.parametrize("mode", SHUFFLE_MODES)
def test_the_edge_is_pipelined_in_every_mode(mode: str) -> None:
    (edge,) = (edge for edge in compile_in(mode, counted).job_graph.edges if edge.stream_edge.pipelining_text)
    assert edge.stream_edge.pipelining_text == "a few rows"
    assert edge.result_type is ResultPartitionType.PIPELINED_BOUNDED


@pytest.mark.parametrize(
    "declare",
    [
        lambda s: s.pipelined("why").rebalance().filter("x"),
        lambda s: s.rebalance().pipelined("why").filter("x"),
        lambda s: s.key_by("a").pipelined("why").rebalance().filter("x"),
    ],
)
def test_pipelined_counts_anywhere_among_partitions(declare: Declare) -> None:
    env = StreamExecutionEnvironment("p")
    declare(env.from_source(Csv("/in"), "in"))
    (edge,) = env.get_stream_graph().edges
    assert (edge.exchange_mode, edge.pipelining_text) == (ExchangeMode.PIPELINED, "why")


def test_otherwise_the_partition_nearest_the_producer_decides() -> None:
    env = StreamExecutionEnvironment("p")
    env.from_source(Csv("/in"), "in").rebalance().filter("x")
    (edge,) = env.get_stream_graph().edges
    assert (edge.exchange_mode, edge.pipelining_text) == (ExchangeMode.UNDEFINED, None)


def test_other_readers_of_a_pipelined_result_still_stage_it() -> None:
    def declare(stream: DataStream) -> None:
        kept = stream.filter("x").name("kept")
        out(kept.pipelined("small").rebalance().filter("y").name("beside"), "a")
        out(kept.rebalance().filter("z").name("apart"), "b")

    assert tasks(compile_in(BLOCKING, declare)) == [["Source: in -> kept", "beside -> Sink: a"], ["apart -> Sink: b"]]


def test_pipelined_takes_precedence_over_expensive() -> None:
    def declare(stream: DataStream) -> None:
        kept = stream.filter("x").name("kept").expensive()
        out(kept.pipelined("cheaper than staging").rebalance().filter("y"), "a")

    assert compile_in("AUTO", declare).job_graph.staged_edges == ()


def test_pipelined_changes_no_fingerprint() -> None:
    def prints(graph: StreamGraph) -> list[str]:
        return [*fingerprints(graph, digests_of(facts_of(graph)), {}).values()]

    plain = compile_in(BLOCKING, lambda s: s.key_by("k").aggregate(n="count(*)"))
    pipelined = compile_in(BLOCKING, lambda s: s.pipelined("p").key_by("k").aggregate(n="count(*)"))
    assert prints(plain.stream_graph) == prints(pipelined.stream_graph)


def test_explain_shows_pipelined_with_its_reason() -> None:
    compiled = compile_in(BLOCKING, counted)
    text = explain_text(plan_of(compiled))
    assert '◀─ by_k · hash(v) · in memory\n       because you asked: "a few rows"' in text
    reasons = [edge.reason for edge in job_picture(plan_of(compiled)).edges if not edge.is_staged]
    assert reasons == ['because you asked: "a few rows"']


def cycle(stream: DataStream) -> None:
    """a ═▶ d and a ─▶ b ─▶ d: if b is a separate task, a's task waits for itself."""
    a = stream.filter("x").name("a")
    b = a.key_by("k").aggregate(n="count(*)").name("b")
    out(a.pipelined("big").join(b, on="k").name("d"))


def parted(stream: DataStream) -> None:
    a = stream.filter("x").name("a")
    b = a.stage("expensive").key_by("k").aggregate(n="count(*)").name("b")
    out(a.pipelined("big").join(b, on="k").name("d"))


def contract(stream: DataStream) -> None:
    held = stream.expect("holds", "x > 0", on_violation="fail")
    out(held.pipelined("small").rebalance().filter("y").name("one"), "a")
    out(held.rebalance().filter("z").name("two"), "b")


def groups(stream: DataStream) -> None:
    out(stream.pipelined("small").filter("x").name("f").slot_sharing_group("big"))


def varying(stream: DataStream) -> None:
    some = stream.limit(5).name("some")
    out(some.pipelined("small").rebalance().filter("y").name("one"), "a")
    out(some.rebalance().filter("z").name("two"), "b")


def calling(stream: DataStream) -> None:
    newest = stream.key_by("k").aggregate(v="first(v)").name("newest")
    out(newest.pipelined("small").rebalance().filter("y").name("one"), "a")
    out(newest.rebalance().filter("z").name("two"), "b")


def both(stream: DataStream) -> None:
    out(stream.stage("keep").pipelined("small").filter("x").name("f"))


@pytest.mark.parametrize(
    ("mode", "declare", "words"),
    [
        (
            BLOCKING,
            cycle,
            "d: its input from 'a' is declared pipelined (\"big\"), but has to be staged, because 'd -> Sink: out' "
            "waits for staged rows, which one region with 'Source: in -> a' would stage itself",
        ),
        (
            "AUTO",
            parted,
            "d: its input from 'a' is declared pipelined (\"big\"), but has to be staged, because 'd -> Sink: out' "
            "waits for staged rows, which one region with 'Source: in -> a' would stage itself",
        ),
        (
            "AUTO",
            contract,
            "one: its input from 'holds' is declared pipelined (\"small\"), but has to be staged, because 2 operators "
            "read it, and 'holds' must hold before any of them starts",
        ),
        (
            "ALL_EXCHANGES_PIPELINED",
            groups,
            "f: its input from 'in' is declared pipelined (\"small\"), but has to be staged, because slot sharing "
            "group 'default' ends and 'big' begins",
        ),
        (
            "AUTO",
            varying,
            "one: its input from 'some' is declared pipelined (\"small\"), but has to be staged "
            "once for its 2 readers, "
            "because it keeps arbitrary rows",
        ),
        (
            BLOCKING,
            calling,
            "one: its input from 'newest' is declared pipelined (\"small\"), but has to be staged once for its 2 "
            "readers, because of first(…): its value depends on the order",
        ),
        (
            "ALL_EXCHANGES_PIPELINED",
            both,
            'f: what it reads of \'in\' is to be staged ("keep") and pipelined ("small")',
        ),
    ],
    ids=["cycle", "parted", "contract", "groups", "varying", "calling", "both"],
)
def test_pipelined_edges_that_must_be_staged_are_refused(mode: str, declare: Declare, words: str) -> None:
    with pytest.raises(InvalidPipelineError, match=re.escape(words)) as refusal:
        compile_in(mode, declare)
    (problem,) = refusal.value.problems
    assert problem.hint is not None
    assert problem.declared_at is not None
    assert problem.declared_at.file == __file__


def test_another_edge_is_cut_where_that_keeps_the_tasks_in_an_order() -> None:
    """a ▒▶ c ─▶ d, a ─▶ b ═▶ d, b ─▶ e: b and e run with d, though they could run with a."""

    def declare(stream: DataStream) -> None:
        a = stream.filter("x").name("a")
        c = a.stage("expensive").key_by("k").aggregate(n="count(*)").name("c")
        b = a.key_by("k").aggregate(m="count(*)").name("b")
        out(b.pipelined("big").join(c, on="k").name("d"), "d_out")
        out(b.rebalance().filter("y").name("e"), "e_out")

    assert tasks(compile_in("AUTO", declare)) == [
        ["Source: in -> a"],
        ["c", "b", "d -> Sink: d_out", "e -> Sink: e_out"],
    ]


def test_auto_keeps_a_detour_in_the_same_task() -> None:
    assert len(tasks(compile_in("AUTO", cycle))) == 1


def test_pipelined_requires_a_reason(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(InvalidPipelineError, match=r"pipelined\(\) needs a reason"):
        env.from_source(Csv("/in"), "in").pipelined(" ")
