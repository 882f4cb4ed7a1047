"""Run one region: evaluate its operators, stage its results, publish its sinks.

check inputs and targets ─▶ start coordinators ─▶
read gates ─▶ one DataFrame expression ─▶ stage results in order
                                      └─▶ prepare every sink, then publish every sink
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.declaration.coordination import EventOutput, RegionEventKind
from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor, StagedInput, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.manifest import ContractCount, Manifest, StagedRead
from graph_compiler.deployment.documents.position import ReadIncrement
from graph_compiler.deployment.documents.report import (
    OperatorSchema,
    Output,
    Phase,
    RecomputedResult,
    SourceFiles,
    UncomparedRead,
)
from graph_compiler.errors import StagingError
from graph_compiler.spark_runtime.connectors import SinkContext
from graph_compiler.spark_runtime.connectors.databases.snapshots import Pin, as_it_is, shared_snapshots
from graph_compiler.spark_runtime.operators.contracts import Contract, check_contracts
from graph_compiler.spark_runtime.positions.increments import Increments
from graph_compiler.spark_runtime.region.coordination import initialize_on_master, make_coordinators
from graph_compiler.spark_runtime.region.previous_version import PreviousVersions, how_to_read_again
from graph_compiler.spark_runtime.region.region_evaluation import RegionEvaluation, schema_of
from graph_compiler.spark_runtime.region.region_failover import RegionFailover
from graph_compiler.spark_runtime.region.region_run import FixedRows, RegionRun
from graph_compiler.spark_runtime.region.seams import PRODUCTION, Seams
from graph_compiler.spark_runtime.region_metrics import RegionMetrics
from graph_compiler.spark_runtime.repeatability.run_clock import run_clock
from graph_compiler.spark_runtime.results.staging_area import StagingArea
from graph_compiler.staging.attempts.attempts import is_superseded
from graph_compiler.staging.attempts.run_marker import same_root
from graph_compiler.staging.publications.previous_versions import oldest, run_date_of
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.store.staging_store import StagingStore


class SupersededError(StagingError):
    """A later attempt at the same region has started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionResult:
    """The outputs of a region."""

    outputs: tuple[Output, ...]
    contracts: tuple[ContractCount, ...]
    reads: tuple[StagedRead, ...]
    recomputed: tuple[RecomputedResult, ...]
    sources: tuple[SourceFiles, ...]
    uncompared: tuple[UncomparedRead, ...]
    schemas: tuple[OperatorSchema, ...]
    increments: tuple[ReadIncrement, ...] = ()


def run_region(
    task: TaskDeploymentDescriptor,
    spark: SparkSession,
    store: StagingStore,
    metrics: RegionMetrics,
    seams: Seams = PRODUCTION,
) -> RegionResult:
    """Run everything; return what was staged, published and counted by contracts; `metrics` collects the measurements.

    Raises InitializeOnMasterError before any data moves, OperatorFailedError after. A failure before the last sink is
    prepared leaves every target unchanged.
    """
    with shared_snapshots(spark) as pin:
        return _run(task, spark, store, metrics, seams, pin if seams.pins else as_it_is)


