"""What runs still need of tables of Iceberg and Delta Lake, and how far their history may therefore be removed.

    an attempt in progress              what readers saw when it began, and all that came after
    a decision that is not carried out  the same: the table's history shows whether it was
    the position of a source            what was committed after the last commit that it has read

Whether an attempt is in progress is what `liveness` says: all pipelines below a staging root count, since each of them
may read the table. Times are seconds since the epoch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.errors import GraphCompilerError
from graph_compiler.identifiers import RegionId
from graph_compiler.staging.attempts.attempts import attempt_documents
from graph_compiler.staging.gc.collection import Policy, verdict
from graph_compiler.staging.gc.inventory import StagedRun, StagingInventory
from graph_compiler.staging.gc.liveness import RunOfAirflow
from graph_compiler.staging.positions.position_log import position_logs
from graph_compiler.staging.store.staging_store import StagingStore

CLOCKS_DIFFER = 600.0
"""Seconds by which the clocks of hosts may differ: those that commit to a table, and that of the staging root."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAttempt:
    """An attempt in progress; `writes` has its targets, None if its documents do not say which."""

    identity: RunIdentity
    region_id: RegionId | None
    began: float
    writes: tuple[tuple[object, ...], ...] | None

    def words(self) -> str:
        """Return which one it is."""
        region = "an attempt" if self.region_id is None else f"the attempt at '{self.region_id}'"
        return f"{region} of run '{self.identity.run_id}' of '{self.identity.owner}'"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenDecision:
    """A publication to a target that was decided, and is not carried out."""

    identity: RunIdentity
    target: str
    decided: float

    def words(self) -> str:
        """Return whose it is."""
        return f"what run '{self.identity.run_id}' of '{self.identity.owner}' has decided to publish"


@dataclass(frozen=True, slots=True, kw_only=True)
class NeededCommit:
    """The commit behind which a source reads next; `kind` says what it is, and of which table."""

    owner: str
    uid: str
    kind: str
    commit: int

    def words(self) -> str:
        """Return whose it is."""
        return f"the position of source '{self.uid}' of '{self.owner}'"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLimit:
    """What was committed from a moment on has to stay; `why` is None if only the asked age says so."""

    moment: float
    why: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableNeeds:
    """What the runs below a staging root need at a time; `unknown` says why that is not known."""

    now: float
    attempts: tuple[OpenAttempt, ...] = ()
    decisions: tuple[OpenDecision, ...] = ()
    commits: tuple[NeededCommit, ...] = ()
    unknown: str | None = None

    def moments(self) -> Iterator[HistoryLimit]:
        """Yield the moments since which any table is needed, by the clock that is furthest behind.

        One is now: an attempt that begins while a table is maintained reads what readers see now, or later.
        """
        yield HistoryLimit(moment=self.now - CLOCKS_DIFFER, why="runs that begin now read what readers see now")
        for attempt in self.attempts:
            yield HistoryLimit(moment=attempt.began - CLOCKS_DIFFER, why=f"{attempt.words()} is in progress")

    def decided(self, target: str) -> Iterator[HistoryLimit]:
        """Yield since when the history of a target shows whether what was decided is carried out."""
        for decision in self.decisions:
            if decision.target == target:
                why = f"{decision.words()} is not carried out"
                yield HistoryLimit(moment=decision.decided - CLOCKS_DIFFER, why=why)

    def why_not_compacted(self, connector: Connector, target: str) -> str | None:
        """Return why files of a table should not be rewritten now, None if they may be.

        An attempt that writes the table would find it changed, and compute its rows again.
        """
        place = connector.place_key()
        for attempt in self.attempts:
            if attempt.writes is None or place in attempt.writes:
                return f"{attempt.words()} is in progress, and may write it"
        return next((limit.why for limit in self.decided(target)), None)


def survey_needs(store: StagingStore, inventory: StagingInventory, policy: Policy) -> TableNeeds:
    """Return what the runs of an inventory need."""
    try:
        return TableNeeds(
            now=policy.now,
            attempts=tuple(
                each for run in inventory.runs for each in _open_attempts(store, inventory.root, run, policy)
            ),
            decisions=tuple(_open_decisions(store, inventory)),
            commits=tuple(_needed_commits(store, inventory.root)),
        )
    except GraphCompilerError as error:
        return TableNeeds(now=policy.now, unknown=str(error))


