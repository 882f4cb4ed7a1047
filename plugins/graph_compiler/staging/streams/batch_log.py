"""Spark's log of the batches of a stream of files, in its checkpoint: which files each has; and whether any is new.

    offsets/7        {"logOffset":3} for each source, one line each, before the batch runs; commits/7 after it
    sources/0/3      {"path":…,"timestamp":…,"batchId":3} for each file; or 9.compact, with all up to 9

`FileStreamSourceLog`, `OffsetSeqLog`: 4.1 to 4.3, version 1 of both.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath
from urllib.parse import unquote

from graph_compiler.declaration.connectors.file_uris import local_path
from graph_compiler.declaration.connectors.files import plain_place
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StreamLayout
from graph_compiler.deployment.documents.stream import StreamOfSource, StreamQuery
from graph_compiler.staging.publications.listing import is_hidden
from graph_compiler.staging.store.read_document import get_document
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.streams.checkpoint import CheckpointError, last_batch, last_query

_MOST_BYTES = 1 << 30
_COMPACT = ".compact"
_SEVERAL_STATES = "spark.sql.streaming.statefulOperator.allowMultiple"
_OF_SOURCES = 2
"""The line of a document of offsets from which each is that of a source."""


def offsets_of(store: StagingStore, checkpoint: str, batch: int) -> list[int]:
    """Return the number of each source's last list in a batch, -1 if it has none; empty for a batch that is not there.

    The order of sources is that of Spark's query.
    """
    content = None if batch < 0 else store.get(f"{checkpoint}/offsets/{batch}", most=_MOST_BYTES)
    if content is None:
        return []
    lines = content.decode().splitlines()[_OF_SOURCES:]
    return [-1 if line == "-" else int(json.loads(line)["logOffset"]) for line in lines]


def watermark_of(store: StagingStore, checkpoint: str, batch: int) -> int:
    """Return the watermark with which a batch began, in milliseconds since 1970: 0 before the first one.

    By it the next batch finds late rows (`WatermarkPropagator`: 4.1 to 4.3). Raises CheckpointError if it is not there,
    or if a setting makes late rows those of another watermark.
    """
    if batch < 0:
        return 0
    content = store.get(f"{checkpoint}/offsets/{batch}", most=_MOST_BYTES)
    line = "" if content is None else content.decode().splitlines()[1]
    if content is None or not line.startswith("{"):
        raise CheckpointError(f"{checkpoint} has no watermark of batch {batch}, which late rows of the next one need")
    found = json.loads(line)
    if found.get("conf", {}).get(_SEVERAL_STATES) == "false":
        raise CheckpointError(
            f"the checkpoint was made with {_SEVERAL_STATES}=false, and another watermark finds its late rows\n"
            "  allowed: true, which is Spark's default\n  hint: leave out the side output of late rows"
        )
    return int(found["batchWatermarkMs"])


def files_of(store: StagingStore, folder: str, numbers: Iterable[int]) -> Iterator[tuple[str, int]]:
    """Yield the files of some lists of a source, and when each was modified, in milliseconds since the epoch."""
    for number in numbers:
        content = store.get(f"{folder}/{number}", most=_MOST_BYTES)
        if content is None:
            content = store.get(f"{folder}/{number}{_COMPACT}", most=_MOST_BYTES)
        yield from ((path, modified) for path, modified, batch in _entries(content) if batch == number)


def all_files(store: StagingStore, folder: str) -> Iterator[tuple[str, int]]:
    """Yield all files of a source, and when each was modified."""
    names = [PurePath(key).name for key in store.keys(folder)]
    last = max((int(name.removesuffix(_COMPACT)) for name in names if name.endswith(_COMPACT)), default=-1)
    later = sorted(int(name) for name in names if name.isdecimal() and int(name) > last)
    for name in (f"{last}{_COMPACT}", *map(str, later)):
        for path, modified, _ in _entries(store.get(f"{folder}/{name}", most=_MOST_BYTES)):
            yield path, modified


def _entries(content: bytes | None) -> Iterator[tuple[str, int, int]]:
    for line in (content or b"").decode().splitlines()[1:]:
        entry = json.loads(line)
        yield unquote(str(entry["path"])), int(entry["timestamp"]), int(entry["batchId"])


def uncommitted_batch(store: StagingStore, checkpoint: str) -> int | None:
    """Return the batch that has begun and is not committed, None if there is none: Spark repeats it first."""
    begun = last_batch(store, f"{checkpoint}/offsets")
    return None if begun == last_batch(store, f"{checkpoint}/commits") else begun


def nothing_arrived(
    store: StagingStore, root: str, identity: RunIdentity, query: StreamQuery, folders: Iterable[str]
) -> bool:
    """Whether a query has published all that is in the folders of its sources; False if that is not sure.

    Folders have to be on this host. A query that has changed, a batch that is not committed, and a file that is new, or
    was written again, are for Spark.
    """
    layout = StreamLayout(root=root, owner=identity.owner)
    found = {get_document(store, layout.source(source.uid), StreamOfSource) for source in query.sources}
    if len(found) != 1 or (stream := found.pop()) is None:
        return False
    checkpoint = layout.checkpoint(stream.stream_id)
    last = last_query(store, layout, stream.stream_id)
    if last is None or last.query != query or uncommitted_batch(store, checkpoint) is not None:
        return False
    seen: dict[str, int] = {}
    for number in range(len(query.sources)):
        seen |= {plain_place(path): at for path, at in all_files(store, f"{checkpoint}/sources/{number}")}
    return bool(seen) and all(_are_seen(folder, seen) for folder in folders)


def _are_seen(folder: str, seen: Mapping[str, int]) -> bool:
    """Whether all files below a folder of this host were read as they are; False if it is a pattern, or not there."""
    here = local_path(folder)
    if here is None or not os.path.isdir(here):
        return False
    for below, folders, names in os.walk(here):
        folders[:] = [name for name in folders if not is_hidden(name)]
        for name in names:
            path = os.path.join(below, name)
            if not is_hidden(name) and seen.get(path) != os.stat(path).st_mtime_ns // 1_000_000:
                return False
    return True
