"""The partitions that a consumer subtask reads: Flink's arithmetic (`EdgeManagerBuildUtil`).

POINTWISE, 4 producers, 2 consumers     ALL_TO_ALL
0 1 2 3                                 0 1 2
└┬┘ └┬┘                                 ├─┼─┤   every consumer reads its own
 0   1                                  0   1   subpartition of every partition
"""

from __future__ import annotations

from dataclasses import dataclass

from graph_compiler.declaration.partitioners import DistributionPattern


@dataclass(frozen=True, slots=True)
class PartitionGroup:
    """All `consumers` (subtasks) read exactly `partitions`: Flink's ConsumedPartitionGroup with its consumers."""

    partitions: range
    consumers: range


def partition_groups(
    pattern: DistributionPattern, *, producers: int, consumers: int
) -> tuple[PartitionGroup, ...]:
    """Group consumers by the partitions they read; O(producers + consumers), groups in order of consumers."""
    if pattern is DistributionPattern.ALL_TO_ALL:
        return (PartitionGroup(range(producers), range(consumers)),)
    if producers >= consumers:
        return tuple(
            PartitionGroup(
                range(consumer * producers // consumers, (consumer + 1) * producers // consumers),
                range(consumer, consumer + 1),
            )
            for consumer in range(consumers)
        )
    starts = [-(-partition * consumers // producers) for partition in range(producers + 1)]
    return tuple(
        PartitionGroup(
            range(partition, partition + 1), range(starts[partition], starts[partition + 1])
        )
        for partition in range(producers)
    )
