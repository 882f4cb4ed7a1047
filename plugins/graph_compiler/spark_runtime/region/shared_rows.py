"""Rows that several consumers read are one result (decision 9).

Spark recomputes a plan for every action. If that can give different rows (`rand()`, a limit without an order, a
function declared non-deterministic), two readers would see two results, and a row could be in both or in neither. So
such rows are staged first. Caching does not help, since lost blocks are recomputed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from graph_compiler.deployment.documents.descriptor import OperatorDescriptor, ResultDescriptor
from graph_compiler.deployment.documents.manifest import Manifest
from graph_compiler.deployment.documents.report import Phase
from graph_compiler.deployment.documents.wire import digest
from graph_compiler.identifiers import IntermediateDataSetId
from graph_compiler.spark_runtime.metrics.region_metrics import RegionMetrics
from graph_compiler.spark_runtime.results.staging_area import StagingArea


@dataclass(frozen=True, slots=True)
class FixedRows:
    """The results that one execution staged for itself; no other execution reads them."""

    area: StagingArea
    metrics: RegionMetrics
    _latest: dict[IntermediateDataSetId, Manifest] = field(default_factory=dict)

    def fix(
        self,
        operator: OperatorDescriptor,
        name: str,
        rows: DataFrame,
        partitions: int | None = None,
    ) -> DataFrame:
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
