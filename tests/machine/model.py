"""What a target must contain, as a dictionary: the rows of each run, and those of others.

    State({"run 1": rows, "others": rows})  --write-->  the states that are right afterwards

A row is (id, part, number): `number` is unique in a world, so two rows are never equal. Where an
execution failed, both states are right until the next one has settled it: the model then has both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace

Row = tuple[int, str | None, int]
OTHERS = "others"
OWN_PARTITION = "own partition"
"""The mode that overwrites one partition, which is named."""
_NO_VALUE = ("", "__HIVE_DEFAULT_PARTITION__")


def in_folders(value: str | None) -> str | None:
    """Return a value as a partition folder keeps it: Hive's format has one name for '' and for NULL."""
    return None if value in _NO_VALUE else value


@dataclass(frozen=True)
class Written:
    """What one execution writes: its run, its mode, its rows, and by which columns it merges."""

    run: str
    mode: str
    rows: tuple[Row, ...]
    keys: tuple[str, ...] = ()
    sink: tuple[str, str] = ("plan", "a")
    """The plan, and the sink's operator in it."""
    own: tuple[str | None, ...] = ()
    """The value of the partition that the run is responsible for, if it names one."""

    def key(self, row: Row) -> tuple[object, ...]:
        """Return a row's key."""
        return tuple({"id": row[0], "part": row[1]}[name] for name in self.keys)

    @property
    def has_unusable_keys(self) -> bool:
        """Whether a merge must be refused: a key is duplicate, or has a NULL."""
        keys = [self.key(row) for row in self.rows]
        return len(set(keys)) < len(keys) or any(None in key for key in keys)

    @property
    def has_rows_of_others(self) -> bool:
        """Whether it must be refused: it has rows of another partition than its own."""
        own = set(map(in_folders, self.own))
        return bool(own) and any(in_folders(row[1]) not in own for row in self.rows)


@dataclass(frozen=True)
class State:
    """Rows by their writers.

    `files` are the writers that may have left a file, with or without rows; `published` the sinks of each run that have
    published at all.
    """

    rows: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)
    files: frozenset[str] = frozenset()
    published: Mapping[str, frozenset[tuple[str, str]]] = field(default_factory=dict)

    def all_rows(self, as_seen: Callable[[Row], Row]) -> Counter[Row]:
        """Count every row as a reader sees it."""
        return Counter(as_seen(row) for rows in self.rows.values() for row in rows)

    def is_of_another_sink(self, written: Written) -> bool:
        """Whether another sink of the same run and plan has published to the target."""
        plan, operator = written.sink
        return any((plan, operator) != sink and sink[0] == plan for sink in self.published.get(written.run, ()))

    def holds_others(self, run: str, but: Set[Row]) -> bool:
        """Whether there are rows of other writers than a run, except some."""
        own = {run, f"merged by {run}"}
        return any(set(rows) - but for owner, rows in self.rows.items() if owner not in own)

    def publish(self, written: Written) -> State:
        """Return the state with a run's sink among those that have published."""
        sinks = self.published.get(written.run, frozenset()) | {written.sink}
        return replace(self, published={**self.published, written.run: sinks})

    def has(self, written: Written) -> bool:
        """Whether all rows of an execution are there."""
        return set(written.rows) <= {row for rows in self.rows.values() for row in rows}

    def others_than(self, run: str) -> State:
        """Return the rows of all writers except a run."""
        kept = {owner: rows for owner, rows in self.rows.items() if owner != run and rows}
        return replace(self, rows=kept, files=self.files - {run})

    def with_rows(self, owner: str, rows: Iterable[Row]) -> State:
        """Return the state with more rows of an owner."""
        more = (*self.rows.get(owner, ()), *rows)
        return replace(self, rows={**self.rows, owner: more}, files=self.files | {owner})

    def without(self, gone: Iterable[Row]) -> State:
        """Return the state without some rows."""
        lost = set(gone)
        kept = {owner: tuple(row for row in rows if row not in lost) for owner, rows in self.rows.items()}
        return replace(self, rows=kept)

    def emptied(self) -> State:
        """Return the state without any row."""
        return replace(self, rows={}, files=frozenset())

    def merged(self, written: Written) -> State:
        """Return the state with rows merged by key: from then on, all rows are in shared files."""
        keys = {written.key(row) for row in written.rows}
        found: dict[str, tuple[Row, ...]] = {}
        for owner, rows in self.rows.items():
            name = owner if owner.startswith("merged by ") else f"merged by {owner}"
            kept = tuple(row for row in rows if written.key(row) not in keys)
            found[name] = (*found.get(name, ()), *kept)
        return replace(self, rows=found).with_rows(f"merged by {written.run}", written.rows)


def in_a_folder(state: State, written: Written) -> list[State]:
    """Return what a folder must contain after a publication: a run counts once, whatever its mode."""
    run, rows, state = written.run, written.rows, state.publish(written)
    if written.mode in ("overwrite", "error-if-exists"):
        return [state.emptied().with_rows(run, rows)]
    if written.mode == "merge":
        return [state.merged(written)]
    states = [state.others_than(run)]
    # Files that hold a merge have the rows of all: what a run has merged may stay, or go with the run.
    if state.rows.get(f"merged by {run}"):
        states.append(states[0].others_than(f"merged by {run}"))
    if written.mode == "overwrite-partitions":
        parts = {in_folders(part) for part in (*written.own, *(row[1] for row in rows))}
        states = [
            one.without(row for rows in one.rows.values() for row in rows if in_folders(row[1]) in parts)
            for one in states
        ]
    return [one.with_rows(run, rows) for one in states]


def distinct(states: Iterable[State]) -> list[State]:
    """Return the states without duplicates."""
    found: list[State] = []
    for state in states:
        if state not in found:
            found.append(state)
    return found
