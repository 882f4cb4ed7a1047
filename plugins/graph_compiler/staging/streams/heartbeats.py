"""The signs of life of a stream's drivers, and requests that one of them stops: a document for each turn.

A request names a turn. So an old one does not stop the next driver, and it need not be removed.
"""

from __future__ import annotations

import getpass
import os
from dataclasses import dataclass

from graph_compiler.deployment.documents.heartbeat import VERSION, StopRequest, StreamHeartbeat
from graph_compiler.deployment.documents.staging_layout import StreamLayout
from graph_compiler.deployment.documents.stream import StreamQuery
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.staging.store.numbered_documents import numbered, numbers_in
from graph_compiler.staging.store.read_document import get_document
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.streams.checkpoint import streams_of_sources

_KEPT = 20
"""How many earlier turns keep their documents."""


def name_of_user() -> str:
    """Return the name of the user of this process; in a container, it may have a number only."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTurn:
    """The turn of a driver: one execution that has, or had, the checkpoint of a stream."""

    store: StagingStore
    layout: StreamLayout
    stream_id: str
    number: int

    @classmethod
    def last(cls, store: StagingStore, layout: StreamLayout, stream_id: str) -> StreamTurn | None:
        """Return the last one of a stream, None if it has had no driver."""
        known = numbers_in(store, layout.turns(stream_id))
        return cls(store=store, layout=layout, stream_id=stream_id, number=known[-1]) if known else None

    @classmethod
    def last_of_query(cls, store: StagingStore, layout: StreamLayout, query: StreamQuery) -> StreamTurn | None:
        """Return the last one of the stream that a query's sources have, None if they have none."""
        uids = query.uids
        known = set(streams_of_sources(store, layout, uids).values())
        stream_id = known.pop() if len(known) == 1 else None
        return None if stream_id is None else cls.last(store, layout, stream_id)

    def heartbeat(self) -> StreamHeartbeat | None:
        """Return its last sign of life, None if it has given none; raises OtherVersionError."""
        key = numbered(self.layout.heartbeats(self.stream_id), self.number)
        return get_document(self.store, key, StreamHeartbeat, version=VERSION)

    def put(self, heartbeat: StreamHeartbeat) -> None:
        """Write its sign of life."""
        key = numbered(self.layout.heartbeats(self.stream_id), self.number)
        self.store.put(key, to_json(heartbeat, indent=None).encode())

    def request_stop(self, asked: float, by: str) -> None:
        """Ask the driver to end behind the batch in progress; the first request stays."""
        key = numbered(self.layout.stops(self.stream_id), self.number)
        self.store.put_if_absent(key, to_json(StopRequest(asked=asked, by=by)).encode())

    def stop_request(self) -> StopRequest | None:
        """Return what asks the driver to end, None if nothing does."""
        return get_document(self.store, numbered(self.layout.stops(self.stream_id), self.number), StopRequest)

    def clear_earlier(self) -> None:
        """Remove the documents of turns that are long over."""
        for folder in (self.layout.heartbeats(self.stream_id), self.layout.stops(self.stream_id)):
            for number in numbers_in(self.store, folder):
                if number <= self.number - _KEPT:
                    self.store.delete(numbered(folder, number))
