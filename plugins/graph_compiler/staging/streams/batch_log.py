"""Spark's log of the batches of a stream, in its checkpoint: up to where each source is read; and what is new.

    offsets/7        one line for each source before the batch runs, and commits/7 after it: {"logOffset":3} for files,
                     {"topic":{"0":17}} for Kafka, which is the first offset that is not read yet
    sources/0/3      {"path":…,"timestamp":…,"batchId":3} for each file; or 9.compact, with all up to 9

`FileStreamSourceLog`, `OffsetSeqLog`: 4.1 to 4.3, version 1 of both.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePath
from typing import Any, NoReturn
from urllib.parse import unquote

from graph_compiler.declaration.connectors.file_uris import local_path
from graph_compiler.declaration.connectors.files import plain_place
from graph_compiler.deployment.documents.jvm_settings import SHUFFLE_PARTITIONS
from graph_compiler.deployment.documents.staging_layout import StreamLayout
from graph_compiler.deployment.documents.stream import (
    END_OF_TIME_MS,
    SavepointRestoreSettings,
    StreamOfSource,
    StreamQuery,
    TopicIds,
)
from graph_compiler.identifiers import listing, shown
from graph_compiler.staging.attempts.run_marker import moment
from graph_compiler.staging.publications.listing import is_hidden
from graph_compiler.staging.store.read_document import get_document
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.streams.checkpoint import (
    MOST_BYTES,
    Checkpoint,
    CheckpointError,
    has_begun,
    last_batch,
    last_query,
    reset_hint,
)

COMPACT = ".compact"
"""The ending of a list of files that has those of all earlier ones, too."""
_SEVERAL_STATES = "spark.sql.streaming.statefulOperator.allowMultiple"
STATE_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
"""Which class keeps states. Spark notes it in the checkpoint, and ignores another one later."""
OF_SOURCES = 2
"""The line of a document of offsets from which each is that of a source."""


def offsets_of(store: StagingStore, checkpoint: str, batch: int) -> list[str | None]:
    """Return up to where each source is read in a batch: JSON of its kind, None if it had nothing yet.

    Empty for a batch that is not there. The order is that of Spark's plan, and a source that it reads twice is there
    twice.
    """
    content = None if batch < 0 else store.get(f"{checkpoint}/offsets/{batch}", most=MOST_BYTES)
    if content is None:
        return []
    lines = content.decode().splitlines()[OF_SOURCES:]
    return [None if line == "-" else line for line in lines]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatePlace:
    """How many partitions the states of a checkpoint have, and the class that keeps them; None if it is not known."""

    partitions: int | None = None
    provider: str | None = None


def state_place(store: StagingStore, checkpoint: str) -> StatePlace:
    """Return where a checkpoint's states are; nothing is known of one without a batch."""
    last = last_begun(store, checkpoint)
    found = (None if last is None else _metadata_of(store, checkpoint, last)) or {}
    settings = found.get("conf") or {}
    number = str(settings.get(SHUFFLE_PARTITIONS, ""))
    return StatePlace(partitions=int(number) if number.isdecimal() else None, provider=settings.get(STATE_PROVIDER))


def time_of(store: StagingStore, checkpoint: str, batch: int) -> datetime:
    """Return the current time of a batch, which Spark has logged before it ran; raises CheckpointError without it."""
    found = _metadata_of(store, checkpoint, batch)
    if found is None:
        raise CheckpointError(f"{checkpoint} has no time of batch {batch}")
    return moment(int(found["batchTimestampMs"]) / 1000)


def watermark_of(store: StagingStore, checkpoint: str, batch: int) -> int:
    """Return the watermark with which a batch began, in milliseconds since 1970: 0 before the first one.

    By it the next batch finds late rows (`WatermarkPropagator`: 4.1 to 4.3). Raises CheckpointError if it is not there,
    or if a setting makes late rows those of another watermark.
    """
    if batch < 0:
        return 0
    found = _metadata_of(store, checkpoint, batch)
    if found is None:
        raise CheckpointError(f"{checkpoint} has no watermark of batch {batch}, which late rows of the next one need")
    if found.get("conf", {}).get(_SEVERAL_STATES) == "false":
        raise CheckpointError(
            f"the checkpoint was made with {_SEVERAL_STATES}=false, and another watermark finds its late rows\n"
            "  allowed: true, which is Spark's default\n  hint: leave out the side output of late rows"
        )
    return int(found["batchWatermarkMs"])


