"""The columns that a sink gains, loses or gets with another type, and what its target does about that.

It is found in the settings of a sink, as `connectors.md` describes them; whether the target exists, only a run knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from graph_compiler.explain.plan.plan import Facts, OperatorSummary

_TABLES = frozenset({"Jdbc", "Table"})
_FILES = frozenset({"Csv", "Json", "Text", "Parquet", "Orc", "Files"})
_KEEPS_ROWS = frozenset({"append", "overwrite-partitions", "merge"})
_HAS_NO_NAMES = frozenset({"Json", "Text"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkColumn:
    """A column that a sink gains (`before` None), loses (`now` None), or gets with another type, as `name TYPE`."""

    before: str | None
    now: str | None
    then: str

    def __str__(self) -> str:
        """Return it in one line."""
        if self.before is None:
            return f"gains {self.now}: {self.then}"
        if self.now is None:
            return f"loses {self.before}: {self.then}"
        return f"gets {self.now}, before {self.before}: {self.then}"


def sink_columns(before: OperatorSummary, now: OperatorSummary) -> tuple[SinkColumn, ...]:
    """Return the columns of a sink that differ; none for other operators, and where columns are not known."""
    facts = dict(now.facts)
    if facts.get("operator") != "Sink" or not before.columns or not now.columns:
        return ()
    return tuple(_changes(before.columns, now.columns, facts))


def _changes(before: Facts, now: Facts, facts: Mapping[str, str]) -> Iterator[SinkColumn]:
    old = {name.lower(): (name, kind) for name, kind in before}
    new = {name.lower(): (name, kind) for name, kind in now}
    for key, column in new.items():
        if key not in old:
            yield SinkColumn(before=None, now=_words(column), then=_then_added(facts))
        elif old[key][1] and column[1] and old[key][1] != column[1]:
            then = _then_retyped(facts)
            yield SinkColumn(before=_words(old[key]), now=_words(column), then=then)
    for key, column in old.items():
        if key not in new:
            yield SinkColumn(before=_words(column), now=None, then=_then_lost(facts))


def _words(column: tuple[str, str]) -> str:
    return " ".join(filter(None, column))


def _then_added(facts: Mapping[str, str]) -> str:
    match _expectation(facts):
        case None:
            return _ALL_REPLACED
        case who, "ignore":
            return f"its values are not written, since on_schema_change='ignore' keeps the columns of {who}"
        case who, "evolve" if facts["connector"] in _TABLES:
            return f"refused if {who} does not have it: a table is never altered; add it there first"
        case _, "evolve":
            return "its target gets it, with NULL in the rows that stay"
        case who, _:
            return f"refused if {who} does not have it (on_schema_change='fail')"
    return _UNKNOWN


def _then_lost(facts: Mapping[str, str]) -> str:
    match _expectation(facts):
        case None:
            return f"{_ALL_REPLACED}; readers no longer find it"
        case who, "ignore":
            over = ", over the values that are there" if facts.get("mode") == "merge" else ""
            return f"written as NULL{over}, if {who} has it (on_schema_change='ignore')"
        case who, _:
            return f"refused if {who} has it"
    return _UNKNOWN


def _then_retyped(facts: Mapping[str, str]) -> str:
    match _expectation(facts):
        case None:
            return _ALL_REPLACED
        case who, "ignore":
            return f"cast to the type in {who}; a value that does not fit fails the task"
        case who, "evolve":
            return f"a narrower type is written as that of {who}; a wider one only if no old row stays"
        case who, _:
            return f"refused if {who} has another type"
    return _UNKNOWN


_ALL_REPLACED = "its target has these columns after the run, since all rows are replaced"
_UNKNOWN = "its connector decides"


def _expectation(facts: Mapping[str, str]) -> tuple[str, str] | tuple[()] | None:
    """Return what a sink's rows are compared with, and by which rule; None if with nothing, () if it is not known."""
    connector = facts.get("connector", "")
    policy = facts.get("connector.on_schema_change")
    if connector in _TABLES:
        return ("schema=" if "connector.schema" in facts else "its table"), policy or "fail"
    if connector not in _FILES:
        return ()
    if "connector.schema" in facts:
        return "schema=", policy or "fail"
    stays = facts.get("mode", "overwrite") in _KEEPS_ROWS
    if connector in _HAS_NO_NAMES or not (stays or policy):
        return None if not stays else ()
    return "its target", policy or "fail"
