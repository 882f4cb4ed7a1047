"""A driver of a stream: the product's code, with a query of Spark that needs no Spark.

What Spark does with its checkpoint is repeated by `Query`: the lists of files, the offsets and the commits of batches,
in the order in which a kill may find them. The rest is the product: the turn, what ledgers call a batch, the sink.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from unittest.mock import patch

from graph_compiler.declaration.connectors import Json, SinkMode
from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.documents.staging_layout import StreamLayout
from graph_compiler.deployment.documents.stream import SavepointRestoreSettings, StreamQuery, UnboundedSource
from graph_compiler.spark_runtime.connectors import SinkContext
from graph_compiler.staging.publications import ledger, ledger_records
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.streams.batch_log import last_begun, offsets_of
from graph_compiler.staging.streams.checkpoint import Checkpoint, last_batch, savepoint_of
from graph_compiler.staging.streams.savepoints import begin_with_savepoint
from tests.machine.faults import Died
from tests.machine.in_stores.execution import begin, committer_of, context_of, layout_of, publish
from tests.machine.in_stores.rows import Rows
from tests.machine.in_stores.server import Ground
from tests.machine.in_stores.troubles import Line
from tests.machine.model import Row
from tests.machine.process import Process

_SOURCES = tuple(UnboundedSource(node_id=id, uid=uid, name=uid) for id, uid in enumerate(("lines", "more")))
QUERY = StreamQuery(sources=_SOURCES, state=(), updates=False, reads=("lines", "more"), keeps=())
"""Its second source never has anything."""
RETAINED = 3
"""How many batches Spark's logs and the ledgers keep, in place of a hundred."""
PARTS = ("a", "b")


class OtherQueryError(Exception):
    """Another query has written to the same checkpoint: Spark's "Concurrent update to the log"."""


@contextmanager
def short_logs() -> Iterator[None]:
    """Let ledgers fold what is a few batches old."""
    with patch.object(ledger, "FOLDED_AFTER", RETAINED), patch.object(ledger_records, "FOLDED_AFTER", RETAINED):
        yield


@dataclass
class Query:
    """What Spark knows of a stream while it runs it: it reads its checkpoint when it starts."""

    store: StagingStore
    folder: str
    most: int
    """How many files a batch has."""
    time: Iterator[int]
    lists: dict[int, list[int]] = field(default_factory=dict)
    """The files of each list."""

    def batches(self, arrived: list[int]) -> Iterator[tuple[int, list[int]]]:
        """Yield the number and the files of each batch; the next one is asked for when one is published."""
        begun, committed = last_begun(self.store, self.folder), last_batch(self.store, f"{self.folder}/commits")
        self.lists = lists_of(self.store, self.folder)
        until = self._offset(begun)
        if begun is not None and begun != committed:
            yield begun, self._files(self._offset(begun - 1), until)
            self._put(f"commits/{begun}", b"v1\n{}")
        number = -1 if begun is None else begun
        known = {file for files in self.lists.values() for file in files}
        left = [file for file in arrived if file not in known]
        while True:
            last = max(self.lists, default=-1)
            if left:
                last += 1
                self.lists[last], left = left[: self.most], left[self.most :]
                self._put(f"sources/0/{last}", _list(self.lists[last], last))
            if last == until:
                return
            number += 1
            self._put(f"offsets/{number}", self._offsets(last))
            for log in ("offsets", "commits"):
                self.store.delete(f"{self.folder}/{log}/{number - RETAINED}")
            yield number, self._files(until, last)
            self._put(f"commits/{number}", b"v1\n{}")
            until = last

    def _offset(self, batch: int | None) -> int:
        found = [] if batch is None else offsets_of(self.store, self.folder, batch)
        return int(json.loads(found[0])["logOffset"]) if found and found[0] else -1

    def _files(self, after: int, until: int) -> list[int]:
        return [file for number in range(after + 1, until + 1) for file in self.lists[number]]

    def _offsets(self, last: int) -> bytes:
        notes = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": next(self.time), "conf": {}})
        return "\n".join(["v1", notes, json.dumps({"logOffset": last}), "-"]).encode()

    def _put(self, name: str, content: bytes) -> None:
        if not self.store.put_if_absent(f"{self.folder}/{name}", content):
            raise OtherQueryError(name)


