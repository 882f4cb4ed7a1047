"""What a streaming query of a region is, and the record of it beside its checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graph_compiler.identifiers import OperatorId

VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class UnboundedSource:
    """A source that never ends; its uid is that of its checkpoint."""

    node_id: int
    uid: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptState:
    """An operator for which Spark keeps state. `fingerprint` is a digest of it and of all that comes before."""

    operator_id: OperatorId
    name: str
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamQuery:
    """The query of a region: its sources, its state. `updates`: it emits a key whenever its values change."""

    sources: tuple[UnboundedSource, ...]
    state: tuple[KeptState, ...]
    updates: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOfSource:
    """Which stream, and so which checkpoint, a source belongs to."""

    stream_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicIds:
    """The topics of Kafka that a stream has read: their names, and the id that each had."""

    ids: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRecord:
    """A query that has used a checkpoint; the one with the highest number is the last."""

    version: int
    number: int
    query: StreamQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverTurn:
    """The execution that has had a checkpoint since: an earlier one commits nothing more."""

    execution_id: str
    run_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedBatch:
    """A batch that an execution has published, for its report: the rows of all sinks.

    `seconds` is how long it took, with its publication.
    """

    number: int
    rows: int
    seconds: float


def batch_words(batches: Sequence[PublishedBatch]) -> Iterator[str]:
    """Yield what batches have published, as one line if there are any."""
    if batches:
        first, last = batches[0].number, batches[-1].number
        numbers = f"batch {last}" if first == last else f"batches {first} to {last}"
        rows = sum(each.rows for each in batches)
        yield f"{numbers}: {rows:,} rows, {max(each.seconds for each in batches):.1f} s at most"
