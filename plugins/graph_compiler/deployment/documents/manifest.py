"""The record of a committed result: the files of each partition, and their sizes. Written last (decision 10)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from graph_compiler.deployment.documents.descriptor import ExecutionAttempt
from graph_compiler.deployment.documents.wire import Json
from graph_compiler.extensions import UNSAID
from graph_compiler.identifiers import IntermediateDataSetId, RegionId

VERSION = 3
_WITHOUT_CHECKSUMS = 2
"""The version whose files have no `checksums`: runs that were active when this program was upgraded have it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """One file, relative to the manifest's `location`; rows are those in its footer, bytes its size.

    `checksums` is the digest of its checksum file (`hadoop_checksums.py`); None in manifests of version 2.
    """

    name: str
    rows: int
    bytes: int
    checksums: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestPartition:
    """One result partition; an empty one may have no file."""

    index: int
    files: tuple[DataFile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractCount:
    """The counts of a data contract: rows that reached it, and rows that violate it.

    A contract on all rows has its `total` as text, and one violation if it does not hold. `allowed` is its limit, or
    that of the violations. `holds` None: it holds without violations, or an earlier version counted it.
    """

    contract: str
    on_violation: str
    rows: int
    violations: int
    total: str | None = field(default=None, metadata={UNSAID: True})
    allowed: str | None = field(default=None, metadata={UNSAID: True})
    holds: bool | None = field(default=None, metadata={UNSAID: True})

    def with_later(self, later: ContractCount) -> ContractCount:
        """Return the counts of this and of later rows of a stream, for which it has to hold, too."""
        holds = None if self.holds is None or later.holds is None else self.holds and later.holds
        return replace(later, rows=self.rows + later.rows, violations=self.violations + later.violations, holds=holds)

    @property
    def is_violated(self) -> bool:
        """Whether it does not hold: some rows violate it, more than it allows, or its total is not allowed."""
        return self.violations > 0 if self.holds is None else not self.holds

    def to_json(self) -> dict[str, Json]:
        """Return it as the command line writes it."""
        return {
            "contract": self.contract,
            "rows": self.rows,
            "violations": self.violations,
            "on_violation": self.on_violation,
            "total": self.total,
            "allowed": self.allowed,
            "holds": not self.is_violated,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedRead:
    """The commit of a result that an execution has read."""

    result_id: IntermediateDataSetId
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviousRead:
    """A target whose previous version was read by a region, and the number of the publication that came next."""

    target: str
    number: int
    region_id: RegionId


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """One committed epoch. `schema` is Spark's schema JSON; `parent_epoch` None for the first.

    `checksum` is that of the rows in any order (`results/row_checksum.py`); None if they have none.
    `deterministic`: the declaration treats all epochs as equal. `inputs` are the results it was computed from.
    `previous` are the versions of targets that it was computed from, also those that its inputs were.
    `spark` is the version of the driver that committed it; None if an earlier version of graph_compiler did.
    `values` are digests of the parameters and places that it was computed with, also those that its inputs were.
    """

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
    checksum: str | None
    contracts: tuple[ContractCount, ...]
    deterministic: bool = False
    inputs: tuple[StagedRead, ...] = ()
    previous: tuple[PreviousRead, ...] = field(default=(), metadata={UNSAID: True})
    spark: str | None = field(default=None, metadata={UNSAID: True})
    values: tuple[tuple[str, str], ...] = field(default=(), metadata={UNSAID: True})

    @property
    def is_previous_version(self) -> bool:
        """Whether it is the run's only copy of what a target held before: nothing staged was read for it."""
        return bool(self.previous) and not self.inputs

    @property
    def files(self) -> tuple[DataFile, ...]:
        """Return every file, by partition."""
        return tuple(file for partition in self.partitions for file in partition.files)

    @property
    def rows(self) -> int:
        """Return the number of rows in all files."""
        return rows_of(self.partitions)

    @property
    def bytes(self) -> int:
        """Return the total size of all files."""
        return sum(file.bytes for file in self.files)

    def replaces(self, other: Manifest) -> bool:
        """Whether this manifest may replace the other for its readers: both have the same rows, or are declared equal.

        Without checksums, the rows may differ.
        """
        if self.deterministic and other.deterministic:
            return self.schema == other.schema
        return self.checksum is not None and self._identity == other._identity

    @property
    def _identity(self) -> tuple[int, str | None, str]:
        return self.rows, self.checksum, self.schema


def other_values(computed_with: Iterable[tuple[str, str]], now: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the names of what has another digest now; earlier versions have recorded none."""
    before = dict(computed_with)
    return tuple(name for name, digest in now if before.get(name, digest) != digest)


def rows_of(partitions: tuple[ManifestPartition, ...]) -> int:
    """Return the number of rows in all files."""
    return sum(file.rows for partition in partitions for file in partition.files)


def upgraded(document: dict[str, Json]) -> dict[str, Json]:
    """Return a document of the previous version as one of this version, and any other document unchanged.

    Results of the previous version are read as before: only the sizes of their files are checked.
    """
    if document.get("version") != _WITHOUT_CHECKSUMS:
        return document
    found = _with_checksums(document)
    assert isinstance(found, dict)
    return found | {"version": VERSION}


def _with_checksums(document: Json) -> Json:
    """Return a document in which every DataFile has the missing field, as null."""
    if isinstance(document, list):
        return [_with_checksums(item) for item in document]
    if not isinstance(document, dict):
        return document
    found = {key: _with_checksums(value) for key, value in document.items()}
    return {**found, "checksums": None} if found.get("type") == DataFile.__name__ else found
