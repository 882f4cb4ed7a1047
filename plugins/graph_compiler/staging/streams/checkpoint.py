"""The checkpoint of a streaming query: which sources have it, which query may continue it, which driver has it now.

    open      find the stream of the sources, or begin one; compare the query with the last one; take the next turn
    check     before each batch: no later driver has taken a turn

Spark compares number and types of the columns of its state, and no more: it would continue `count` by `sum`, and a
window by another one, with wrong numbers and no error. So what comes before a state, and itself, has to be the same.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout, StreamLayout, savepoint_in, streams_of
from graph_compiler.deployment.documents.stream import (
    VERSION,
    Continuation,
    DriverTurn,
    QueryChange,
    QueryRecord,
    Savepoint,
    SavepointRestoreSettings,
    StateFate,
    StreamOfSource,
    StreamOrigin,
    StreamQuery,
)
from graph_compiler.deployment.documents.wire import are_known_to_differ, to_json
from graph_compiler.errors import StagingError
from graph_compiler.identifiers import known_name, listing, path_segment, shown
from graph_compiler.staging.publications.folded_batches import batch_name, batch_of
from graph_compiler.staging.publications.publications import GIVEN_UP, undone_intents
from graph_compiler.staging.store.numbered_documents import numbered, numbers_in, put_behind
from graph_compiler.staging.store.read_document import get_document
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.store.stores import store_beside
from graph_compiler.stores.known_stores import kind_of_place, putting

MOST_BYTES = 1 << 30
"""The most that is read of a file of a checkpoint."""


class CheckpointError(StagingError):
    """A query cannot continue the checkpoint of its sources: it would have wrong numbers, or lose its place."""


class CheckpointTakenError(StagingError):
    """A later driver has the checkpoint: this one commits nothing more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A checkpoint that an execution has."""

    store: StagingStore
    layout: StreamLayout
    stream_id: str
    turn: int

    @classmethod
    def open(
        cls, store: StagingStore, root: str, identity: RunIdentity, execution_id: str, query: StreamQuery
    ) -> Checkpoint:
        """Return the checkpoint of a query's sources; a new one if they have none.

        Raises CheckpointError if sources were added or removed, if a state or what comes before it has changed, or if
        the staging root is in an object store.
        """
        refuse_object_store(f"the staging root is {root}", root)
        layout = StreamLayout(root=root, owner=identity.owner)
        stream_id = _stream_of(store, layout, query)
        before = last_query(store, layout, stream_id)
        if before is None:
            raise CheckpointError(
                f"the stream of its sources is gone: {layout.stream(stream_id)} was there\n"
                f"  allowed: that folder as it was\n  hint: put it back; or {reset_hint(layout.owner, query.uids)}"
            )
        last = last_batch(store, f"{layout.checkpoint(stream_id)}/offsets")
        _refuse_lost_savepoint(store, layout, stream_id, last, query)
        if last is not None:
            _refuse_other(before.query, query, layout.owner)
        if before.query != query:
            record = QueryRecord(version=VERSION, number=before.number + 1, query=query)
            put_behind(store, layout.queries(stream_id), to_json(record).encode())
        turn = DriverTurn(execution_id=execution_id, run_id=identity.run_id)
        number = put_behind(store, layout.turns(stream_id), to_json(turn).encode())
        return cls(store=store, layout=layout, stream_id=stream_id, turn=number)

    @property
    def folder(self) -> str:
        """Return the folder of Spark's checkpoint."""
        return self.layout.checkpoint(self.stream_id)

    def check(self) -> None:
        """Raise CheckpointTakenError if a later driver has the checkpoint, or a person has reset it."""
        last = numbers_in(self.store, self.layout.turns(self.stream_id))
        if not last or last[-1] != self.turn:
            raise CheckpointTakenError(
                f"a later driver has the checkpoint {self.folder}, or it was reset; this one commits nothing more"
            )

    def batch(self, number: int) -> str:
        """Return what the ledgers of targets call a batch that has begun.

        Spark plans it once, with the time of that: one that an older copy of the checkpoint leads to has another.
        """
        plan = self.store.get(f"{self.folder}/offsets/{number}", most=MOST_BYTES) or b""
        return batch_name(self.stream_id, number, plan)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownStream:
    """A stream of a pipeline, as its documents show it. `batches` have been committed; `last` is its last driver."""

    layout: StreamLayout
    stream_id: str
    uids: tuple[str, ...]
    batches: int
    last: DriverTurn | None

    def check_finished(self, store: StagingStore) -> None:
        """Raise CheckpointError if a batch is decided and not carried out: a part of its rows may be there.

        A later run completes it. Behind a reset no run does, and another stream has these rows again.
        """
        for each in undone_intents(store, self.layout.root):
            stream_id, number = batch_of(each.batch) or ("", -1)
            if stream_id == self.stream_id:
                done = StagingLayout(root=self.layout.root, identity=each.identity).done(each.target, each.number)
                raise CheckpointError(
                    f"batch {number} is decided for {each.target}, and not carried out: a part of its rows may "
                    "be there, and would be there twice when they are read again\n"
                    f"  allowed: a stream whose batches are carried out\n  hint: run '{self.layout.owner}' once more. "
                    "If no run can do it, and no driver of it runs, remove its rows from the target: "
                    f"{putting(GIVEN_UP.decode(), done)}"
                )

    def reset(self, store: StagingStore) -> None:
        """Let its sources begin a new stream, and remove its checkpoint: a driver that has it commits nothing more.

        Raises CheckpointError like `check_finished`; then such a driver ends behind the batch that it has decided. What
        it decides later is given up by the ledger.
        """
        turn = DriverTurn(execution_id="reset", run_id=self.last.run_id if self.last else "reset")
        put_behind(store, self.layout.turns(self.stream_id), to_json(turn).encode())
        self.check_finished(store)  # what is decided from here on is not carried out
        for uid in self.uids:
            store.delete(self.layout.source(uid))
        store.delete(self.layout.turns(self.stream_id))
        store.delete(self.layout.stream(self.stream_id))


