"""A staged result that is lost is computed again by whoever needs it (DESIGN D11; Flink's region failover).

    find the producer's descriptor  →  the vertices on the paths to the result  →  run them  →  commit the next epoch

No sinks, no side outputs, no other results of the producer's region. What these vertices read from other tasks may be
lost too: it is found the same way.

Rows computed again may differ from those others have read already. Flink then restarts these others; Airflow's finished
tasks only a person, or its API, can clear, so that is said, with the command, before anything is computed.
"""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame

from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.descriptor import (
    RegionDescriptor,
    ResultDescriptor,
    StagedInput,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.executions import RegionExecution, executions, regions_of
from graph_compiler.deployment.manifest import Manifest
from graph_compiler.deployment.report import RecomputedResult, StagedRead
from graph_compiler.errors import ConsumersMustRerunError, PartitionNotFoundError
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import IntermediateDataSetId, RegionId, listing
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.contracts import Contract, check_contracts
from graph_compiler.spark_runtime.metrics import RegionMetrics
from graph_compiler.spark_runtime.origins import STAGED, origin
from graph_compiler.spark_runtime.region_evaluation import RegionEvaluation
from graph_compiler.spark_runtime.region_graph import RegionGraph
from graph_compiler.spark_runtime.region_run import RegionRun
from graph_compiler.spark_runtime.shared_rows import FixedRows
from graph_compiler.spark_runtime.staging import StagingArea


@dataclass(slots=True, kw_only=True)
class RegionFailover:
    """Gives an execution the staged results it reads; `reads` and `recomputed` tell what it gave."""

    task: TaskDeploymentDescriptor
    area: StagingArea
    reads: list[StagedRead] = field(default_factory=list)
    recomputed: list[RecomputedResult] = field(default_factory=list)
    _recomputing: list[IntermediateDataSetId] = field(default_factory=list)

    def read(self, staged: StagedInput, partitions: int | None) -> tuple[Manifest, DataFrame]:
        """Read a staged result, computed anew where it is lost.

        Raises PartitionNotFoundError where that cannot be done here, ConsumersMustRerunError where it may not.
        """
        try:
            manifest = self.area.find(staged)
            rows = self._rows(manifest, partitions)
        except PartitionNotFoundError as lost:
            self._recomputing.append(staged.id)
            manifest = self._recompute(staged, lost)
            self._recomputing.pop()
            rows = self._rows(manifest, partitions)
        read = StagedRead(result_id=manifest.result_id, epoch=manifest.epoch)
        if read not in self.reads:
            self.reads.append(read)
        return manifest, rows

    def _rows(self, manifest: Manifest, partitions: int | None) -> DataFrame:
        with origin(self.area.spark, STAGED, manifest.result_id):  # no operator here made them
            return self.area.read(manifest, partitions=partitions)

    def _recompute(self, staged: StagedInput, lost: PartitionNotFoundError) -> Manifest:
        producer = self._producer(staged, lost)
        result = next(found for found in producer.region.results if found.id == staged.id)
        self._check_readers(staged, lost)
        print(f"graph_compiler: {lost}\ngraph_compiler: computing it again, as {staged.producer}")
        started = time.monotonic()
        run = self._run_of(producer, result)
        operators = list(run.evaluation.graph.operators.values())
        for operator in operators:
            run.evaluate(operator)
        if not run.evaluation.is_repeatable((result.node_id, result.output_tag)):
            raise _not_here(
                lost, staged, "its rows would be others: what computes them is not deterministic"
            )
        for _ in run.stage(operators[-1]):
            pass
        manifest = self.area.find(staged)
        self.recomputed.append(
            RecomputedResult(
                result_id=staged.id,
                producer=staged.producer,
                epoch=manifest.epoch,
                operators=tuple(operator.name for operator in operators),
                rows=manifest.rows,
                seconds=round(time.monotonic() - started, 3),
                reason=str(lost).splitlines()[0],
            )
        )
        return manifest

    def _run_of(self, producer: TaskDeploymentDescriptor, result: ResultDescriptor) -> RegionRun:
        part, spark, contracts = lineage(producer.region, result), self.area.spark, list[Contract]()
        metrics = RegionMetrics(spark, part)
        area = replace(self.area, contracts=partial(check_contracts, contracts, spark))
        evaluation = RegionEvaluation(
            region=part,
            spark=spark,
            parameters=dict(producer.parameters),
            read_source=lambda connector, parallelism: read_source(connector, spark, parallelism),
            read_staged=lambda staged, partitions: self.read(staged, partitions)[1],
            fix=FixedRows(area, metrics).fix,
            mark=metrics.mark,
            contracts=contracts,
        )
        return RegionRun(area=area, metrics=metrics, evaluation=evaluation)

    def _producer(
        self, staged: StagedInput, lost: PartitionNotFoundError
    ) -> TaskDeploymentDescriptor:
        """Give the descriptor of the producer's last execution, if what it describes can be run here."""
        attempts = executions(self._run, staged.producer)
        if not attempts:
            raise lost
        producer = self._descriptor(staged.producer, attempts[-1])
        results = {result.id: result for result in producer.region.results}
        if staged.id not in results or results[staged.id].fingerprint != staged.fingerprint:
            raise _not_here(lost, staged, "that task ran another version of this pipeline")
        if producer.region.resource_profile != self.task.region.resource_profile:
            raise _not_here(lost, staged, "that task has other resources than this one")
        return producer

    def _check_readers(self, staged: StagedInput, lost: PartitionNotFoundError) -> None:
        """Raise ConsumersMustRerunError where other tasks have finished from the copy that is lost."""
        readers = [
            region_id
            for region_id in regions_of(self._run)
            if region_id != self.task.region.region_id and self._must_rerun(region_id, staged)
        ]
        if readers:
            tasks = f"^({'|'.join([staged.producer, *readers])})$"
            pipeline = self.task.region.pipeline
            words = shlex.join(["airflow", "tasks", "clear", "-y", "-t", tasks, pipeline])
            raise ConsumersMustRerunError(
                f"{lost}\n  {listing(readers)} finished from the copy that is lost, and computed again it may differ\n"
                f"  hint: {words}, with the run's dates (-s, -e), and their downstream tasks (-d)"
            )

    def _must_rerun(self, region_id: RegionId, staged: StagedInput) -> bool:
        """Say whether a task has finished from a result, and left more than what is being computed again here."""
        last = executions(self._run, region_id)[-1]
        has_read = last.report is not None and any(
            read.result_id == staged.id for read in last.report.reads
        )
        if not has_read or last.state is not ExecutionState.FINISHED:
            return False
        region = self._descriptor(region_id, last).region
        operators = [one.operator for vertex in region.vertices for one in vertex.operators]
        left = [result for result in region.results if result.id not in self._recomputing]
        return bool(left) or any(isinstance(operator, Sink) for operator in operators)

    def _descriptor(
        self, region_id: RegionId, execution: RegionExecution
    ) -> TaskDeploymentDescriptor:
        path = self.area.layout.descriptor(region_id, execution.execution_id)
        return TaskDeploymentDescriptor.from_json(Path(path).read_text())

    @property
    def _run(self) -> Path:
        return Path(self.area.layout.run)


def lineage(region: RegionDescriptor, result: ResultDescriptor) -> RegionDescriptor:
    """Give the part of a region that computes one of its results: no sinks, no other results."""
    graph = RegionGraph.of(region)
    chain = {operator.node_id for operator in graph.chain_of(graph.operators[result.node_id])}
    vertices = (
        replace(
            vertex,
            operators=tuple(one for one in vertex.operators if one.node_id in chain),
            coordinators=(),
            initialize_on_master=(),
        )
        for vertex in region.vertices
    )
    return replace(
        region, vertices=tuple(vertex for vertex in vertices if vertex.operators), results=(result,)
    )


def _not_here(
    lost: PartitionNotFoundError, staged: StagedInput, reason: str
) -> PartitionNotFoundError:
    return PartitionNotFoundError(
        f"{str(lost).splitlines()[0]}\n  it cannot be computed again here: {reason}\n"
        f"  hint: clear the task '{staged.producer}', with its downstream tasks"
    )
