"""Which results AUTO stages after an expensive operator, and after a contract that may fail the task."""

from collections.abc import Callable

import pytest

from graph_compiler import Csv, DataStream, InvalidPipelineError, Jdbc, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.connectors import Connector
from graph_compiler.deployment.describe.fingerprints import digests_of, facts_of, fingerprints
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.graphs.stream_graph import StagingReason
from tests.conftest import with_options
from tests.harness.compiled_graphs import region_edges

Declare = Callable[[DataStream], None]


def enriched(rows: object, *_others: object) -> object:
    """Be a user's function; nothing calls it."""
    return rows


def out(stream: DataStream, name: str, to: Connector | None = None) -> None:
    """End a stream in a sink."""
    stream.sink_to(to or Parquet(f"/out/{name}"), mode="append").name(name)


def scored(stream: DataStream) -> DataStream:
    return stream.with_columns(s="v * 2").name("scored").expensive()


def checked(stream: DataStream, contract: str = "checked") -> DataStream:
    return stream.expect(contract, "v > 0", on_violation="fail")


def two(stream: DataStream) -> None:
    """One result, two readers."""
    out(stream.filter("v > 1").name("one"), "one_out")
    out(stream.filter("v > 2").name("two"), "two_out")


def staged(compiled: CompiledPipeline) -> dict[str, StagingReason]:
    """Return `from ▒▶ to` with its reason for each staged edge."""
    name = {node.id: node.declared_name for node in compiled.stream_graph.nodes}
    return {
        f"{name[edge.stream_edge.source_id]} ▒▶ {name[edge.stream_edge.target_id]}": edge.staging.reason
        for edge in compiled.job_graph.edges
        if edge.staging is not None
    }


def compile_in(mode: str, declare: Declare) -> CompiledPipeline:
    env = StreamExecutionEnvironment("p")
    declare(env.from_source(Csv("/in"), "in"))
    return compile_pipeline(with_options(env.pipeline(), shuffle_mode=mode))


def joined_by_two(stream: DataStream) -> None:
    both = checked(stream).join(stream.filter("v > 5").name("few"), on="k").name("joined")
    two(both)


def two_sinks(stream: DataStream) -> None:
    rows = scored(stream)
    out(rows, "a")
    out(rows, "b")


def of_two_streams(stream: DataStream) -> None:
    both = stream.connect(stream.filter("v")).transform(enriched, expensive=True).name("f")
    out(both.select("v"), "o")


def split_behind(stream: DataStream) -> None:
    split = checked(stream).filter("v > 7", rejects="rest").name("split")
    out(split, "kept_out")
    out(split.get_side_output("rest"), "rest_out")


def twice_into_one(stream: DataStream) -> None:
    rows = checked(stream).name("rows")
    out(rows.join(rows, on="k").name("pairs"), "pairs_out")


def another_group(stream: DataStream) -> None:
    two(checked(stream).filter("v > 3").name("big").slot_sharing_group("big"))


def staged_between(stream: DataStream) -> None:
    two(checked(stream).stage("mine").filter("v > 3").name("later"))


DATABASE = Jdbc("jdbc:sqlite:/db", table="t", driver="org.sqlite.JDBC")

EXPENSIVE: dict[str, tuple[Declare, list[str]]] = {
    "an operator behind it": (lambda s: out(scored(s).filter("v"), "o"), ["scored ▒▶ Filter"]),
    "several readers": (lambda s: two(scored(s)), ["scored ▒▶ one", "scored ▒▶ two"]),
    "several sinks": (two_sinks, ["scored ▒▶ a", "scored ▒▶ b"]),
    "one sink of files, which writes the same rows": (lambda s: out(scored(s), "o"), []),
    "one database, which may refuse them": (lambda s: out(scored(s), "o", DATABASE), ["scored ▒▶ o"]),
    "a source": (lambda s: out(s.expensive().filter("v"), "o"), ["in ▒▶ Filter"]),
    "an exchange behind it": (
        lambda s: out(scored(s).key_by("k").aggregate(n="count(*)"), "o"),
        ["scored ▒▶ Aggregate"],
    ),
    "a function": (lambda s: out(s.transform(enriched, expensive=True).name("f").filter("v"), "o"), ["f ▒▶ Filter"]),
    "a function of several streams": (of_two_streams, ["f ▒▶ Select"]),
}