def known_layouts(store: StagingStore, root: str, owner: str | None = None) -> Iterator[StreamLayout]:
    """Yield the paths of the streams of each owner, or of one."""
    for folder in store.folders(streams_of(root)):
        if owner is None or folder == path_segment(owner):
            yield StreamLayout(root=root, owner=owner or known_name(folder))


def known_streams(store: StagingStore, root: str, owner: str | None = None) -> Iterator[KnownStream]:
    """Yield the streams of a staging root, or those of one owner; raises DamagedDocumentError."""
    for layout in known_layouts(store, root, owner):
        for stream_id, names in _sources_by_stream(store, layout).items():
            turns = numbers_in(store, layout.turns(stream_id))
            committed = last_batch(store, f"{layout.checkpoint(stream_id)}/commits")
            yield KnownStream(
                layout=layout,
                stream_id=stream_id,
                uids=tuple(names),
                batches=0 if committed is None else committed + 1,
                last=get_document(store, numbered(layout.turns(stream_id), turns[-1]), DriverTurn) if turns else None,
            )


def _sources_by_stream(store: StagingStore, layout: StreamLayout) -> dict[str, list[str]]:
    """Return the streams that sources have, each with their uids; raises DamagedDocumentError."""
    uids: dict[str, list[str]] = {}
    for key in sorted(store.keys(layout.sources)):
        uid = known_name(key.rpartition("/")[2].removesuffix(".json"))
        if (found := _known(store, layout, uid)) is not None:
            uids.setdefault(found, []).append(uid)
    return uids


def unfinished_copies(store: StagingStore, root: str) -> Iterator[str]:
    """Yield the folders of checkpoints that no source's stream has, and of savepoints without their document.

    A process makes such a copy now, was killed while it did, or was killed while it reset a stream. Raises
    DamagedDocumentError.
    """
    for layout in known_layouts(store, root):
        sources = layout.sources.rpartition("/")[2], layout.savepoints.rpartition("/")[2]
        begun = _sources_by_stream(store, layout)
        yield from (layout.stream(id) for id in store.folders(layout.folder) if id not in begun and id not in sources)
        places = (f"{layout.savepoints}/{name}" for name in store.folders(layout.savepoints))
        yield from (place for place in places if not store.is_there(savepoint_in(place)))


