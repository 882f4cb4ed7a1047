"""Watch a streaming query from the driver's main thread: give signs of life, and end the query behind a batch.

each second          has the query ended? has a signal come, is the maximum run time over?
each two seconds     is there a request to stop? has a later driver taken the checkpoint?
each ten seconds,    the heartbeat is written, also while a batch hangs: it says since when
and for a batch
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from graph_compiler import program_log
from graph_compiler.deployment.documents.heartbeat import VERSION, ContinuousExecution, StreamEnd, StreamHeartbeat
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.stream import PublishedBatch, StreamProgress
from graph_compiler.errors import StagingError
from graph_compiler.spark_runtime.spark_internals.running_query import (
    begin_no_other_batch,
    has_ended,
    is_between_batches,
)
from graph_compiler.staging.streams.checkpoint import Checkpoint, CheckpointTakenError
from graph_compiler.staging.streams.heartbeats import StreamTurn

LOG = program_log.logger(__name__)
_LOOK, _ASK, _BEAT = 1, 2, 10
"""Seconds between two looks at the query, two at the staging root, and two signs of life."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_SHOWN = 20
"""How many batches a heartbeat has: a reader that looks each second misses none."""


@dataclass(slots=True, kw_only=True)
class StreamWatch:
    """What one driver of a stream does, and why it is to end. Batches are noted by other threads."""

    spark: SparkSession
    checkpoint: Checkpoint
    identity: RunIdentity
    execution_id: str
    continuous: ContinuousExecution | None
    end: StreamEnd | None = None
    """Why it ends behind its batch; what has happened first."""
    began: float = field(default_factory=time.time)
    _started: float = field(default_factory=time.monotonic)
    _turn: StreamTurn = field(init=False)
    _shown: StreamHeartbeat = field(init=False)
    _written: StreamHeartbeat | None = None
    _wrote: float = 0.0
    _asked: float = 0.0
    _is_lost: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        opened, interval = self.checkpoint, None if self.continuous is None else self.continuous.interval_ms / 1000
        self._turn = StreamTurn(
            store=opened.store, layout=opened.layout, stream_id=opened.stream_id, number=opened.turn
        )
        self._shown = StreamHeartbeat(
            version=VERSION,
            execution_id=self.execution_id,
            run_id=self.identity.run_id,
            began=self.began,
            written=self.began,
            interval_seconds=interval,
            batch=None,
            batch_began=None,
            batches=(),
            published=None,
        )

    def begins(self, number: int) -> None:
        """Note that a batch begins."""
        with self._lock:
            self._shown = replace(self._shown, batch=number, batch_began=time.time())

    def ends(self, batch: PublishedBatch) -> None:
        """Note that a batch is published."""
        with self._lock:
            batches = (*self._shown.batches, batch)[-_SHOWN:]
            self._shown = replace(self._shown, batch=None, batch_began=None, batches=batches, published=time.time())

    def follow(self, query: StreamingQuery, progress_of: Callable[[int], StreamProgress | None]) -> None:
        """Wait until a query ends; raises its failure, and CheckpointTakenError behind its batch.

        `progress_of` returns where the stream is behind a batch, if Spark has reported that.
        """
        taken = None
        while not query.awaitTermination(_LOOK):
            taken = self._look()
            self._complete(progress_of)
            self._beat()
            if self.end is not None or taken is not None:
                why = "a later driver has the checkpoint" if self.end is None else self.end.words()
                LOG.info("the stream ends behind the batch in progress: %s", why)
                begin_no_other_batch(query, self.spark)
                break
        while not has_ended(query):
            if is_between_batches(query):
                query.stop()  # it need not wait for the next trigger
            else:
                time.sleep(_LOOK / 4)
            self._beat()
        query.awaitTermination()  # raises why it failed
        self._complete(progress_of)
        if taken is not None:
            raise taken

    @contextmanager
    def signs_of_life(self) -> Iterator[None]:
        """Within, the driver gives signs of life; the last one says why it has ended."""
        try:
            self._turn.clear_earlier()
            self._beat()
            with self._signals():
                yield
        except BaseException:
            self._beat(StreamEnd.FAILED)
            raise
        self._beat(self.end or StreamEnd.NOTHING_NEW)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Within, a signal ends a continuous stream behind its batch, and a second one acts as before."""
        if self.continuous is None or threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: handler for number in _SIGNALS if (handler := signal.getsignal(number)) is not None}

        def put_back() -> None:
            for number, handler in before.items():
                signal.signal(number, handler)

        def ask(_number: int, _frame: FrameType | None) -> None:
            self.end = self.end or StreamEnd.SIGNAL
            put_back()

        for number in before:
            signal.signal(number, ask)
        try:
            yield
        finally:
            put_back()

    def _look(self) -> CheckpointTakenError | None:
        """Return that a later driver has the checkpoint, None if none has; find other reasons to end."""
        longest = self.continuous.longest_seconds if self.continuous else None
        if self.end is None and longest is not None and time.monotonic() - self._started >= longest:
            self.end = StreamEnd.TIME_IS_OVER
        if time.monotonic() - self._asked < _ASK:
            return None
        self._asked = time.monotonic()
        try:
            self.checkpoint.check()
            if self.end is None and self._turn.stop_request() is not None:
                self.end = StreamEnd.REQUESTED
        except CheckpointTakenError as error:
            self._is_lost = True
            return error
        except (OSError, StagingError):  # the next look finds out, or the next batch
            LOG.warning("the staging root does not answer", exc_info=True)
        return None

    def _complete(self, progress_of: Callable[[int], StreamProgress | None]) -> None:
        """Let batches have where the stream was behind them: Spark reports it after their commit."""
        missing = [each.number for each in self._shown.batches if each.progress is None]
        known = {number: found for number in missing if (found := progress_of(number)) is not None}
        if known:
            with self._lock:
                batches = (
                    replace(each, progress=known.get(each.number, each.progress)) for each in self._shown.batches
                )
                self._shown = replace(self._shown, batches=tuple(batches))

    def _beat(self, end: StreamEnd | None = None) -> None:
        """Write a sign of life if there is something new, or the last one is old."""
        shown, now = self._shown, time.monotonic()
        is_due = end is not None or shown is not self._written or now - self._wrote >= _BEAT
        if not is_due or self._is_lost:
            return
        self._written, self._wrote = shown, now
        try:
            self._turn.put(replace(shown, written=time.time(), end=end))
        except (OSError, StagingError):  # it is for people, and the stream does its work without
            LOG.warning("no sign of life is written", exc_info=True)
