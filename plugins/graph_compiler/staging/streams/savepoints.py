"""Savepoints: copies of a stream's checkpoint behind a committed batch, and streams that begin with one.

    take    no driver has it, no batch is begun ─▶ copy the files ─▶ look again ─▶ savepoint.json, the last file
    begin   compare the query ─▶ copy the files, by their digests ─▶ origin.json ─▶ the sources have the new stream

A stream that begins with a savepoint is another stream: the ledgers of targets would take its batch 6 for the batch 6
that was published before. So what the earlier one has published behind the savepoint is compared by the ledgers.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from graph_compiler import program_log
from graph_compiler.deployment.documents.staging_layout import StagingLayout, StreamLayout, checkpoint_in, savepoint_in
from graph_compiler.deployment.documents.stream import (
    VERSION,
    Continuation,
    EarlierStream,
    PublishedTarget,
    QueryChange,
    QueryRecord,
    SavedFile,
    Savepoint,
    SavepointRestoreSettings,
    StateFate,
    StreamOrigin,
    StreamQuery,
    family_of,
)
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.errors import DamagedDocumentError
from graph_compiler.identifiers import counted, listing, path_segment, shown
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments
from graph_compiler.staging.publications.folded_batches import batch_of
from graph_compiler.staging.publications.publications import intents, read_publication
from graph_compiler.staging.store.numbered_documents import numbers_in, put_behind
from graph_compiler.staging.store.read_document import get_document
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.store.stores import store_beside
from graph_compiler.staging.streams.batch_log import OF_SOURCES, uncommitted_batch
from graph_compiler.staging.streams.checkpoint import (
    MOST_BYTES,
    CheckpointError,
    KnownStream,
    begin_stream,
    complete_stream,
    has_begun,
    last_batch,
    last_query,
    refuse_object_store,
    savepoint_of,
    streams_of_sources,
)

LOG = program_log.logger(__name__)
_METADATA, _CHECKSUM = "_metadata/metadata", "_metadata/.metadata.crc"
_WITH_PATHS = re.compile(r"state/(\d+)/_metadata/v2/\d+")
"""Records of states of functions, which have the paths of files beside them."""
_BELOW_STATE = re.compile(r"/state/\d+/(?P<below>_stateSchema/[^/]+/[^/]+)$")
_CHECKSUM_WITH_PATHS = re.compile(r"state/\d+/_metadata/v2/\.\d+\.crc")
_OTHER_FORM = (
    "{} has another form than that of Spark 4.1 to 4.3, and what the pipeline reads has other places now\n"
    "  allowed: the operators that read its sources, and the sinks, as they were"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedStream:
    """A savepoint and the place where it is."""

    place: str
    savepoint: Savepoint


def take_savepoint(
    store: StagingStore, stream: KnownStream, run: StagingLayout | None, place: str | None, now: float
) -> SavedStream:
    """Copy the checkpoint of a stream, whose last run is `run`; `place` None is one below the staging root.

    Raises CheckpointError while a driver has it, if a batch is begun and not committed, if none is committed, or if
    there is something in the place. Then nothing is left there.
    """
    layout, id = stream.layout, stream.stream_id
    folder = layout.checkpoint(id)
    turns = numbers_in(store, layout.turns(id))
    batch = _last_committed(store, stream, run)
    record = last_query(store, layout, id)
    if record is None:
        raise CheckpointError(f"the stream of {listing(map(shown, stream.uids))} has no query: nothing has run it")
    digits = secrets.token_hex(4)
    place = place or f"{layout.savepoints}/{id}-{batch}-{digits}"
    refuse_object_store(f"the place of the savepoint is {place}", place)
    beside = store_beside(store, layout.root, place)
    if any(True for _ in beside.files(place)):
        raise CheckpointError(f"{place} is not empty\n  allowed: a place where nothing is, for each savepoint")
    try:
        files = tuple(_copied(store, folder, beside, checkpoint_in(place), _names(store, folder)))
        has_more = any(file.name == f"offsets/{batch + 1}" for file in files)
        if has_more or numbers_in(store, layout.turns(id)) != turns or _last_committed(store, stream, run) != batch:
            raise CheckpointError(f"a driver has taken the checkpoint {folder} meanwhile\n  hint: try again")
        origin = savepoint_of(store, layout, id)
        savepoint = Savepoint(
            version=VERSION,
            savepoint_id=f"{id}-{batch}-{digits}",
            taken=now,
            root=layout.root,
            query=record.query,
            streams=(*(origin.streams if origin else ()), EarlierStream(owner=layout.owner, stream_id=id, batch=batch)),
            published=tuple(_published(store, layout.root, id)),
            elsewhere=origin.elsewhere if origin else (),
            files=files,
        )
        beside.put_if_absent(savepoint_in(place), to_json(savepoint).encode())
        there = {file.key for file in beside.files(checkpoint_in(place))}
        if any(f"{checkpoint_in(place)}/{file.name}" not in there for file in files):
            raise CheckpointError(f"{place} was removed while it was written: that took long\n  hint: try again")
    except BaseException:
        beside.delete(place)
        raise
    return SavedStream(place=place, savepoint=savepoint)


def known_savepoints(store: StagingStore, layout: StreamLayout) -> Iterator[SavedStream]:
    """Yield the complete savepoints of a pipeline below the staging root; raises DamagedDocumentError."""
    for name in store.folders(layout.savepoints):
        place = f"{layout.savepoints}/{name}"
        found = get_document(store, savepoint_in(place), Savepoint, version=VERSION)
        if found is not None:
            yield SavedStream(place=place, savepoint=found)


def begin_with_savepoint(
    store: StagingStore,
    layout: StreamLayout,
    query: StreamQuery,
    start: SavepointRestoreSettings,
    prepare: Callable[[str], None] = lambda _: None,
) -> None:
    """Let the sources of a query begin a stream with a savepoint; do nothing if theirs has begun with it.

    `prepare` is called with the folder of the copy, before the stream has it: a batch that it adds belongs to no sink.
    Raises CheckpointError if they have another stream, if the savepoint is not complete, or if the query cannot
    continue it.
    """
    refuse_object_store(f"the staging root is {layout.root}", layout.root)
    uids = query.uids
    complete_stream(store, layout, uids)
    while not has_begun(store, layout, query, start):
        if any(streams_of_sources(store, layout, uids).values()):
            raise CheckpointError(
                f"its sources {listing(map(shown, uids))} have a stream, which did not begin with the savepoint "
                f"{start.path}\n  allowed: for a start from a savepoint, sources without a stream\n"
                f"  hint: to go back to the savepoint: `graph-compiler streams reset {layout.owner} {uids[0]}`. To "
                "continue the stream: leave out the savepoint"
            )
        beside = store_beside(store, layout.root, start.path)
        saved = _read(beside, start.path)
        places = _places(saved, query, start)
        own = f"{family_of(saved.streams[0].stream_id)}-{secrets.token_hex(4)}"
        copy = layout.checkpoint(own)
        origin = StreamOrigin(
            version=VERSION,
            savepoint_id=saved.savepoint_id,
            path=start.path,
            streams=saved.streams,
            elsewhere=(*saved.elsewhere, *(_targets(saved) if saved.root != layout.root else ())),
        )
        record = QueryRecord(version=VERSION, number=0, query=query)
        try:
            put_behind(store, layout.queries(own), to_json(record).encode())  # first, and looked for at the end
            _restore(saved, beside, store, start.path, copy, places)
            prepare(copy)
            if (last := last_batch(store, f"{copy}/commits")) is not None and last != saved.own.batch:
                origin = replace(origin, begins=last + 1)
            store.put_if_absent(layout.origin(own), to_json(origin).encode())
        except BaseException:
            store.delete(layout.stream(own))
            raise
        if begin_stream(store, layout, uids, own) != own:
            store.delete(layout.stream(own))  # another driver was first
        elif last_query(store, layout, own) is None:
            for key in (*map(layout.source, uids), layout.stream(own)):
                store.delete(key)
            raise CheckpointError(f"{copy} was removed while it was made: that took long\n  hint: try again")
        else:
            dropped = QueryChange.of(saved.query, query).names(StateFate.DROPPED)
            without = f", without the state of {listing(map(shown, dropped))}" if dropped else ""
            LOG.info("the stream begins with the savepoint %s, behind batch %s%s", start.path, saved.own.batch, without)


def _last_committed(store: StagingStore, stream: KnownStream, run: StagingLayout | None) -> int:
    """Return the last batch of a stream if no driver has it; raises CheckpointError."""
    layout, id = stream.layout, stream.stream_id
    again = f"hint: run '{layout.owner}' once more, and then take the savepoint"
    if run is not None and stream.last is not None and _is_running(store, run, stream.last.execution_id):
        raise CheckpointError(
            f"run '{stream.last.run_id}' has the checkpoint: its execution {stream.last.execution_id} has not ended\n"
            f"  allowed: a stream that no driver has\n  {again} when it has ended, or if its driver is dead"
        )
    folder = layout.checkpoint(id)
    if (begun := uncommitted_batch(store, folder)) is not None:
        raise CheckpointError(
            f"batch {begun} is begun, and not committed: some of its sinks may be published, and others not\n"
            f"  allowed: a stream whose last batch is committed\n  {again}"
        )
    last = last_batch(store, f"{folder}/commits")
    if last is None:
        raise CheckpointError(
            f"the stream of {listing(map(shown, stream.uids))} has no batch: there is nothing to continue"
        )
    return last


def _is_running(store: StagingStore, run: StagingLayout, execution_id: str) -> bool:
    """Whether the driver of an execution may be running; a run that was removed has ended."""
    for region in store.folders(run.tasks):
        documents = AttemptDocuments(store, f"{run.tasks}/{region}/{path_segment(execution_id)}")
        if documents.began() is not None and not (documents.has_outcome() or documents.is_answered()):
            return True
    return False


def _names(store: StagingStore, folder: str) -> list[str]:
    """Return the names of the files of a checkpoint: of hidden ones, only the checksums of others."""
    names = {file.key.removeprefix(f"{folder}/") for file in store.files(folder)}

    def counts(name: str) -> bool:
        parent, _, own = name.rpartition("/")
        if not own.startswith("."):
            return True
        of = own.removeprefix(".").removesuffix(".crc")
        return own.endswith(".crc") and (f"{parent}/{of}" if parent else of) in names

    return sorted(filter(counts, names))


def _copied(
    store: StagingStore, folder: str, beside: StagingStore, to: str, names: Iterable[str]
) -> Iterator[SavedFile]:
    """Copy files, and yield each with its digest; raises CheckpointError."""
    for name in names:
        content = store.get(f"{folder}/{name}", most=MOST_BYTES)
        if content is None:
            raise CheckpointError(f"{folder}/{name} was removed while it was copied\n  hint: try again")
        has_paths = name.startswith("state/") and "/_metadata/" in name and folder.encode() in content
        if has_paths and _WITH_PATHS.fullmatch(name) is None:
            raise CheckpointError(
                f"{folder}/{name} has the path of its own folder: Spark would not find this state in a copy\n"
                "  allowed: states whose records Spark 4.1 to 4.3 write"
            )
        beside.put_if_absent(f"{to}/{name}", content)
        yield SavedFile(name=name, bytes=len(content), digest=hashlib.sha256(content).hexdigest())


def _published(store: StagingStore, root: str, stream_id: str) -> Iterator[PublishedTarget]:
    """Yield the targets to which a stream has published, in the staging root's ledgers."""
    last: dict[str, int] = {}
    for key, _ in intents(store, root):
        with suppress(DamagedDocumentError):
            publication = read_publication(store, key)
            its_stream, batch = batch_of(publication.batch) or ("", -1)
            if its_stream == stream_id:
                last[publication.target] = max(last.get(publication.target, -1), batch)
    yield from (PublishedTarget(target=target, batch=batch) for target, batch in sorted(last.items()))