def last_batch(store: StagingStore, folder: str) -> int | None:
    """Return the last batch in a folder of Spark's checkpoint, `offsets` or `commits`; None if there is none."""
    return max((int(name) for key in store.keys(folder) if (name := PurePath(key).name).isdecimal()), default=None)


def last_query(store: StagingStore, layout: StreamLayout, stream_id: str) -> QueryRecord | None:
    """Return the record of the last query of a stream, None if it has none; raises OtherVersionError."""
    folder = layout.queries(stream_id)
    known = numbers_in(store, folder)
    return get_document(store, numbered(folder, known[-1]), QueryRecord, version=VERSION) if known else None


def _stream_of(store: StagingStore, layout: StreamLayout, query: StreamQuery) -> str:
    """Return the stream of a query's sources, which is a new one if none of them has one."""
    uids = query.uids
    complete_stream(store, layout, uids)
    known = streams_of_sources(store, layout, uids)
    if all(each is None for each in known.values()):
        own, record = secrets.token_hex(8), QueryRecord(version=VERSION, number=0, query=query)
        # First: without it, the stream of a source is not one that begins, but one whose folder was removed.
        put_behind(store, layout.queries(own), to_json(record).encode())
        if begin_stream(store, layout, uids, own) != own:
            store.delete(layout.stream(own))
        known = streams_of_sources(store, layout, uids)
    found = set(known.values())
    if len(found) > 1:
        new_ones = [uid for uid, stream in known.items() if stream is None]
        what = f"{listing(map(shown, new_ones))} is new" if new_ones else "they have several checkpoints"
        raise CheckpointError(
            f"its sources {listing(map(shown, uids))} have no common checkpoint: {what}\n"
            "  allowed: the sources that the stream began with\n"
            f"  hint: {reset_hint(layout.owner, uids)}"
        )
    (stream_id,) = found
    assert stream_id is not None, "it was put"
    return stream_id


def begin_stream(store: StagingStore, layout: StreamLayout, uids: list[str], stream_id: str) -> str:
    """Let sources, of which none has a stream, have this one; return the one that they have then.

    Two drivers may begin it at the same time: the one that has put the record of the first source wins.
    """
    new = to_json(StreamOfSource(stream_id=stream_id)).encode()
    first, *others = uids
    store.put_if_absent(layout.source(first), new)
    content = store.get(layout.source(first)) or new
    for uid in others:
        store.put_if_absent(layout.source(uid), content)
    return _known(store, layout, first) or stream_id


def complete_stream(store: StagingStore, layout: StreamLayout, uids: list[str]) -> None:
    """Finish what a driver has begun that was killed in `begin_stream`: no driver has had the stream since."""
    first, *others = uids
    found = _known(store, layout, first)
    if found is not None and not store.keys(layout.turns(found)):
        for uid in others:
            store.put_if_absent(layout.source(uid), to_json(StreamOfSource(stream_id=found)).encode())


def streams_of_sources(store: StagingStore, layout: StreamLayout, uids: list[str]) -> dict[str, str | None]:
    """Return the stream of each source, None for one that has none."""
    return {uid: _known(store, layout, uid) for uid in uids}


def savepoint_of(store: StagingStore, layout: StreamLayout, stream_id: str) -> StreamOrigin | None:
    """Return the savepoint that a stream began with, None if it began with its sources' first rows."""
    return get_document(store, layout.origin(stream_id), StreamOrigin, version=VERSION)


def has_begun(store: StagingStore, layout: StreamLayout, query: StreamQuery, start: SavepointRestoreSettings) -> bool:
    """Whether the stream of a query's sources is one that began with a savepoint. That may be removed since."""
    found = set(streams_of_sources(store, layout, query.uids).values())
    stream_id = found.pop()
    origin = None if found or stream_id is None else savepoint_of(store, layout, stream_id)
    if origin is None or origin.path != start.path:
        return False
    beside = store_beside(store, layout.root, start.path)
    saved = get_document(beside, savepoint_in(start.path), Savepoint, version=VERSION)
    return saved is None or saved.savepoint_id == origin.savepoint_id


