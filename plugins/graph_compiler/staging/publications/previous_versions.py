"""The version of a target that a run reads before its own sink replaces it (decision 77).

    number 0   1   2   3          run C reads after publication 1: its base is 2, the number that comes next
           A   B   C              C decides number 2: nothing came between. C cleared: it reads its staged copy again
           A   B   D   C          D came between: C would lose D's rows, so it publishes nothing, and reads again

A base is recorded with the rows that were read, and with all that is staged from them (`Manifest.previous`). A sink
compares it with the number that it will decide. All numbers before that one exist by then, so the answer cannot change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from graph_compiler.declaration.operators import Backfill
from graph_compiler.declaration.parameters.parameter import RUN_DATE
from graph_compiler.deployment.documents.descriptor import ResultDescriptor, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.manifest import Manifest, PreviousRead
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.wire import from_wire, to_wire
from graph_compiler.errors import (
    DamagedDocumentError,
    DecisionLostError,
    DescriptorError,
    PreviousVersionError,
    SourceChangedError,
)
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.publications.publications import Ending, Intent, ending
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.store.staging_store import StagingStore


def run_date_of(task: TaskDeploymentDescriptor) -> str | None:
    """Return the logical date of a task's run, or the day of a run without Airflow; None if it has neither."""
    is_in_airflow = task.logical_date is not None or task.try_number is not None
    found = task.logical_date if is_in_airflow else dict(task.parameters).get(RUN_DATE)
    return found if isinstance(found, str) and _is_moment(found) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherPublication:
    """A publication by another run, as far as its record can be read."""

    number: int
    owner: str
    run_id: str
    run_date: str | None

    @property
    def words(self) -> str:
        """Return the run for a message."""
        date = "" if self.run_date is None else f" of {self.run_date}"
        return f"run '{self.run_id}'{date} of '{self.owner}'"


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetVersions:
    """What was published to a target before `number`, as the run of the ledger sees it; all of it has ended."""

    ledger: Ledger
    target: str
    number: int

    def is_own(self, there: frozenset[str] = frozenset()) -> bool:
        """Whether this run has published: then the version before it is only in its staged copy.

        What was given up counts if some of its files are `there`. Raises PublicationError if a publication that this
        run may have made is unreadable.
        """
        return any(
            not self._is_given_up(one.number) or (isinstance(one, Intent) and not there.isdisjoint(one.add))
            for one in self.ledger.of_this_run(self.target, None, self.number, given_up=True)
        )

    def other_since(self, base: int) -> OtherPublication | None:
        """Return the last publication by another run from number `base` on; an unreadable one counts."""
        return self._last(base, is_dated=False)

    def refuse_backfill(self, backfill: Backfill) -> None:
        """Raise PreviousVersionError if the target holds what a run of this date or a later one has published.

        Publications without a date do not count: those of runs without one, and of versions that recorded none.
        """
        mine = self.ledger.run_date
        last = self._last(0, is_dated=True)
        if mine is None or last is None or backfill is Backfill.LATEST or _moment(mine) > _moment(str(last.run_date)):
            return
        raise PreviousVersionError(
            f"its target {self.target} already holds what {last.words} has published, and this run has the date {mine}:"
            " the version before this date is gone\n"
            "  allowed: runs of later dates\n"
            "  hint: if these rows may be added to the latest version, declare backfill='latest' for this run; if the "
            "target must be as if this run had come first, compute it again from its sources, into another target"
        )

    def why_read_again(self, read: PreviousRead) -> str | None:
        """Return why the version after `read` must be read: others have published it, and this run nothing from `read`.

        None if the staged copy counts.
        """
        other = self.other_since(read.number)
        if other is None or self.ledger.of_this_run(self.target, None, self.number, since=read.number):
            return None
        return f"{other.words} has published {self.target} since its previous version was read"

    def refuse_base(self, read: PreviousRead, again: str | None) -> None:
        """Raise an error if others have published since `read`: rows computed from it would replace theirs.

        It is a DecisionLostError if the next attempt reads again, a PreviousVersionError if it would not: then `again`
        says what to do.
        """
        if (other := self.other_since(read.number)) is None:
            return
        words = f"{other.words} has published {self.target} since this run read its previous version"
        if self.ledger.of_this_run(self.target, None, self.number, since=read.number):
            raise PreviousVersionError(
                f"{words}, and after this run had published: publishing again would remove those rows\n"
                "  hint: leave this run as it is: its rows were in the target before the other run published. To "
                "change them, start a new run, which reads the version of today"
            )
        words = f"{words}; nothing of this attempt is visible"
        if again is None:
            raise DecisionLostError(f"{words}\n  the next attempt reads the version of its time")
        raise PreviousVersionError(f"{words}\n  hint: {again}")

    def _last(self, since: int, *, is_dated: bool) -> OtherPublication | None:
        for number, document in self.ledger.records.newest_first(self.target, self.number, since):
            if self._is_given_up(number):
                continue
            found = self._other(number, document)
            if found is not None and (found.run_date is not None or not is_dated):
                return found
        return None

    def _is_given_up(self, number: int) -> bool:
        return ending(self.ledger.store, self.ledger.layout.done(self.target, number)) is Ending.GIVEN_UP

    def _other(self, number: int, document: Mapping[str, object] | DamagedDocumentError) -> OtherPublication | None:
        """Return a publication unless this run made it."""
        if isinstance(document, DamagedDocumentError):
            return OtherPublication(number=number, owner="?", run_id="?", run_date=None)
        identity = document["identity"]
        if identity == to_wire(self.ledger.layout.identity):
            return None
        try:
            its = from_wire(RunIdentity, identity)  # type: ignore[arg-type]  # JSON
            owner, run_id = its.owner, its.run_id
        except DescriptorError:
            owner, run_id = "?", "?"
        date = document.get("run_date")
        is_date = isinstance(date, str) and _is_moment(date)
        return OtherPublication(number=number, owner=owner, run_id=run_id, run_date=str(date) if is_date else None)