def begin_flush(store: StagingStore, checkpoint: str, until: int, now: datetime) -> int | None:
    """Begin a batch without rows, whose watermark is `until`; return its number.

    Spark runs a batch that was begun before it started with the watermark that is logged: it completes all that waits
    for less. None if the watermark is there, no batch has run, or another driver has begun one.
    """
    last = last_begun(store, checkpoint)
    if last is None or last != last_batch(store, f"{checkpoint}/commits"):
        return None
    content = store.get(f"{checkpoint}/offsets/{last}", most=MOST_BYTES)
    metadata = _metadata_of(store, checkpoint, last)
    if content is None or metadata is None or int(metadata["batchWatermarkMs"]) >= until:
        return None
    begun = max(int(metadata["batchTimestampMs"]) + 1, int(now.timestamp() * 1000))
    notes = {**metadata, "batchWatermarkMs": until, "batchTimestampMs": begun}
    version, _, *sources = content.decode().splitlines()
    lines = [version, json.dumps(notes, separators=(",", ":")), *sources]
    is_ours = store.put_if_absent(f"{checkpoint}/offsets/{last + 1}", "\n".join(lines).encode())
    return last + 1 if is_ours else None


def check_not_ended(checkpoint: Checkpoint, query: StreamQuery, batch: int) -> None:
    """Raise CheckpointError if a batch has something new after its stream has ended: all its rows would be late."""
    store, folder = checkpoint.store, checkpoint.folder
    before = None if batch < 1 or not query.state else _metadata_of(store, folder, batch - 1)
    if before is None or before["batchWatermarkMs"] != END_OF_TIME_MS:
        return
    if offsets_of(store, folder, batch) != offsets_of(store, folder, batch - 1):
        uids = [source.uid for source in query.sources]
        raise CheckpointError(
            f"a run with the option 'execution.flush': END has ended the stream of {listing(map(shown, uids))}, and "
            "there are new rows: all of them would be late\n  allowed: nothing new\n"
            f"  hint: {reset_hint(checkpoint.layout.owner, uids)}"
        )


def _metadata_of(store: StagingStore, checkpoint: str, batch: int) -> dict[str, Any] | None:
    """Return Spark's own notes of a batch, the second line of its offsets; None if they are not there."""
    content = store.get(f"{checkpoint}/offsets/{batch}", most=MOST_BYTES)
    lines = (content or b"").decode().splitlines()[1:OF_SOURCES]
    return json.loads(lines[0]) if lines and lines[0].startswith("{") else None


def files_of(store: StagingStore, folder: str, numbers: Iterable[int]) -> Iterator[tuple[str, int]]:
    """Yield the files of some lists of a source, and when each was modified, in milliseconds since the epoch."""
    for number in numbers:
        content = store.get(f"{folder}/{number}", most=MOST_BYTES)
        if content is None:
            content = store.get(f"{folder}/{number}{COMPACT}", most=MOST_BYTES)
        yield from ((path, modified) for path, modified, batch in _entries(content) if batch == number)


def all_files(store: StagingStore, folder: str) -> Iterator[tuple[str, int]]:
    """Yield all files of a source, and when each was modified."""
    names = [PurePath(key).name for key in store.keys(folder)]
    last = max((int(name.removesuffix(COMPACT)) for name in names if name.endswith(COMPACT)), default=-1)
    later = sorted(int(name) for name in names if name.isdecimal() and int(name) > last)
    for name in (f"{last}{COMPACT}", *map(str, later)):
        for path, modified, _ in _entries(store.get(f"{folder}/{name}", most=MOST_BYTES)):
            yield path, modified


def _entries(content: bytes | None) -> Iterator[tuple[str, int, int]]:
    for line in (content or b"").decode().splitlines()[1:]:
        entry = json.loads(line)
        yield unquote(str(entry["path"])), int(entry["timestamp"]), int(entry["batchId"])


def last_begun(store: StagingStore, checkpoint: str) -> int | None:
    """Return the last batch whose offsets are logged, None if there is none."""
    return last_batch(store, f"{checkpoint}/offsets")


def uncommitted_batch(store: StagingStore, checkpoint: str) -> int | None:
    """Return the batch that has begun and is not committed, None if there is none: Spark repeats it first."""
    begun = last_begun(store, checkpoint)
    return None if begun == last_batch(store, f"{checkpoint}/commits") else begun


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSoFar:
    """What a source has read: its files, and when each was modified; of topics, the first offset that is not read.

    `topic_ids` are those that the topics had, as far as they were noted.
    """

    files: Mapping[str, int]
    offsets: Mapping[str, Mapping[int, int]]
    topic_ids: Mapping[str, str] = field(default_factory=dict)


