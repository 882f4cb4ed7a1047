"""Resources of groups and needs of chains: merged as in Flink, compared, and all refused at once."""

import pytest

from graph_compiler import (
    Csv,
    InvalidPipelineError,
    Parquet,
    ResourceSpec,
    SlotSharingGroup,
    StreamExecutionEnvironment,
)
from graph_compiler.compiler.job_graph.chaining import absorbed_sources
from graph_compiler.compiler.job_graph.job_graph_generator import generate_job_graph
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.compiler.stream_graph.stream_graph_generator import generate_stream_graph
from graph_compiler.declaration.operators import ChainingStrategy, Filter, OperatorSettings, Source
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.transformations import MultipleInputTransformation, SourceTransformation
from graph_compiler.explain.documents.graph_json import job_graph_json, stream_graph_json
from graph_compiler.explain.plan.plan_writer import plan_of
from graph_compiler.explain.text.plan_text import explain_text
from graph_compiler.options.model import PipelineOptions

Environment = StreamExecutionEnvironment
BIG = SlotSharingGroup("big", driver_memory="2g", executor_memory="8g", executor_cores=4)
ONE = ResourceSpec(cpu_cores=1, memory="2g")
TWO = ResourceSpec(cpu_cores=2, memory="4g")


def refusals(env: Environment) -> list[str]:
    with pytest.raises(InvalidPipelineError) as refusal:
        compile_pipeline(env.pipeline())
    return [str(problem).partition("\n  declared at")[0] for problem in refusal.value.problems]


def test_a_chain_needs_what_its_operators_need_together(env: Environment) -> None:
    rows = env.from_source(Csv("/in"), "in").set_resources(ONE, TWO)
    rows.filter("x").name("f").set_resources(ONE).sink_to(Parquet("/out")).name("out").set_resources(TWO)
    (vertex,) = compile_pipeline(env.pipeline()).job_graph.vertices
    assert vertex.min_resources == ResourceSpec(cpu_cores=4, memory="8g")
    assert vertex.preferred_resources == ResourceSpec(cpu_cores=5, memory="10g")
    assert "[needs 4 cores and 8g, prefers 5 cores and 10g]" in explain_text(plan_of(compile_pipeline(env.pipeline())))


def test_an_operator_without_resources_makes_its_chain_unknown(env: Environment) -> None:
    rows = env.from_source(Csv("/in"), "in").set_resources(ONE).filter("x").name("f")
    rows.key_by("x").aggregate(n="count(*)").name("n").set_resources(TWO).sink_to(Parquet("/out")).name(
        "out"
    ).set_resources(ONE)
    compiled = compile_pipeline(env.pipeline())
    assert [vertex.min_resources for vertex in compiled.job_graph.vertices] == [None, ONE.merge(TWO)]
    assert "Source: in -> f    [needs: unknown, since 'f' declares none]" in explain_text(plan_of(compiled))


def test_a_chained_source_does_not_count_as_in_flink() -> None:
    always, head = ChainingStrategy.ALWAYS, ChainingStrategy.HEAD_WITH_SOURCES
    source = SourceTransformation(
        id=1,
        name="s",
        operator=Source(Csv("/in")),
        chaining_strategy=always,
        settings=OperatorSettings(min_resources=TWO, preferred_resources=TWO),
    )
    operator = MultipleInputTransformation(
        id=2,
        inputs=(1,),
        name="m",
        operator=Filter("x"),
        chaining_strategy=head,
        settings=OperatorSettings(min_resources=ONE, preferred_resources=ONE),
    )
    pipeline = Pipeline(name="p", transformations=(source, operator))
    options = PipelineOptions()
    graph = generate_stream_graph(pipeline, options)
    assert absorbed_sources(graph, options)
    (vertex,) = generate_job_graph(graph, options).vertices
    assert (vertex.node_ids, vertex.min_resources) == ((1, 2), ONE)


