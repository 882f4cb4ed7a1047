"""A staged result that is lost is computed again by whoever needs it (DESIGN D11; Flink's region failover).

    find the producer's descriptor  →  the vertices on the paths to the result  →  run them  →  commit the next epoch

No sinks, no side outputs, no other results of the producer's region. What these vertices read from other tasks may be
lost too: it is found the same way.

Rows computed again may differ from those others have read already. Flink then restarts these others. Here the new copy
is compared with the lost one, by its rows and their checksum, before it is committed; where it may differ, tasks that
have finished from the lost copy must run again. If Airflow can be asked for that, it is, by the task that started this
application; else the new copy is not committed, and the failure has the command.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import partial

from pyspark.sql import DataFrame

from graph_compiler.declaration.connectors.secret import Secret
from graph_compiler.deployment.clear_command import clear_command
from graph_compiler.deployment.descriptor import (
    RegionDescriptor,
    ResultDescriptor,
    StagedInput,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.executions import last_descriptor
from graph_compiler.deployment.finished_readers import (
    FinishedReader,
    differing_readers,
    finished_readers,
)
from graph_compiler.deployment.manifest import Manifest
from graph_compiler.deployment.report import RecomputedResult, StagedRead
from graph_compiler.deployment.values_within import values_within
from graph_compiler.errors import (
    ConsumersMustRerunError,
    PartitionNotFoundError,
    UpstreamMustRerunError,
)
from graph_compiler.identifiers import IntermediateDataSetId, RegionId, listing
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.contracts import Contract, check_contracts
from graph_compiler.spark_runtime.lineage import lineage
from graph_compiler.spark_runtime.metrics import RegionMetrics
from graph_compiler.spark_runtime.origins import STAGED, origin
from graph_compiler.spark_runtime.region_evaluation import RegionEvaluation
from graph_compiler.spark_runtime.region_run import RegionRun
from graph_compiler.spark_runtime.shared_rows import FixedRows
from graph_compiler.spark_runtime.staging import StagingArea


@dataclass(frozen=True, slots=True, kw_only=True)
class LostCopy:
    """A staged result that is lost: what is known of it, and who has finished from which epoch of it."""

    staged: StagedInput
    lost: PartitionNotFoundError
    manifest: Manifest | None
    readers: tuple[FinishedReader, ...]

    def cannot(self, reason: str) -> PartitionNotFoundError:
        """Say why it cannot be computed again by this application."""
        return PartitionNotFoundError(
            f"{self.words}\n  it cannot be computed again here: {reason}\n"
            f"  hint: clear the task '{self.staged.producer}', with its downstream tasks"
        )

    @property
    def words(self) -> str:
        """Say what is lost, in one line."""
        return str(self.lost).splitlines()[0]


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

        Raises PartitionNotFoundError where that cannot be done here, ConsumersMustRerunError where it may not,
        UpstreamMustRerunError where this task has to wait for others first.
        """
        try:
            manifest = self.area.find(staged)
            rows = self._rows(manifest, partitions)
        except PartitionNotFoundError as lost:
            self._recomputing.append(staged.id)
            manifest = self._recompute(self._lost_copy(staged, lost))
            self._recomputing.pop()
            rows = self._rows(manifest, partitions)
        read = StagedRead(result_id=manifest.result_id, epoch=manifest.epoch)
        if read not in self.reads:
            self.reads.append(read)
        return manifest, rows

    def _rows(self, manifest: Manifest, partitions: int | None) -> DataFrame:
        with origin(self.area.spark, STAGED, manifest.result_id):  # no operator here made them
            return self.area.read(manifest, partitions=partitions)

    def _lost_copy(self, staged: StagedInput, lost: PartitionNotFoundError) -> LostCopy:
        log = self.area.log
        readers = finished_readers(log, staged.id, staged.consumers, recomputing=self._recomputing)
        return LostCopy(
            staged=staged,
            lost=lost,
            manifest=log.latest(staged.id),
            readers=tuple(one for one in readers if one.region_id != self.task.region.region_id),
        )

    def _recompute(self, copy: LostCopy) -> Manifest:
        staged, started = copy.staged, time.monotonic()
        area = self.area.beginning(staged.id)
        producer = last_descriptor(self.area.layout, staged.producer)
        if producer is None:
            raise copy.lost
        result = _result(producer, copy)
        part = lineage(producer.region, result)
        self._check_resources(part, copy)
        print(
            f"graph_compiler: {copy.lost}\ngraph_compiler: computing it again, as {staged.producer}"
        )
        contracts, metrics = list[Contract](), RegionMetrics(self.area.spark, part)
        evaluation = self._evaluation(part, producer, contracts, metrics)
        area = replace(
            area,
            contracts=partial(check_contracts, contracts, self.area.spark),
            check=lambda manifest: self._check(
                manifest, copy, evaluation.is_repeatable((result.node_id, result.output_tag))
            ),
        )
        run = RegionRun(area=area, metrics=metrics, evaluation=evaluation)
        operators = list(evaluation.graph.operators.values())
        for operator in operators:
            run.evaluate(operator)
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
                reason=copy.words,
            )
        )
        self._check_upstream(manifest, copy)
        return manifest

    def _evaluation(
        self,
        part: RegionDescriptor,
        producer: TaskDeploymentDescriptor,
        contracts: list[Contract],
        metrics: RegionMetrics,
    ) -> RegionEvaluation:
        spark = self.area.spark
        return RegionEvaluation(
            region=part,
            spark=spark,
            parameters=dict(producer.parameters),
            read_source=lambda connector, parallelism: read_source(connector, spark, parallelism),
            read_staged=lambda staged, partitions: self.read(staged, partitions)[1],
            fix=FixedRows(self.area, metrics).fix,
            mark=metrics.mark,
            contracts=contracts,
        )

    def _check_resources(self, part: RegionDescriptor, copy: LostCopy) -> None:
        """Raise PartitionNotFoundError where the producer has what this application has not."""
        if part.resource_profile != self.task.region.resource_profile:
            raise copy.cannot("that task has other resources than this one")
        own = set(values_within(self.task.region, Secret))
        if lacking := [secret for secret in values_within(part, Secret) if secret not in own]:
            secrets = listing(dict.fromkeys(map(str, lacking)))
            raise copy.cannot(f"that task reads with {secrets}, which this one is not given")

    def _check(self, manifest: Manifest, copy: LostCopy, is_repeatable: bool) -> None:
        """Refuse a new copy that does not go with what is left of the old one."""
        is_same = copy.manifest is not None and manifest.replaces(copy.manifest)
        if not is_repeatable and not is_same:
            raise copy.cannot("its rows would be others: what computes them is not deterministic")
        readers = differing_readers(self.area.log, manifest, copy.readers)
        if readers and not self.task.clears_others:
            raise ConsumersMustRerunError(
                f"{copy.lost}\n  {listing(readers)} finished from the copy that is lost, "
                f"and computed again it {_how_it_differs(manifest)}\n"
                f"  hint: {clear_command(self.task, [copy.staged.producer, *readers])}"
            )

    def _check_upstream(self, manifest: Manifest, copy: LostCopy) -> None:
        """Stop where this task reads, by way of others, from a task that has to run again first."""
        upstream = self._upstream(self.task.region)
        readers = differing_readers(self.area.log, manifest, copy.readers)
        if found := [region_id for region_id in readers if region_id in upstream]:
            raise UpstreamMustRerunError(
                f"{copy.words}\n  computed again it {_how_it_differs(manifest)}; {listing(found)} finished from "
                "the lost copy and must run again before this task"
            )

    def _upstream(self, region: RegionDescriptor) -> frozenset[RegionId]:
        found: set[RegionId] = set()
        waiting = [staged.producer for staged in values_within(region, StagedInput)]
        while waiting:
            region_id = waiting.pop()
            if region_id not in found and (task := last_descriptor(self.area.layout, region_id)):
                found.add(region_id)
                waiting += [staged.producer for staged in values_within(task.region, StagedInput)]
        return frozenset(found)


def _result(producer: TaskDeploymentDescriptor, copy: LostCopy) -> ResultDescriptor:
    """Find the result in its producer; raises PartitionNotFoundError where that was of another version."""
    for result in producer.region.results:
        if (result.id, result.fingerprint) == (copy.staged.id, copy.staged.fingerprint):
            return result
    raise copy.cannot("that task ran another version of this pipeline")


def _how_it_differs(manifest: Manifest) -> str:
    return "may differ: it has no checksum" if manifest.checksum is None else "has other rows"
