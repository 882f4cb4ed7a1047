from dataclasses import replace

import pytest

from graph_compiler import Csv, InvalidPipelineError, Parquet, StreamExecutionEnvironment, Text
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.retention import Retention, StagingRelease
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import RunValues, StagedInput
from pipelines.flights import env as flights


def plan_id(condition: str, *, comment: str = "") -> str:
    env = StreamExecutionEnvironment("p")
    assert comment is not None
    env.from_source(Csv("/in"), "in").filter(condition).stage("s").sink_to(Parquet("/out"))
    return describe_regions(compile_pipeline(env.pipeline()))[0].plan_id


def test_the_plan_id_depends_on_the_computation_and_not_on_its_location() -> None:
    one = plan_id("x > 0")
    two = plan_id("x > 0", comment="declared by a call on another line")
    assert one == two != plan_id("x > 1")


def test_a_result_read_by_several_tasks_is_staged_once(env: StreamExecutionEnvironment) -> None:
    staged = env.from_source(Csv("/in"), "in").stage("dear")
    for key in ("a", "b"):
        staged.key_by(key).aggregate(n="count(*)").sink_to(Parquet(f"/out/{key}")).name(key).slot_sharing_group(key)
    compiled = compile_pipeline(env.pipeline())
    producer, *consumers = describe_regions(compiled)
    assert len(compiled.job_graph.data_sets) >= 2
    assert [result.node_id for result in producer.results] == [1]
    read = {
        region.region_id: {
            edge.staged and edge.staged.id for v in region.vertices for op in v.operators for edge in op.inputs
        }
        for region in consumers
    }
    result = producer.results[0]
    readers = {region_id for region_id, ids in read.items() if result.id in ids}
    assert len(readers) == 2
    assert set(result.consumers) == readers


def test_a_staged_input_names_its_result_and_a_pipelined_one_does_not() -> None:
    producer, consumer = describe_regions(compile_pipeline(flights.pipeline()))
    inputs = {op.name: op.inputs for op in consumer.operators}
    assert inputs["facts"][0].staged == StagedInput(
        id=producer.results[0].id,
        fingerprint=producer.results[0].fingerprint,
        producer=producer.region_id,
        consumers=(consumer.region_id,),
        values=RunValues(parameters=("input",)),
    )
    assert [edge.staged for edge in inputs["with_carrier_name"]] == [None, None]


@pytest.mark.parametrize(
    ("has_sink_between", "has_second_reader", "compared"),
    [
        pytest.param(False, False, [], id="first ║ second ║ out: who reads computes again, unfinished"),
        pytest.param(True, False, ["first"], id="second has a sink: it stays finished for that"),
        pytest.param(False, True, ["first"], id="another reader of first may have finished"),
    ],
)
def test_results_have_checksums_where_readers_may_have_another_copy(
    has_sink_between: bool, has_second_reader: bool, compared: list[str]
) -> None:
    env = StreamExecutionEnvironment("p")
    first = env.from_source(Csv("/in"), "first").stage("dear")
    second = first.filter("a > 1").name("second")
    if has_sink_between:
        second.sink_to(Parquet("/second")).name("second_out")
    if has_second_reader:
        first.filter("a > 2").name("third").sink_to(Parquet("/third")).name("third_out")
    second.stage("dear").filter("a > 3").name("last").sink_to(Parquet("/out")).name("out")
    compiled = compile_pipeline(env.pipeline())
    names = {node.id: node.declared_name for node in compiled.stream_graph.nodes}
    results = [result for region in describe_regions(compiled) for result in region.results]
    assert len(results) == 2
    assert [names[result.node_id] for result in results if result.is_compared] == compared


def test_results_have_no_checksums_where_they_are_disabled() -> None:
    env = StreamExecutionEnvironment("p", config={"staging.checksum": "false"})
    first = env.from_source(Csv("/in"), "first").stage("dear")
    for name in ("one", "two"):
        first.filter("a > 1").name(name).sink_to(Parquet(f"/{name}")).name(f"{name}_out")
    results = [one for region in describe_regions(compile_pipeline(env.pipeline())) for one in region.results]
    assert [result.is_compared for result in results] == [False]


