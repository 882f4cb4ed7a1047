"""Rows that several consumers read are one result (DESIGN D9).

Spark computes a plan anew for every action. Where that would give other rows each time (`rand()`, a function declared
non-deterministic), two readers would see two results, and rows would be in both or in neither: they are staged first.
Caching is no cure, since lost blocks are computed anew.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from graph_compiler.deployment.descriptor import OperatorDescriptor, ResultDescriptor, StagedInput
from graph_compiler.deployment.fingerprints import digest
from graph_compiler.deployment.report import Phase
from graph_compiler.identifiers import IntermediateDataSetId
from graph_compiler.spark_runtime.metrics import RegionMetrics
from graph_compiler.spark_runtime.staging import StagingArea


def is_deterministic(rows: DataFrame) -> bool:
    """Say whether Catalyst holds every expression of the plan, down to its sources, to be deterministic."""
    return bool(rows._jdf.queryExecution().analyzed().deterministic())


def settled(
    rows: DataFrame, operator: OperatorDescriptor, area: StagingArea, metrics: RegionMetrics
) -> DataFrame:
    """Give rows that are the same however often they are read."""
    if is_deterministic(rows):
        return rows
    result = ResultDescriptor(
        id=IntermediateDataSetId(f"{operator.operator_id}-shared"),
        node_id=operator.node_id,
        output_tag=None,
        fingerprint=digest([area.plan_id, operator.operator_id]),
        partitions=None,
    )
    with metrics.running(operator, Phase.SHARE):
        area.stage(result, rows)
    return area.read(StagedInput(id=result.id, fingerprint=result.fingerprint))
