"""The plan of a pipeline: what the view has of it (`--update-golden` rewrites it), invariants, and reading it back."""

import json
from pathlib import Path

import pytest
from hypothesis import given

from graph_compiler import Csv, Jdbc, Parquet, Secret, SlotSharingGroup, StreamExecutionEnvironment, Values
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.deployment.documents.wire import Json
from graph_compiler.errors import DescriptorError
from graph_compiler.explain.documents.plain_json import plain_json
from graph_compiler.explain.plan.plan import Plan, PlanDocument
from graph_compiler.explain.plan.plan_writer import plan_of
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from pipelines.flights import env as flights
from tests.conftest import SHUFFLE_MODES, with_options
from tests.properties.strategies import Step, plans
from tests.properties.test_invariants import MODES
from tests.properties.test_invariants import compiled as compile_steps

MODE = "execution.batch-shuffle-mode"
GOLDEN = Path(__file__).parents[1] / "golden" / "view_plans"


def deployed(compiled: CompiledPipeline) -> Plan:
    return plan_of(compiled, describe_pipeline(compiled))


@pytest.mark.parametrize("mode", SHUFFLE_MODES)
def test_the_document_is_the_golden_one(mode: str, request: pytest.FixtureRequest) -> None:
    file = GOLDEN / f"flights.{mode}.json"
    plan = deployed(compile_pipeline(with_options(flights.pipeline(), shuffle_mode=mode)))
    # What Spark is installed decides the plan id, too.
    document = {**_object(plan), "plan_id": "of the Spark that is installed"}
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    if request.config.getoption("--update-golden"):
        file.write_text(text)
    assert file.read_text() == text


@given(plans(), MODES)
def test_every_operator_is_in_one_vertex_and_every_vertex_in_one_region(steps: tuple[Step, ...], mode: str) -> None:
    plan = deployed(compile_steps(steps, mode))
    members = [(id, vertex.id) for vertex in plan.vertices for id in vertex.operators]
    assert sorted(members) == sorted((one.id, one.vertex) for one in plan.operators)
    homes = [(id, region.id) for region in plan.regions for id in region.vertices]
    assert sorted(homes) == sorted((one.id, one.region) for one in plan.vertices)
    assert [one.index for one in plan.vertices] == list(range(len(plan.vertices)))


@given(plans(), MODES)
def test_edges_and_their_reasons_are_those_of_the_graphs(steps: tuple[Step, ...], mode: str) -> None:
    compiled = compile_steps(steps, mode)
    plan = deployed(compiled)
    assert [(one.id, one.source, one.target) for one in plan.edges] == [
        (one.id, one.source_id, one.target_id) for one in compiled.job_graph.edges
    ]
    assert {one.id: (one.reason, one.explanation) for one in plan.edges if one.is_staged} == {
        one.id: (one.staging.reason, one.staging.explanation)
        for one in compiled.job_graph.edges
        if one.staging is not None
    }
    chained = {one.id for one in plan.stream_edges if one.is_chained}
    assert chained.isdisjoint(one.id for one in plan.edges)
    assert chained | {one.id for one in plan.edges} == {one.id for one in plan.stream_edges}
    assert all(one.is_chained == (one.why_not_chained is None) for one in plan.stream_edges)


@given(plans(), MODES)
def test_staged_edges_name_the_results_that_regions_stage(steps: tuple[Step, ...], mode: str) -> None:
    compiled = compile_steps(steps, mode)
    told = {result.id for region in describe_pipeline(compiled).regions for result in region.results}
    assert {one.result for one in deployed(compiled).edges if one.is_staged} == told


def test_resources_are_readable_and_files_relative_to_the_project() -> None:
    env = StreamExecutionEnvironment("p")
    big = SlotSharingGroup("big", driver_memory="4g", conf={"spark.sql.shuffle.partitions": 8})
    rows = env.from_source(Csv("/in"), "rows").slot_sharing_group(big)
    rows.sink_to(Parquet("/out")).name("out").slot_sharing_group(big)
    plan = deployed(compile_pipeline(env.pipeline()))
    assert plan.regions[0].resources == ("driver memory 4g", "spark.sql.shuffle.partitions=8")
    assert {str(one.declared_at).rpartition(":")[0] for one in plan.operators} == {"test_view_plan.py"}
    assert {str(one.declared_at).rpartition(":")[0] for one in _flights().operators} == {"pipelines/flights.py"}


