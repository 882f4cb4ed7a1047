"""Where operators ran, from plans and stages as values: no session."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_compiler import Parquet, Range, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.actual_execution import (
    MOST_EXCHANGES,
    MOST_STAGES,
    ActualExecution,
    ActualVertex,
    ExchangeRun,
    Spread,
)
from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.spark_runtime.execution_learner import ExecutionLearner
from graph_compiler.spark_runtime.spark_internals.executed_parts import Exchange, PartitionRead, partition_reads
from graph_compiler.spark_runtime.spark_internals.executed_plan import PlanNode
from graph_compiler.spark_runtime.spark_internals.stages import ExecutedStage
from tests.harness.actual_executions import stage

pytestmark = pytest.mark.spark


def node(kind: str, *children: PlanNode, **known: object) -> PlanNode:
    """Return a node of a plan."""
    return PlanNode(outputs=frozenset(), rows=None, children=children, kind=kind, **known)  # type: ignore[arg-type]


def executed(stage_id: int, *rdd_ids: int, tasks: int = 4) -> ExecutedStage:
    """Return a stage that has computed RDDs."""
    run = stage(stage_id, tasks=tasks, run_milliseconds=stage_id)
    return ExecutedStage(run=run, rdd_ids=frozenset(rdd_ids), completed=tasks, is_repeated=False)


def _region() -> RegionDescriptor:
    """numbers -> counted (by k) -> out."""
    env = StreamExecutionEnvironment("learned")
    numbers = env.from_source(Range(0, 10), "numbers").key_by("id")
    numbers.aggregate(n="count(*)").name("counted").sink_to(Parquet("/data/out")).name("out")
    (found,) = describe_regions(compile_pipeline(env.pipeline()))
    return found


@pytest.fixture
def region() -> RegionDescriptor:
    """Return numbers -> counted -> out."""
    return _region()


def ids(region: RegionDescriptor) -> dict[str, int]:
    """Return node ids by name."""
    return {operator.name: operator.node_id for operator in region.operators}


def learned(region: RegionDescriptor, plan: PlanNode, *stages: ExecutedStage) -> ActualExecution:
    """Return what a sink's plan says."""
    learner = ExecutionLearner(region)
    learner.ran(stages)
    learner.learn(plan, ids(region)["out"], stages)
    found = learner.actual()
    assert found is not None
    return found


def by_name(region: RegionDescriptor, found: ActualExecution) -> dict[str, ActualVertex]:
    """Return vertices by the name of their first operator."""
    first = {vertex.vertex_id: vertex.operators[0].name for vertex in region.vertices}
    return {first[vertex.vertex_id]: vertex for vertex in found.vertices}


def aggregation(region: RegionDescriptor, exchange: Exchange, **read: object) -> PlanNode:
    """Return a plan: a write of an aggregation, partial below the exchange (RDD 1), final above it (RDD 2)."""
    counted, numbers = (frozenset({ids(region)[name]}) for name in ("counted", "numbers"))
    partial = node("HashAggregateExec", node("RangeExec", operators=numbers, splits=4), operators=counted, rdd_id=1)
    below = node("ShuffleQueryStageExec", node("ShuffleExchangeExec", partial, exchange=exchange))
    reading = node("AQEShuffleReadExec", below, **read)
    final = node("HashAggregateExec", node("InputAdapter", reading), operators=counted, rdd_id=2)
    return node("DataWritingCommandExec", node("WriteFilesExec", final))


def test_an_aggregation_ran_where_its_final_step_did(region: RegionDescriptor) -> None:
    plan = aggregation(region, Exchange(kind="hash", columns=("id",)))
    found = learned(region, plan, executed(7, 1, tasks=4), executed(8, 2, tasks=3))
    vertices = by_name(region, found)
    assert (vertices["numbers"].stage_ids, vertices["numbers"].parallelism, vertices["numbers"].splits) == ((7,), 4, 4)
    assert (vertices["counted"].stage_ids, vertices["counted"].parallelism) == ((8,), 3)
    assert found.vertices_in(8) == (vertices["counted"].vertex_id,)