def _run(
    task: TaskDeploymentDescriptor,
    spark: SparkSession,
    store: StagingStore,
    metrics: RegionMetrics,
    seams: Seams,
    pin: Pin,
) -> RegionResult:
    region, attempt = task.region, task.attempt
    layout = task.layout
    contracts: list[Contract] = []
    area = StagingArea(
        spark=spark,
        log=ManifestLog(store=store, layout=layout),
        attempt=attempt,
        plan_id=region.plan_id,
        parameters=dict(task.parameters),
        contracts=partial(check_contracts, contracts, spark, is_repeated=metrics.has_repeated_stages),
    ).beginning(*(result.id for result in region.results))
    context = SinkContext(
        spark=spark,
        store=store,
        layout=layout,
        plan_id=region.plan_id,
        region_id=region.region_id,
        execution_id=attempt.execution_id,
        run_date=run_date_of(task),
        batch=seams.batch,
        restored=seams.restored,
        is_same_root=same_root(store, layout),
        check_turn=seams.check_turn,
        previous=lambda: oldest([*versions.found, *failover.previous()]),
        reads_again=partial(how_to_read_again, task, store),
    )
    versions = PreviousVersions(
        task=task,
        area=area,
        context=context,
        read_files=lambda connector, splits: seams.read_source(connector, spark, splits),
    )
    increments = Increments.of(task, spark, store, is_given=not seams.pins)
    failover = RegionFailover(
        task=task, area=area, read_source=seams.read_source, pin=pin, versions=versions, increments=increments
    )
    area = replace(area, inputs=lambda: tuple(failover.reads), previous=context.previous)
    fixed = FixedRows(area, metrics, are_read_later=not seams.writes_sinks)
    evaluation = RegionEvaluation(
        region=region,
        spark=spark,
        parameters=dict(task.parameters),
        read_source=lambda connector, splits: seams.read_source(connector, spark, splits),
        read_previous=seams.read_previous or versions.read,
        read_staged=partial(_read_staged, failover, metrics),
        materialize=fixed.fix,
        stop_clock=run_clock(store, task, spark, seams.now).stop_for,
        on_output=metrics.mark,
        pin=pin,
        increment=partial(increments.pin, region),
        observed=seams.observed,
        contracts=contracts,
        outputs={(node_id, None): rows for node_id, rows in seams.given.items()},
    )

    def check(_: Manifest) -> None:
        evaluation.check_sources()
        versions.check()

    area = replace(area, check=check)
    run = RegionRun(area=area, metrics=metrics, evaluation=evaluation)

    initialize_on_master(region.vertices, spark, run.running)
    coordinators = make_coordinators(region.vertices, context, run.running, seams.open_sink)
    operators = evaluation.graph.operators.values()
    outputs: list[Output] = []
    with evaluation.forgetting_cached(), coordinators.attempt(attempt.attempt_number):
        # After everything that was begun here, so that a later execution finds it, or takes the same numbers.
        _check_current(task, store)
        increments.obtain(region, run.running)  # before snapshots of databases are taken
        for operator in operators:
            if not isinstance(operator.operator, Sink) and operator.node_id not in seams.given:
                run.evaluate(operator)
                for staged in run.stage(operator):
                    outputs.append(staged)
                    seams.notify(task, RegionEventKind.COMMITTED, [event_output(staged)], None)
        checked: list[tuple[OperatorDescriptor, DataFrame]] = []
        for sink in operators:
            if isinstance(sink.operator, Sink):
                with run.running(sink):
                    rows = evaluation.rows_into(sink)
                    checked.append((sink, coordinators.committer(sink).check(rows)))
        for sink, rows in checked:
            with run.running(sink, Phase.PREPARE):
                written = coordinators.committer(sink).prepare(rows)
            metrics.committed[sink.node_id, None] = written
        seams.looks(run)
        counts = check_contracts(contracts, spark, is_final=True, is_repeated=metrics.has_repeated_stages)
        evaluation.check_sources()
        failover.check_reads()
        # Before anything is published: Spark is asked, and what it cannot answer then would fail a decided attempt.
        schemas = (*evaluation.source_schemas(), *(schema_of(sink, rows) for sink, rows in checked))
        prepared = [EventOutput(name=sink.name, rows=metrics.committed[sink.node_id, None]) for sink, _ in checked]
        targets = {sink.operator_id: coordinators.committer(sink).target() for sink, _ in checked}
        increments.claim(region, targets)
        outputs.extend(_publish(partial(seams.notify, task), prepared, coordinators.commit))
        increments.done(region, targets)
    fixed.drop_all()
    return RegionResult(
        outputs=tuple(outputs),
        contracts=counts,
        reads=tuple(failover.reads),
        recomputed=tuple(failover.recomputed),
        sources=evaluation.source_files(),
        uncompared=tuple(evaluation.uncompared),
        schemas=schemas,
        increments=tuple(increments.read.values()),
    )


def _publish(
    notify: Callable[[RegionEventKind, Iterable[EventOutput], str | None], None],
    prepared: Sequence[EventOutput],
    commit: Callable[[], Iterable[Output]],
) -> Sequence[Output]:
    """Commit, and report to listeners that sinks are about to be published, and that they are, if there are any."""
    if prepared:
        notify(RegionEventKind.PUBLISHING, prepared, None)
    published = tuple(commit())
    if prepared:
        notify(RegionEventKind.PUBLISHED, map(event_output, published), None)
    return published


def event_output(output: Output) -> EventOutput:
    """Return an output as listeners get it."""
    return EventOutput(name=output.name, location=output.location, rows=output.rows)


def _check_current(task: TaskDeploymentDescriptor, store: StagingStore) -> None:
    """Raise SupersededError if a later attempt at the region has started: then this one hung, and must not commit."""
    region_id, execution_id = task.region.region_id, task.attempt.execution_id
    if is_superseded(store, task.layout, region_id, execution_id):
        raise SupersededError(f"a later attempt at '{region_id}' has begun; execution {execution_id} commits nothing")


def _read_staged(
    failover: RegionFailover, metrics: RegionMetrics, staged: StagedInput, partitions: int | None
) -> DataFrame:
    manifest, rows = failover.read(staged, partitions)
    metrics.staged[staged.id] = manifest.rows
    return rows