def nothing_arrived(
    store: StagingStore,
    layout: StreamLayout,
    query: StreamQuery,
    are_read: Mapping[str, Callable[[ReadSoFar], bool]],
    start: SavepointRestoreSettings | None = None,
    *,
    until: int | None = None,
) -> bool:
    """Whether a query has published all that its sources have; False if that is not sure.

    `are_read` are asked what each source has, by its uid. A query that has changed, a savepoint that it has not begun
    with, a batch that is not committed, and a watermark that has not come to `until`, in milliseconds, are for Spark.
    """
    if start is not None and not has_begun(store, layout, query, start):
        return False
    found = {get_document(store, layout.source(source.uid), StreamOfSource) for source in query.sources}
    if len(found) != 1 or (stream := found.pop()) is None:
        return False
    checkpoint = layout.checkpoint(stream.stream_id)
    last = last_query(store, layout, stream.stream_id)
    if last is None or last.query != query or query.reads is None:
        return False
    offsets = _committed_offsets(store, checkpoint, until)
    known = _read_so_far(store, layout, stream.stream_id, query.reads, offsets or [])
    return offsets is not None and all(found is not None and are_read[uid](found) for uid, found in known)


def _read_so_far(
    store: StagingStore, layout: StreamLayout, stream_id: str, reads: Sequence[str], offsets: Sequence[str | None]
) -> Iterator[tuple[str, ReadSoFar | None]]:
    """Yield what each source has read; None if a driver was killed behind its listing, before it began the batch.

    Not what all have read: of two sources of one folder, one may have read less.
    """
    for number, uid in enumerate(dict.fromkeys(reads)):
        own = [offset for offset, read in zip(offsets, reads, strict=False) if read == uid]
        folder = f"{layout.checkpoint(stream_id)}/sources/{number}"
        if not own or _has_more(store, folder, own[0]):
            yield uid, None
            return
        files = {plain_place(path): at for path, at in all_files(store, folder)}
        topics = dict(_of_topics(own))
        noted = get_document(store, layout.noted(stream_id, uid), TopicIds) if topics else None
        yield uid, ReadSoFar(files=files, offsets=topics, topic_ids=dict(noted.ids) if noted else {})


def _committed_offsets(store: StagingStore, checkpoint: str, until: int | None) -> list[str | None] | None:
    """Return the offsets of the last batch; None if it is not committed, or its watermark has not come to `until`."""
    batch = last_begun(store, checkpoint)
    offsets = [] if batch is None else offsets_of(store, checkpoint, batch)
    # In this order: a driver may begin the next batch meanwhile, or someone remove the checkpoint.
    if batch is None or not offsets or batch != last_batch(store, f"{checkpoint}/commits"):
        return None
    return None if until is not None and watermark_of(store, checkpoint, batch) < until else offsets


def _has_more(store: StagingStore, folder: str, until: str | None) -> bool:
    """Whether Spark has listed files of a source behind an offset."""
    last = max((int(name) for key in store.keys(folder) if (name := PurePath(key).stem).isdecimal()), default=-1)
    offset = -1 if until is None else json.loads(until).get("logOffset")
    return offset is not None and last > offset  # a topic has none


def _of_topics(offsets: Iterable[str | None]) -> Iterator[tuple[str, dict[int, int]]]:
    """Yield the offsets of Kafka's topics, of each the one that has read less, if a source is read several times."""
    found: dict[str, dict[int, int]] = {}
    for line in offsets:
        for topic, partitions in (json.loads(line or "{}")).items():
            if not isinstance(partitions, dict):  # of files
                continue
            other = found.setdefault(topic, {})
            for partition, offset in partitions.items():
                other[int(partition)] = min(other.get(int(partition), int(offset)), int(offset))
    yield from found.items()


def is_folder_read(folder: str, known: ReadSoFar) -> bool:
    """Whether all files below a folder of this host were read as they are.

    False if that is not sure: it is a pattern, or not there; a folder cannot be listed, or is a link to one; a file is
    gone, or a link to none; Spark has read such a path elsewhere (`fs.defaultFS`).
    """
    here = local_path(folder)
    if here is None or not os.path.isdir(here) or not all(path.startswith("/") for path in known.files):
        return False
    try:
        return all(_are_read(below, folders, names, known) for below, folders, names in os.walk(here, onerror=_refuse))
    except OSError:
        return False


def _are_read(below: str, folders: list[str], names: Sequence[str], known: ReadSoFar) -> bool:
    folders[:] = [name for name in folders if not is_hidden(name)]
    if any(os.path.islink(os.path.join(below, name)) for name in folders):
        return False
    paths = (os.path.join(below, name) for name in names if not is_hidden(name))
    return all(known.files.get(path) == os.stat(path).st_mtime_ns // 1_000_000 for path in paths)


def _refuse(error: OSError) -> NoReturn:
    raise error