def _targets(saved: Savepoint) -> tuple[str, ...]:
    return tuple(each.target for each in saved.published)


def _read(store: StagingStore, place: str) -> Savepoint:
    """Return the document of a savepoint; raises CheckpointError, DamagedDocumentError or OtherVersionError."""
    found = get_document(store, savepoint_in(place), Savepoint, version=VERSION)
    if found is None:
        raise CheckpointError(
            f"there is no savepoint in {place}\n  found: no {savepoint_in(place)}, which is the last file of one\n"
            "  hint: `graph-compiler streams list` shows those below the staging root"
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Places:
    """Which of a savepoint's offsets, sources and states a query has at each of its places, by their numbers.

    Offsets have a source once for each operator that reads it.
    """

    offsets: tuple[int, ...]
    sources: tuple[int, ...]
    states: tuple[int, ...]
    is_same: bool

    def names(self, name: str, batch: int) -> Iterator[str]:
        """Yield the names of a file in the copy, which has the offsets of the last two batches."""
        kind, _, rest = name.partition("/")
        number, _, below = rest.partition("/")
        if _CHECKSUM_WITH_PATHS.fullmatch(name) is not None:
            return  # the copy has a record of its own
        if self.is_same or kind not in ("sources", "state", "offsets"):
            yield name
        elif kind == "offsets":
            if rest in (str(batch), str(batch - 1)):
                yield name
        elif below != _CHECKSUM:
            for place, old in enumerate(self.sources if kind == "sources" else self.states):
                if str(old) == number:
                    yield f"{kind}/{place}/{below}"

    def content(self, name: str, content: bytes, key: str, to: str) -> bytes:
        """Return the content of a file under its name in the copy, which is in a folder.

        Raises CheckpointError for another form.
        """
        if (found := _WITH_PATHS.fullmatch(name)) is not None:
            return _with_paths_in(to, int(found[1]), content, key)
        if self.is_same:
            return content
        if name.startswith("offsets/"):
            return _offsets_at(self.offsets, content, key)
        if name.startswith("state/") and name.endswith(f"/{_METADATA}"):
            return _metadata_at(int(name.split("/")[1]), content, key)
        if name.startswith("commits/") and b'"stateUniqueIds":{"' in content:
            raise CheckpointError(_OTHER_FORM.format(key))
        return content


def _restore(saved: Savepoint, beside: StagingStore, store: StagingStore, place: str, to: str, places: _Places) -> None:
    """Copy the files of a savepoint; raises CheckpointError for one that is not as it was when it was taken."""
    for file in saved.files:
        names = list(places.names(file.name, saved.own.batch))
        if not names:
            continue
        key = f"{checkpoint_in(place)}/{file.name}"
        content = beside.get(key, most=MOST_BYTES)
        if content is None or hashlib.sha256(content).hexdigest() != file.digest:
            what = "is not there" if content is None else f"has other bytes ({counted(len(content), 'byte')})"
            raise CheckpointError(
                f"the savepoint {place} is not complete: {key} {what}\n  allowed: all files of a savepoint, as they "
                "were when it was taken\n  hint: copy the whole folder again, or start from another savepoint"
            )
        for name in names:
            store.put_if_absent(f"{to}/{name}", places.content(name, content, key, to))


def _offsets_at(places: tuple[int, ...], content: bytes, key: str) -> bytes:
    """Return the offsets of a batch for the sources of another query; raises CheckpointError."""
    lines = content.decode().splitlines()
    own = lines[OF_SOURCES:]
    if lines[:1] != ["v1"] or max(places) >= len(own):
        raise CheckpointError(_OTHER_FORM.format(key))
    return "\n".join([*lines[:OF_SOURCES], *(own[number] for number in places)]).encode()


def _metadata_at(number: int, content: bytes, key: str) -> bytes:
    """Return Spark's record of a state under another number; raises CheckpointError."""
    version, _, text = content.decode().partition("\n")
    try:
        document = json.loads(text)
        document["operatorInfo"]["operatorId"] = number
    except (ValueError, LookupError, TypeError):
        version = ""
    if version != "v1":
        raise CheckpointError(_OTHER_FORM.format(key))
    return f"{version}\n{json.dumps(document, separators=(',', ':'))}".encode()


def _with_paths_in(folder: str, number: int, content: bytes, key: str) -> bytes:
    """Return Spark's record of a function's state under another number, with the paths of its files in a folder."""
    version, _, text = content.decode().partition("\n")
    place = folder if "://" in folder else f"file:{folder}"
    try:
        document = json.loads(text)
        document["operatorInfo"]["operatorId"] = number
        for state in document["stateStoreInfo"]:
            found = [_BELOW_STATE.search(path) for path in state["stateSchemaFilePaths"]]
            state["stateSchemaFilePaths"] = [f"{place}/state/{number}/{each['below']}" for each in found if each]
            if None in found:
                version = ""
    except (ValueError, LookupError, TypeError):
        version = ""
    if version != "v2":
        raise CheckpointError(_OTHER_FORM.format(key))
    return f"{version}\n{json.dumps(document, separators=(',', ':'))}".encode()


def _places(saved: Savepoint, query: StreamQuery, start: SavepointRestoreSettings) -> _Places:
    """Return what a query has of a savepoint; raises CheckpointError if it cannot continue it."""
    change = QueryChange.of(saved.query, query)
    if wrong := change.why_other_sources():
        raise CheckpointError(
            f"the savepoint {start.path} is of other sources: {wrong}\n"
            f"  allowed: {listing(shown(uid) for uid in saved.query.uids)}, by their uids"
        )
    how = change.continuation
    is_allowed = how is not Continuation.SAVEPOINT_WITHOUT_STATE or start.allow_non_restored_state
    if how is Continuation.REFUSED or not is_allowed:
        hint = (
            "put back what was declared; or begin without the savepoint, which reads all that is there again, "
            "with other targets for the sinks"
            if is_allowed
            else "allow it, if its totals and open windows are not needed any more"
        )
        raise CheckpointError(
            f"{change.why_other_state()}, and the savepoint {start.path} has its state\n  allowed: changes behind what "
            "keeps state; with execution.savepoint.ignore-unclaimed-state (--allow-non-restored-state), a pipeline "
            f"that has no operator for a state any more\n  hint: {hint}"
        )
    before = saved.query
    if how is Continuation.CHECKPOINT:
        return _Places(offsets=(), sources=(), states=(), is_same=True)
    if before.reads is None or before.keeps is None:
        raise CheckpointError(
            f"the savepoint {start.path} does not say in which order Spark has numbered its sources\n"
            "  hint: run the pipeline as it was once more, and take another savepoint"
        )
    logs = list(dict.fromkeys(before.reads))
    return _Places(
        offsets=tuple(map(before.reads.index, query.reads or ())),
        sources=tuple(map(logs.index, dict.fromkeys(query.reads or ()))),
        states=tuple(map(before.keeps.index, query.keeps or ())),
        is_same=False,
    )


def savepoint_words(saved: SavedStream) -> str:
    """Return a savepoint as one line."""
    size = sum(file.bytes for file in saved.savepoint.files)
    words = f"behind batch {saved.savepoint.own.batch} of {listing(saved.savepoint.query.uids)}"
    return f"savepoint {saved.place}: {words}, {counted(len(saved.savepoint.files), 'file')}, {size:,} bytes"


def savepoint_json(saved: SavedStream) -> dict[str, object]:
    """Return a savepoint for a program."""
    own = saved.savepoint.own
    return {
        "path": saved.place,
        "pipeline": own.owner,
        "sources": saved.savepoint.query.uids,
        "stream": own.stream_id,
        "batch": own.batch,
        "taken": saved.savepoint.taken,
        "published": [json.loads(to_json(each)) for each in saved.savepoint.published],
    }