CONTRACT: dict[str, tuple[Declare, list[str]]] = {
    # in ─▶ checked ─┬▒▶ one
    #                └▒▶ two
    "several read it": (lambda s: two(checked(s)), ["checked ▒▶ one", "checked ▒▶ two"]),
    # in ─▶ checked ─▶ clean ─┬▒▶ one
    #                         └▒▶ two
    "several read what is made of it": (
        lambda s: two(checked(s).select("v").name("clean")),
        ["clean ▒▶ one", "clean ▒▶ two"],
    ),
    # in ─┬─▶ checked ─▶ joined ─┬▒▶ one      what several read before it has not passed it
    #     └─▶ few ─────────▶┘    └▒▶ two
    "several read what is joined to it": (joined_by_two, ["joined ▒▶ one", "joined ▒▶ two"]),
    # in ─▶ checked ─▶ one sink
    "one reads it": (lambda s: out(checked(s), "o"), []),
    # in ─▶ checked ─▶ split ─┬─▶ kept_out     two results, each with one reader
    #                         └rest▶ rest_out
    "a side output is another result": (split_behind, []),
    # in ─▶ rows ═▶ pairs
    "one operator reads it twice": (twice_into_one, []),
    # in ─▶ checked ▒▶ big ─┬─▶ one           what another group reads is staged, and the contract with it
    #                       └─▶ two
    "a cut on the way commits it": (another_group, []),
    "a cut you asked for commits it": (staged_between, []),
    "it only warns": (lambda s: two(s.expect("checked", "v > 0")), []),
}


def with_reason(compiled: CompiledPipeline, reason: StagingReason) -> list[str]:
    return sorted(edge for edge, found in staged(compiled).items() if found is reason)


@pytest.mark.parametrize(("declare", "expected"), EXPENSIVE.values(), ids=EXPENSIVE)
def test_results_of_expensive_operators_are_staged(declare: Declare, expected: list[str]) -> None:
    compiled = compile_in("AUTO", declare)
    assert staged(compiled) == dict.fromkeys(expected, StagingReason.EXPENSIVE)
    region_of = compiled.deployment.region_of_vertex
    for edge in compiled.job_graph.staged_edges:
        assert edge.result_type.is_blocking
        assert region_of[edge.source_id] != region_of[edge.target_id]


@pytest.mark.parametrize(("declare", "expected"), CONTRACT.values(), ids=CONTRACT)
def test_the_first_shared_result_after_a_failing_contract_is_staged(declare: Declare, expected: list[str]) -> None:
    compiled = compile_in("AUTO", declare)
    assert with_reason(compiled, StagingReason.CONTRACT) == expected
    others = set(staged(compiled).values()) - {StagingReason.CONTRACT}
    assert others <= {StagingReason.SLOT_SHARING_GROUP_DIFFERS, StagingReason.DECLARED}


def test_the_second_fan_out_after_a_contract_stays_in_memory() -> None:
    """In ─▶ checked ─┬▒▶ a ─┬─▶ one and two; └▒▶ b."""

    def declare(stream: DataStream) -> None:
        rows = checked(stream)
        two(rows.select("v").name("a"))
        out(rows, "b")

    compiled = compile_in("AUTO", declare)
    assert sorted(staged(compiled)) == ["checked ▒▶ a", "checked ▒▶ b"]


def test_readers_after_a_contract_share_a_data_set() -> None:
    compiled = compile_in("AUTO", lambda stream: two(checked(stream)))
    (data_set,) = {edge.data_set_id for edge in compiled.job_graph.staged_edges}
    assert compiled.job_graph.data_set[data_set].result_type.is_blocking
    assert [region.id for region in compiled.deployment.regions] == ["checked", "one_out", "two_out"]


def test_results_staged_for_a_contract_may_be_read_in_the_same_task() -> None:
    """In ─▶ checked ─┬▒▶ one; in ─▶ few ─▶ both ◀▒┘: the producer of `few` and its reader are already in one task."""

    def declare(stream: DataStream) -> None:
        rows = checked(stream)
        out(rows.join(stream.filter("v > 5").name("few"), on="k").name("both"), "both_out")
        out(rows.filter("v > 1").name("one"), "one_out")

    compiled = compile_in("AUTO", declare)
    assert with_reason(compiled, StagingReason.CONTRACT) == ["checked ▒▶ both", "checked ▒▶ one"]
    assert [region.id for region in compiled.deployment.regions] == ["checked", "one_out"]