def test_a_long_setting_is_shown_in_part() -> None:
    env = StreamExecutionEnvironment("p")
    columns = {f"c{number}": "1" for number in range(30)} | {"c0": "x + " * 200 + "1"}
    env.from_source(Csv("/in"), "rows").with_columns(**columns).name("wide").sink_to(Parquet("/out"))
    wide = next(one for one in deployed(compile_pipeline(env.pipeline())).operators if one.name == "wide")
    assert max(map(len, wide.details)) < 310
    assert wide.details[-1].endswith(" more")
    assert len(wide.details) == 21


def test_rows_and_secrets_of_a_declaration_are_not_shown() -> None:
    env = StreamExecutionEnvironment("p")
    known = env.from_source(Values([("hidden", 1)], "k STRING, v INT"), "known")
    orders = Jdbc("jdbc:postgresql://db/x", table="t", password=Secret("db", "password"))
    env.from_source(orders, "orders").join(known, on="k").sink_to(Parquet("/out"))
    plan = deployed(compile_pipeline(env.pipeline()))
    details = {one.name: one.details for one in plan.operators}
    assert details["known"] == ("connector: Values", "schema: k STRING, v INT", "rows: 1 row")
    assert "password: Secret(db.password)" in details["orders"]


def test_undeployable_pipelines_have_a_plan_without_an_id() -> None:
    env = StreamExecutionEnvironment("p", config={"jobmanager.scheduler": "AdaptiveBatch"})
    env.from_source(Csv("/in"), "rows").rebalance().sink_to(Parquet("/out"))
    plan = plan_of(compile_pipeline(env.pipeline()))
    assert (plan.plan_id, plan.vertices[-1].parallelism) == (None, None)


def _flights() -> Plan:
    return deployed(compile_pipeline(flights.pipeline()))


def _object(plan: Plan) -> dict[str, object]:
    document = plain_json(plan)
    assert isinstance(document, dict)
    return dict(document)


def test_an_edge_shows_why_it_is_staged_or_pipelined() -> None:
    env = StreamExecutionEnvironment("p", config={MODE: "ALL_EXCHANGES_BLOCKING"})
    rows = env.from_source(Csv("/in"), "rows")
    rows.pipelined("a few rows").key_by("k").aggregate(n="count(*)").name("counts").rebalance().sink_to(
        Parquet("/out")
    ).name("out")
    edges = deployed(compile_pipeline(env.pipeline())).edges
    assert {edge.explanation: edge.is_staged for edge in edges} == {
        'because you asked: "a few rows"': False,
        "because execution.batch-shuffle-mode is ALL_EXCHANGES_BLOCKING": True,
    }
    assert all((edge.reason is not None) is edge.is_staged for edge in edges)


@given(plans(), MODES)
def test_a_document_is_read_back(steps: tuple[Step, ...], mode: str) -> None:
    compiled = compile_steps(steps, mode)
    plan = deployed(compiled)
    found = PlanDocument.of(json.loads(json.dumps(plan.document())))
    assert found.view == plain_json(plan)
    assert found.summary() == plan.compared_by
    assert dict(found.tasks()) == {task.id: list(task.region_ids) for task in compiled.deployment.tasks}
    assert found.staged() == {result.id for region in describe_pipeline(compiled).regions for result in region.results}


def test_a_document_of_before_tasks_had_several_regions_is_read() -> None:
    document = json.loads(json.dumps(_flights().document()))
    for region in document["view"]["regions"]:
        del region["task"]
    found = PlanDocument.of(document)
    assert {str(task): [*regions] for task, regions in found.tasks().items()} == {id: [id] for id in _flights().region}
    assert found.summary() == _flights().compared_by


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ([], "version None"),
        ({"version": 2, "view": {}, "compared_by": {}}, "version 2; this program reads version 1"),
        ({"version": 1, "view": {}}, "nothing in it can be drawn"),
        ({"version": 1, "view": [], "compared_by": {}}, "nothing in it can be drawn"),
    ],
)
def test_other_documents_are_refused(document: Json, words: str) -> None:
    with pytest.raises(DescriptorError, match=words):
        PlanDocument.of(document)


def test_what_cannot_be_compared_is_refused_only_when_it_is_compared() -> None:
    found = PlanDocument.of({"version": 1, "view": plain_json(_flights()), "compared_by": {"type": "Later"}})
    assert list(found.tasks()) == ["with_weather", "late_routes"]
    with pytest.raises(DescriptorError, match="found type 'Later'; allowed: \\['PlanSummary'\\]"):
        found.summary()


def test_the_types_that_serialized_dags_name_keep_their_names() -> None:
    compared = json.loads(json.dumps(_flights().document()))["compared_by"]
    named = {compared["type"], *(one["type"] for key in ("operators", "results", "tasks") for one in compared[key])}
    assert named == {"PlanSummary", "OperatorSummary", "ResultSummary", "TaskSummary"}
