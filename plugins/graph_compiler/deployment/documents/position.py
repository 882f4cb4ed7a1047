"""The documents of a position: what a source that reads only what is new has read, increment by increment.

A position is a chain of numbered entries, of which each is put if absent:

    0.json  Increment  run 1: 3 files            ─▶ published
    1.json  Increment  run 2: 1 file             ─▶ given up: run 2 failed before it published
    2.json  Increment  run 3: 2 files, of which one is that of run 2
    3.json  Reset      to run 1: what run 3 has read is new again

An increment is consumed if, and only if, all sinks that its source reaches have published its run: those of the plan
of the last attempt.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.wire import are_known_to_differ
from graph_compiler.extensions import UNSAID
from graph_compiler.identifiers import OperatorId, RegionId

VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachedSink:
    """A sink that the rows of a source reach, and its region."""

    region_id: RegionId
    operator_id: OperatorId
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachedSinks:
    """The sinks that an increment reaches since an attempt at its run with another plan than the one before."""

    sinks: tuple[ReachedSink, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePosition:
    """A source that has a position, for the regions that read it, and for those of the sinks that it reaches.

    `mapped` is what its task group is mapped over in this instance, None if it is not.
    """

    node_id: int
    uid: str
    name: str
    sinks: tuple[ReachedSink, ...]
    mapped: str | None = field(default=None, metadata={UNSAID: True})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFrom:
    """What a position is about: if it changes, the position has no meaning. `place` holds no secret.

    `mapped` is what its task group was mapped over, None if it was not, or in a record of an earlier version.
    """

    kind: str
    place: str
    column: str | None
    mapped: str | None = field(default=None, metadata={UNSAID: True})

    def is_same(self, other: ReadFrom) -> bool:
        """Whether both are about the same, as far as both are known."""
        is_other = are_known_to_differ(self.mapped, other.mapped)
        return replace(self, mapped=None) == replace(other, mapped=None) and not is_other

    def words(self) -> str:
        """Return it as text."""
        whose = "" if self.mapped is None else f" for {self.mapped}"
        return f"{self.kind} {self.place}" + (f" by column '{self.column}'" if self.column is not None else "") + whose


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnBounds:
    """The rows of an increment: `lower` < column <= `upper`, as text of the database; none if both are equal.

    `kind` is how both are written in SQL: a number, DATE, TIMESTAMP … `lower` None: from the beginning. `upper` None:
    there was no row yet. Without a column, they are commits of a table, and `kind` says of which.
    """

    kind: str
    lower: str | None
    upper: str | None

    @property
    def is_empty(self) -> bool:
        """Whether no value is within."""
        return self.upper is None or self.upper == self.lower

    def words(self, column: str | None) -> str:
        """Return it as text."""
        if column is None:
            word = self.kind.partition(" ")[0]
            if self.is_empty:
                return f"no new {word}s" + (f" after {self.upper}" if self.upper else "")
            return f"{word}s " + (f"after {self.lower}, " if self.lower else "") + f"up to {self.upper}"
        if self.is_empty:
            return f"no rows: '{column}' is not above {self.lower}" if self.lower else "no rows"
        return f"'{column}' " + (f"above {self.lower}, " if self.lower else "") + f"up to {self.upper}"


class Settlement(StrEnum):
    """What became of an increment, once it is known."""

    CONSUMED = "CONSUMED"
    SUPERSEDED = "SUPERSEDED"


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionEntry:
    """An entry of the chain; it is an increment or a reset.

    `before` is the verdict on the entry before, None if that was no increment. `taken` is seconds since the epoch.
    """

    version: int
    number: int
    before: Settlement | None
    taken: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Increment(PositionEntry):
    """What one run reads. `files` is their number, and `listed` the key of their list.

    `sinks` are those of the plan of its first attempt.
    """

    identity: RunIdentity
    execution_id: str
    read_from: ReadFrom
    sinks: tuple[ReachedSink, ...]
    files: int | None
    bytes: int | None
    listed: str | None
    bounds: ColumnBounds | None

    @property
    def is_empty(self) -> bool:
        """Whether nothing was new."""
        return not self.files if self.bounds is None else self.bounds.is_empty

    def words(self) -> str:
        """Return what it holds, as text."""
        return part_words(self.files, self.bounds, self.read_from.column)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset(PositionEntry):
    """What later increments than number `to` have read is new again (-1: all); or only the `files`, if there are any.

    After a reset of all, the source may have another path or column.
    """

    to: int
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IncrementEnd:
    """Whose an increment is from now on. It is put if absent: by its run before it publishes, or to give it up.

    `superseded_by` is a run, "reset" for a reset; None if the increment's run publishes it.
    """

    superseded_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkBegun:
    """A sink is about to publish an increment. `target` is what its ledger calls it, None if it has none."""

    target: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadIncrement:
    """What an execution's source has read, for its report."""

    operator: str
    uid: str
    number: int
    files: int | None
    bytes: int | None
    column: str | None
    bounds: ColumnBounds | None

    def words(self) -> str:
        """Return it as one line."""
        read = part_words(self.files, self.bounds, self.column)
        return f"'{self.operator}' has read {read} (increment {self.number})"


def part_words(files: int | None, bounds: ColumnBounds | None, column: str | None) -> str:
    """Return the number of files, or the bounds, as text."""
    if bounds is not None:
        return bounds.words(column)
    return f"{files or 0:,} new {'file' if files == 1 else 'files'}"
