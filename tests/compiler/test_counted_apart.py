"""Contracts on totals in a plan: which have a job of their own, and what waits for them."""

from collections.abc import Callable

import pytest

from graph_compiler import Csv, DataStream, Jdbc, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.checks.validation import find_warnings
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.deployment.documents.wire import from_json, to_json
from graph_compiler.explain.plan.plan_writer import plan_of
from graph_compiler.graphs.stream_graph import StagingReason
from graph_compiler.spark_runtime.region.region_graph import OperatorGraph

Declare = Callable[[DataStream, DataStream], object]
OUT = Parquet("/out")
LIMIT = "'Limit' may not read each of its rows once"


def both_to_sinks(split: DataStream) -> None:
    split.sink_to(OUT).name("kept")
    split.get_side_output("r").sink_to(Parquet("/r")).name("r")


REASONS: dict[str, tuple[Declare, str | None]] = {
    "a sink": (lambda c, _: c.sink_to(OUT), None),
    "two sinks": (lambda c, _: (c.sink_to(OUT), c.filter("v > 1").sink_to(Parquet("/b")).name("b")), None),
    "operators that read everything": (
        lambda c, _: c.select("v").with_columns(w="v").cast(v="INT").rename({"v": "x"}).sort("x").sink_to(OUT),
        None,
    ),
    "a group": (lambda c, _: c.key_by("v").aggregate(n="count(*)").filter("n > 1").sink_to(OUT), None),
    "both outputs of a split": (
        lambda c, _: both_to_sinks(c.filter("v > 1", rejects="r")),
        None,
    ),
    "a staged result": (lambda c, _: c.stage("to cut here").limit(1).sink_to(OUT), None),
    "the first side of a foreign key": (lambda c, o: c.expect_in("in", o, "v").sink_to(OUT), None),
    "the other side of a foreign key": (
        lambda c, o: o.expect_in("in", c, "v").sink_to(OUT),
        "'in' may not read each of its rows once",
    ),
    "a contract that nothing reads": (lambda c, _: c.expect_rows("again", at_most=3), None),
    "nothing": (lambda _, o: o.sink_to(OUT), "nothing reads its rows"),
    "a limit": (lambda c, _: c.limit(3).sink_to(OUT), LIMIT),
    "a limit after others": (lambda c, _: c.filter("v > 1").select("v").limit(3).sink_to(OUT), LIMIT),
    "a limit beside a sink": (lambda c, _: (c.sink_to(OUT), c.limit(3).sink_to(Parquet("/b")).name("b")), LIMIT),
    "a join": (lambda c, o: c.join(o, on="v").sink_to(OUT), "'Join' may not read each of its rows once"),
    "a union": (lambda c, o: c.union(o).filter("v > 1").sink_to(OUT), "'Filter' may not read each of its rows once"),
    "an operator that nothing reads": (lambda c, _: c.filter("v > 1"), "'Filter' may not read each of its rows once"),
    "a cache": (lambda c, _: c.cache().sink_to(OUT), "'Cache' may not read each of its rows once"),
    "a sink that merges": (
        lambda c, _: c.sink_to(OUT, mode="merge", keys="v"),
        "'Sink' may not read each of its rows once",
    ),
    "a database": (
        lambda c, _: c.sink_to(Jdbc("jdbc:postgresql://h/d", table="t")),
        "'Sink' may not read each of its rows once",
    ),
}  # fmt: skip


def streams() -> tuple[DataStream, DataStream]:
    env = StreamExecutionEnvironment("p")
    return env.from_source(Csv("/in"), "in"), env.from_source(Csv("/other"), "other")


def details(env: StreamExecutionEnvironment) -> dict[str, tuple[str, ...]]:
    return {one.name: one.details for one in plan_of(compile_pipeline(env.pipeline())).operators}


@pytest.mark.parametrize("case", REASONS)
def test_a_plan_shows_why_a_total_has_a_job_of_its_own(case: str) -> None:
    declare, reason = REASONS[case]
    rows, other = streams()
    declare(rows.expect_rows("enough", at_least=1), other)
    counted = [each for each in details(rows.environment)["enough"] if each.startswith("counted")]
    assert counted == ([] if reason is None else [f"counted: by a job of its own, because {reason}"])


@pytest.mark.parametrize("case", REASONS)
def test_the_driver_counts_apart_what_the_plan_shows(case: str) -> None:
    declare, reason = REASONS[case]
    rows, other = streams()
    declare(rows.expect_rows("enough", at_least=1), other)
    apart: set[str] = set()
    for region in describe_regions(compile_pipeline(rows.environment.pipeline())):
        graph = OperatorGraph.of(region)
        results = frozenset((result.node_id, result.output_tag) for result in region.results)
        apart |= {graph.operators[id].name for id in graph.counted_apart(results)}
    assert ("enough" in apart) is (reason is not None)


def test_a_job_of_its_own_is_one_more_read_of_its_sources() -> None:
    rows, other = streams()
    rows.expect_same("balanced", other).sink_to(OUT)
    (region,) = describe_regions(compile_pipeline(rows.environment.pipeline()))
    graph = OperatorGraph.of(region)
    ids = {operator.name: id for id, operator in graph.operators.items()}
    apart = graph.counted_apart(frozenset())
    assert [graph.times_read(ids[name], frozenset(), apart) for name in ("in", "other")] == [2, 2]
    assert [graph.times_read(ids[name], frozenset()) for name in ("in", "other")] == [1, 1]


def test_a_contract_that_nothing_reads_is_no_mistake() -> None:
    rows, other = streams()
    rows.expect("positive", "v > 0")
    rows.expect_same("balanced", other)
    rows.filter("v > 1").name("forgotten")
    pipeline = rows.environment.pipeline()
    (warning,) = find_warnings(pipeline, compile_pipeline(pipeline).options)
    assert warning.operator == "forgotten"


def test_readers_of_a_total_that_may_fail_start_after_it() -> None:
    rows, other = streams()
    checked = rows.expect_same("balanced", other, on_violation="fail")
    for name in ("one", "two"):
        checked.filter("v > 1").sink_to(Parquet(f"/{name}")).name(name)
    edges = [edge.staging for edge in compile_pipeline(rows.environment.pipeline()).job_graph.edges if edge.staging]
    assert {staging.reason for staging in edges} == {StagingReason.CONTRACT}
    assert "2 operators read it, and 'balanced' must hold before any of them starts" in edges[0].explanation


def test_a_total_of_streams_of_two_regions_waits_for_the_staged_one() -> None:
    rows, other = streams()
    rows.sink_to(Parquet("/innocent")).name("innocent")
    rows.expect_same("balanced", other.stage("the other task"), on_violation="fail")
    compiled = compile_pipeline(rows.environment.pipeline())
    regions = {one.name: region.region_id for region in describe_regions(compiled) for one in region.operators}
    assert regions["innocent"] == regions["balanced"] != regions["other"]
    (staged,) = (edge for edge in compiled.job_graph.edges if edge.staging is not None)
    assert staged.staging is not None
    assert staged.staging.explanation == 'because you asked: "the other task"'


def test_a_share_that_is_not_declared_is_in_no_document() -> None:
    """Fingerprints of earlier versions stay."""
    rows, _ = streams()
    rows.expect("positive", "v > 0").sink_to(OUT)
    (region,) = describe_regions(compile_pipeline(rows.environment.pipeline()))
    assert "max_share" not in to_json(region)
    assert from_json(RegionDescriptor, to_json(region)) == region
