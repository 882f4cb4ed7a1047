"""The rows of a staged result that each consumer subtask reads over a POINTWISE edge: Flink's table, applied to files.

    5 partitions, 2 consumers          2 partitions (7 and 4 rows), 5 consumers
    0 1 │ 2 3 4                        0: rows 0-1 │ 2-3 │ 4-6      1: rows 0-1 │ 2-3

In Flink, the producer distributes the rows of a partition among the consumers that share it. Here they read ranges of
its rows, whose sizes differ by at most one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from graph_compiler.declaration.partitioners import DistributionPattern
from graph_compiler.deployment.documents.manifest import DataFile, ManifestPartition
from graph_compiler.graphs.execution_graph import partition_groups


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSlice:
    """A range of rows of a file, by their position."""

    file: DataFile
    rows: range

    @property
    def is_whole(self) -> bool:
        """Whether it is all of the file."""
        return self.rows == range(self.file.rows)


Share: TypeAlias = tuple[FileSlice, ...]
"""What one consumer subtask reads; empty if there are no rows for it."""


def shares(partitions: tuple[ManifestPartition, ...], *, consumers: int) -> tuple[Share, ...]:
    """Return one share for each consumer, in order: every row of every partition is in exactly one share."""
    if not partitions:
        return ((),) * consumers
    groups = partition_groups(DistributionPattern.POINTWISE, producers=len(partitions), consumers=consumers)
    return tuple(
        share
        for group in groups
        for share in _split(
            [file for index in group.partitions for file in partitions[index].files], len(group.consumers)
        )
    )


def _split(files: list[DataFile], parts: int) -> Iterator[Share]:
    total = sum(file.rows for file in files)
    for part in range(parts):
        yield tuple(_cut(files, range(part * total // parts, (part + 1) * total // parts)))


def _cut(files: list[DataFile], wanted: range) -> Iterator[FileSlice]:
    """Yield the parts of several files for a range of their rows, numbered across the files."""
    before = 0
    for file in files:
        rows = range(max(wanted.start - before, 0), min(wanted.stop - before, file.rows))
        if rows:
            yield FileSlice(file=file, rows=rows)
        before += file.rows
