"""What a streaming query of a region is, and the record of it beside its checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from graph_compiler.extensions import UNSAID
from graph_compiler.identifiers import OperatorId, counted

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

    `seconds` is how long it took, with its publication. `late` rows, or more, came too late for what keeps state, and
    no side output has them.
    """

    number: int
    rows: int
    seconds: float
    late: int = field(default=0, metadata={UNSAID: True})


def batch_words(batches: Sequence[PublishedBatch]) -> Iterator[str]:
    """Yield what batches have published, as one line if there are any; and how many late rows were left out."""
    if batches:
        first, last = batches[0].number, batches[-1].number
        numbers = f"batch {last}" if first == last else f"batches {first} to {last}"
        rows = sum(each.rows for each in batches)
        yield f"{numbers}: {rows:,} rows, {max(each.seconds for each in batches):.1f} s at most"
    yield from late_words(sum(each.late for each in batches))


def late_words(late: int) -> Iterator[str]:
    """Yield how many rows were left out because they were late, as one line if there were any."""
    if late:
        verb = "was" if late == 1 else "were"
        yield f"at least {counted(late, 'late row')} {verb} left out: the watermark had passed their time"