def test_staging_options_reach_every_task_and_are_not_part_of_the_plan() -> None:
    def described(**config: str) -> tuple[set[Retention], set[str]]:
        pairs = {key.replace("_", "."): value for key, value in config.items()}
        env = StreamExecutionEnvironment("p", config=pairs)
        env.from_source(Csv("/in"), "in").stage("dear").sink_to(Parquet("/out"))
        regions = describe_regions(compile_pipeline(env.pipeline()))
        return {region.retention for region in regions}, {region.plan_id for region in regions}

    kept, plan = described()
    released, same_plan = described(staging_release="LAST_CONSUMER", staging_ttl="2 d")
    assert kept == {Retention(release=StagingRelease.GC, ttl=7 * 86400)}
    assert released == {Retention(release=StagingRelease.LAST_CONSUMER, ttl=2 * 86400)}
    assert plan == same_plan


def test_a_region_has_a_query_if_its_rows_never_end() -> None:
    env = StreamExecutionEnvironment("p", config={"execution.runtime-mode": "STREAMING"})
    lines = env.from_source(Text("/in"), "lines", unbounded=True).uid("lines")
    totals = lines.key_by("value").aggregate(n="count(*)").uid("totals")
    totals.sink_to(Parquet("/out"), mode="merge", keys=["value"])
    env.from_source(Text("/old"), "old").sink_to(Parquet("/copy"))
    stream, bounded = describe_regions(compile_pipeline(env.pipeline()))
    assert bounded.stream is None
    assert stream.stream is not None
    assert [source.uid for source in stream.stream.sources] == ["lines"]
    assert [state.name for state in stream.stream.state] == ["Aggregate"]
    assert stream.stream.updates


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("execution.checkpointing.interval", "1000"),
        ("execution.checkpointing.unaligned.enabled", "true"),
        ("execution.checkpointing.force", "true"),
    ],
)
def test_a_checkpoint_option_would_do_nothing_in_a_batch_job_and_is_refused(key: str, value: str) -> None:
    env = StreamExecutionEnvironment("p", config={key: value})
    env.from_source(Csv("/in"), "in").sink_to(Parquet("/out"))
    with pytest.raises(InvalidPipelineError) as refusal:
        describe_regions(compile_pipeline(env.pipeline()))
    (problem,) = refusal.value.problems
    assert problem.message == f"option '{key}' is set, and the job is BATCH"
    assert str(problem.hint).startswith("a batch job has no checkpoints")


def test_the_adaptive_scheduler_is_deployed_where_all_parallelism_is_set() -> None:
    def described(parallelism: int | None) -> int:
        env = StreamExecutionEnvironment("p", config={"jobmanager.scheduler": "AdaptiveBatch"})
        rows = env.from_source(Csv("/in"), "in")
        sink = rows.sink_to(Parquet("/out"))
        if parallelism is not None:
            rows.set_parallelism(parallelism)
            sink.set_parallelism(parallelism)
        return len(describe_regions(compile_pipeline(env.pipeline())))

    assert described(2) == 1
    with pytest.raises(InvalidPipelineError, match="does not decide the parallelism of 'Source: in .*'"):
        described(None)


def test_subtasks_and_partitions_are_those_of_the_execution_graph(env: StreamExecutionEnvironment) -> None:
    rows = env.from_source(Csv("/in"), "in").set_parallelism(3).stage("expensive")
    rows.filter("x > 1").sink_to(Parquet("/out")).name("out")
    compiled = compile_pipeline(env.pipeline())
    graph = compiled.execution_graph
    assert graph is not None
    more = tuple(replace(vertex, parallelism=7) for vertex in graph.vertices)
    changed = replace(compiled, execution_graph=replace(graph, vertices=more))
    first, second = describe_regions(changed)
    assert [vertex.parallelism for vertex in (*first.vertices, *second.vertices)] == [7, 7]
    assert [result.partitions for result in first.results] == [7]
    assert [operator.settings.parallelism for operator in second.operators] == [None, None]
