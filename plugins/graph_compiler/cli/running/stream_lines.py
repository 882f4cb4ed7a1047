"""The batches of a stream that a command runs, a line each, by the heartbeat of its driver."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.deployment.documents.heartbeat import StreamHeartbeat, batch_line
from graph_compiler.deployment.documents.staging_layout import StreamLayout
from graph_compiler.deployment.documents.stream import StreamQuery
from graph_compiler.errors import GraphCompilerError
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.streams.heartbeats import StreamTurn, name_of_user


@dataclass(slots=True)
class StreamLines:
    """The batches of drivers that have begun since the command did. `_shown` is the last one that was shown."""

    store: StagingStore
    layout: StreamLayout
    query: StreamQuery
    started: float
    _shown: int = -1

    @classmethod
    def of(
        cls, store: StagingStore, root: str, owner: str, regions: Sequence[RegionDescriptor], started: float
    ) -> StreamLines | None:
        """Return those of a pipeline with one stream, None if it has none, or several."""
        queries = [region.stream for region in regions if region.stream is not None]
        if len(queries) != 1:
            return None
        return cls(store, StreamLayout(root=root, owner=owner), queries[0], started)

    def new(self) -> Iterator[str]:
        """Yield what was published since the last call.

        A batch waits for what Spark reports behind it, unless another one has followed.
        """
        _, alive = self._driver()
        for batch in () if alive is None else alive.batches:
            is_last = alive is not None and batch is alive.batches[-1] and alive.end is None
            if batch.number > self._shown and (batch.progress is not None or not is_last):
                self._shown = batch.number
                yield batch_line(batch)

    def request_stop(self) -> bool:
        """Ask the driver to end behind its batch; False if none runs."""
        turn, alive = self._driver()
        if turn is None or alive is None or alive.end is not None:
            return False
        turn.request_stop(time.time(), name_of_user())
        return True

    def _driver(self) -> tuple[StreamTurn | None, StreamHeartbeat | None]:
        """Return the driver that this command has started, None before it has begun."""
        try:
            turn = StreamTurn.last_of_query(self.store, self.layout, self.query)
            alive = None if turn is None else turn.heartbeat()
        except (OSError, GraphCompilerError):  # the run itself fails then, and says why
            return None, None
        return (turn, alive) if alive is not None and alive.began >= self.started else (None, None)
