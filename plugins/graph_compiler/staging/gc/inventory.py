"""The contents of a staging root, as values: `survey` reads them, `collection` decides about them.

Sizes are bytes on disk, times seconds since the epoch.
"""

from __future__ import annotations

from dataclasses import dataclass

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.identifiers import IntermediateDataSetId, RegionId
from graph_compiler.staging.gc.liveness import RunFacts
from graph_compiler.staging.publications.preparations import Preparation
from graph_compiler.staging.publications.publications import Publication
from graph_compiler.staging.results.release import ReleasedResult


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFolder:
    """A folder below a run's `data`: `owner` is a result or a sink, `name` the epoch's or the execution's."""

    owner: str
    name: str
    path: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedEpoch:
    """A committed epoch; `folder` is the name of its data folder, `bytes` the size of the files in its manifest."""

    epoch: int
    execution_id: str
    folder: str
    location: str
    rows: int
    bytes: int
    committed: float
    released: ReleasedResult | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFolder:
    """A result with its epochs, first to last, of which readers read the last.

    `owner` is the task that stages it, None if rows were only staged for one execution (decision 9). `consumers` read
    it according to the plan, `readers` have read it.
    """

    id: IntermediateDataSetId
    owner: RegionId | None
    consumers: tuple[RegionId, ...]
    readers: tuple[RegionId, ...]
    epochs: tuple[StagedEpoch, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRows:
    """Rows that a sink prepared outside the run's folder, according to the document `record`.

    `is_there`: whether the folder exists; for a table, whether no record says that it was dropped.
    """

    record: str
    preparation: Preparation
    is_there: bool
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StrayDocument:
    """A temporary file of a document: it is being written, or its writer was killed."""

    path: str
    bytes: int
    changed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfinishedCopy:
    """The folder of a checkpoint that no stream has, or of a savepoint without its document."""

    path: str
    bytes: int
    changed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedRun:
    """A run's folder. `logical_date` is that of its attempts, None if they have none."""

    identity: RunIdentity
    path: str
    bytes: int
    changed: float
    ttl: float
    attempts: int
    facts: RunFacts
    results: tuple[ResultFolder, ...]
    data: tuple[DataFolder, ...]
    prepared: tuple[PreparedRows, ...]
    stray: tuple[StrayDocument, ...]
    logical_date: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StagingInventory:
    """A staging root.

    `undone` are publications that were decided and not finished. `trash` is what an earlier collection did not finish
    removing; `stray` are temporary files of ledgers; `copies` are those of checkpoints. `positions` is the number of
    sources that have one.
    """

    root: str
    runs: tuple[StagedRun, ...]
    undone: tuple[Publication, ...]
    trash: tuple[str, ...]
    stray: tuple[StrayDocument, ...]
    copies: tuple[UnfinishedCopy, ...] = ()
    positions: int = 0