def test_every_vertex_that_needs_more_than_its_group_gives_is_refused_at_once(env: Environment) -> None:
    rows = env.from_source(Csv("/in"), "in").slot_sharing_group(BIG).set_resources(TWO)
    rows.filter("x").name("f").set_resources(ResourceSpec(cpu_cores=3, memory="4g")).sink_to(Parquet("/a")).name(
        "a"
    ).set_resources(ResourceSpec(cpu_cores=0, memory="0m"))
    gpu = ResourceSpec(cpu_cores=1, memory="1g", off_heap_memory="1g", extended_resources={"gpu": 1})
    rows.rebalance().sink_to(Parquet("/b")).name("b").set_resources(gpu)
    hint = "  hint: give the group more, name another group, or split the chain: start_new_chain()"
    assert refusals(env) == [
        "Source: in -> f -> Sink: a: it needs at least 5 cores (in: 2 cores and 4g; f: 3 cores "
        f"and 4g; a: nothing), but slot sharing group 'big' gives an executor 4 cores and 8g\n{hint}",
        "Sink: b: it needs at least 1g off-heap and 1 gpu, but slot sharing group 'big' gives an executor "
        f"4 cores and 8g\n{hint}",
    ]


@pytest.mark.parametrize(
    "group", ["big", SlotSharingGroup("big"), SlotSharingGroup("big", driver_memory="1g", driver_cores=1)]
)
def test_unset_executor_resources_limit_nothing(group: str | SlotSharingGroup, env: Environment) -> None:
    huge = ResourceSpec(cpu_cores=99, memory="9t")
    env.from_source(Csv("/in"), "in").slot_sharing_group(group).set_resources(huge).sink_to(
        Parquet("/out")
    ).set_resources(huge)
    assert compile_pipeline(env.pipeline()).job_graph.vertices[0].min_resources == huge.merge(huge)


def test_two_declarations_of_one_group_are_refused_with_both_places(env: Environment) -> None:
    rows = env.from_source(Csv("/in"), "in").slot_sharing_group(BIG)
    small = SlotSharingGroup("big", driver_memory="1g")
    rows.filter("x").name("f").slot_sharing_group(small).sink_to(Parquet("/out"))
    (problem,) = refusals(env)
    assert problem.startswith(
        "f: it declares slot sharing group 'big: driver 1g', but "
        f"'in' declares 'big: driver 2g, executors with 4 cores and 8g' ({__file__}:"
    )


def test_a_group_may_be_declared_once_and_used_by_name(env: Environment) -> None:
    rows = env.from_source(Csv("/in"), "in").slot_sharing_group("big")
    rows.filter("x").name("f").slot_sharing_group(BIG).filter("y").name("g").slot_sharing_group(
        SlotSharingGroup("big")
    ).sink_to(Parquet("/out")).name("out")
    compiled = compile_pipeline(env.pipeline())
    assert compiled.job_graph.resource_profiles == (BIG,)
    assert [region.slot_sharing_group for region in compiled.deployment.regions] == [BIG]
    assert "task out    [slot sharing group big: driver 2g, executors with 4 cores and 8g]" in explain_text(
        plan_of(compiled)
    )


@pytest.mark.parametrize(
    ("group", "found", "allowed"),
    [
        (
            SlotSharingGroup("g", driver_memory="2gb"),
            "driver_memory is '2gb'",
            "a whole number and k, m, g or t, such as '2g' or '1536m'",
        ),
        (
            SlotSharingGroup("g", executor_memory="449m"),
            "executor_memory is '449m'",
            "at least 450m: Spark itself needs 300m",
        ),
        (SlotSharingGroup("g", executor_cores=0), "executor_cores is 0", "a whole number from 1, or unset"),
        (SlotSharingGroup("g", driver_cores=True), "driver_cores is True", "a whole number from 1, or unset"),
        (
            SlotSharingGroup("g", conf={"executor.memory": "2g"}),
            "conf has 'executor.memory'",
            "names that begin with 'spark.': spark-submit drops others",
        ),
        (
            SlotSharingGroup("g", conf={"spark.executor.instances": 2}),
            "conf has 'spark.executor.instances'",
            "executor_instances=…, a setting of the group",
        ),
        (
            SlotSharingGroup("g", conf={"spark.master": "local"}),
            "conf has 'spark.master'",
            "conn_id=… or option airflow.conn-id: the Airflow connection has the master",
        ),
    ],
)
def test_groups_that_spark_cannot_start_are_refused(
    group: SlotSharingGroup, found: str, allowed: str, env: Environment
) -> None:
    rows = env.from_source(Csv("/in"), "in").slot_sharing_group(group)
    rows.sink_to(Parquet("/out")).slot_sharing_group(group)
    assert refusals(env) == [f"in: in its slot sharing group 'g' {found}\n  allowed: {allowed}"]


