"""A lost staged result is recomputed by the task that needs it (decision 11; Flink's region failover).

    find the producer's descriptor  →  the vertices on the paths to the result  →  run them  →  commit the next epoch

Sinks, side outputs and other results of the producer's region are not computed. Inputs of these vertices from other
tasks may also be lost: they are handled the same way.

Recomputed rows may differ from those that other tasks have already read. Flink's restart set determines these tasks
(`staging/results/restarts.py`). Before the new copy is committed, it is compared with the lost one, by row count and
checksum; if they may differ, tasks that have finished after reading the lost copy must run again. If the task that
started this application can clear them in Airflow, it does. Otherwise the new copy is not committed, and the failure
message has the command.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import partial

from pyspark.sql import DataFrame

from graph_compiler import program_log
from graph_compiler.declaration.connectors.secret import Secret
from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.documents.descriptor import (
    RegionDescriptor,
    ResultDescriptor,
    StagedInput,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.manifest import Manifest, PreviousRead, StagedRead
from graph_compiler.deployment.documents.report import RecomputedResult
from graph_compiler.deployment.documents.wire import values_within
from graph_compiler.deployment.plans.how_to_clear import how_to_clear
from graph_compiler.errors import ConsumersMustRerunError, PartitionNotFoundError, StagingError, UpstreamMustRerunError
from graph_compiler.identifiers import IntermediateDataSetId, TaskName, listing
from graph_compiler.spark_runtime.connectors.databases.snapshots import Pin, as_it_is
from graph_compiler.spark_runtime.operators.contracts import Contract, check_contracts
from graph_compiler.spark_runtime.positions.increments import Increments
from graph_compiler.spark_runtime.region.previous_version import PreviousVersions
from graph_compiler.spark_runtime.region.region_evaluation import RegionEvaluation
from graph_compiler.spark_runtime.region.region_graph import OperatorGraph
from graph_compiler.spark_runtime.region.region_run import FixedRows, RegionRun
from graph_compiler.spark_runtime.region.seams import ReadSource
from graph_compiler.spark_runtime.region_metrics import RegionMetrics
from graph_compiler.spark_runtime.repeatability.run_clock import run_clock
from graph_compiler.spark_runtime.results.staging_area import StagingArea
from graph_compiler.spark_runtime.spark_internals.origins import STAGED, origin
from graph_compiler.staging.attempts.attempts import last_descriptor, task_names
from graph_compiler.staging.publications.previous_versions import oldest
from graph_compiler.staging.results.manifest_log import DamagedResult, record_damage
from graph_compiler.staging.results.restarts import RestartSet, restarts

LOG = program_log.logger(__name__)

_NOT_DETERMINISTIC = "recomputing it could return different rows: its operators are not deterministic"


class StaleReadError(StagingError):
    """What an execution has read was recomputed in the meantime, with a different result."""


@dataclass(slots=True, kw_only=True)
class RegionFailover:
    """Provides the staged results that an execution reads; `reads` and `recomputed` record them."""

    task: TaskDeploymentDescriptor
    area: StagingArea
    read_source: ReadSource
    versions: PreviousVersions
    increments: Increments
    pin: Pin = as_it_is
    reads: list[StagedRead] = field(default_factory=list)
    recomputed: list[RecomputedResult] = field(default_factory=list)
    _recomputing: list[IntermediateDataSetId] = field(default_factory=list)
    _manifests: dict[IntermediateDataSetId, Manifest] = field(default_factory=dict)

    def read(self, staged: StagedInput, partitions: int | None) -> tuple[Manifest, DataFrame]:
        """Read a staged result; recompute it if it is lost.

        Raises PartitionNotFoundError if it cannot be recomputed here, ConsumersMustRerunError if tasks that have read
        it would have to run again, UpstreamMustRerunError if this task must wait for others first.
        """
        if known := self._manifests.get(staged.id):  # all reads use the same copy
            return known, self._rows(known, partitions)
        try:
            manifest = self.area.find(staged)
            rows = self._rows(manifest, partitions)
        except PartitionNotFoundError as lost:
            self._recomputing.append(staged.id)
            copy = LostCopy(
                staged=staged,
                task_name=self._task_of(staged),
                lost=lost,
                manifest=self.area.log.latest(staged.id),
                restarts=restarts(self.area.log, self.task.region, staged, self._recomputing),
            )
            try:
                manifest = self._recompute(copy)
            except PartitionNotFoundError as error:
                self._check_kept(copy, error)
                raise
            self._recomputing.pop()
            rows = self._rows(manifest, partitions)
        self._manifests[staged.id] = manifest
        self.reads.append(StagedRead(result_id=manifest.result_id, epoch=manifest.epoch))
        return manifest, rows

    def previous(self) -> tuple[PreviousRead, ...]:
        """Return the versions of targets that all it has read was computed from."""
        return oldest(read for manifest in self._manifests.values() for read in manifest.previous)

    def check_reads(self) -> None:
        """Raise StaleReadError if an input was recomputed after it was read, and may have different rows."""
        for result_id, manifest in self._manifests.items():
            newest = self.area.log.epochs(result_id)[-1]
            latest = None if newest == manifest.epoch else self.area.log.latest(result_id)
            if newest != manifest.epoch and not (latest and latest.replaces(manifest)):
                raise StaleReadError(
                    f"{result_id} was recomputed while this execution ran (epoch {newest}; it had "
                    f"read {manifest.epoch}), and may have different rows: the next attempt reads the new ones"
                )

    def _rows(self, manifest: Manifest, partitions: int | None) -> DataFrame:
        with origin(self.area.spark, STAGED, manifest.result_id):  # no operator here computes it
            return self.area.read(manifest, partitions=partitions)

    def _recompute(self, copy: LostCopy) -> Manifest:
        staged, started = copy.staged, time.monotonic()
        area = self.area.beginning(staged.id)
        producer = last_descriptor(self.area.log.store, self.area.layout, staged.producer)
        if producer is None or staged.producer not in copy.restarts.regions:
            raise copy.lost
        result = copy.result_of(producer)
        now = staged.values.digests(self.task.parameters)
        area.check_values(staged.id, result.values.digests(producer.parameters), now)
        part = lineage(producer.region, result)
        self._check_resources(part, copy)
        LOG.info("%s", copy.lost)
        LOG.info("computing it again, as %s", staged.producer)
        contracts, metrics = list[Contract](), RegionMetrics(self.area.spark, part)
        inputs: dict[StagedRead, None] = {}
        versions = replace(self.versions, task=producer, found=[], _fresh=[])
        evaluation = self._evaluation(part, producer, contracts, metrics, inputs, versions)

        def check(manifest: Manifest) -> None:
            evaluation.check_sources()
            versions.check()
            self._check(manifest, copy, is_free=is_free)

        area = replace(
            area,
            parameters=dict(producer.parameters),
            contracts=partial(check_contracts, contracts, self.area.spark, is_repeated=metrics.has_repeated_stages),
            inputs=lambda: tuple(inputs),
            previous=lambda: oldest(versions.found),
            check=check,
        )
        run = RegionRun(area=area, metrics=metrics, evaluation=evaluation)
        operators = list(evaluation.graph.operators.values())
        with evaluation.forgetting_cached():
            for operator in operators:
                run.evaluate(operator)
            # Rows that differ each time can replace the lost ones only if those were never read.
            is_free = evaluation.is_repeatable((result.node_id, result.output_tag)) or (
                _leaves_nothing_else(producer.region) and not copy.restarts.readers(self.area.log)
            )
            if not is_free and not copy.can_be_compared:
                raise copy.cannot(_NOT_DETERMINISTIC)
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
        inputs: dict[StagedRead, None],
        versions: PreviousVersions,
    ) -> RegionEvaluation:
        spark = self.area.spark

        def read_staged(staged: StagedInput, partitions: int | None) -> DataFrame:
            manifest, rows = self.read(staged, partitions)
            inputs[StagedRead(result_id=staged.id, epoch=manifest.epoch)] = None
            versions.found.extend(manifest.previous)
            return rows

        return RegionEvaluation(
            region=part,
            spark=spark,
            parameters=dict(producer.parameters),
            read_source=lambda connector, splits: self.read_source(connector, spark, splits),
            read_previous=versions.read,
            read_staged=read_staged,
            materialize=FixedRows(self.area, metrics).fix,
            stop_clock=run_clock(self.area.log.store, producer, spark).stop_for,
            on_output=metrics.mark,
            pin=self.pin,
            increment=partial(self.increments.pin, part),
            contracts=contracts,
        )

    def _check_kept(self, copy: LostCopy, error: PartitionNotFoundError) -> None:
        """Raise PartitionNotFoundError if a region of this task must run again for this one.

        It was kept, since its readers had released its result; now one of them runs again. The record of the damage
        lets the next attempt compute it.
        """
        log, id = self.area.log, copy.staged.id
        producer = last_descriptor(log.store, self.area.layout, copy.staged.producer)
        own = self.task.attempt.execution_id
        if copy.manifest is None or producer is None or producer.attempt.execution_id != own:
            return
        record_damage(
            log.store,
            self.area.layout,
            DamagedResult(
                result_id=id,
                epoch=copy.manifest.epoch,
                file=copy.manifest.location,
                reason=copy.words,
                execution_id=own,
                time=time.time(),
            ),
        )
        raise PartitionNotFoundError(f"{copy.words}\n  the next attempt runs '{copy.staged.producer}' again") from error

    def _task_of(self, staged: StagedInput) -> TaskName:
        (name,) = task_names(self.area.log.store, self.area.log.layout, [staged.producer])
        return name

    def _check_resources(self, part: RegionDescriptor, copy: LostCopy) -> None:
        """Raise PartitionNotFoundError if the producer has resources or secrets that this application does not have."""
        if part.resource_profile != self.task.region.resource_profile:
            raise copy.cannot("that task has different resources")
        own = set(values_within(self.task.region, Secret))
        if lacking := [secret for secret in values_within(part, Secret) if secret not in own]:
            secrets = listing(dict.fromkeys(map(str, lacking)))
            raise copy.cannot(f"that task reads with {secrets}, which this task does not get")

    def _check(self, manifest: Manifest, copy: LostCopy, *, is_free: bool) -> None:
        """Raise an error if a new copy does not match the old one that others have read."""
        is_same = copy.manifest is not None and manifest.replaces(copy.manifest)
        if not is_free and not is_same:
            raise copy.cannot(_NOT_DETERMINISTIC)
        verdicts = copy.restarts.verdicts(self.area.log, manifest)
        for region_id, spared in verdicts.items():
            if spared is not None:
                LOG.info("%s need not run again: %s", region_id, spared)
        readers = [region_id for region_id, spared in verdicts.items() if spared is None]
        if readers and not self.task.clears_others:
            ids = [copy.staged.producer, *readers]
            names = task_names(self.area.log.store, self.area.log.layout, ids)
            raise ConsumersMustRerunError(
                f"{copy.lost}\n  {listing(readers)} already read an earlier copy, and the "
                f"recomputed one {_how_it_differs(manifest)}\n"
                f"  hint: {how_to_clear(self.task, names)}"
            )

    def _check_upstream(self, manifest: Manifest, copy: LostCopy) -> None:
        """Raise UpstreamMustRerunError if a task upstream of this one must run again first."""
        verdicts = copy.restarts.verdicts(self.area.log, manifest)
        upstream = copy.restarts.upstream
        if found := [id for id, spared in verdicts.items() if spared is None and id in upstream]:
            raise UpstreamMustRerunError(
                f"{copy.words}\n  the recomputed copy {_how_it_differs(manifest)}; "
                f"{listing(found)} already read an earlier copy and must run again before this task"
            )


def _leaves_nothing_else(region: RegionDescriptor) -> bool:
    """Whether a region's only output is one staged result."""
    operators = (one.operator for one in region.operators)
    return len(region.results) == 1 and not any(isinstance(one, Sink) for one in operators)


