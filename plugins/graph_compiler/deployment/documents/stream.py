"""What a streaming query of a region is, and the record of it beside its checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from graph_compiler.declaration.parameters.parameter import ParameterValue
from graph_compiler.deployment.documents.wire import are_known_to_differ, digest, to_wire
from graph_compiler.extensions import UNSAID
from graph_compiler.identifiers import OperatorId, counted, listing, shown, time_words

VERSION = 1
END_OF_TIME_MS = 253_402_300_799_999
"""The watermark of a stream that has ended: the last millisecond of the year 9999."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnboundedSource:
    """A source that never ends; its uid is that of its checkpoint."""

    node_id: int
    uid: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptState:
    """An operator for which Spark keeps state. `fingerprint` is a digest of it and of all that comes before.

    `parameters` are those that are bound in either, but the date of the run; `values` is a digest of the values that
    they have in a run, None if it is not known. `is_whole`: Spark keeps all that the operator computes with, whatever
    reads it. In a record of an earlier version it is False: rows and columns that nothing has read may be missing.
    """

    operator_id: OperatorId
    name: str
    fingerprint: str
    parameters: tuple[str, ...] = field(default=(), metadata={UNSAID: True})
    values: str | None = field(default=None, metadata={UNSAID: True})
    is_whole: bool = field(default=False, metadata={UNSAID: True})

    def bound(self, values: Mapping[str, ParameterValue]) -> KeptState:
        """Return it with the values of a run."""
        if not self.parameters:
            return self
        return replace(self, values=digest({name: to_wire(values.get(name)) for name in self.parameters}))

    def has_other_values(self, other: KeptState) -> bool:
        """Whether a parameter has another value in another state, as far as both are known."""
        return are_known_to_differ(self.values, other.values)

    def was_kept_in_part(self, before: KeptState) -> bool:
        """Whether rows and columns may be missing in the state that a stream has of it."""
        return self.is_whole and not before.is_whole


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamQuery:
    """The query of a region: its sources, its state. `updates`: it emits a key whenever its values change.

    `reads` are the uids of sources, and `keeps` the operators with state, each as often and in the order in which Spark
    numbers them; None if an earlier version has not recorded it. `mapped` is what its task group is mapped over in this
    instance, None if it is not, or in a record of an earlier version.
    """

    sources: tuple[UnboundedSource, ...]
    state: tuple[KeptState, ...]
    updates: bool
    reads: tuple[str, ...] | None = field(default=None, metadata={UNSAID: True})
    keeps: tuple[OperatorId, ...] | None = field(default=None, metadata={UNSAID: True})
    mapped: str | None = field(default=None, metadata={UNSAID: True})

    def bound(self, values: Mapping[str, ParameterValue], mapped: str | None = None) -> StreamQuery:
        """Return it with the values of a run."""
        return replace(self, state=tuple(each.bound(values) for each in self.state), mapped=mapped)

    @property
    def uids(self) -> list[str]:
        """Return the uids of its sources, sorted."""
        return sorted(source.uid for source in self.sources)


class StateFate(StrEnum):
    """What becomes of the state of an operator if another query continues its checkpoint."""

    KEPT = "KEPT"
    MOVED = "MOVED"
    """It is the same, and Spark would look for it under another number."""
    CHANGED = "CHANGED"
    """The operator, or something before it, computes something different."""
    OTHER_VALUES = "OTHER_VALUES"
    """A parameter in the operator, or before it, has another value in this run."""
    PARTIAL = "PARTIAL"
    """An earlier version has kept it, without what nothing has read."""
    DROPPED = "DROPPED"
    NEW = "NEW"


class Continuation(StrEnum):
    """How a changed query continues a checkpoint."""

    CHECKPOINT = "CHECKPOINT"
    """As it is."""
    SAVEPOINT = "SAVEPOINT"
    """By a copy, in which sources and states have other numbers."""
    SAVEPOINT_WITHOUT_STATE = "SAVEPOINT_WITHOUT_STATE"
    """By a copy without the state of operators that are not in the pipeline any more, if that is allowed."""
    REFUSED = "REFUSED"