def refuse_changed(ledger: Ledger, read: PreviousRead) -> None:
    """Raise SourceChangedError if others have decided a publication since a target was about to be read."""
    if ledger.records.next_number(read.target) > read.number:
        raise SourceChangedError(
            f"another run has published {read.target} while its previous version was read; the next attempt reads again"
        )


def why_read_again(task: TaskDeploymentDescriptor, store: StagingStore) -> str | None:
    """Return why a region that has staged a previous version must read it again; None if it must not.

    A document that cannot be read raises what reading it raises.
    """
    ledger = Ledger(store=store, layout=task.layout, plan_id=task.region.plan_id, run_date=run_date_of(task))
    log = ManifestLog(store=store, layout=task.layout)
    for result in task.region.results:
        latest = log.latest(result.id)
        for read in latest.previous if latest is not None and latest.is_previous_version else ():
            number = ledger.records.next_number(read.target)
            versions = TargetVersions(ledger=ledger, target=read.target, number=number)
            if (why := versions.why_read_again(read)) is not None:
                return why
    return None


def copies(log: ManifestLog, result: ResultDescriptor, target: str) -> Iterator[tuple[Manifest, PreviousRead]]:
    """Yield what a run has staged of a target's previous version, the last first: all have the same rows."""
    for epoch in reversed(log.epochs(result.id)):
        manifest = log.find(result.id, epoch)
        if manifest is not None and manifest.fingerprint == result.fingerprint:
            yield from ((manifest, read) for read in manifest.previous if read.target == target)


def oldest(reads: Iterable[PreviousRead]) -> tuple[PreviousRead, ...]:
    """Return one read of each target, that of the oldest version: a sink must not replace anything newer."""
    found: dict[str, PreviousRead] = {}
    for read in reads:
        known = found.setdefault(read.target, read)
        if read.number < known.number:
            found[read.target] = read
    return tuple(found[target] for target in sorted(found))


def _moment(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _is_moment(text: str) -> bool:
    try:
        _moment(text)
    except ValueError:
        return False
    return True