def test_tasks_that_would_wait_for_each_other_over_contracts_are_one() -> None:
    """In ─▶ checked ▒▶ twice ▒▶ both ◀─ few ◀─ in: the reader of `twice` runs with the producer of `checked`."""

    def declare(stream: DataStream) -> None:
        rows = checked(stream)
        twice = checked(rows.key_by("k").aggregate(v="sum(v)").name("sums"), "twice")
        few = stream.filter("v > 5").name("few")
        out(twice.join(few, on="k").name("both"), "both_out")
        out(twice.filter("v > 2").name("two"), "two_out")
        out(rows.filter("v > 1").name("one"), "one_out")

    compiled = compile_in("AUTO", declare)
    assert {"checked ▒▶ sums", "twice ▒▶ both"} < set(with_reason(compiled, StagingReason.CONTRACT))
    assert with_reason(compiled, StagingReason.WOULD_CYCLE) == []
    assert [region.id for region in compiled.deployment.regions] == ["checked", "two_out", "one_out"]


def test_results_of_expensive_operators_are_never_read_in_their_task() -> None:
    """In ─▶ scored ▒▶ both beside in ─▶ few ─▶ both: the second path is also cut, or both would run with scored."""

    def declare(stream: DataStream) -> None:
        few = stream.filter("v > 5").name("few")
        out(scored(stream).join(few, on="k").name("both"), "both_out")

    compiled = compile_in("AUTO", declare)
    assert staged(compiled)["scored ▒▶ both"] is StagingReason.EXPENSIVE
    assert [region.id for region in compiled.deployment.regions] == ["few", "both_out"]
    assert len(region_edges(compiled)) == len(compiled.job_graph.staged_edges) == 2


@pytest.mark.parametrize("declare", [lambda s: two(scored(s)), lambda s: two(checked(s))])
def test_all_exchanges_pipelined_overrides_both(declare: Declare) -> None:
    assert staged(compile_in("ALL_EXCHANGES_PIPELINED", declare)) == {}


@pytest.mark.parametrize("declare", [lambda s: two(scored(s)), lambda s: two(checked(s))])
def test_all_exchanges_blocking_stages_what_auto_stages(declare: Declare) -> None:
    assert staged(compile_in("ALL_EXCHANGES_BLOCKING", declare)) == staged(compile_in("AUTO", declare))


def test_a_declared_reason_comes_first() -> None:
    compiled = compile_in("AUTO", lambda s: out(scored(s).stage("mine").filter("v"), "o"))
    assert staged(compiled) == {"scored ▒▶ Filter": StagingReason.DECLARED}


def test_marking_an_operator_changes_no_fingerprint() -> None:
    def plain(stream: DataStream) -> None:
        out(stream.with_columns(s="v * 2").name("scored").filter("v"), "o")

    def marked(stream: DataStream) -> None:
        out(scored(stream).filter("v"), "o")

    one, other = (compile_in("AUTO", declare) for declare in (plain, marked))
    found = [fingerprints(graph, digests_of(facts_of(graph)), {}) for graph in (one.stream_graph, other.stream_graph)]
    assert found[0] == found[1]
    assert len(one.deployment.regions) < len(other.deployment.regions)


def test_the_reason_names_the_operator_and_the_contracts() -> None:
    expensive = compile_in("AUTO", lambda s: out(scored(s).filter("v"), "o"))
    assert [edge.staging.explanation for edge in expensive.job_graph.edges if edge.staging] == [
        "because 'scored' is expensive: a later failure does not repeat it"
    ]
    guarded = compile_in("AUTO", lambda s: two(checked(checked(s, "a"), "b")))
    assert {edge.staging.explanation for edge in guarded.job_graph.edges if edge.staging} == {
        "because 2 operators read it, and 'a' and 'b' must hold before any of them starts"
    }


def test_only_an_operator_can_be_expensive(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(InvalidPipelineError, match="expensive can be set on an operator only; rebalance adds none"):
        env.from_source(Csv("/in"), "in").rebalance().expensive()
