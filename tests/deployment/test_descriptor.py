"""A region's descriptor is reduced and changed by its own methods; hooks and coordinators stay with their operators."""

from dataclasses import replace

from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.connectors import Parquet
from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import (
    VERSION,
    ExecutionAttempt,
    RegionDescriptor,
    TaskDeploymentDescriptor,
    VertexDescriptor,
)
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.plans.subplans import redirect
from pipelines.flights import env as flights

REGIONS = describe_regions(compile_pipeline(flights.pipeline()))


def on_driver(vertex: VertexDescriptor) -> set[str]:
    """Return the operators for which the driver has something to do."""
    hooks = {each.operator_id for each in vertex.initialize_on_master}
    return hooks | {each.operator_id for each in vertex.coordinators}


def test_a_region_lists_the_operators_of_all_its_vertices() -> None:
    for region in REGIONS:
        assert list(region.operators) == [o for v in region.vertices for o in v.operators]


def test_a_vertex_keeps_the_hooks_and_coordinators_of_the_operators_it_keeps() -> None:
    for vertex in (vertex for region in REGIONS for vertex in region.vertices):
        ids = {each.node_id for each in vertex.operators}
        assert vertex.only(ids) == vertex
        for operator in vertex.operators:
            alone, rest = vertex.only({operator.node_id}), vertex.only(ids - {operator.node_id})
            assert alone.operators == (operator,)
            assert operator not in rest.operators
            assert on_driver(alone) == on_driver(vertex) & {operator.operator_id}
            assert on_driver(rest) == on_driver(vertex) - {operator.operator_id}


def test_a_reduced_region_keeps_given_operators_and_results_only() -> None:
    region = REGIONS[0]
    head = region.vertices[0]
    cut = region.only({head.operators[0].node_id}, region.results[:1])
    assert cut.operators == (head.operators[0],)
    assert cut.results == region.results[:1]
    assert cut == replace(region, vertices=(head.only({head.operators[0].node_id}),), results=cut.results)


def test_only_the_operators_of_a_region_are_changed() -> None:
    def renamed(region: RegionDescriptor) -> RegionDescriptor:
        return region.changed(lambda operator: replace(operator, name=operator.name.upper()))

    for region in REGIONS:
        upper = renamed(region)
        assert [each.name for each in upper.operators] == [each.name.upper() for each in region.operators]
        before, after = region.vertices, upper.vertices
        assert [replace(v, operators=()) for v in after] == [replace(v, operators=()) for v in before]
        assert region.changed(lambda operator: operator) == region


def test_a_replay_writes_every_sink_below_its_own_folder_and_changes_no_other_operator() -> None:
    for region in REGIONS:
        task = TaskDeploymentDescriptor(
            version=VERSION,
            identity=RunIdentity.own(region.pipeline, "run"),
            region=region,
            attempt=ExecutionAttempt(execution_id="1", attempt_number=0),
            staging_root="/staging",
            parameters=(),
        )
        replayed = redirect(task, "/scratch")
        for before, after in zip(region.operators, replayed.region.operators, strict=True):
            if isinstance(after.operator, Sink):
                folder = f"/scratch/sinks/{before.name}-{before.node_id}"
                assert after == replace(before, operator=Sink(Parquet(folder)))
            else:
                assert after == before
