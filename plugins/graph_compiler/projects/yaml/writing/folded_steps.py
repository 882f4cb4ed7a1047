"""Which partitions are written within the step that reads them, as a person would: `join: {from: a, broadcast: true}`.

Only where reading the file makes the same calls in the same order: the partition stands directly before its only
reader.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graph_compiler.declaration.partitioners import HashPartitioner
from graph_compiler.declaration.transformations import (
    PartitionTransformation,
    PhysicalTransformation,
    Transformation,
)
from graph_compiler.projects.yaml.operations import STEP_FORMS
from graph_compiler.projects.yaml.writing.written_operators import call_of


@dataclass(frozen=True, slots=True)
class Folded:
    """Ids of partitions: `inline` ones stand in place of a stream's name, of `key_by` only the keys are written."""

    inline: frozenset[int]
    key_by: frozenset[int]


def folded(own: Sequence[Transformation], inputs: Mapping[int, Sequence[int]]) -> Folded:
    """Return the partitions among the steps that need no step of their own."""
    readers = Counter(id for read in inputs.values() for id in read)
    inline, key_by = set[int](), set[int]()
    before: list[Transformation] = []
    for reader in own:
        read = inputs[reader.id]
        # A call evaluates its streams in their order, so the last one is the nearest.
        for id in read[:0:-1]:
            if before and before[-1].id == id and _is_partition(before[-1]) and readers[id] == 1:
                inline.add(before.pop().id)
        if len(read) == 1 and before and before[-1].id == read[0] and readers[read[0]] == 1:
            key_by |= {read[0]} if _are_keys_of(before[-1], reader) else set()
        before.append(reader)
    return Folded(inline=frozenset(inline), key_by=frozenset(key_by))


def _is_partition(transformation: Transformation) -> bool:
    return isinstance(transformation, PartitionTransformation)


def _are_keys_of(partition: Transformation, reader: Transformation) -> bool:
    if not isinstance(partition, PartitionTransformation):
        return False
    if not isinstance(reader, PhysicalTransformation):
        return False
    form = STEP_FORMS.get(call_of(type(reader.operator)))
    takes_keys = form is not None and "key_by_" in form.model_fields
    return takes_keys and isinstance(partition.partitioner, HashPartitioner)