def lists_of(store: StagingStore, folder: str) -> dict[int, list[int]]:
    """Return the files of each list of a checkpoint's first source."""
    names = [name for key in store.keys(f"{folder}/sources/0") if (name := PurePath(key).name).isdecimal()]
    found: dict[int, list[int]] = {}
    for name in names:
        content = store.get(f"{folder}/sources/0/{name}") or b""
        found[int(name)] = [file_of(json.loads(line)["path"]) for line in content.splitlines()[1:]]
    return found


def path_of(file: int) -> str:
    return f"/arriving/{file}.json"


def file_of(path: str) -> int:
    return int(PurePath(path).stem)


def _list(files: list[int], number: int) -> bytes:
    entries = (json.dumps({"path": path_of(file), "timestamp": file, "batchId": number}) for file in files)
    return "\n".join(["v1", *entries]).encode()


@dataclass
class StreamDriver:
    """An execution of a stream, and what has happened since it began."""

    id: str
    run: str
    ground: Ground
    arrived: list[int]
    numbers: itertools.count[int]
    mode: str
    most: int
    start: SavepointRestoreSettings | None
    line: Line = field(init=False)
    process: Process = field(init=False)
    rows: dict[int, tuple[Row, ...]] = field(default_factory=dict)
    """Those of each batch that it has computed: the file, its part, and which computation it was."""
    error: BaseException | None = None
    has_opened: bool = False
    """Whether it has a checkpoint."""
    is_alone: bool = True
    """Whether nothing else has run, and no late request arrived, since it began."""
    was_silent: bool = False
    """It had ended, or waited, while gc ran."""

    @property
    def trace(self) -> str:
        return "\n".join([f"requests of {self.id}:", *(f"  {line}" for line in self.line.trace[-120:])])

    def work(self) -> None:
        """Do what a driver does with a stream of one sink."""
        try:
            self._publish_all()
        except (Died, Exception) as error:
            self.error = error

    def _publish_all(self) -> None:
        client = self.ground.client_of(self.line)
        layout = layout_of(self.ground, self.run)
        begin(client, layout, self.id)
        if self.start is not None:
            begin_with_savepoint(client, streams_in(self.ground), QUERY, self.start)
        checkpoint = Checkpoint.open(client, self.ground.root, layout.identity, self.id, QUERY)
        self.has_opened = True
        context = context_of(client, layout, self.id)
        query = Query(store=client, folder=checkpoint.folder, most=self.most, time=self.numbers)
        for number, files in query.batches(self.arrived):
            checkpoint.check()
            self.rows[number] = tuple((file, PARTS[file % len(PARTS)], next(self.numbers)) for file in files)
            self._publish(context, checkpoint, number)

    def _publish(self, context: SinkContext, checkpoint: Checkpoint, number: int) -> None:
        origin = savepoint_of(checkpoint.store, checkpoint.layout, checkpoint.stream_id)
        context = replace(
            context,
            batch=checkpoint.batch(number),
            check_turn=checkpoint.check,
            restored=origin if origin is not None and number == origin.first_batch else None,
        )
        keys = ("id",) if self.mode == "merge" else ()
        sink = Sink(connector=Json(self.ground.target), mode=SinkMode(self.mode), keys=keys)
        rows = Rows(self.ground, self.rows[number])
        publish(committer_of(sink, context), rows, claimed=lambda: None, looks=checkpoint.check)


def streams_in(ground: Ground) -> StreamLayout:
    """Return the paths of the pipeline's streams."""
    return StreamLayout(root=ground.root, owner=layout_of(ground, "any").identity.owner)


def read_by(store: StagingStore, folder: str, batch: int) -> list[int]:
    """Return the files that a checkpoint has read up to a batch."""
    offsets = offsets_of(store, folder, batch)
    last = int(json.loads(offsets[0])["logOffset"]) if offsets and offsets[0] else -1
    return [file for number, files in sorted(lists_of(store, folder).items()) if number <= last for file in files]