@pytest.mark.parametrize(
    ("specifications", "sizes", "wanted"),
    [
        (None, (10, 20, 30), (3, 3, 0, 0, Spread(minimum=10, median=20, maximum=30, largest_task=2))),
        (
            "CoalescedPartitionSpec(0,2,Some(30));CoalescedPartitionSpec(2,3,Some(30))",
            (10, 20, 30),
            (3, 2, 2, 0, Spread(minimum=30, median=30, maximum=30, largest_task=0)),
        ),
        (
            "PartialReducerPartitionSpec(0,0,1,60);PartialReducerPartitionSpec(0,1,2,40);"
            "CoalescedPartitionSpec(1,2,None)",
            (100, 5),
            (2, 3, 0, 1, Spread(minimum=5, median=40, maximum=60, largest_task=0)),
        ),
        ("PartialMapperPartitionSpec(0,0,2)", (10, 20), (2, 1, None, None, None)),  # read where it was written
        ("SomethingNewer(1)", (10, 20), (2, 1, None, None, None)),
        (None, None, (None, None, None, None, None)),
    ],
)
def test_what_adaptive_execution_joined_and_split(
    region: RegionDescriptor, specifications: str | None, sizes: tuple[int, ...] | None, wanted: tuple[object, ...]
) -> None:
    reads = None if specifications is None else partition_reads(specifications)
    exchange = Exchange(kind="hash", columns=("id",), rows=6, bytes=60, sizes=sizes)
    found = learned(region, aggregation(region, exchange, reads=reads), executed(7, 1), executed(8, 2))
    (run,) = found.exchanges
    assert (run.partitions, run.tasks, run.joined, run.split, run.bytes_by_task) == wanted
    assert (run.kind, run.columns, run.rows, run.bytes) == ("hash", ("id",), 6, 60)
    assert (run.written_by, run.read_by) == (7, 8)
    vertices = by_name(region, found)
    assert (run.source, run.target) == (vertices["numbers"].vertex_id, vertices["counted"].vertex_id)


def test_what_spark_no_longer_keeps_is_not_known(region: RegionDescriptor) -> None:
    plan = aggregation(region, Exchange(kind="hash"))
    found = learned(region, plan, executed(8, 2, tasks=3))
    vertices = by_name(region, found)
    assert (vertices["numbers"].stage_ids, vertices["numbers"].parallelism) == ((), None)
    assert [(run.written_by, run.read_by) for run in found.exchanges] == [(None, 8)]


def test_an_exchange_below_a_node_of_spark_alone_has_no_vertex(region: RegionDescriptor) -> None:
    numbers = frozenset({ids(region)["numbers"]})
    scan = node("RangeExec", operators=numbers, rdd_id=1)
    exchange = node("ShuffleExchangeExec", scan, exchange=Exchange(kind="hash"))
    found = learned(region, node("FilterExec", exchange, rdd_id=2), executed(1, 1), executed(2, 2))
    assert [run.target for run in found.exchanges] == [None]


def test_inputs_of_a_union_have_their_own_tasks(region: RegionDescriptor) -> None:
    numbers, counted = (frozenset({ids(region)[name]}) for name in ("numbers", "counted"))
    one = node("RangeExec", operators=numbers, partitions=2, splits=2)
    other = node("RangeExec", operators=counted, partitions=3)
    found = learned(region, node("UnionExec", one, other, rdd_id=5), executed(3, 5, tasks=5))
    vertices = by_name(region, found)
    assert vertices["numbers"].parallelism == 2
    assert vertices["numbers"].stage_ids == vertices["counted"].stage_ids == (3,)


def test_a_query_about_something_else_teaches_nothing(region: RegionDescriptor) -> None:
    found = learned(region, node("LocalTableScanExec", rdd_id=9), executed(4, 9))
    assert [vertex.stage_ids for vertex in found.vertices] == [()] * len(found.vertices)


def test_rows_in_one_partition_were_not_exchanged(region: RegionDescriptor) -> None:
    numbers = frozenset({ids(region)["numbers"]})
    scan = node("RangeExec", operators=numbers, rdd_id=1)
    plan = node("TakeOrderedAndProjectExec", scan, exchange=Exchange(kind="single"), rdd_id=2)
    assert learned(region, plan, executed(1, 1, 2)).exchanges == ()
    assert [run.kind for run in learned(region, plan, executed(1, 1), executed(2, 2)).exchanges] == ["single"]


