from itertools import pairwise

import pytest

from graph_compiler.declaration.partitioners import DistributionPattern
from graph_compiler.graphs.execution_graph import partition_groups

SIZES = [(producers, consumers) for producers in range(1, 13) for consumers in range(1, 13)]


@pytest.mark.parametrize(("producers", "consumers"), SIZES)
def test_pointwise_covers_every_partition_and_every_consumer(producers: int, consumers: int) -> None:
    groups = partition_groups(DistributionPattern.POINTWISE, producers=producers, consumers=consumers)
    assert sorted(consumer for group in groups for consumer in group.consumers) == list(range(consumers))
    assert sorted({partition for group in groups for partition in group.partitions}) == list(range(producers))
    loads = [len(group.partitions) for group in groups for _ in group.consumers]
    assert max(loads) - min(loads) <= 1
    assert all(one.consumers.stop == other.consumers.start for one, other in pairwise(groups))


def test_pointwise_is_flinks_table_where_neither_divides_the_other() -> None:
    groups = partition_groups(DistributionPattern.POINTWISE, producers=2, consumers=5)
    assert [(list(group.partitions), list(group.consumers)) for group in groups] == [([0], [0, 1, 2]), ([1], [3, 4])]


def test_all_to_all_is_one_group_however_large() -> None:
    groups = partition_groups(DistributionPattern.ALL_TO_ALL, producers=16_000, consumers=16_000)
    assert [(group.partitions, group.consumers) for group in groups] == [(range(16_000), range(16_000))]
