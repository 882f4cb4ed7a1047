"""The publications of a target, in order, from all runs and pipelines.

    settle    finish what others decided about this target, or give it up if that is impossible; return the next number
    decide    put, under that number, what will be done; from now on the outcome is certain
    finish    put the record that it is done

Of two executions that took the same number, only one can decide: the other changes nothing, and is tried again. If
its change does not depend on what others did, it takes the next number instead.

An unreadable intent (empty, truncated, of another kind) does not block the target forever. Once it is done, its order
no longer matters, only which run it belongs to. Before that, no successful task depends on it, so it is given up,
unless a live attempt may have it in memory. In both cases, a run that may have published it gets an error.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeVar

from graph_compiler import program_log
from graph_compiler.deployment.documents.staging_layout import StagingLayout, StreamLayout
from graph_compiler.deployment.documents.stream import EarlierStream, StreamOrigin, family_of
from graph_compiler.deployment.documents.wire import to_json, to_wire
from graph_compiler.errors import (
    DamagedDocumentError,
    DecisionLostError,
    GraphCompilerError,
    PublicationConflictError,
    PublicationError,
    StagingRootNotSharedError,
)
from graph_compiler.identifiers import OperatorId, listing
from graph_compiler.staging.publications import unexplained_attempts
from graph_compiler.staging.publications.folded_batches import FOLDED_AFTER, batch_of, were_planned_apart
from graph_compiler.staging.publications.ledger_records import GONE, LedgerRecords, next_number
from graph_compiler.staging.publications.publications import (
    GIVEN_UP,
    WHOLE,
    Confirmation,
    Ending,
    Intent,
    Publication,
    commit_in,
    done_by,
    ending,
)
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.store.stores import store_beside
from graph_compiler.stores.known_stores import putting

LOG = program_log.logger(__name__)

Decided = TypeVar("Decided", bound=Publication)
_OTHER_TARGETS = "another target for this sink; or mode='merge', which has each key once"
_OWN_PLACE = (
    "let the path depend on an argument of the group (params), or use mode='append', 'overwrite-partitions' or 'merge'"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """The publications of all targets, as one run sees them, with the plan of its task.

    A sink of the run has the same operator id only within a plan: a change of the pipeline may move the id. A `batch`
    of a stream is repeated as a run is, by whatever run comes next: what follows says of it what it says of a run.
    `restored` is the savepoint behind which a sink appends its first batch, None for all others. `check_turn` raises
    StagingError if its driver does not have the stream any more.
    """

    store: StagingStore
    layout: StagingLayout
    plan_id: str
    run_date: str | None = None
    batch: str | None = None
    restored: StreamOrigin | None = None
    is_same_root: Callable[[], bool] = lambda: True
    check_turn: Callable[[], None] = lambda: None

    @property
    def records(self) -> LedgerRecords:
        """Return the records of decided publications."""
        return LedgerRecords(store=self.store, layout=self.layout)

    def settle(
        self, target: str, operator_id: OperatorId, carry_out: Callable[[Publication], None], mine: str | None = None
    ) -> int:
        """Finish the target's unfinished publications, and return the next number; `mine` is the calling execution.

        Raises PublicationError for a target that another sink of this run and plan wrote last, if it has rows from
        behind the savepoint that this one appends to, and if a publication that this run may have made is unreadable;
        PublicationConflictError while a live attempt may have made it.
        """
        number = self.finish_open(target, carry_out, mine)
        if self.restored is not None:
            self._refuse_rows_behind(self.restored, target)
        with suppress(DamagedDocumentError):
            if number:
                self._refuse_another_sink(self.records.document(target, number - 1), operator_id)
        return number

    def finish_open(self, target: str, carry_out: Callable[[Publication], None], mine: str | None = None) -> int:
        """Finish the target's unfinished publications, and return the next number."""
        intents, ended = self.records.numbers(target)
        for earlier in sorted(intents - ended):
            if not self._is_late(target, earlier):
                self._settle(target, earlier, carry_out, mine)
        return next_number(intents, ended)

    def _is_late(self, target: str, number: int) -> bool:
        """Whether a decision has the number of one whose record is folded; remove it, and nothing of it is carried out.

        Its execution has slept since before a hundred batches were published: the number was free again.
        """
        if number not in self.records.folded(target):
            return False
        self.store.delete(self.layout.intent(target, number))
        return True

    def of_this_run(
        self, target: str, operator_id: OperatorId | None, before: int, *, since: int = 0, given_up: bool = False
    ) -> tuple[Publication, ...]:
        """Return the publications of this run's attempts to the target, in order, by this plan or an earlier one.

        With `given_up`, also those that were decided and given up, whose files or rows may be there in part. Raises
        PublicationError if another sink of this plan than `operator_id` has published to it; None allows any.
        """
        found: list[Publication] = []
        for number, document in self.records.newest_first(target, before, since):
            if isinstance(document, DamagedDocumentError):
                self._refuse_what_may_be_own(target, document, before)
                continue
            # A target that has been written for years has thousands of records: only those of this run are decoded.
            if self._is_of_this_run(document) and (
                given_up or ending(self.store, self.layout.done(target, number)) is not Ending.GIVEN_UP
            ):
                if operator_id is not None:
                    self._refuse_another_sink(document, operator_id)
                found.append(self.records.publication(target, number))
            self._refuse_older_checkpoint(document, number)
            if self._is_of_an_earlier_batch(document):
                break  # batches are published one after the other
        return tuple(reversed(found))

    def others_since(self, target: str, own: Publication, before: int) -> bool:
        """Whether other runs have changed the target after this one, or may have: a record may be unreadable."""
        since = own.number + 1 if own.target == target else 0
        known = 0
        for number, document in self.records.newest_first(target, before, since):
            known += 1
            is_change = isinstance(document, DamagedDocumentError) or not self._is_of_this_run(document)
            with suppress(DamagedDocumentError):
                is_change = is_change and not isinstance(self.records.publication(target, number), Confirmation)
            if is_change and ending(self.store, self.layout.done(target, number)) is not Ending.GIVEN_UP:
                return True
        return known < before - since  # streams have published, and their records are folded

    def refuse_rows_of_this_dag_run(self, target: str, before: int) -> None:
        """Raise PublicationError if another group of this Dag run, or instance of a mapped one, published last.

        For a sink that replaces all rows. A Dag file shows only some of these targets: the others are known here, as
        they were rendered. If the last record is unreadable, an attempt of such a group that may have made it counts.
        """
        mine = self.layout.identity
        number = self._last(target, before)
        if number is None:
            return
        try:
            last = self.records.publication(target, number).identity
        except DamagedDocumentError as error:
            explained = self.records.explained(target, before)
            if found := unexplained_attempts.of_dag_run(self.store, self.layout, target, explained):
                ids = listing([attempt.execution_id for attempt in found])
                commands = unexplained_attempts.way_out(found)
                raise PublicationError(
                    f"the last publication to its target {target} cannot be read, and {ids} of another group of this "
                    f"Dag run may have made it: this sink would replace those rows\n  found: {error.path} {error.why}\n"
                    f"  hint: {_OWN_PLACE}. If no driver of it runs, and the target has no files or rows of {ids}: "
                    f"{commands}"
                ) from None
            return
        if last != mine and (last.dag_id, last.run_id) == (mine.dag_id, mine.run_id):
            raise PublicationError(
                f"'{last.owner}' has published to its target {target} in this Dag run, and it would replace those "
                f"rows\n  hint: {_OWN_PLACE}. If cleared tasks have got other arguments, start a new run"
            )

    def why_another_zone(self, target: str, before: int) -> str | None:
        """Return why a target's times may be in the zone of a host, None if they are in the pinned one.

        Only the last publication counts: it was made after this was confirmed, or has replaced all rows. If its record
        is unreadable, any version may have written it.
        """
        number = self._last(target, before)
        if number is None:
            return None
        try:
            zone = self.records.document(target, number).get("zone")
        except DamagedDocumentError as error:
            return f"may have been written by a version that used the zone of its host ({error.path} {error.why})"
        return "was last written by a version that used the zone of its host" if zone is None else None

    def _last(self, target: str, before: int) -> int | None:
        """Return the number of the last publication that was not given up; its record may be unreadable.

        Raises DamagedDocumentError, which says what to do, if it is not known whether one was given up.
        """
        for number in reversed(range(before)):
            if ending(self.store, self.layout.done(target, number)) is not Ending.GIVEN_UP:
                return number
        return None

    def documents(self, target: str, before: int) -> Iterator[Mapping[str, object]]:
        """Yield the readable records of decided publications to the target, the last one first."""
        for _, document in self.records.newest_first(target, before):
            if not isinstance(document, DamagedDocumentError):
                yield document

    def decide(self, publication: Publication) -> None:
        """Record a publication that will be made.

        Raises DecisionLostError if another execution was first, StagingRootNotSharedError if the record would not be
        in the staging root of this execution's start: then no other execution would see it. Raises StagingError if the
        stream of a batch was reset, or has another driver.
        """
        key = self.layout.intent(publication.target, publication.number)
        content = to_json(publication).encode()
        # In this order: if the root is replaced in between, one of the two is missing.
        was_put = self.store.put_if_absent(key, content)
        is_same_root, found = self.is_same_root(), self.store.get(key)
        if not is_same_root or (was_put and found is None):
            raise StagingRootNotSharedError(
                f"staging root {self.layout.root} is not the one this execution began in\n"
                f"  found: no {self.layout.marker if not is_same_root else key}\n"
                "  hint: mount it again; nothing of this execution is visible"
            )
        # If the record is equal, it is this execution's, whose answer may have been lost.
        if found != content or self._is_late(publication.target, publication.number):
            raise DecisionLostError(
                f"another execution has published {publication.target} since this one began; "
                "nothing of this one is visible"
            )
        self.check_turn()  # a reset takes a turn before it looks for what is decided: one of both sees the other

    def decide_behind_others(
        self,
        publication: Decided,
        carry_out: Callable[[Publication], None],
        renew: Callable[[Decided, tuple[Publication, ...]], Decided] = lambda own, others: own,  # noqa: ARG005  # most do not change
    ) -> Decided:
        """Decide, with the next number if other runs were first; return the decided publication.

        `renew` returns the publication as it must be after what others have decided meanwhile. Raises
        DecisionLostError if an execution of this run was first: that one counts.
        """
        while True:
            try:
                self.decide(publication)
                return publication
            except DecisionLostError:
                target, operator_id = publication.target, publication.operator_id
                number = self.settle(target, operator_id, carry_out, publication.execution_id)
                if self.of_this_run(target, operator_id, number, since=publication.number):
                    raise
                others = range(publication.number, number)
                known = tuple(self.records.publication(target, other) for other in others)
                publication = replace(renew(publication, known), number=number)

    def confirm(self, confirmation: Confirmation, carry_out: Callable[[Publication], None]) -> None:
        """Record that this run's publication stays; raises DecisionLostError like `decide_behind_others`."""
        self.finish(self.decide_behind_others(confirmation, carry_out))

    def finish(self, publication: Publication, commit: int | None = None) -> None:
        """Record that it is done, and by which commit of a table, if that is known.

        The records of old batches of its stream are folded. Raises PublicationConflictError if it was given up since
        its record is unreadable, PublicationError if it was given up although that can be read: a retry could double
        its rows.
        """
        key = self.layout.done(publication.target, publication.number)
        if self.store.put_if_absent(key, done_by(commit)):
            self._fold(publication)
            return
        if ending(self.store, key) is not Ending.GIVEN_UP:
            return
        if not self.records.holds(publication):
            raise PublicationConflictError(
                f"the record of what this execution decided to publish to {publication.target} cannot be read any "
                "more, and others have given it up"
            )
        raise PublicationError(
            f"what execution {publication.execution_id} decided to publish to {publication.target} was carried out, "
            f"and was given up meanwhile: a retry would not know of its rows\n  found: {GIVEN_UP.decode()} in {key}\n"
            f"  hint: if its rows are in the target, and no later publication of this run has them again: "
            f"{putting('{}', key)}; then clear the task"
        )

    def _fold(self, publication: Publication) -> None:
        """Fold what a stream has published long ago, once in a while; what cannot be folded is left to later."""
        try:
            if (batch := batch_of(publication.batch)) is not None and not batch[1] % FOLDED_AFTER:
                self.records.fold(publication.target, batch)
        except (OSError, GraphCompilerError) as error:  # it is published
            LOG.warning("the records of what was published to %s are not folded: %s", publication.target, error)

    def commit_of(self, publication: Publication) -> int | None:
        """Return the commit of a table that has made a publication, None if none is recorded."""
        return commit_in(self.store, self.layout.done(publication.target, publication.number))

    def is_open(self, publication: Publication) -> bool:
        """Whether no end is recorded."""
        key = self.layout.done(publication.target, publication.number)
        return ending(self.store, key) is Ending.OPEN

    def give_up(self, publication: Publication) -> None:
        """Record that it will not be done: the target refuses it permanently, or its rows are lost."""
        key = self.layout.done(publication.target, publication.number)
        self.store.put_if_absent(key, GIVEN_UP)

    def _carry_out(self, publication: Publication, carry_out: Callable[[Publication], None]) -> None:
        """Carry out another execution's publication, or give it up if its rows are lost."""
        try:
            carry_out(publication)
        except PublicationConflictError as error:
            # Nothing is published after an unfinished intent: without its record, the rows were removed by hand.
            if self.is_open(publication):
                LOG.warning(
                    "gave up what execution %s of run %s decided to publish: %s",
                    publication.execution_id,
                    publication.identity.run_id,
                    error,
                )
                self.give_up(publication)

    def _settle(self, target: str, number: int, carry_out: Callable[[Publication], None], mine: str | None) -> None:
        """Carry out another execution's publication; give it up if it is unreadable, or its rows are lost."""
        try:
            publication = self.records.publication(target, number)
        except DamagedDocumentError as error:
            if error.why == GONE:  # it was listed: it is being removed, or the root unmounted
                if number in self.records.folded(target):
                    return
                raise PublicationConflictError(f"{error.path} was there, and {GONE}") from None
            self._give_up_unreadable(target, number, error, mine)
        else:
            if isinstance(publication, Confirmation):
                self.finish(publication)
            elif self._was_reset(publication):
                LOG.warning("gave up a batch that was decided when its stream was reset: %s", publication.execution_id)
                self.give_up(publication)
            else:
                self._carry_out(publication, carry_out)

    def _give_up_unreadable(self, target: str, number: int, error: DamagedDocumentError, mine: str | None) -> None:
        explained = {*self.records.explained(target, number), *([mine] if mine else [])}
        self._refuse_own(target, error, explained)
        if found := unexplained_attempts.alive(self.store, self.layout.root, target, explained):
            raise DecisionLostError(
                f"a publication to {target} cannot be read, and execution {found[0].execution_id} may be carrying it "
                f"out\n  found: {error.path} {error.why}\n  hint: try again when it has ended; if its driver is dead "
                f"and nothing of it is in the target: {unexplained_attempts.way_out(found[:1])}"
            )
        words = "gave up a publication to %s that cannot be read: %s %s"
        LOG.warning(words, target, error.path, error.why)
        self.store.put_if_absent(self.layout.done(target, number), GIVEN_UP)

    def _refuse_what_may_be_own(self, target: str, error: DamagedDocumentError, before: int) -> None:
        self._refuse_own(target, error, self.records.explained(target, before))

    def _refuse_own(self, target: str, error: DamagedDocumentError, explained: Collection[str]) -> None:
        """Raise PublicationError if this run may have made an unreadable publication."""
        if found := unexplained_attempts.of_run(self.store, self.layout, target, explained):
            ids = [attempt.execution_id for attempt in found]
            commands = unexplained_attempts.way_out(found)
            raise PublicationError(
                f"a publication to {target} cannot be read, and {listing(ids)} of this run may have made it: what is "
                f"written now could double its rows\n  found: {error.path} {error.why}\n"
                f"  hint: when no driver of {listing(ids)} runs, remove its files or rows from the target, if there "
                f"are any; then: {commands}"
            )

    def _is_of_this_run(self, document: Mapping[str, object]) -> bool:
        if self.batch is not None or document.get("batch") is not None:
            return batch_of(document.get("batch")) == batch_of(self.batch)
        return document["identity"] == to_wire(self.layout.identity)

    def _refuse_rows_behind(self, savepoint: StreamOrigin, target: str) -> None:
        """Raise PublicationError if streams that a savepoint continues have published behind it, or may do that."""
        if target in savepoint.elsewhere:
            raise PublicationError(
                f"its target {target} has rows of the stream of the savepoint {savepoint.path}, and another staging "
                "root has recorded of which batches: they could be appended again\n"
                f"  allowed: {_OTHER_TARGETS}; or the staging root of the savepoint"
            )
        known, oldest = {each.stream_id: each for each in savepoint.streams}, dict[str, int]()
        own, _ = batch_of(self.batch) or ("", 0)  # it may be there already: a batch is repeated
        passed = {each.stream_id for each in savepoint.streams}
        families = {family_of(each.stream_id) for each in savepoint.streams}
        for number, stream_id, batch in self._batches(target):
            done, oldest[stream_id] = self.layout.done(target, number), batch
            if stream_id == own or ending(self.store, done) is Ending.GIVEN_UP:
                continue
            if stream_id not in passed and family_of(stream_id) in families:
                raise _of_another_branch(savepoint, target, batch, done)
            if (before := known.get(stream_id)) is None:
                continue
            if batch > before.batch:
                raise PublicationError(
                    f"its target {target} has batch {batch}, and the savepoint {savepoint.path} is behind batch "
                    f"{before.batch}: what was published since is read again, and would be there twice\n"
                    f"  allowed: {_OTHER_TARGETS}; or a savepoint that was taken later\n  hint: if you have removed "
                    f"the rows of batch {batch} from the target: {putting(GIVEN_UP.decode(), done)}"
                )
            if self._is_continued(before.owner, before.stream_id):
                raise PublicationError(
                    f"its target {target} has batches of '{before.owner}', whose stream continues: both would "
                    f"append the same rows\n  allowed: {_OTHER_TARGETS}\n  hint: `graph-compiler streams reset` "
                    "ends the other one"
                )
            del known[stream_id]
        self._refuse_folded_rows_behind(savepoint, target, known.values(), oldest)

    def _refuse_folded_rows_behind(
        self, savepoint: StreamOrigin, target: str, streams: Iterable[EarlierStream], oldest: Mapping[str, int]
    ) -> None:
        """Raise PublicationError if `oldest` batches that are recorded leave a gap behind those of a savepoint."""
        folded = [each for each in streams if oldest.get(each.stream_id, -1) > each.batch + 1]
        if folded and self.records.folded(target).ranges:
            before = folded[0]
            raise PublicationError(
                f"its target {target} may have the batches {before.batch + 1} to {oldest[before.stream_id] - 1}, which "
                f"are not recorded any more, and the savepoint {savepoint.path} is behind batch {before.batch}\n"
                f"  allowed: {_OTHER_TARGETS}; or a savepoint that was taken later"
            )

    def _batches(self, target: str) -> Iterator[tuple[int, str, int]]:
        """Yield the recorded publications of batches, the last one first: number, stream, and batch."""
        for number, document in self.records.newest_first(target, self.records.next_number(target)):
            if isinstance(document, DamagedDocumentError):
                if document.why != GONE:  # removed by hand
                    raise document
            elif (batch := batch_of(document.get("batch"))) is not None:
                yield number, *batch

    def _is_continued(self, owner: str, stream_id: str) -> bool:
        """Whether a stream can still be continued in this staging root."""
        return bool(self.store.keys(StreamLayout(root=self.layout.root, owner=owner).turns(stream_id)))

    def _was_reset(self, publication: Publication) -> bool:
        """Whether the stream of a batch was reset: it was decided later than that, and nothing of it is carried out."""
        batch = batch_of(publication.batch)
        return batch is not None and not self._is_continued(publication.identity.owner, batch[0])

    def _refuse_older_checkpoint(self, document: Mapping[str, object], number: int) -> None:
        """Raise PublicationError if the target has a later batch of the stream, or another one of this number.

        Batches are published one after the other, and repeated as they were planned. So the checkpoint was removed, or
        replaced by an older copy: this batch has other rows than the one of its number had, of which some may be new.
        Or a later driver has the stream. What was given up is not in the target.
        """
        own, there = batch_of(self.batch), batch_of(document.get("batch"))
        if own is None or there is None or own[0] != there[0] or there[1] < own[1]:
            return
        if there == own and not were_planned_apart(self.batch, document.get("batch")):
            return
        if ending(self.store, self.layout.done(str(document["target"]), number)) is not Ending.GIVEN_UP:
            which = "with other rows" if there == own else f"and this is batch {own[1]}"
            raise PublicationError(
                f"its target {document['target']} has batch {there[1]} of the stream, {which}: the checkpoint is older "
                "than what is published, or a later driver has it. New rows would be left out, or others would be "
                "there twice\n  allowed: the checkpoint that the stream has left\n"
                "  hint: put it back, or begin with a savepoint behind that batch"
            )

    def _is_of_an_earlier_batch(self, document: Mapping[str, object]) -> bool:
        batch, earlier = batch_of(self.batch), batch_of(document.get("batch"))
        return batch is not None and earlier is not None and earlier[0] == batch[0] and earlier[1] < batch[1]

    def _refuse_another_sink(self, document: Mapping[str, object], operator_id: OperatorId) -> None:
        if (
            self._is_of_this_run(document)
            and document["plan_id"] == self.plan_id
            and document["operator_id"] != operator_id
        ):
            target = document["target"]
            raise PublicationError(f"its target {target} was written by another sink of this run")


