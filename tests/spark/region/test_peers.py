"""The benchmark's pipeline, declared twice, against the job written by hand: same rows, same executed plans."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from benchmarks.peers import declared_pipeline, pipeline_of_functions, readers_pipeline, single_app, steps
from benchmarks.peers.applications import APART, EVERY_EXCHANGE, ONE_TASK_A_REGION, SAME_TASK
from benchmarks.peers.check import RIGHT
from benchmarks.peers.declared_pipeline import Cuts
from benchmarks.peers.gen_data import generate
from graph_compiler import StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.documents.report import ExecutionReport
from tests.conftest import with_options
from tests.harness.executed_plans import ExecutedPlan, executed_plans, executions
from tests.harness.reference import assert_same_rows, published
from tests.spark.conftest import RunPipeline

pytestmark = [pytest.mark.spark, pytest.mark.ci]
SINKS = tuple(RIGHT[4_000_000])

OURS = {"functions": pipeline_of_functions.env, "declared": declared_pipeline.env}
JOINS = {"broadcast joins": "10MB", "sort-merge joins": "-1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ByHand:
    """The output of the hand-written job."""

    data: Path
    out: Path
    plans: dict[str, ExecutedPlan]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("peers")
    generate(20_000, folder)
    return folder


@pytest.fixture(scope="module", params=JOINS.values(), ids=list(JOINS))
def by_hand(
    request: pytest.FixtureRequest, spark: SparkSession, data: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ByHand]:
    settings = {
        "spark.sql.autoBroadcastJoinThreshold": request.param,
        # what a node says of itself must not be cut short
        "spark.sql.maxMetadataStringLength": "10000",
        "spark.sql.debug.maxToStringFields": "1000",
    }
    before = executions(spark)
    out = tmp_path_factory.mktemp("by_hand")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "DATA", str(data))
        for key, value in settings.items():
            spark.conf.set(key, value)
        single_app.run(spark, str(out))
        yield ByHand(data=data, out=out, plans=_by_sink(executed_plans(spark, before)))
    for key in settings:
        spark.conf.unset(key)


@pytest.mark.parametrize("env", OURS.values(), ids=OURS.keys())
def test_the_fused_pipeline_equals_the_handwritten_job_in_rows_and_plans(
    env: StreamExecutionEnvironment, by_hand: ByHand, spark: SparkSession, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    before = executions(spark)
    reports = run_pipeline(env.pipeline(), {"input": str(by_hand.data), "output": str(tmp_path)})
    assert [report.failure for report in reports] == [None]
    for sink in SINKS:
        assert_same_rows(published(tmp_path / sink), published(by_hand.out / sink))
    assert _by_sink(executed_plans(spark, before)) == by_hand.plans


@pytest.mark.long  # test_cuts_change_nothing has less to do for the same
@pytest.mark.parametrize("env", OURS.values(), ids=OURS.keys())
def test_the_fully_staged_pipeline_equals_the_handwritten_job_in_rows(
    env: StreamExecutionEnvironment, by_hand: ByHand, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    pipeline = with_options(env.pipeline(), shuffle_mode="ALL_EXCHANGES_BLOCKING")
    reports = run_pipeline(pipeline, {"input": str(by_hand.data), "output": str(tmp_path)})
    assert len(reports) > 1
    assert [report.failure for report in reports] == [None] * len(reports)
    for sink in SINKS:
        assert_same_rows(published(tmp_path / sink), published(by_hand.out / sink))


@dataclass(frozen=True, slots=True)
class Work:
    """What a pipeline has Spark do, which does not depend on the machine."""

    scans_of_orders: int
    exchanges: int
    read: int
    staged: int


def work(plans: Iterable[ExecutedPlan], reports: Sequence[ExecutionReport]) -> Work:
    every = list(plans)
    return Work(
        scans_of_orders=sum("/orders" in scan for plan in every for scan in plan.of_kind("FileScan")),
        exchanges=sum(len(plan.of_kind("Exchange")) for plan in every),
        read=sum(action.input_bytes for report in reports for action in report.actions),
        staged=sum(output.bytes for report in reports for output in report.outputs if output.kind == "staged"),
    )


@pytest.mark.parametrize("by_hand", ["10MB"], indirect=True)
def test_staging_at_the_fan_outs_computes_each_step_once(
    by_hand: ByHand, spark: SparkSession, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    found: dict[str, Work] = {}
    for name, cuts in {"fused": Cuts(), "staged": SAME_TASK}.items():
        before = executions(spark)
        params = {"input": str(by_hand.data), "output": str(tmp_path / name)}
        reports = run_pipeline(declared_pipeline.declare(cuts).pipeline(), params)
        assert [report.failure for report in reports] == [None] * len(reports)
        found[name] = work(executed_plans(spark, before).values(), reports)
    fused, staged = found["fused"], found["staged"]
    assert (fused.scans_of_orders, staged.scans_of_orders) == (3, 1)
    assert (fused.exchanges, staged.exchanges) == (5, 4)
    assert staged.read < fused.read / 2
    sources = sum(file.stat().st_size for file in by_hand.data.rglob("*.parquet"))
    assert 0 < staged.staged < sources


@pytest.mark.parametrize(
    ("env", "options", "applications"),
    [
        (declared_pipeline.declare(Cuts()), {}, 1),
        (declared_pipeline.declare(SAME_TASK), {}, 1),
        (declared_pipeline.declare(APART), {}, 4),
        (declared_pipeline.declare(Cuts()), EVERY_EXCHANGE, 9),
        (readers_pipeline.declare(6, APART), {}, 2),
        (readers_pipeline.declare(6, APART), ONE_TASK_A_REGION, 7),
        (readers_pipeline.declare(6, SAME_TASK), {}, 1),
    ],
)
def test_how_many_applications_each_way_starts(
    env: StreamExecutionEnvironment, options: dict[str, str], applications: int
) -> None:
    pipeline = replace(env.pipeline(), config=tuple(options.items()))
    assert len(compile_pipeline(pipeline).deployment.tasks) == applications


@pytest.mark.parametrize("by_hand", ["10MB"], indirect=True)
def test_the_compared_plans_are_complete(by_hand: ByHand) -> None:
    stats = by_hand.plans["sink_customer_stats"]
    assert stats.of_kind("Exchange") == [
        "Exchange hashpartitioning(customer_id, country, segment, 4), ENSURE_REQUIREMENTS",
        "Exchange hashpartitioning(customer_id, country, segment, category, 4), ENSURE_REQUIREMENTS",
    ]
    assert len(stats.of_kind("HashAggregate")) == 4
    assert len(stats.of_kind("BroadcastHashJoin")) == 2
    filters = [re.findall(r"PushedFilters: \[(.*?)\], ReadSchema", scan)[0] for scan in stats.of_kind("FileScan")]
    assert filters == [
        "IsNotNull(active), IsNotNull(country), EqualTo(active,true), Not(EqualTo(country,)), IsNotNull(customer_id)",
        "IsNotNull(quantity), In(status, [paid,shipped]), GreaterThan(quantity,0), "
        "IsNotNull(customer_id), IsNotNull(product_id)",
        "IsNotNull(list_price_cents), GreaterThan(list_price_cents,0), IsNotNull(product_id)",
    ]
    top = by_hand.plans["sink_top_products"]
    assert len(top.of_kind("TakeOrderedAndProject")) == 1
    assert len(top.of_kind("Exchange")) == 2


def _by_sink(plans: dict[str, ExecutedPlan]) -> dict[str, ExecutedPlan]:
    """Name plans by sink; graph_compiler writes beside the target, `.sink.graph_compiler/…`."""
    return {sink: plan for sink in SINKS for path, plan in plans.items() if sink in path}
