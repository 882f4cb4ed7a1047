"""The position of one source: a chain of increments, of which each is one run's (decision 78).

    take      a run's first attempt looks for what is new, and puts it as the next entry; later attempts find it there
    claim     before a sink is published: from now on the increment is its run's, and no other run may take it over
    done      after it is published
    reaches   an attempt of another plan puts the sinks that its plan has: those of the last attempt publish it
    settle    what became of the last increment: the next run asks, before it takes one

        it is empty, or all sinks have published it    CONSUMED
        its run may continue                           PositionBusyError: try again later
        no run has claimed it                          SUPERSEDED: it is new again, and its run may not publish it
        otherwise                                      PositionPendingError: a person decides

`claim` and the step to SUPERSEDED put the same key if it is absent, so only one of the two happens. Whether a sink has
published is what its ledger says; where it has none, the record that is written after its publication.
"""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any

from graph_compiler import program_log
from graph_compiler.deployment.documents.position import (
    VERSION,
    Increment,
    IncrementEnd,
    PositionEntry,
    ReachedSink,
    ReachedSinks,
    ReadFrom,
    Reset,
    Settlement,
    SinkBegun,
)
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import PositionLayout, StagingLayout, positions_of
from graph_compiler.deployment.documents.wire import to_json, to_wire
from graph_compiler.errors import DamagedDocumentError, OtherVersionError, StagingError
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import OperatorId, known_name, listing, path_segment
from graph_compiler.staging.attempts.attempts import attempt_documents, last_execution, regions_of
from graph_compiler.staging.gc.liveness import MINIMUM_SILENCE
from graph_compiler.staging.positions.known import Known, NewPart, SeenFile
from graph_compiler.staging.publications.ledger_records import LedgerRecords
from graph_compiler.staging.publications.publications import Ending, ending
from graph_compiler.staging.store.read_document import decode_object, get_document
from graph_compiler.staging.store.staging_store import StagingStore

LOG = program_log.logger(__name__)
_NAME = re.compile(r"(0|[1-9][0-9]*)\.json", re.ASCII)
_COMPACTED = 16
"""After so many entries, all that is known is written into one document."""
MOST_LISTED = 1_000_000_000
"""The size of a list of files: ten million of them."""
_RESET = "reset"
_TABLES = ("Iceberg", "Delta")
"""The kinds of sources whose bounds are commits of a table."""


class PositionError(StagingError):
    """A run cannot have its increment; a retry does not help."""


class PositionBusyError(PositionError):
    """Another run is at work on the position; a retry may succeed."""


class PositionPendingError(PositionError):
    """The last increment is neither published as a whole nor free: a person decides."""


class IncrementSupersededError(PositionError):
    """What a run has read was given to another run, or is new again after a reset."""


