"""All regions in one session: the documents of a run under Airflow, and a preview that writes nothing."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from graph_compiler import DataStream, Parquet, StreamExecutionEnvironment, Values
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.local_task import DeskRun, desk_task
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.in_process_run import InProcessRequest, PreviewRequest, Step
from graph_compiler.deployment.documents.report import ExecutionReport, Phase
from graph_compiler.deployment.documents.wire import from_json, from_wire, to_json
from graph_compiler.deployment.plans.subplans import only_up_to, with_open_end
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.graphs.operator_names import find_output
from graph_compiler.spark_runtime.in_process import RegionsProgress, run_regions_of
from graph_compiler.spark_runtime.region.seams import Seams
from graph_compiler.spark_runtime.rehearsal.preview import Previewer
from graph_compiler.staging.attempts.attempts import executions
from graph_compiler.staging.store.local_store import LocalStore

pytestmark = pytest.mark.spark


@pytest.fixture
def rows(env: StreamExecutionEnvironment, tmp_path: Path) -> DataStream:
    """in → cut ─staged─▶ doubled → sink out."""
    values = Values([("a", 1), ("b", 2), ("c", None)], "k STRING, v INT")
    staged = env.from_source(values, "in").filter("true").name("cut").stage("a cut")
    doubled = staged.with_columns(w="2 * v", coin="rand()").name("doubled")
    doubled.sink_to(Parquet(f"{tmp_path}/out")).name("out")
    return doubled


def request(env: StreamExecutionEnvironment, root: Path, preview: PreviewRequest | None = None) -> InProcessRequest:
    regions = describe_regions(compile_pipeline(env.pipeline()))
    if preview is not None:
        regions = with_open_end(only_up_to(regions, preview.node_id), preview.node_id)
    run = DeskRun(day="2013-01-01", params={}, run_id="r", staging_root=str(root))
    tasks = tuple(desk_task(region, run, execution_id=f"e-{root.name}") for region in regions)
    asked = InProcessRequest(tasks=tasks, preview=preview)
    return from_json(InProcessRequest, to_json(asked))


def test_each_region_leaves_the_same_documents_as_its_airflow_task(
    rows: DataStream, spark: SparkSession, tmp_path: Path
) -> None:
    asked = request(rows.environment, tmp_path / "staging")
    progress = tmp_path / "progress.jsonl"
    report = run_regions_of(asked, spark, Seams(on_begin=RegionsProgress(progress).begins))
    assert report.failure is None
    for task in asked.tasks:
        (execution,) = executions(LocalStore(), task.layout, task.region.region_id)
        assert execution.state is ExecutionState.FINISHED
        assert (execution.reason, execution.host is None) == (None, False)
    assert spark.read.parquet(f"{tmp_path}/out").count() == 3
    steps = [from_wire(Step, json.loads(line)) for line in progress.read_text().splitlines()]
    actions = [(step.operator, step.phase) for step in steps if step.phase is not Phase.EVALUATE]
    assert actions == [("cut", Phase.STAGE), ("out", Phase.PREPARE)]


def test_a_failed_region_is_the_last_and_has_its_reason(
    env: StreamExecutionEnvironment, spark: SparkSession, tmp_path: Path
) -> None:
    bad = env.from_source(Values([(0,)], "v INT"), "in").select(w="1 / v").name("divided")
    bad.stage("cut").select("w").name("after").sink_to(Parquet(f"{tmp_path}/out"))
    asked = request(env, tmp_path / "staging")
    report = run_regions_of(asked, spark, Seams())
    assert report.failure is not None
    assert report.failure.operator == "divided"
    first, second = asked.tasks
    (execution,) = executions(LocalStore(), first.layout, first.region.region_id)
    assert execution.state is ExecutionState.FAILED
    assert "DIVIDE_BY_ZERO" in str(execution.reason)
    assert executions(LocalStore(), second.layout, second.region.region_id) == ()


def test_an_attempt_that_is_ended_from_outside_is_canceled(
    rows: DataStream, spark: SparkSession, tmp_path: Path
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    asked = request(rows.environment, tmp_path / "staging")
    with pytest.raises(KeyboardInterrupt):
        run_regions_of(asked, spark, Seams(looks=interrupted))
    (execution,) = executions(LocalStore(), asked.tasks[0].layout, asked.tasks[0].region.region_id)
    assert execution.state is ExecutionState.CANCELED


@pytest.fixture
def looked(rows: DataStream, spark: SparkSession, tmp_path: Path) -> Callable[..., tuple[Previewer, ExecutionReport]]:
    """Run up to an operator, and assert that no sink was written."""

    def run(name: str, *, limit: int = 2, counts: bool = False) -> tuple[Previewer, ExecutionReport]:
        graph = compile_pipeline(rows.environment.pipeline()).stream_graph
        node = find_output(graph, name).node
        preview = PreviewRequest(node_id=node.id, output_tag=None, limit=limit, counts=counts)
        previewer = Previewer(preview)
        asked = request(rows.environment, tmp_path / f"staging-{name}", preview)
        seams = Seams(observed=previewer.observed, looks=previewer.look)
        report = run_regions_of(asked, spark, seams)
        assert report.failure is None
        assert not (tmp_path / "out").exists()
        return previewer, report

    return run


@pytest.mark.parametrize("name", ["doubled", "out"])
def test_the_first_rows_are_shown_with_their_types(
    name: str, looked: Callable[..., tuple[Previewer, ExecutionReport]]
) -> None:
    previewer, report = looked(name)
    assert previewer.preview is not None
    columns = {column.name: column.data_type for column in previewer.preview.columns}
    assert columns == {"k": "STRING", "v": "INT", "w": "INT", "coin": "DOUBLE"}
    assert [json.loads(row)["k"] for row in previewer.preview.rows] == ["a", "b"]
    assert previewer.preview.total is None
    known = [operator.rows_out for vertex in report.vertices for operator in vertex.operators]
    assert set(known) == {None}, "a preview that stops early counts nothing"


def test_rows_are_counted_on_request_and_null_is_shown(
    looked: Callable[..., tuple[Previewer, ExecutionReport]],
) -> None:
    previewer, _ = looked("doubled", limit=20, counts=True)
    assert previewer.preview is not None
    assert previewer.preview.total == 3
    assert {json.loads(row)["w"] for row in previewer.preview.rows} == {2, 4, None}
