"""Flink's own arithmetic, for every pair of parallelisms up to 16."""

import json
from pathlib import Path
from typing import Any

import pytest

from graph_compiler.compiler.execution_graph.execution_graph_builder import default_max_parallelism
from graph_compiler.declaration.partitioners import DistributionPattern
from graph_compiler.graphs.execution_graph import partition_groups

TABLES = json.loads((Path(__file__).parent / "pointwise_tables.json").read_text())


@pytest.mark.parametrize("pattern", DistributionPattern)
@pytest.mark.parametrize("table", TABLES, ids=[f"{table['source']} to {table['target']}" for table in TABLES])
def test_what_each_consumer_reads(table: dict[str, Any], pattern: DistributionPattern) -> None:
    groups = partition_groups(pattern, producers=table["source"], consumers=table["target"])
    found = sorted(
        [consumer, group.partitions[0], group.partitions[-1], *[consumer % len(group.consumers)] * 2]
        for group in groups
        for consumer in group.consumers
    )
    assert found == table[pattern.lower()]


@pytest.mark.parametrize(
    ("parallelism", "maximum"),
    [(1, 128), (4, 128), (85, 128), (86, 256), (100, 256), (171, 256), (172, 512), (200, 512), (30_000, 32_768)],
)
def test_the_default_maximum(parallelism: int, maximum: int) -> None:
    assert default_max_parallelism(parallelism) == maximum
