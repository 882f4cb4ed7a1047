"""Run operators of a region, one after the other: evaluate, measure, commit results, attribute failures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from graph_compiler.deployment.documents.descriptor import OperatorDescriptor
from graph_compiler.deployment.documents.manifest import Manifest
from graph_compiler.deployment.documents.report import Output, Phase
from graph_compiler.errors import StagingError
from graph_compiler.spark_runtime.failures.failures import OperatorFailedError
from graph_compiler.spark_runtime.metrics.region_metrics import RegionMetrics
from graph_compiler.spark_runtime.region.region_evaluation import RegionEvaluation
from graph_compiler.spark_runtime.results.staging_area import StagingArea


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionRun:
    """Runs the operators of a region or a part of it."""

    area: StagingArea
    metrics: RegionMetrics
    evaluation: RegionEvaluation

    @contextmanager
    def running(
        self, operator: OperatorDescriptor, phase: Phase = Phase.EVALUATE
    ) -> Iterator[None]:
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
                "computes it is not deterministic: the next attempt commits the epoch after"
            )


def _staged_output(operator: OperatorDescriptor, tag: str | None, manifest: Manifest) -> Output:
    return Output(
        kind="staged",
        name=operator.name if tag is None else f"{operator.name}.{tag}",
        location=manifest.location,
        rows=manifest.rows,
        bytes=manifest.bytes,
    )