def _open_attempts(store: StagingStore, root: str, run: StagedRun, policy: Policy) -> Iterator[OpenAttempt]:
    if verdict(run, policy).state is not RunOfAirflow.LIVE:
        return
    layout = StagingLayout(root=root, identity=run.identity)
    if run.facts.unreadable is not None:
        first = min((file.written for file in store.files(layout.run)), default=policy.now)
        yield OpenAttempt(identity=run.identity, region_id=None, began=first, writes=None)
    for region_id in run.facts.open:
        last = attempt_documents(store, layout, region_id)[-1]
        # Not when its driver claimed it: what several regions of a task read is determined for all of them at once.
        began = last.began()
        task = last.read_descriptor()
        if began is not None and task is not None:  # otherwise a collection is removing the run
            sinks = (each.operator for each in task.region.operators)
            places = (sink.connector.place_key() for sink in sinks if isinstance(sink, Sink))
            writes = tuple(place for place in places if place is not None)
            yield OpenAttempt(identity=run.identity, region_id=region_id, began=began, writes=writes)


def _open_decisions(store: StagingStore, inventory: StagingInventory) -> Iterator[OpenDecision]:
    for each in inventory.undone:
        layout = StagingLayout(root=inventory.root, identity=each.identity)
        decided = store.written(layout.intent(each.target, each.number))
        if decided is not None:
            yield OpenDecision(identity=each.identity, target=each.target, decided=decided)


def _needed_commits(store: StagingStore, root: str) -> Iterator[NeededCommit]:
    for log in position_logs(store, root):
        for kind, commit in log.needed_commits():
            yield NeededCommit(owner=log.layout.owner, uid=log.layout.uid, kind=kind, commit=commit)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenCommit:
    """A commit that readers of a table have seen since `shown`; `made` is the time by which a table removes it."""

    id: int
    shown: float
    made: float
    parent: int | None = None


def history_cutoff(
    asked: float, history: Sequence[SeenCommit], needs: TableNeeds, *, kind: str, target: str
) -> HistoryLimit:
    """Return before which time the commits of a table may be removed: as asked, or less if more of them is needed.

    `history` has what readers have seen, in this order; `kind` is what positions call commits of this table, and
    `target` what its ledger calls it.
    """
    limits = [*_limits(history, needs, kind, target), HistoryLimit(moment=asked)]
    return min(limits, key=lambda limit: limit.moment)


def _limits(history: Sequence[SeenCommit], needs: TableNeeds, kind: str, target: str) -> Iterator[HistoryLimit]:
    for need in (*needs.moments(), *needs.decided(target)):
        before = [place for place, each in enumerate(history) if each.shown <= need.moment]
        if (found := _earliest(history[before[-1] if before else 0 :])) is not None:
            yield HistoryLimit(moment=found, why=need.why)
    for commit in needs.commits:
        if commit.kind == kind and (found := _earliest(_behind(history, commit.commit))) is not None:
            yield HistoryLimit(moment=found, why=commit.words())


def _behind(history: Sequence[SeenCommit], commit: int) -> Sequence[SeenCommit]:
    """Return a commit and those after it; without it if it was removed, and none if the next one was, too."""
    places = [place for place, each in enumerate(history) if commit in (each.id, each.parent)]
    return history[places[0] :] if places else ()


def _earliest(history: Iterable[SeenCommit]) -> float | None:
    """Return the earliest time of commits: clocks of their writers differ, so it need not be that of the first one."""
    return min((each.made for each in history), default=None)


def files_cutoff(asked: float, times: Mapping[int, float], needs: TableNeeds, kind: str) -> HistoryLimit:
    """Return since when removed files of a table are still needed: as asked, or earlier.

    `times` has when each version was committed that the table's log still has.
    """
    limits = [HistoryLimit(moment=asked), *needs.moments()]
    for commit in needs.commits:
        known = [version for version in times if version >= commit.commit]
        if commit.kind == kind and known:
            limits.append(HistoryLimit(moment=times[min(known)] - CLOCKS_DIFFER, why=commit.words()))
    return min(limits, key=lambda limit: limit.moment)
