"""Run one region: evaluate its operators, stage its results, publish its sinks.

see to inputs and targets ─▶ start coordinators ─▶
read gates ─▶ one DataFrame expression ─▶ stage results as they come up
                                      └─▶ prepare every sink, then publish every sink
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.descriptor import (
    OperatorDescriptor,
    StagedInput,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.manifest import ContractCount, Manifest
from graph_compiler.deployment.report import Output, Phase
from graph_compiler.deployment.staging_layout import StagingLayout
from graph_compiler.spark_runtime.commit_store import CommitStore
from graph_compiler.spark_runtime.connectors import SinkContext, read_source
from graph_compiler.spark_runtime.contracts import Contract, check_contracts
from graph_compiler.spark_runtime.coordination import make_coordinators
from graph_compiler.spark_runtime.failures import OperatorFailedError
from graph_compiler.spark_runtime.master_hooks import initialize_on_master
from graph_compiler.spark_runtime.metrics import RegionMetrics
from graph_compiler.spark_runtime.origins import STAGED, origin
from graph_compiler.spark_runtime.region_evaluation import RegionEvaluation
from graph_compiler.spark_runtime.shared_rows import FixedRows
from graph_compiler.spark_runtime.staging import StagingArea


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionResult:
    """What came out of a region."""

    outputs: tuple[Output, ...]
    contracts: tuple[ContractCount, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """One execution of a region."""

    area: StagingArea
    metrics: RegionMetrics
    evaluation: RegionEvaluation

    @contextmanager
    def running(
        self, operator: OperatorDescriptor, phase: Phase = Phase.EVALUATE
    ) -> Iterator[None]:
        """Measure what is done for an operator, and let its failure point home."""
        try:
            with self.metrics.running(operator, phase):
                yield
        except Exception as cause:
            chain = self.evaluation.graph.chain_of(operator)
            writes = phase is not Phase.EVALUATE
            raise OperatorFailedError(chain, self.evaluation.schemas, writes=writes) from cause

    def run(self, operator: OperatorDescriptor) -> Iterator[Output]:
        """Evaluate one operator, and stage what it gives to other regions."""
        with self.running(operator):
            self.evaluation.run(operator)
        for result in self.evaluation.region.results:
            if result.node_id != operator.node_id:
                continue
            output = (result.node_id, result.output_tag)
            with self.running(operator, Phase.STAGE):
                manifest = self.area.stage(result, self.evaluation.outputs[output])
            self.metrics.committed[output] = manifest.rows
            if self.evaluation.is_shared(output):
                with self.running(operator):
                    rows = self.area.read(manifest, partitions=result.partitions)
                    self.evaluation.replace_by_staged(output, rows)
            yield _staged_output(operator, result.output_tag, manifest)


def run_region(
    task: TaskDeploymentDescriptor, spark: SparkSession, store: CommitStore, metrics: RegionMetrics
) -> RegionResult:
    """Run everything and give what was staged and published, and what contracts counted; `metrics` gathers the rest.

    Raises InitializeOnMasterError before any data moves, OperatorFailedError after. A failure before the last sink is
    prepared leaves every target as it was.
    """
    region, attempt = task.region, task.attempt
    layout = StagingLayout(root=task.staging_root, pipeline=region.pipeline, run_id=attempt.run_id)
    contracts: list[Contract] = []
    area = StagingArea(
        spark=spark,
        store=store,
        layout=layout,
        attempt=attempt,
        plan_id=region.plan_id,
        contracts=partial(check_contracts, contracts, spark),
    )
    context = SinkContext(
        spark=spark, store=store, layout=layout, execution_id=attempt.execution_id
    )
    evaluation = RegionEvaluation(
        region=region,
        spark=spark,
        parameters=dict(task.parameters),
        read_source=lambda connector, parallelism: read_source(connector, spark, parallelism),
        read_staged=partial(_read_staged, area, metrics),
        fix=FixedRows(area, metrics).fix,
        mark=metrics.mark,
        contracts=contracts,
    )
    run = _Run(area=area, metrics=metrics, evaluation=evaluation)

    initialize_on_master(region.vertices, spark, run.running)
    coordinators = make_coordinators(region.vertices, context, run.running)
    operators = evaluation.graph.operators.values()
    outputs: list[Output] = []
    with coordinators.attempt(attempt.attempt_number):
        for operator in operators:
            if not isinstance(operator.operator, Sink):
                outputs.extend(run.run(operator))
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
        counts = area.contracts()
        outputs.extend(coordinators.commit())
    return RegionResult(outputs=tuple(outputs), contracts=counts)


def _read_staged(
    area: StagingArea, metrics: RegionMetrics, staged: StagedInput, partitions: int | None
) -> DataFrame:
    manifest = area.find(staged)
    metrics.staged[staged.id] = manifest.rows
    with origin(area.spark, STAGED, staged.id):  # no operator of this application made them
        return area.read(manifest, partitions=partitions)


def _staged_output(operator: OperatorDescriptor, tag: str | None, manifest: Manifest) -> Output:
    return Output(
        kind="staged",
        name=operator.name if tag is None else f"{operator.name}.{tag}",
        location=manifest.location,
        rows=manifest.rows,
        bytes=manifest.bytes,
    )