class SinkState(StrEnum):
    """Whether a sink has published an increment.

    DECIDED: its ledger has it, and not that it was carried out. UNKNOWN: it began, and has no ledger.
    """

    NOT_PUBLISHED = "NOT_PUBLISHED"
    UNKNOWN = "UNKNOWN"
    DECIDED = "DECIDED"
    PUBLISHED = "PUBLISHED"


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionLog:
    """The entries of a source's position."""

    store: StagingStore
    layout: PositionLayout

    # What is there.

    def numbers(self) -> list[int]:
        """Return the numbers of all entries, in order."""
        names = (_NAME.fullmatch(PurePosixPath(key).name) for key in self.store.keys(self.layout.folder))
        return sorted(int(name[1]) for name in names if name)

    def entry(self, number: int) -> PositionEntry:
        """Return an entry; raises DamagedDocumentError and OtherVersionError."""
        key = self.layout.entry(number)
        try:
            found = get_document(self.store, key, PositionEntry, version=VERSION)
        except DamagedDocumentError as error:
            raise error.hinting(self._healing()) from None
        if found is None:
            raise DamagedDocumentError(key, "is gone", self._healing())
        return found

    def end(self, number: int) -> IncrementEnd | None:
        """Return whose an increment is, None if it was neither claimed nor given up.

        A record that cannot be read counts as a claim: then no run takes the increment over.
        """
        try:
            return get_document(self.store, self.layout.end(number), IncrementEnd)
        except DamagedDocumentError:
            return IncrementEnd(superseded_by=None)

    def files_of(self, increment: Increment) -> tuple[SeenFile, ...]:
        """Return the files of an increment; raises DamagedDocumentError."""
        if increment.listed is None:
            return ()
        content = self.store.get(increment.listed, most=MOST_LISTED)
        if content is None:
            raise DamagedDocumentError(increment.listed, "is gone", self._healing())
        try:
            document: Any = decode_object(content, increment.listed)
            return tuple(SeenFile(path, int(size), int(at)) for path, (size, at) in document["files"].items())
        except DamagedDocumentError as error:
            raise error.hinting(self._healing()) from None
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DamagedDocumentError(increment.listed, f"has another form: {error}", self._healing()) from None

    def of_run(self, identity: RunIdentity) -> Increment | None:
        """Return the increment of a run, None if it has none."""
        number = self._number_of(identity)
        if number is None:
            numbers = self.numbers()
            number = numbers[-1] if numbers else None
        if number is None:
            return None
        found = self.entry(number)
        return found if isinstance(found, Increment) and found.identity == identity else None

    def overtaken_by(self, increment: Increment) -> str | None:
        """Return the first run that has read more after an increment, and published it; None if there is none."""
        entries = [self.entry(number) for number in self.numbers() if number > increment.number]
        verdicts = [each.before for each in entries[1:]] + [self._verdict_now(each.number) for each in entries[-1:]]
        for entry, verdict in zip(entries, verdicts, strict=True):
            if isinstance(entry, Increment) and not entry.is_empty and verdict is Settlement.CONSUMED:
                return entry.identity.run_id
        return None

    def needed_commits(self) -> tuple[tuple[str, int], ...]:
        """Return the commits of a table behind which the next run reads, and a run that has not published all.

        Each with the kind of its bounds; none for a source of files, or of a database.
        """
        numbers = self.numbers()
        last = self.entry(numbers[-1]) if numbers else None
        if last is None:
            return ()
        verdict = self._verdict_now(last.number)
        known = self.known(verdict)
        found = [] if known.upper is None else [(known.upper.kind, known.upper.upper)]
        if isinstance(last, Increment) and verdict is None and last.bounds is not None:
            end = self.end(last.number)
            if end is None or end.superseded_by is None:
                found.append((last.bounds.kind, last.bounds.lower or last.bounds.upper))
            read_from: ReadFrom | None = last.read_from
        else:
            read_from = known.read_from
        if read_from is None or read_from.kind not in _TABLES:
            return ()
        return tuple((kind, int(commit)) for kind, commit in dict.fromkeys(found) if commit is not None)

    def known(self, verdict: Settlement | None) -> Known:
        """Return all that was consumed; `verdict` is that on the last entry."""
        numbers = self.numbers()
        known, start = self._compacted(numbers[-1] if numbers else 0)
        entries: dict[int, PositionEntry] = {}
        for number in range(numbers[-1] if numbers else -1, start - 1, -1):
            entries[number] = entry = self.entry(number)
            if isinstance(entry, Reset) and entry.to < 0 and not entry.files:  # what is before does not matter
                known = Known()
                break
        for number, entry in sorted(entries.items()):
            following = entries.get(number + 1)
            if isinstance(entry, Reset):
                known.forget(entry)
            elif isinstance(entry, Increment) and (following.before if following else verdict) is Settlement.CONSUMED:
                known.add(entry, self.files_of(entry))
        return known

    def _compacted(self, below: int) -> tuple[Known, int]:
        """Return what is known before an entry, and the number of that entry."""
        for number in sorted(self._compactions(), reverse=True):
            if number > below:
                continue
            key = self.layout.known(number)
            content = self.store.get(key, most=MOST_LISTED)
            if content is not None:
                with suppress(DamagedDocumentError):  # the entries have the same
                    return Known.from_json(content, key), number
        return Known(), 0

    def _compactions(self) -> list[int]:
        names = (_NAME.fullmatch(PurePosixPath(key).name) for key in self.store.keys(self.layout.all_known))
        return [int(name[1]) for name in names if name]

    # A run takes its increment.

    def obtain(
        self,
        layout: StagingLayout,
        execution_id: str,
        sinks: tuple[ReachedSink, ...],
        read_from: ReadFrom,
        look: Callable[[Known], NewPart],
    ) -> Increment:
        """Return the increment of a run; its first attempt looks for what is new.

        Raises PositionError if the run's increment is no longer its own, or the last one is not settled.
        """
        identity = layout.identity
        if (own := self.of_run(identity)) is not None:
            self.check_own(own)
            self.reaches(own, sinks)
            return own
        numbers = self.numbers()
        verdict = self.settle(numbers[-1], identity) if numbers else None
        known = self.known(verdict)
        self._refuse_another_place(known, read_from)
        found = look(known)
        number = numbers[-1] + 1 if numbers else 0
        increment = Increment(
            version=VERSION,
            number=number,
            identity=identity,
            execution_id=execution_id,
            read_from=read_from,
            sinks=sinks,
            files=None if found.files is None else len(found.files),
            bytes=None if found.files is None else sum(each.bytes for each in found.files),
            listed=self._list(number, execution_id, found.files),
            bounds=found.bounds,
            before=verdict,
            taken=time.time(),
        )
        if number and number % _COMPACTED == 0:
            self._compact(number, known)
        if not self._append(increment):
            winner = self.entry(number)
            if not isinstance(winner, Increment) or winner.identity != identity:
                raise PositionBusyError(
                    f"another run has taken what is new of '{self.layout.uid}' since this attempt began\n"
                    "  hint: the next attempt waits for it; let one run of the pipeline run at a time"
                )
            increment = winner  # of another attempt of this run
            self.reaches(increment, sinks)
        self._note_run(increment)
        return increment

    def _list(self, number: int, execution_id: str, files: tuple[SeenFile, ...] | None) -> str | None:
        if not files:
            return None
        key = self.layout.listed(number, execution_id)
        listed = {each.path: (each.bytes, each.modified) for each in files}
        self.store.put(key, json.dumps({"version": VERSION, "files": listed}).encode())
        return key

    def _append(self, entry: PositionEntry) -> bool:
        """Put an entry as the next one; first, let every earlier one be found by its run."""
        if entry.number:
            with suppress(DamagedDocumentError, OtherVersionError):
                before = self.entry(entry.number - 1)
                if isinstance(before, Increment):
                    self._note_run(before)
        return self.store.put_if_absent(self.layout.entry(entry.number), to_json(entry).encode())

    def _note_run(self, increment: Increment) -> None:
        self.store.put_if_absent(self.layout.of_run(increment.identity), json.dumps(increment.number).encode())

    def _number_of(self, identity: RunIdentity) -> int | None:
        content = self.store.get(self.layout.of_run(identity))
        try:
            found = None if content is None else json.loads(content)
        except ValueError:
            raise DamagedDocumentError(self.layout.of_run(identity), "holds no number", self._healing()) from None
        return found if isinstance(found, int) else None

    def _compact(self, number: int, known: Known) -> None:
        """Write what is known into one document; of the older ones, only the last stays."""
        self.store.put_if_absent(self.layout.known(number), known.to_json())
        for old in sorted(self._compactions())[:-2]:
            self.store.delete(self.layout.known(old))

    def check_own(self, increment: Increment) -> None:
        """Raise IncrementSupersededError if an increment is not its run's any more."""
        end = self.end(increment.number)
        last = self.numbers()[-1]
        is_last = last == increment.number
        if end is not None and end.superseded_by is not None:
            raise self._superseded(increment, end.superseded_by)
        if is_last:
            return
        if increment.number not in self.known(self._verdict_now(last)).bounds:
            raise self._superseded(increment, _RESET)

    def _verdict_now(self, number: int) -> Settlement | None:
        """Return the verdict on the last entry if it is known; it does not matter for the entries before."""
        try:
            entry = self.entry(number)
        except DamagedDocumentError:
            return None
        is_published = isinstance(entry, Increment) and all(
            state is SinkState.PUBLISHED for state in self.sink_states(entry).values()
        )
        return Settlement.CONSUMED if is_published else None

    def _superseded(self, increment: Increment, by: str) -> IncrementSupersededError:
        run = increment.identity.run_id
        whose = "is new again since a reset" if by == _RESET else f"was given to run '{by}', since this run had failed"
        return IncrementSupersededError(
            f"what run '{run}' has read of '{self.layout.uid}' ({increment.words()}) {whose}\n"
            f"  nothing is lost, and publishing it here would double it\n  hint: start a new run, and leave '{run}' "
            "as it is, or mark it as failed"
        )

    def _refuse_another_place(self, known: Known, now: ReadFrom) -> None:
        before = known.read_from
        if before is None or before.is_same(now):
            return
        found = f"'{self.layout.uid}' has read {before.words()}, and now reads {now.words()}: its position is about "
        if before.is_same(replace(now, mapped=before.mapped)):
            raise PositionError(
                f"{found}the former, and the list over which its task group is mapped has changed\n"
                "  allowed: a list that keeps its values, each at its place, and gets new ones at its end\n"
                f"  hint: put the list back; or {self._reset_hint()}"
            )
        raise PositionError(
            f"{found}the former\n  allowed: the same place and column, or another uid\n  hint: {self._reset_hint()}"
        )

    # What became of an increment.

    def settle(self, number: int, mine: RunIdentity | None = None) -> Settlement | None:
        """Return what became of the last entry, None for a reset; if no run has claimed it, give it up for run `mine`.

        Raises PositionBusyError while its run may continue, PositionPendingError if only a person can decide.
        """
        entry = self.entry(number)
        if not isinstance(entry, Increment):
            return None
        if (end := self.end(number)) is not None and end.superseded_by is not None:
            return Settlement.SUPERSEDED
        states = self.sink_states(entry)
        if entry.is_empty or all(state is SinkState.PUBLISHED for state in states.values()):
            return Settlement.CONSUMED
        if self._may_continue(entry):
            raise self._busy(entry)
        if end is not None:
            raise PositionPendingError(self._pending_words(entry, states))
        by = IncrementEnd(superseded_by=_RESET if mine is None else mine.run_id)
        if self.store.put_if_absent(self.layout.end(number), to_json(by).encode()):
            return Settlement.SUPERSEDED
        end = self.end(number)
        if end is None or end.superseded_by is None:  # its run has claimed it in the meantime
            raise self._busy(entry)
        return Settlement.SUPERSEDED

    def _busy(self, entry: Increment) -> PositionBusyError:
        return PositionBusyError(
            f"run '{entry.identity.run_id}' has read {entry.words()} of '{self.layout.uid}', and has not published all "
            "of it: it may still be running\n"
            "  hint: the next attempt looks again; let one run of the pipeline run at a time"
        )

    def _pending_words(self, entry: Increment, states: Mapping[ReachedSink, SinkState]) -> str:
        run = entry.identity.run_id
        there = [sink.name for sink, state in states.items() if state is SinkState.PUBLISHED]
        rest = [sink.name for sink, state in states.items() if state is SinkState.NOT_PUBLISHED]
        unclear = [sink.name for sink, state in states.items() if state in (SinkState.DECIDED, SinkState.UNKNOWN)]
        left = f", not by {listing(rest)}" if rest else ""
        perhaps = f"; {listing(unclear)} may have published it" if unclear else ""
        may_have_it = list(dict.fromkeys([*there, *unclear, *self._removed_sinks(entry)]))
        doubled = f"; then {listing(may_have_it)} may have its rows twice" if may_have_it else ""
        return (
            f"run '{run}' has read {entry.words()} of '{self.layout.uid}', and began to publish it: "
            f"published by {listing(there)}{left}{perhaps}\n"
            f"  hint: clear the failed tasks of run '{run}': it reads the same again, and publishes the rest\n"
            f"  or graph-compiler positions reset {self._words()} --before {shlex.quote(run)}: the next run reads it "
            f"again{doubled}"
        )

    def sink_states(self, increment: Increment) -> dict[ReachedSink, SinkState]:
        """Return whether each sink that an increment reaches has published it."""
        return {sink: self._sink_state(increment, sink) for sink in self._reached(increment)[-1]}

    def _removed_sinks(self, increment: Increment) -> list[str]:
        """Return the names of sinks that only earlier plans have, and that may have published it."""
        *earlier, last = self._reached(increment)
        removed = dict.fromkeys(sink for sinks in earlier for sink in sinks if sink not in last)
        return [one.name for one in removed if self._sink_state(increment, one) is not SinkState.NOT_PUBLISHED]

    def _sink_state(self, increment: Increment, sink: ReachedSink) -> SinkState:
        if self.store.is_there(self.layout.sink_done(increment.number, sink.operator_id)):
            return SinkState.PUBLISHED
        try:
            begun = get_document(self.store, self.layout.sink_begun(increment.number, sink.operator_id), SinkBegun)
        except DamagedDocumentError:
            return SinkState.UNKNOWN
        if begun is None:
            return SinkState.NOT_PUBLISHED
        if begun.target is None:
            return SinkState.UNKNOWN
        layout = StagingLayout(root=self.layout.root, identity=increment.identity)
        endings = set(_endings_of(self.store, layout, begun.target, sink.operator_id))
        if Ending.CARRIED_OUT in endings:
            return SinkState.PUBLISHED
        return SinkState.DECIDED if Ending.OPEN in endings else SinkState.NOT_PUBLISHED

    def _may_continue(self, increment: Increment) -> bool:
        """Whether a run may still publish by itself: an attempt of it shows signs of life, or one is to come.

        It need not be certain: a run that continues later than this finds that it may not publish.
        """
        layout = StagingLayout(root=self.layout.root, identity=increment.identity)
        regions = regions_of(self.store, layout)
        last_sign, has_failed, is_open = 0.0, False, False
        for region_id in regions:
            attempt = last_execution(self.store, layout, region_id)
            begun = attempt_documents(self.store, layout, region_id)
            signs = [each for one in begun[-1:] for each in (one.last_sign(), one.reported()) if each is not None]
            last_sign = max([last_sign, *signs])
            is_open = is_open or (attempt is not None and not attempt.state.is_terminal)
            failed = (ExecutionState.FAILED, ExecutionState.CANCELED)
            has_failed = has_failed or (attempt is not None and attempt.state in failed)
        awaits = any(sink.region_id not in regions for sink in self._reached(increment)[-1])
        return (is_open or (awaits and not has_failed)) and time.time() - last_sign < MINIMUM_SILENCE

    # A run publishes its increment.

    def reaches(self, increment: Increment, sinks: tuple[ReachedSink, ...]) -> None:
        """Record the sinks that an increment reaches by the plan of an attempt, if the last one had others."""
        while set(sinks) != set((known := self._reached(increment))[-1]):
            key = self.layout.reached(increment.number, len(known))
            if self.store.put_if_absent(key, to_json(ReachedSinks(sinks=sinks)).encode()):
                return

    def _reached(self, increment: Increment) -> list[tuple[ReachedSink, ...]]:
        """Return the sinks of each plan that has run an attempt, the last one's at the end."""
        found = [increment.sinks]
        while True:
            key = self.layout.reached(increment.number, len(found))
            try:
                later = get_document(self.store, key, ReachedSinks)
            except DamagedDocumentError as error:
                raise error.hinting(self._healing()) from None
            if later is None:
                return found
            found.append(later.sinks)

    def claim(self, increment: Increment, targets: Mapping[OperatorId, str | None]) -> None:
        """Record that its run is about to publish an increment to the targets of sinks.

        Raises IncrementSupersededError if it was given up before.
        """
        self.check_own(increment)
        content = to_json(IncrementEnd(superseded_by=None)).encode()
        if not self.store.put_if_absent(self.layout.end(increment.number), content):
            end = self.end(increment.number)
            if end is not None and end.superseded_by is not None:
                raise self._superseded(increment, end.superseded_by)
        for operator_id, target in targets.items():
            key = self.layout.sink_begun(increment.number, operator_id)
            self.store.put_if_absent(key, to_json(SinkBegun(target=target)).encode())

    def done(self, increment: Increment, operator_ids: Iterable[OperatorId]) -> None:
        """Record that sinks have published an increment."""
        for operator_id in operator_ids:
            self.store.put_if_absent(self.layout.sink_done(increment.number, operator_id), b"{}")

    # A person resets it.

    def reset(self, *, to: int, files: Sequence[str] = ()) -> Reset:
        """Put a reset as the next entry; raises PositionBusyError while the last run may continue.

        If the last increment is published in part, it counts as consumed only if the reset is to it, or to later ones.
        """
        numbers = self.numbers()
        verdict: Settlement | None = None
        if numbers:
            try:
                verdict = self.settle(numbers[-1])
            except PositionPendingError:
                if files:
                    raise
                verdict = Settlement.CONSUMED if to >= numbers[-1] else Settlement.SUPERSEDED
            except DamagedDocumentError:
                verdict = None
        number = numbers[-1] + 1 if numbers else 0
        reset = Reset(version=VERSION, number=number, to=to, files=tuple(files), before=verdict, taken=time.time())
        if not self._append(reset):
            raise PositionBusyError(f"a run has moved the position of '{self.layout.uid}' in the meantime: look again")
        return reset

    def _reset_hint(self) -> str:
        return (
            f"graph-compiler positions reset {self._words()}: the next run reads all of it again, also what is "
            "published"
        )

    def _healing(self) -> str:
        return f"restore it from a backup; or {self._reset_hint()}"

    def _words(self) -> str:
        return f"{shlex.quote(self.layout.owner)} {shlex.quote(self.layout.uid)}"


def position_logs(store: StagingStore, root: str, owner: str | None = None) -> Iterator[PositionLog]:
    """Yield every position of a staging root that has entries, or those of one owner."""
    for folder in store.folders(positions_of(root)):
        if owner is not None and folder != path_segment(owner):
            continue
        for name in store.folders(f"{positions_of(root)}/{folder}"):
            layout = PositionLayout(root=root, owner=owner or known_name(folder), uid=known_name(name))
            log = PositionLog(store=store, layout=layout)
            if log.numbers():
                yield log


def _endings_of(store: StagingStore, layout: StagingLayout, target: str, operator_id: OperatorId) -> Iterator[Ending]:
    """Yield the outcomes of what a sink of a run has decided to publish to a target, the last one first."""
    records = LedgerRecords(store=store, layout=layout)
    decided, _ = records.numbers(target)
    for number in sorted(decided, reverse=True):
        with suppress(DamagedDocumentError):
            document = records.document(target, number)
            if document["identity"] == to_wire(layout.identity) and document["operator_id"] == operator_id:
                yield ending(store, layout.done(target, number))
