"""Which sources the regions of a task read again, instead of a copy that one of them stages."""

import pytest

from graph_compiler import Csv, DataStream, Files, Jdbc, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.connectors import Connector
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.plans.subplans import only_up_to
from graph_compiler.explain.plan.plan_writer import failure_costs, plan_of
from graph_compiler.explain.text.plan_text import explain_text
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.graphs.stream_graph import StagingReason
from graph_compiler.identifiers import RegionId

CUSTOMERS = Parquet("/in/customers")


def declare(env: StreamExecutionEnvironment, customers: DataStream, *, same_task: bool = True) -> DataStream:
    """Join customers with orders, stage that, and join its sums with the same customers."""
    orders = env.from_source(Csv("/in/orders.csv"), "orders")
    spent = customers.join(orders, on="x").name("spent").stage("dear", same_task=same_task)
    sums = spent.key_by("x").aggregate(n="count(*)").name("sums")
    customers.join(sums, on="x").name("best").sink_to(Parquet("/out/best")).name("best_out")
    return spent


def compiled(env: StreamExecutionEnvironment) -> CompiledPipeline:
    return compile_pipeline(env.pipeline())


def staged(found: CompiledPipeline) -> dict[str, StagingReason]:
    """Return the staged outputs, each with the reason."""
    name = {node.id: node.declared_name for node in found.stream_graph.nodes}
    return {
        name[edge.stream_edge.source_id]: edge.staging.reason
        for edge in found.job_graph.edges
        if edge.staging is not None
    }


@pytest.mark.parametrize("format", ["delta", "Iceberg", "hudi"])
def test_a_table_as_files_is_staged_since_each_action_resolves_its_files(
    env: StreamExecutionEnvironment, format: str
) -> None:
    declare(env, env.from_source(Files("/in/customers", format=format), "customers"))
    assert staged(compiled(env)) == {"customers": StagingReason.WOULD_CYCLE, "spent": StagingReason.DECLARED_IN_TASK}


@pytest.mark.parametrize("connector", [CUSTOMERS, Csv("/in/customers.csv")])
def test_a_source_of_files_is_read_again_by_the_second_region(
    env: StreamExecutionEnvironment, connector: Connector
) -> None:
    declare(env, env.from_source(connector, "customers"))
    found = compiled(env)
    assert [task.region_ids for task in found.deployment.tasks] == [("spent", "best_out")]
    assert staged(found) == {"spent": StagingReason.DECLARED_IN_TASK}
    (again,) = [edge for edge in found.job_graph.edges if edge.reads_source_again]
    assert found.deployment.crosses_regions(again)
    assert again.result_type.is_blocking


def test_both_regions_describe_the_source_and_nothing_is_staged_for_it(env: StreamExecutionEnvironment) -> None:
    declare(env, env.from_source(CUSTOMERS, "customers"))
    first, second = describe_regions(compiled(env))
    assert [result.node_id for result in first.results] == [
        operator.node_id for operator in first.operators if operator.name == "spent"
    ]
    assert [operator.name for operator in second.operators].count("customers") == 1
    assert second.vertices[0].name == "customers"
    (best,) = [operator for operator in second.operators if operator.name == "best"]
    assert [edge.staged is None for edge in best.inputs] == [True, True]


def test_a_source_that_is_not_listed_once_is_copied(env: StreamExecutionEnvironment) -> None:
    declare(env, env.from_source(Jdbc("jdbc:postgresql://db/shop", table="customers"), "customers"))
    assert staged(compiled(env))["customers"] is StagingReason.WOULD_CYCLE


def test_what_is_computed_of_a_source_is_copied(env: StreamExecutionEnvironment) -> None:
    declare(env, env.from_source(CUSTOMERS, "customers").filter("x > 0").name("old"))
    assert staged(compiled(env))["old"] is StagingReason.WOULD_CYCLE


def test_a_source_is_copied_for_another_task(env: StreamExecutionEnvironment) -> None:
    declare(env, env.from_source(CUSTOMERS, "customers"), same_task=False)
    found = compiled(env)
    assert len(found.deployment.tasks) == 2
    assert staged(found)["customers"] is StagingReason.WOULD_CYCLE


def test_a_failure_repeats_the_source_and_the_plan_says_so(env: StreamExecutionEnvironment) -> None:
    declare(env, env.from_source(CUSTOMERS, "customers"))
    found = compiled(env)
    cost = failure_costs(found)[RegionId("best_out")]
    assert cost.repeated == ("customers", "sums", "best", "best_out")
    assert (cost.reread, cost.spared) == (("spent",), 2)
    text = explain_text(plan_of(found))
    assert "read again, from the files that were listed for region spent" in text


def test_the_part_up_to_the_source_is_one_region(env: StreamExecutionEnvironment) -> None:
    declare(env, env.from_source(CUSTOMERS, "customers"))
    regions = describe_regions(compiled(env))
    node_id = next(one.node_id for one in regions[0].operators if one.name == "customers")
    (part,) = only_up_to(regions, node_id)
    assert part.region_id == "spent"
