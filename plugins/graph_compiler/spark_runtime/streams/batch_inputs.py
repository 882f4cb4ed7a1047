"""What the sources of a stream have for a batch, in the order in which Spark's query numbers them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from graph_compiler.deployment.documents.descriptor import OperatorDescriptor
from graph_compiler.deployment.documents.stream import StreamQuery
from graph_compiler.spark_runtime.connectors.arriving.arriving_source import ArrivingSource, BatchInput, SourceLog
from graph_compiler.spark_runtime.failures.failures import OperatorFailedError
from graph_compiler.staging.streams.batch_log import last_begun, offsets_of
from graph_compiler.staging.streams.checkpoint import Checkpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSources:
    """The sources of a query that never end, each with its operator, what Spark logs of it, and where its offset is.

    Spark has a folder for each source, by its number, and a line of offsets for each time that the query reads it.
    `times_read` is how often it reads each of them.
    """

    sources: tuple[tuple[OperatorDescriptor, ArrivingSource, SourceLog, int], ...]
    times_read: tuple[int, ...]
    checkpoint: Checkpoint

    @classmethod
    def of(
        cls, read: Sequence[tuple[OperatorDescriptor, ArrivingSource]], checkpoint: Checkpoint, query: StreamQuery
    ) -> StreamSources:
        """Return the sources that a query reads, in the order of its plan; one that it reads twice is there twice."""
        store, layout, stream = checkpoint.store, checkpoint.layout, checkpoint.stream_id
        uids = {each.node_id: each.uid for each in query.sources}
        lines: dict[int, int] = {}
        for line, (operator, _) in enumerate(read):
            lines.setdefault(operator.node_id, line)
        times = Counter(operator.node_id for operator, _ in read)
        found = []
        for number, line in enumerate(lines.values()):
            operator, source = read[line]
            record = layout.noted(stream, uids[operator.node_id])
            folder = f"{checkpoint.folder}/sources/{number}"
            log = SourceLog(store=store, stream_id=stream, folder=folder, record=record)
            found.append((operator, source, log, line))
        times_read = tuple(times[operator.node_id] for operator, *_ in found)
        return cls(sources=tuple(found), times_read=times_read, checkpoint=checkpoint)

    def check_start(self) -> None:
        """Raise OperatorFailedError if Spark would leave out rows of a source, or read others with them."""
        offsets = self._offsets(last_begun(self.checkpoint.store, self.checkpoint.folder))
        for operator, source, log, line in self.sources:
            with _attributed(operator):
                source.check_start(log, offsets.get(line))

    def explain(self, failure: BaseException) -> None:
        """Raise OperatorFailedError if a failure of the query is about one of them."""
        for operator, source, *_ in self.sources:
            if (known := source.explained(str(failure))) is not None:
                with _attributed(operator):
                    raise known from failure

    def of_batch(self, number: int) -> BatchInputs:
        """Return what they have for a batch whose offsets are logged."""
        before, until = self._offsets(number - 1), self._offsets(number)
        found = []
        for operator, source, log, line in self.sources:
            with _attributed(operator):
                found.append((operator, source.of_batch(log, before.get(line), until.get(line))))
        return BatchInputs(inputs=tuple(found))

    def withdraw(self, number: int) -> None:
        """Let a batch of which nothing is computed not have begun."""
        before, until = self._offsets(number - 1), self._offsets(number)
        self.checkpoint.check()
        for name in (f"{number}", f".{number}.crc"):  # first: Spark fails if a list is gone that an offset names
            self.checkpoint.store.delete(f"{self.checkpoint.folder}/offsets/{name}")
        for _, source, log, line in self.sources:
            source.withdraw(log, before.get(line), until.get(line))

    def _offsets(self, batch: int | None) -> Mapping[int, str | None]:
        return (
            {} if batch is None else dict(enumerate(offsets_of(self.checkpoint.store, self.checkpoint.folder, batch)))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchInputs:
    """What the sources have for one batch."""

    inputs: tuple[tuple[OperatorDescriptor, BatchInput], ...]

    def check(self) -> None:
        """Raise OperatorFailedError if one of them is not what the batch was to have, or does not fit."""
        for operator, each in self.inputs:
            with _attributed(operator):
                each.check()

    def waited(self, now: datetime) -> float | None:
        """Return how many seconds the oldest of them had been there, None if no source knows that."""
        known = [oldest for _, each in self.inputs if (oldest := each.oldest()) is not None]
        return max(0.0, (now - min(known)).total_seconds()) if known else None  # a store's clock may be ahead

    def check_unchanged(self) -> None:
        """Raise OperatorFailedError if one of them is not any more what the batch was to have."""
        for operator, each in self.inputs:
            with _attributed(operator):
                each.check_unchanged()


@contextmanager
def _attributed(operator: OperatorDescriptor) -> Iterator[None]:
    """Let an error be that of a source."""
    try:
        yield
    except Exception as error:  # of any kind: it is its reader's
        raise OperatorFailedError((operator,), lambda _: (), writes=False) from error
