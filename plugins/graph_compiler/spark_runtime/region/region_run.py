"""Run operators of a region, one after the other: evaluate, measure, commit results, attribute failures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from graph_compiler import program_log
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor, ResultDescriptor
from graph_compiler.deployment.documents.manifest import Manifest
from graph_compiler.deployment.documents.report import Output, Phase
from graph_compiler.deployment.documents.wire import digest
from graph_compiler.errors import GraphCompilerError, StagingError
from graph_compiler.identifiers import IntermediateDataSetId
from graph_compiler.spark_runtime.failures.failures import OperatorFailedError
from graph_compiler.spark_runtime.region.region_evaluation import RegionEvaluation
from graph_compiler.spark_runtime.region_metrics import RegionMetrics
from graph_compiler.spark_runtime.results.staging_area import StagingArea

LOG = program_log.logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionRun:
    """Runs the operators of a region or a part of it."""

    area: StagingArea
    metrics: RegionMetrics
    evaluation: RegionEvaluation

    @contextmanager
    def running(self, operator: OperatorDescriptor, phase: Phase = Phase.EVALUATE) -> Iterator[None]:
        """Measure what is done for an operator, and attribute failures to it."""
        try:
            with self.metrics.running(operator, phase):
                yield
        except OperatorFailedError:  # it is from an operator that was recomputed for this one
            raise
        except BaseException as cause:  # SystemExit is a failure of the operator, too
            chain = self.evaluation.graph.chain_of(operator)
            writes = phase is not Phase.EVALUATE
            failed = OperatorFailedError(chain, self.evaluation.schemas, writes=writes)
            raise failed from self.area.as_lost(cause)

    def evaluate(self, operator: OperatorDescriptor) -> None:
        """Evaluate one operator to a plan."""
        with self.running(operator):
            self.evaluation.run(operator)

    def stage(self, operator: OperatorDescriptor) -> Iterator[Output]:
        """Stage and commit the results of an evaluated operator."""
        for result in self.evaluation.region.results:
            if result.node_id != operator.node_id:
                continue
            output = (result.node_id, result.output_tag)
            with self.running(operator, Phase.STAGE):
                manifest = self.area.stage(result, self.evaluation.outputs[output])
                self._check_adopted(manifest, varies=self.evaluation.varies(output))
            self.metrics.committed[output] = manifest.rows
            if self.evaluation.is_shared(output):
                with self.running(operator):
                    rows = self.area.read(manifest, partitions=result.partitions)
                    self.evaluation.replace_by_staged(output, rows)
            yield _staged_output(operator, result.output_tag, manifest)

    def _check_adopted(self, manifest: Manifest, *, varies: bool) -> None:
        """Raise StagingError if another execution's rows were committed and may differ from these.

        Otherwise this execution's other outputs would not match them.
        """
        winner = manifest.attempt.execution_id
        if winner != self.area.attempt.execution_id and varies:
            raise StagingError(
                f"epoch {manifest.epoch} of {manifest.result_id} was committed by execution {winner}, and what "
                "computes it is not deterministic: the next attempt commits the next epoch"
            )


def _staged_output(operator: OperatorDescriptor, tag: str | None, manifest: Manifest) -> Output:
    return Output(
        kind="staged",
        name=operator.name if tag is None else f"{operator.name}.{tag}",
        location=manifest.location,
        rows=manifest.rows,
        bytes=manifest.bytes,
    )


# Rows that several consumers read are one result (decision 9).
#
# Spark recomputes a plan for every action. If that can give different rows (`rand()`, a limit without an order, a
# function declared non-deterministic), two readers would see two results, and a row could be in both or in neither. So
# such rows are staged first. Caching does not help, since lost blocks are recomputed.


@dataclass(frozen=True, slots=True)
class FixedRows:
    """The results that one execution staged for itself; no other execution reads them.

    `are_read_later`: they are read after its end, by a test that looks at what it has kept.
    """

    area: StagingArea
    metrics: RegionMetrics
    are_read_later: bool = False
    _latest: dict[IntermediateDataSetId, Manifest] = field(default_factory=dict)

    def fix(self, operator: OperatorDescriptor, name: str, rows: DataFrame, partitions: int | None = None) -> DataFrame:
        """Return rows that are the same in every read; rows that were fixed earlier under this name are dropped.

        `partitions`: the number to keep; None leaves it to Spark.
        """
        execution_id = self.area.attempt.execution_id
        result = ResultDescriptor(
            id=IntermediateDataSetId(f"{operator.operator_id}-{name}-{execution_id}"),
            node_id=operator.node_id,
            output_tag=None,
            fingerprint=digest([self.area.plan_id, operator.operator_id, name]),
            partitions=partitions,
            consumers=(),
            is_compared=False,
            deterministic=False,
        )
        before = self._latest.get(result.id)
        with self.metrics.running(operator, Phase.SHARE):
            manifest = self._latest[result.id] = self.area.beginning(result.id).stage(result, rows)
        if before is not None:
            self.area.drop(before)
        return self.area.read(manifest, partitions=partitions)

    def drop_all(self) -> None:
        """Remove what nothing reads any more, at the end. What cannot be removed is left to `staging gc`."""
        for manifest in () if self.are_read_later else self._latest.values():
            try:
                self.area.drop(manifest)
            except (GraphCompilerError, OSError) as error:  # the region's outputs are published
                LOG.warning("%s is not removed: %s", manifest.location, error)
