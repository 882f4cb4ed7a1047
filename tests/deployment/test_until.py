"""The part of a pipeline that one operator needs, and nothing else."""

import pytest

from graph_compiler import StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.deployment.plans.subplans import only_up_to, with_open_end
from graph_compiler.graphs.operator_names import find_output, find_sink
from pipelines.flights import env as flights
from tests.conftest import staged_detour


def kept(env: StreamExecutionEnvironment, node_id: int) -> tuple[RegionDescriptor, ...]:
    return only_up_to(describe_regions(compile_pipeline(env.pipeline())), node_id)


def node(env: StreamExecutionEnvironment, name: str) -> int:
    return find_output(compile_pipeline(env.pipeline()).stream_graph, name).node.id


def names(regions: tuple[RegionDescriptor, ...]) -> dict[str, list[str]]:
    return {region.region_id: [operator.name for operator in region.operators] for region in regions}


def test_only_upstream_operators_are_kept() -> None:
    assert names(kept(flights, node(flights, "lateness"))) == {
        "with_weather": ["flights", "flown", "arrival_is_known", "weather", "with_weather"],
        "late_routes": ["facts", "lateness"],
    }
    assert names(kept(flights, node(flights, "flown"))) == {"with_weather": ["flights", "flown"]}


def test_a_result_without_readers_is_not_staged() -> None:
    (region,) = kept(flights, node(flights, "with_weather"))
    assert region.results == ()
    first, _ = kept(flights, node(flights, "facts"))
    assert len(first.results) == 1


@pytest.mark.parametrize("sink", ["late_routes", "cancelled"])
def test_a_sink_is_kept_alone_with_its_hooks_and_coordinator(sink: str) -> None:
    graph = compile_pipeline(flights.pipeline()).stream_graph
    region = kept(flights, find_sink(graph, sink).id)[-1]
    operators = {each.operator_id: each for each in region.operators}
    assert [each.name for each in operators.values() if not each.operator.output_tags()][-1] == sink
    named = [
        *(each.operator_id for vertex in region.vertices for each in vertex.initialize_on_master),
        *(each.operator_id for vertex in region.vertices for each in vertex.coordinators),
    ]
    assert named
    assert set(named) <= set(operators)


def test_a_sink_with_an_open_end_has_neither_hook_nor_coordinator() -> None:
    graph = compile_pipeline(flights.pipeline()).stream_graph
    sink = find_sink(graph, "late_routes").id
    before = kept(flights, sink)
    after = with_open_end(before, sink)
    assert names(after) == names(before)
    assert after[0] == before[0]
    (last,) = [v for v in after[-1].vertices if any(o.node_id == sink for o in v.operators)]
    assert not isinstance(last.operators[-1].operator, Sink)
    assert (last.initialize_on_master, last.coordinators) == ((), ())
    assert with_open_end(before, node(flights, "lateness")) == before


def test_an_edge_that_is_staged_and_one_that_is_not_are_both_followed() -> None:
    env = staged_detour()
    found = names(kept(env, node(env, "B")))
    assert {name for operators in found.values() for name in operators} == {"a", "A", "C", "B"}
