"""Decide what `graph-compiler staging gc` removes; nothing is changed here.

    a run that is not live and old enough      all of it, once nothing outside its folder is left
    any other run that is not live             what is not read: data of losers, superseded epochs, prepared rows
    a live run                                 nothing

Always kept: the ledgers of targets, and the rows of unfinished publications, since the next execution that writes the
target finishes them. A table can only be dropped by someone with access to the database: its run is kept, without its
rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from graph_compiler.declaration.retention import DEFAULT_TTL
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.identifiers import OperatorId, counted, path_segment
from graph_compiler.staging.gc.inventory import DataFolder, PreparedRows, ResultFolder, StagedRun, StagingInventory
from graph_compiler.staging.gc.liveness import MINIMUM_SILENCE, AirflowRunState, RunOfAirflow, Verdict, judge
from graph_compiler.staging.publications.preparations import BRANCH, PlaceKind, is_beside


class Waste(StrEnum):
    """Why something is removed."""

    RUN = "the run is old"
    EXPIRED = "the run is old, and kept for its records only"
    UNCOMMITTED = "no manifest names it: its writer was killed, or lost"
    SUPERSEDED = "a later epoch has taken its place"
    RELEASED = "it was released, and its removal interrupted"
    FIXED = "one execution fixed these rows for itself, and has ended"
    PREPARED = "a sink prepared it, and will not publish it"
    STRAY = "its writer was killed before it had a name"
    UNFINISHED = "no stream has this copy of a checkpoint, or its savepoint has no document: its writer was killed"
    TRASH = "an earlier collection was interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """Something to remove. `run` is None if it belongs to no run; `changed` is the run's."""

    waste: Waste
    path: str
    bytes: int
    run: RunIdentity | None = None
    changed: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftTable:
    """A table, or a branch of one, that a sink prepared, according to the document `record`; it is dropped by hand."""

    record: str
    run: RunIdentity
    operator_id: OperatorId
    execution_id: str
    table: str
    target: str
    kind: PlaceKind = PlaceKind.TABLE

    @property
    def branch(self) -> str | None:
        """Return the name of the branch, None if it is a table."""
        return self.table.rpartition(BRANCH)[2] if self.kind is PlaceKind.BRANCH else None

    @property
    def statement(self) -> str:
        """Return the SQL statement that drops it."""
        if self.branch is not None:
            return f"ALTER TABLE {self.table.rpartition(BRANCH)[0]} DROP BRANCH IF EXISTS {self.branch}"
        return f"DROP TABLE IF EXISTS {self.table}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRun:
    """A run that is kept, and why."""

    run: RunIdentity
    state: RunOfAirflow
    bytes: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """What is removed, what only a person can remove or has removed, and what is kept."""

    removals: tuple[Removal, ...]
    tables: tuple[LeftTable, ...]
    kept: tuple[KeptRun, ...]
    forgotten: tuple[LeftTable, ...] = ()

    @property
    def bytes(self) -> int:
        """Return how many bytes are removed."""
        return sum(removal.bytes for removal in self.removals)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What to remove. `older_than` in seconds, None for each run's own ttl; `airflow` has the states of runs it knows.

    `tables_dropped`: the caller confirms that all leftover tables are dropped.
    """

    now: float
    older_than: float | None = None
    airflow: Mapping[RunIdentity, AirflowRunState]
    tables_dropped: bool = False


def verdict(run: StagedRun, policy: Policy) -> Verdict:
    """Return whether a run is live, and why, by the rules of `liveness`."""
    word = policy.airflow.get(run.identity)
    return judge(run.facts, word, silent=policy.now - run.changed, ttl=run.ttl)


def collect(inventory: StagingInventory, policy: Policy) -> Collection:
    """Decide what to remove from a staging root."""
    removals = [Removal(waste=Waste.TRASH, path=path, bytes=0) for path in inventory.trash]
    removals += [
        Removal(waste=Waste.STRAY, path=document.path, bytes=document.bytes)
        for document in inventory.stray
        if policy.now - document.changed >= MINIMUM_SILENCE
    ]
    removals += [
        Removal(waste=Waste.UNFINISHED, path=copy.path, bytes=copy.bytes, changed=copy.changed)
        for copy in inventory.copies
        if policy.now - copy.changed >= _age_limit(DEFAULT_TTL, policy, is_known=False)
    ]
    tables: list[LeftTable] = []
    forgotten: list[LeftTable] = []
    kept: list[KeptRun] = []
    for run in inventory.runs:
        undone = frozenset(intent.execution_id for intent in inventory.undone if intent.identity == run.identity)
        found = _collect_run(run, undone, policy)
        removals += found.removals
        tables += found.tables
        forgotten += found.forgotten
        kept += found.kept
    return Collection(removals=tuple(removals), tables=tuple(tables), kept=tuple(kept), forgotten=tuple(forgotten))


def _collect_run(run: StagedRun, undone: frozenset[str], policy: Policy) -> Collection:
    found, silent = verdict(run, policy), policy.now - run.changed
    if found.state is RunOfAirflow.LIVE:
        return Collection(removals=(), tables=(), kept=(_kept(run, found, found.reason),))
    is_old = silent >= _age_limit(run.ttl, policy, is_known=run.identity in policy.airflow)
    if not is_old and silent < MINIMUM_SILENCE:
        return Collection(removals=(), tables=(), kept=(_kept(run, found, found.reason),))
    tables, forgotten = tuple(_tables(run, undone)), tuple[LeftTable, ...]()
    if policy.tables_dropped:
        tables, forgotten = (), tables
    prepared = tuple(_prepared_folders(run, undone))
    if is_old and not undone and not tables:
        whole = _removal(run, Waste.RUN, run.path, run.bytes)
        # Records of places outside the root go last, so that the next collection finds them if this one is interrupted.
        return Collection(removals=(*prepared, whole), tables=(), kept=())
    reason = found.reason
    if is_old:
        reason = "a publication was decided but not carried out: the next execution that writes to the target does that"
        if not undone:
            reason = f"{counted(len(tables), 'table')} of a database must be dropped first"
    leftovers = () if run.facts.unreadable else tuple(_leftovers(run, undone, is_old=is_old))
    return Collection(
        removals=(*prepared, *leftovers), tables=tables, kept=(_kept(run, found, reason),), forgotten=forgotten
    )


def _age_limit(ttl: float, policy: Policy, *, is_known: bool) -> float:
    """Return the age from which something is removed: the requested one, but at least an hour if not `is_known`.

    That is whether Airflow has said that nothing writes it.
    """
    asked = ttl if policy.older_than is None else policy.older_than
    return asked if is_known else max(asked, MINIMUM_SILENCE)


def _leftovers(run: StagedRun, undone: frozenset[str], *, is_old: bool) -> Iterator[Removal]:
    results: Mapping[str, ResultFolder] = {result.id: result for result in run.results}
    for folder in run.data:
        if waste := _why_waste(folder, results.get(folder.owner), undone, is_old=is_old):
            yield _removal(run, waste, folder.path, folder.bytes)
    for document in run.stray:
        yield _removal(run, Waste.STRAY, document.path, document.bytes)


def _why_waste(
    folder: DataFolder, result: ResultFolder | None, undone: frozenset[str], *, is_old: bool
) -> Waste | None:
    if folder.owner.endswith("-sink"):
        return None if folder.name in {path_segment(id) for id in undone} else Waste.PREPARED
    named = [epoch for epoch in result.epochs if epoch.folder == folder.name] if result else []
    if result is None or not named:
        return Waste.UNCOMMITTED
    (epoch,) = named
    if epoch.released is not None:
        return Waste.RELEASED
    if result.id.endswith(f"-{epoch.execution_id}"):
        return Waste.FIXED
    if epoch.epoch < result.epochs[-1].epoch:
        return Waste.SUPERSEDED
    return Waste.EXPIRED if is_old else None


def _prepared_folders(run: StagedRun, undone: frozenset[str]) -> Iterator[Removal]:
    for rows in _not_published(run, undone):
        if is_beside(rows.preparation):
            yield _removal(run, Waste.PREPARED, rows.preparation.prepared.place, rows.bytes)


def _tables(run: StagedRun, undone: frozenset[str]) -> Iterator[LeftTable]:
    for rows in _not_published(run, undone):
        record = rows.preparation
        if record.prepared.kind is not PlaceKind.FOLDER:
            yield LeftTable(
                record=rows.record,
                run=run.identity,
                operator_id=record.operator_id,
                execution_id=record.execution_id,
                table=record.prepared.place,
                target=record.prepared.target,
                kind=record.prepared.kind,
            )


def _not_published(run: StagedRun, undone: frozenset[str]) -> Iterator[PreparedRows]:
    for rows in run.prepared:
        if rows.is_there and rows.preparation.execution_id not in undone:
            yield rows


def _removal(run: StagedRun, waste: Waste, path: str, bytes: int) -> Removal:
    return Removal(waste=waste, path=path, bytes=bytes, run=run.identity, changed=run.changed)


def _kept(run: StagedRun, found: Verdict, reason: str) -> KeptRun:
    return KeptRun(run=run.identity, state=found.state, bytes=run.bytes, reason=reason)