def _how_it_differs(manifest: Manifest) -> str:
    return "may differ: it has no checksum" if manifest.checksum is None else "has different rows"


def lineage(region: RegionDescriptor, result: ResultDescriptor) -> RegionDescriptor:
    """Return the region with only the operators on the paths to a result."""
    graph = OperatorGraph.of(region)
    chain = graph.chain_of(graph.operators[result.node_id])
    return region.only({operator.node_id for operator in chain}, (result,))


@dataclass(frozen=True, slots=True, kw_only=True)
class LostCopy:
    """A lost staged result, the task that staged it, and what is known about it."""

    staged: StagedInput
    task_name: TaskName
    lost: PartitionNotFoundError
    manifest: Manifest | None
    restarts: RestartSet

    @property
    def can_be_compared(self) -> bool:
        """Whether a new copy can be compared with the lost one."""
        known = self.manifest
        return known is not None and (known.checksum is not None or known.deterministic)

    def cannot(self, reason: str) -> PartitionNotFoundError:
        """Return the error that this application cannot recompute it, with the reason."""
        return PartitionNotFoundError(
            f"{self.words}\n  it cannot be recomputed here: {reason}\n"
            f"  hint: clear the task '{self.task_name}', with its downstream tasks"
        )

    @property
    def words(self) -> str:
        """Return one line that names the lost result."""
        return str(self.lost).splitlines()[0]

    def result_of(self, producer: TaskDeploymentDescriptor) -> ResultDescriptor:
        """Return the producer's result; raises PartitionNotFoundError if the producer is of a different version."""
        for result in producer.region.results:
            if (result.id, result.fingerprint) == (self.staged.id, self.staged.fingerprint):
                return result
        raise self.cannot("that task ran another version of this pipeline")