def _of_another_branch(savepoint: StreamOrigin, target: str, batch: int, done: str) -> PublicationError:
    return PublicationError(
        f"its target {target} has batch {batch} of another stream that began with the savepoint {savepoint.path}, or "
        "with one that it continues: those rows are read again, and would be there twice\n"
        f"  allowed: {_OTHER_TARGETS}; or a savepoint of that stream\n  hint: if you have removed its rows from the "
        f"target: {putting(GIVEN_UP.decode(), done)}, and the same for each of its batches"
    )


def is_in_place(store: StagingStore, layout: StagingLayout, target: str, execution_id: str) -> bool:
    """Whether a folder has the files that an execution has added, except those that later publications have removed.

    Targets that are no folders are not looked at. Raises DamagedDocumentError and OtherVersionError.
    """
    records = LedgerRecords(store=store, layout=layout)
    decided, _ = records.numbers(target)
    later: list[Intent] = []
    for number in sorted(decided, reverse=True):
        found = records.publication(target, number)
        if found.execution_id == execution_id:
            if not isinstance(found, Intent):
                return True
            left = [name for name in found.add if not any(_removes(one, name) for one in later)]
            beside = store_beside(store, layout.root, found.target)
            if found.file is not None:
                return not left or beside.file_id(found.target) == found.file.id
            return all(beside.is_there(f"{found.target}/{name}") for name in left)
        if isinstance(found, Intent):
            later.append(found)
    return True


def _removes(intent: Intent, name: str) -> bool:
    """Whether a publication has removed a file of its target, by its name there."""
    folders = (folder for folder in intent.replaces if folder != WHOLE)
    return WHOLE in intent.replaces or name in intent.remove or any(name.startswith(f"{folder}/") for folder in folders)
