"""Rows of small pipelines with their plans: how many exchanges, how many partitions."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import DataFrame

from graph_compiler.deployment.documents.descriptor import ResultDescriptor
from graph_compiler.deployment.documents.manifest import Manifest
from graph_compiler.spark_runtime.results.staging_area import StagingArea

Stage = Callable[[StagingArea, ResultDescriptor, DataFrame], Manifest]


def exchanges(rows: DataFrame) -> int:
    """Count the exchanges that move rows from partition to partition; broadcasts do not count."""
    executed = rows._jdf.queryExecution().executedPlan()
    is_adaptive = executed.getClass().getSimpleName() == "AdaptiveSparkPlanExec"
    plan = str((executed.initialPlan() if is_adaptive else executed).toString())
    return plan.count("Exchange ") - plan.count("BroadcastExchange ")


@contextmanager
def staged_rows(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[DataFrame]]:
    """Collect the rows of every result that is staged within the block."""
    found: list[DataFrame] = []
    stage: Stage = StagingArea.stage

    def seen(area: StagingArea, result: ResultDescriptor, rows: DataFrame) -> Manifest:
        found.append(rows)
        return stage(area, result, rows)

    with monkeypatch.context() as patch:
        patch.setattr(StagingArea, "stage", seen)
        yield found


def partitions_staged(folder: Path) -> list[list[int]]:
    """Return the rows in each partition of every staged result below a staging root."""
    found = []
    for manifest in sorted(folder.rglob("manifests/*/0.json")):
        partitions = json.loads(manifest.read_text())["partitions"]
        assert [partition["index"] for partition in partitions] == list(range(len(partitions)))
        found.append([sum(file["rows"] for file in part["files"]) for part in partitions])
    return found