def refuse_object_store(what: str, place: str) -> None:
    """Raise CheckpointError if a checkpoint cannot be in a place."""
    kind = kind_of_place(place)
    if kind is not None and kind.promises.deferred_files:
        raise CheckpointError(
            f"{what}, and Spark renames the files of a checkpoint: an object store cannot\n"
            "  allowed: for streams, a place on a disk that all workers and drivers see, or in HDFS"
        )


def _known(store: StagingStore, layout: StreamLayout, uid: str) -> str | None:
    found = get_document(store, layout.source(uid), StreamOfSource)
    return None if found is None else found.stream_id


def _refuse_lost_savepoint(
    store: StagingStore, layout: StreamLayout, stream_id: str, last: int | None, query: StreamQuery
) -> None:
    """Raise CheckpointError if a checkpoint, whose `last` batch is begun, has not what its savepoint had.

    Ledgers know no batch of such a stream, and would take rows that others have published for new ones.
    """
    origin = savepoint_of(store, layout, stream_id)
    if origin is not None and (last is None or last < origin.first_batch - 1):
        raise CheckpointError(
            f"the checkpoint {layout.checkpoint(stream_id)} began with the savepoint {origin.path}, and has not what "
            "that had\n  allowed: that folder as it was\n"
            f"  hint: put it back; or {reset_hint(layout.owner, query.uids)}"
        )


def _refuse_other(before: StreamQuery, now: StreamQuery, owner: str) -> None:
    """Raise CheckpointError if a query cannot continue the checkpoint of another."""
    change = QueryChange.of(before, now)
    uids = now.uids
    hint = reset_hint(owner, sorted({*uids, *change.sources_gone}))
    if are_known_to_differ(before.mapped, now.mapped):
        raise CheckpointError(
            f"its checkpoint is that of {before.mapped}, and this instance of the task group has {now.mapped}: the "
            "list over which the group is mapped has changed\n"
            "  allowed: the same values at the same places, and new ones behind them\n"
            "  hint: put the values back into their order. A value that is not needed any more keeps its place; in a "
            f"pipeline of its own, a stream depends on no list. Or {hint}"
        )
    if change.sources_gone:
        raise CheckpointError(
            f"its checkpoint has {listing(map(shown, change.sources_gone))}, too, which the pipeline does not read any "
            f"more\n  allowed: the sources that the stream began with\n  hint: {hint}"
        )
    how = change.continuation
    if how is Continuation.CHECKPOINT:
        return
    allowing = " --allow-non-restored-state" if how is Continuation.SAVEPOINT_WITHOUT_STATE else ""
    copied = (
        f"`graph-compiler streams savepoint {owner} {uids[0]}`, the reset, then "
        f"`graph-compiler run {owner} --from-savepoint PATH{allowing}`"
    )
    if how is Continuation.SAVEPOINT:
        raise CheckpointError(
            f"{change.why_other_places()}, and Spark knows them by their places: it would mix them up\n"
            "  allowed: the operators that read them, and the sinks, as they were\n"
            f"  hint: put back what was declared; or let the stream continue from a copy: {copied}"
        )
    drops = f"continue without it: {copied}; or " if allowing else ""
    back = "" if change.names(StateFate.PARTIAL) else "put back what was declared; or "
    raise CheckpointError(
        f"{change.why_other_state()}, and the checkpoint has its state: it would be continued with wrong numbers\n"
        "  allowed: changes behind what keeps state; another pipeline name, or other uids, for another stream\n"
        f"  hint: {back}{drops}{hint}"
    )


def reset_hint(owner: str, uids: Sequence[str]) -> str:
    """Return how the sources of a stream begin again, and what is to be done before."""
    return (
        f"`graph-compiler streams reset {owner} {uids[0]}` begins a new checkpoint, which reads all that is "
        "there again: what is published stays, so remove it before the next run, or give the sinks other targets. "
        f"`graph-compiler streams savepoint {owner} {uids[0]}` keeps a copy of this one"
    )