_LOST = frozenset({StateFate.CHANGED, StateFate.OTHER_VALUES, StateFate.PARTIAL, StateFate.NEW})


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorState:
    """An operator with state in one of two queries, by its name, and what becomes of its state."""

    name: str
    fate: StateFate


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryChange:
    """What differs between two queries, for a checkpoint: sources by their uids, and the state of operators.

    `reads_moved`: Spark would look for the offsets of a source under another number.
    """

    sources_gone: tuple[str, ...]
    sources_new: tuple[str, ...]
    reads_moved: bool
    state: tuple[OperatorState, ...]

    @classmethod
    def of(cls, before: StreamQuery, now: StreamQuery) -> QueryChange:
        """Compare the query of a checkpoint with one that is to continue it."""
        was, reads = ({source.uid for source in query.sources} for query in (before, now))
        old, new = ({each.operator_id: each for each in query.state} for query in (before, now))

        def places(keeps: tuple[OperatorId, ...] | None, id: OperatorId) -> list[int]:
            return [number for number, one in enumerate(keeps or ()) if one == id]

        def fate(each: KeptState) -> StateFate:
            if each.operator_id not in old:
                return StateFate.NEW
            if old[each.operator_id].fingerprint != each.fingerprint:
                return StateFate.CHANGED
            if each.has_other_values(old[each.operator_id]):
                return StateFate.OTHER_VALUES
            if each.was_kept_in_part(old[each.operator_id]):
                return StateFate.PARTIAL
            is_same = places(before.keeps, each.operator_id) == places(now.keeps, each.operator_id)
            return StateFate.KEPT if is_same or before.keeps is None else StateFate.MOVED

        dropped = (each for id, each in old.items() if id not in new)
        return cls(
            sources_gone=tuple(sorted(was - reads)),
            sources_new=tuple(sorted(reads - was)),
            reads_moved=before.reads is not None and before.reads != now.reads,
            state=(
                *(OperatorState(name=each.name, fate=fate(each)) for each in new.values()),
                *(OperatorState(name=each.name, fate=StateFate.DROPPED) for each in dropped),
            ),
        )

    def names(self, fate: StateFate) -> list[str]:
        """Return the operators of whose state this becomes."""
        return [each.name for each in self.state if each.fate is fate]

    @property
    def continuation(self) -> Continuation:
        """How the changed query continues the checkpoint."""
        lost = [each for each in self.state if each.fate in _LOST]
        if lost or self.sources_gone or self.sources_new:
            return Continuation.REFUSED
        if self.names(StateFate.DROPPED):
            return Continuation.SAVEPOINT_WITHOUT_STATE
        has_moved = self.reads_moved or self.names(StateFate.MOVED)
        return Continuation.SAVEPOINT if has_moved else Continuation.CHECKPOINT

    def why_other_sources(self) -> str | None:
        """Return what differs in the sources, None if nothing does."""
        if self.sources_gone:
            return f"{listing(map(shown, self.sources_gone))} is not read any more"
        return f"{listing(map(shown, self.sources_new))} is new" if self.sources_new else None

    def why_other_state(self) -> str | None:
        """Return what differs in operators that keep state, None if nothing does."""
        if gone := self.names(StateFate.DROPPED):
            return f"{listing(map(shown, gone))} is not in the pipeline any more, or has another place in it"
        if added := self.names(StateFate.NEW):
            return f"{listing(map(shown, added))} is new"
        if changed := self.names(StateFate.CHANGED):
            return f"{listing(map(shown, changed))} has changed, or something before it"
        if computed := self.names(StateFate.OTHER_VALUES):
            return f"a parameter in {listing(map(shown, computed))}, or before it, has another value"
        if partial := self.names(StateFate.PARTIAL):
            return f"an earlier version has kept the state of {listing(map(shown, partial))} without what nothing read"
        return None

    def why_other_places(self) -> str | None:
        """Return what Spark would look for under other numbers, None if it would not."""
        if moved := self.names(StateFate.MOVED):
            return f"the state of {listing(map(shown, moved))} has another place in the query"
        return "its sources have other places in the query, or other branches read them" if self.reads_moved else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SavepointRestoreSettings:
    """Which savepoint a pipeline starts from, as Flink's class has it."""

    path: str
    allow_non_restored_state: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedFile:
    """A file of a savepoint: its name below the folder of the checkpoint, and the SHA-256 of its bytes."""

    name: str
    bytes: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierStream:
    """A stream that another one continues behind a batch."""

    owner: str
    stream_id: str
    batch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedTarget:
    """A target that a stream has published to, and the last batch that it has."""

    target: str
    batch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Savepoint:
    """A copy of a checkpoint behind a committed batch. It is written last: without it, the copy is not complete.

    `streams` are those that have led to it, the last one its own. `root` is the staging root with the ledgers of
    `published`; those of `elsewhere` are in another one.
    """

    version: int
    savepoint_id: str
    taken: float
    root: str
    query: StreamQuery
    streams: tuple[EarlierStream, ...]
    published: tuple[PublishedTarget, ...]
    elsewhere: tuple[str, ...]
    files: tuple[SavedFile, ...]

    @property
    def own(self) -> EarlierStream:
        """The stream of which it is a copy."""
        return self.streams[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOrigin:
    """The savepoint that a stream began with.

    `streams` are those that it continues, the last one that of the savepoint. `elsewhere` are targets to which they
    have published by the ledgers of another staging root. `begins` is its own first batch if that is not the next one:
    Spark has counted a batch without rows, for states in another number of partitions.
    """

    version: int
    savepoint_id: str
    path: str
    streams: tuple[EarlierStream, ...]
    elsewhere: tuple[str, ...]
    begins: int | None = field(default=None, metadata={UNSAID: True})

    @property
    def first_batch(self) -> int:
        """The number of the first batch of its own."""
        return self.streams[-1].batch + 1 if self.begins is None else self.begins


def family_of(stream_id: str) -> str:
    """Return what a stream has in common with all that began with savepoints of it, or of one of them."""
    return stream_id.partition("-")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOfSource:
    """Which stream, and so which checkpoint, a source belongs to."""

    stream_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicIds:
    """The topics of Kafka that a stream has read: their names, and the id that each had."""

    ids: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFacts:
    """What determines which rows a source of a stream has had, by name: its options, for example."""

    stream_id: str
    facts: tuple[tuple[str, str], ...]


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
class StreamProgress:
    """Where a stream is behind a batch.

    `state_rows` and `state_bytes` are what it remembers, in memory, of all operators; None if it has no state.
    `watermark` is ISO, None if it has none yet. `behind` is how many records of Kafka had arrived by then in the
    partition that is most behind, and were not read; None if no source says that. `waited` is how many seconds before
    the batch its oldest file was written; None if it has no files. `rows_in` is how many rows Spark has read for it
    from sources that never end; of a source that several branches of the query read, the mean of them. None if a batch
    was repeated, or an earlier version has not recorded it. A filter may let Spark skip parts of Parquet and ORC files,
    and it counts rows twice that it has read twice (a lost executor, a sink that sorts).
    """

    state_rows: int | None
    state_bytes: int | None
    watermark: str | None
    behind: int | None
    rows_in: int | None = field(default=None, metadata={UNSAID: True})
    waited: float | None = field(default=None, metadata={UNSAID: True})

    def words(self) -> str:
        """Return it for people; empty if there is nothing to say."""
        found = []
        if self.state_rows is not None and self.state_bytes is not None:
            found.append(f"its state has {counted(self.state_rows, 'row')}, {self.state_bytes:,} bytes")
        if self.watermark is not None:
            found.append(f"its watermark is {self.watermark}")
        if self.behind:
            found.append(f"a partition is {counted(self.behind, 'record')} behind")
        if self.waited is not None:
            found.append(f"its oldest file had waited {time_words(self.waited)}")
        return "; ".join(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedBatch:
    """A batch that an execution has published, for its report: the rows of all sinks.

    `seconds` is how long it took, with its publication. `late` rows, or more, came too late for what keeps state, and
    no side output has them. `progress` is where the stream was behind it, None if Spark has not reported that yet.
    """

    number: int
    rows: int
    seconds: float
    late: int = field(default=0, metadata={UNSAID: True})
    progress: StreamProgress | None = field(default=None, metadata={UNSAID: True})


def batch_words(batches: Sequence[PublishedBatch]) -> Iterator[str]:
    """Yield what batches have published, as one line if there are any; where the stream is; and late rows left out."""
    if batches:
        first, last = batches[0].number, batches[-1].number
        numbers = f"batch {last}" if first == last else f"batches {first} to {last}"
        known = [each.progress for each in batches if each.progress is not None]
        read = [each.rows_in for each in known if each.rows_in is not None]
        rows = f"{sum(each.rows for each in batches):,} rows"
        if len(read) == len(batches):
            rows = f"{sum(read):,} rows in, {rows} out"
        yield f"{numbers}: {rows}, {max(each.seconds for each in batches):.1f} s at most"
        yield from (words for words in (each.words() for each in known[-1:]) if words)
    yield from late_words(sum(each.late for each in batches))


def late_words(late: int) -> Iterator[str]:
    """Yield how many rows were left out because they were late, as one line if there were any."""
    if late:
        verb = "was" if late == 1 else "were"
        yield f"at least {counted(late, 'late row')} {verb} left out: the watermark had passed their time"