def test_a_report_is_bounded_and_says_what_is_left_out(region: RegionDescriptor) -> None:
    learner = ExecutionLearner(region)
    stages = [executed(id, id) for id in range(1, MOST_STAGES + 11)]
    learner.ran(stages)
    plan = node("RangeExec", operators=frozenset({ids(region)["numbers"]}), rdd_id=1)
    for id in range(2, MOST_EXCHANGES + 5):
        exchange = Exchange(kind="hash", rows=id, bytes=id)
        plan = node("FilterExec", node("ShuffleExchangeExec", plan, exchange=exchange), rdd_id=id)
    learner.learn(plan, ids(region)["out"], stages)
    found = learner.actual()
    assert found is not None
    assert len(found.stages) == MOST_STAGES
    assert min(run.stage_id for run in found.stages) == 11  # the shortest are left out
    assert len(found.exchanges) == MOST_EXCHANGES
    assert found.notes == (
        "10 stages that ran for a shorter time are not listed",
        "3 exchanges with fewer bytes are not listed",
    )


def test_what_could_not_be_learned_is_a_note(region: RegionDescriptor) -> None:
    learner = ExecutionLearner(region)
    assert learner.actual() is None
    learner.note("p · out: prepare: stages are unknown: no such method")
    found = learner.actual()
    assert found is not None
    assert found.notes == ("p · out: prepare: stages are unknown: no such method",)


def test_reads_of_the_same_exchange_are_listed_once(region: RegionDescriptor) -> None:
    learner = ExecutionLearner(region)
    stages = (executed(7, 1), executed(8, 2))
    learner.ran(stages)
    plan = aggregation(region, Exchange(kind="hash", rows=3))
    for _ in range(2):
        learner.learn(plan, ids(region)["out"], stages)
    found = learner.actual()
    assert found is not None
    assert [type(run) for run in found.exchanges] == [ExchangeRun]


def test_specifications_are_read_as_spark_writes_them() -> None:
    assert partition_reads("CoalescedPartitionSpec(0,3,Some(10))") == (PartitionRead(0, 3),)
    assert partition_reads("") == ()


REGION = _region()
KINDS = ["FilterExec", "ProjectExec", "AQEShuffleReadExec", "ShuffleQueryStageExec", "SortExec", "UnionExec"]


@st.composite
def plans(draw: st.DrawFn, depth: int = 5) -> PlanNode:
    """Draw a plan whose parts, operators and exchanges are in any order."""
    least = st.sampled_from(sorted(ids(REGION).values()))
    children = draw(st.lists(plans(depth - 1), max_size=2)) if depth else []
    exchange = Exchange(kind="hash", rows=draw(st.integers(0, 9)), sizes=tuple(draw(st.lists(st.integers(0, 99)))))
    return node(
        draw(st.sampled_from(KINDS)),
        *children,
        operators=frozenset(draw(st.lists(least, max_size=2))),
        rdd_id=draw(st.none() | st.integers(0, 5)),
        exchange=draw(st.none() | st.just(exchange)),
        reads=draw(st.none() | st.just((PartitionRead(0, 2), None)) | st.just((PartitionRead(0, 1, 7),))),
        splits=draw(st.none() | st.integers(1, 4)),
        partitions=draw(st.none() | st.integers(1, 4)),
        has_run=draw(st.booleans()),
    )


@given(plans(), st.lists(st.integers(0, 5), unique=True))
def test_whatever_a_plan_is_only_stages_that_ran_are_named(plan: PlanNode, rdds: list[int]) -> None:
    found = learned(REGION, node("DataWritingCommandExec", plan), *(executed(10 + rdd, rdd) for rdd in [*rdds, 99]))
    ran = {run.stage_id for run in found.stages}
    assert {id for vertex in found.vertices for id in vertex.stage_ids} <= ran
    for run in found.exchanges:
        assert {run.written_by, run.read_by} - {None} <= ran
        assert run.written_by is None or run.written_by != run.read_by
        assert run.bytes_by_task is None or run.tasks is not None
    assert all((vertex.parallelism is None) or vertex.stage_ids for vertex in found.vertices)