@pytest.mark.parametrize(
    ("least", "preferred", "words"),
    [
        (
            ResourceSpec(cpu_cores=-1, memory="2"),
            None,
            "of its resources cpu_cores is -1 and memory is '2'\n  allowed: counts from 0, and memory as a whole "
            "number and k, m, g or t, such as '2g' or '1536m'",
        ),
        (
            TWO,
            ONE,
            "it needs at least 2 cores and 4g, but prefers 1 core and 2g\n"
            "  allowed: preferred resources of at least the minimum",
        ),
        (None, ONE, "its minimum resources are unknown, the others are 1 core and 2g\n  allowed: both, or neither"),
    ],
)
def test_contradicting_resources_are_refused(
    least: ResourceSpec | None, preferred: ResourceSpec | None, words: str, env: Environment
) -> None:
    rows = env.from_source(Csv("/in"), "in").set_resources(least, preferred)  # type: ignore[arg-type]
    rows.sink_to(Parquet("/out"))
    assert refusals(env) == [f"in: {words}"]


def test_the_graph_documents_show_needed_and_given_resources(env: Environment) -> None:
    env.from_source(Csv("/in"), "in").slot_sharing_group(BIG).set_resources(ONE).sink_to(Parquet("/out"))
    compiled = compile_pipeline(env.pipeline())
    nodes: list[dict[str, object]]
    nodes = stream_graph_json(compiled.stream_graph, compiled.options)["nodes"]  # type: ignore[assignment]
    needs = {"type": "ResourceSpec", "cpu_cores": 1, "memory": "2g", "off_heap_memory": "0m", "extended_resources": {}}
    assert [(node["min_resources"], node["preferred_resources"]) for node in nodes] == [(needs, needs), (None, None)]
    job = job_graph_json(compiled.job_graph)
    assert job["vertices"][0]["min_resources"] is None  # type: ignore[call-overload, index]
    assert job["resource_profiles"] == {
        "big": {"spark.driver.memory": "2g", "spark.executor.memory": "8g", "spark.executor.cores": "4"}
    }


def test_groups_are_listed_in_the_order_of_the_declaration(env: StreamExecutionEnvironment) -> None:
    first, second = env.from_source(Csv("/a"), "a"), env.from_source(Csv("/b"), "b")
    one, other = SlotSharingGroup("one", driver_memory="2g"), SlotSharingGroup("other", driver_memory="3g")
    second.filter("x").slot_sharing_group(one).sink_to(Parquet("/one")).name("one")
    first.filter("x").slot_sharing_group(other).sink_to(Parquet("/other")).name("other")
    graph = compile_pipeline(env.pipeline()).job_graph
    assert [vertex.slot_sharing_group for vertex in graph.vertices[-2:]] == [other, one]
    assert graph.resource_profiles == (one, other)


@pytest.mark.parametrize("group", ["", SlotSharingGroup("")])
def test_a_group_without_a_name_is_that_of_the_inputs(
    env: StreamExecutionEnvironment, group: str | SlotSharingGroup
) -> None:
    env.from_source(Csv("/in"), "in").slot_sharing_group(BIG).filter("x").slot_sharing_group(group).sink_to(
        Parquet("/out")
    )
    (vertex,) = compile_pipeline(env.pipeline()).job_graph.vertices
    assert vertex.slot_sharing_group == BIG
