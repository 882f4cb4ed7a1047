"""The previous version of a target: a region of its own, in the task of its reader, staged in every mode."""

import pytest

from graph_compiler import Csv, DataStream, InvalidPipelineError, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.operators import Backfill, PreviousVersion
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.explain.diff.plan_diff import plan_diff
from graph_compiler.explain.diff.plan_diff_text import diff_text
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.graphs.job_graph import ResultPartitionType
from graph_compiler.graphs.stream_graph import StagingReason
from tests.conftest import SHUFFLE_MODES, with_options
from tests.harness.compiled_graphs import summary_of

TOTALS = Parquet("/data/totals")


def previous(env: StreamExecutionEnvironment, name: str = "before", **declared: str) -> DataStream:
    return env.from_target(TOTALS, name, schema="k STRING, total BIGINT", **declared)  # type: ignore[arg-type]  # by name


def running_total(**declared: str) -> Pipeline:
    env = StreamExecutionEnvironment("p")
    new = env.from_source(Csv("/in", schema="k STRING, total BIGINT"), "new")
    previous(env, **declared).union(new).key_by("k").aggregate(total="sum(total)").sink_to(TOTALS).name("out")
    return env.pipeline()


def tasks(compiled: CompiledPipeline) -> dict[str, tuple[str, ...]]:
    return {task.id: tuple(task.region_ids) for task in compiled.deployment.tasks}


@pytest.mark.parametrize("mode", SHUFFLE_MODES)
def test_it_is_staged_in_every_mode(mode: str) -> None:
    compiled = compile_pipeline(with_options(running_total(), shuffle_mode=mode))
    (edge,) = (edge for edge in compiled.job_graph.edges if edge.staging and "before" in edge.staging.explanation)
    assert edge.result_type is ResultPartitionType.BLOCKING
    assert edge.staging is not None
    assert edge.staging.reason is StagingReason.PREVIOUS_VERSION
    if mode != "ALL_EXCHANGES_BLOCKING":
        assert tasks(compiled) == {"out": ("before", "out")}


def test_it_needs_no_application_of_its_own_beside_another_task() -> None:
    env = StreamExecutionEnvironment("p")
    new = env.from_source(Csv("/in"), "new").filter("total > 0").name("clean").stage("read by hand")
    previous(env).union(new).key_by("k").aggregate(total="sum(total)").sink_to(TOTALS).name("out")
    assert tasks(compile_pipeline(env.pipeline())) == {"clean": ("clean",), "out": ("before", "out")}


def test_of_two_readers_in_two_tasks_it_is_in_the_first() -> None:
    env = StreamExecutionEnvironment("p")
    before = previous(env)
    before.filter("total > 9").set_parallelism(1).name("large").stage("checked by hand").sink_to(
        Parquet("/out/large")
    ).name("report")
    before.key_by("k").aggregate(total="sum(total)").name("sums").sink_to(TOTALS).name("out")
    found = tasks(compile_pipeline(env.pipeline()))
    assert len(found) == 2
    assert any({"before", "large"} <= set(regions) for regions in found.values())


@pytest.mark.parametrize("asked", ["stage", "stage in the same task", "expensive"])
def test_what_else_asks_for_staging_keeps_its_reason(asked: str) -> None:
    env = StreamExecutionEnvironment("p")
    before = previous(env)
    if asked == "expensive":
        before.expensive()
    else:
        before = before.stage("mine", same_task=asked != "stage")
    before.key_by("k").aggregate(total="sum(total)").sink_to(TOTALS).name("out")
    compiled = compile_pipeline(with_options(env.pipeline(), shuffle_mode="ALL_EXCHANGES_PIPELINED"))
    assert [edge.staging is not None for edge in compiled.job_graph.edges] == [True]


def test_the_connector_reads_the_declared_columns_and_fails_for_other_values() -> None:
    of_csv = PreviousVersion.of(Csv("/t", header=False), "a INT", Backfill.REFUSE)
    assert of_csv.connector == Csv("/t", header=False, schema="a INT", on_schema_change="ignore", on_misfit="fail")
    assert of_csv.target == Csv("/t", header=False)
    assert of_csv.master_hooks() == ()


def test_the_backfill_is_compared_but_changes_no_fingerprint() -> None:
    one, other = (describe_pipeline(compile_pipeline(running_total(backfill=each))) for each in Backfill)
    results = [[result.fingerprint for region in each.regions for result in region.results] for each in (one, other)]
    assert results[0] == results[1]
    diff = plan_diff(*(summary_of(compile_pipeline(running_total(backfill=each))) for each in Backfill))
    assert "backfill" in diff_text(diff)


@pytest.mark.parametrize(
    "path", ["/t/{{ ds }}", "/t/{{ params.a }}/{{ data_interval_start | ds }}", "/t/{% if ti %}a{% endif %}"]
)
def test_a_target_of_each_run_has_no_previous_version(path: str) -> None:
    env = StreamExecutionEnvironment("p", params={"a": "x"})
    env.from_target(Parquet(path), "before", schema="a INT").filter("a > 1").sink_to(Parquet(path))
    with pytest.raises(InvalidPipelineError, match="there is no previous version"):
        compile_pipeline(env.pipeline())


@pytest.mark.parametrize("path", ["/t/{{ params.ds }}", "/t/{{ params.a }}", "/tds/run_id"])
def test_a_target_may_depend_on_parameters(path: str) -> None:
    env = StreamExecutionEnvironment("p", params={"a": "x", "ds": "y"})
    env.from_target(Parquet(path), "before", schema="a INT").filter("a > 1").sink_to(Parquet(f"{path}/"))
    compile_pipeline(env.pipeline())
