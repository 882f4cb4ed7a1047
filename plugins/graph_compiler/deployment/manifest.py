"""The record of a committed result: which files hold which partition, and what they hold. Written last (DESIGN D10)."""

from __future__ import annotations

from dataclasses import dataclass

from graph_compiler.deployment.descriptor import ExecutionAttempt
from graph_compiler.identifiers import IntermediateDataSetId


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """One file, relative to the manifest's `location`; rows and bytes as its footer and size say."""

    name: str
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestPartition:
    """One result partition; an empty one may have no file."""

    index: int
    files: tuple[DataFile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractCount:
    """What a data contract counted: rows that passed it, and those for which its condition was not true."""

    contract: str
    on_violation: str
    rows: int
    violations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """One committed epoch. `schema` is Spark's schema JSON; `parent_epoch` None for the first."""

    version: int
    result_id: IntermediateDataSetId
    epoch: int
    parent_epoch: int | None
    attempt: ExecutionAttempt
    plan_id: str
    fingerprint: str
    location: str
    schema: str
    partitions: tuple[ManifestPartition, ...]
    contracts: tuple[ContractCount, ...]

    @property
    def files(self) -> tuple[DataFile, ...]:
        """Give every file, by partition."""
        return tuple(file for partition in self.partitions for file in partition.files)

    @property
    def rows(self) -> int:
        """Count the rows of all files."""
        return sum(file.rows for file in self.files)

    @property
    def bytes(self) -> int:
        """Add up the sizes of all files."""
        return sum(file.bytes for file in self.files)
