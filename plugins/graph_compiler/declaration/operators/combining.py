"""Operators with several inputs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from graph_compiler.declaration.operators.base_operator import Operator
from graph_compiler.declaration.operators.column_uses import ColumnUse, computed, named, time_named
from graph_compiler.declaration.operators.known_columns import Columns, Known, common, joined, only_in_one
from graph_compiler.declaration.sql_text import Token, name_at, query_problem, tokens_of
from graph_compiler.declaration.windows import CALENDAR, wrong_interval
from graph_compiler.errors import Problem
from graph_compiler.identifiers import did_you_mean, listing


class JoinType(StrEnum):
    """Which rows without a match a join keeps; the names are Spark's."""

    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"
    CROSS = "cross"


_OF_SPARK = {
    "outer": JoinType.FULL,
    "fullouter": JoinType.FULL,
    "leftouter": JoinType.LEFT,
    "rightouter": JoinType.RIGHT,
    "leftsemi": JoinType.SEMI,
    "leftanti": JoinType.ANTI,
    **{kind.value: kind for kind in JoinType},
}
"""Spark's other names of join types, in lower case and without `_`."""


def join_type_meant(name: str) -> str | None:
    """Return a hint with the join type that a name stands for in Spark, or that it is close to."""
    meant = _OF_SPARK.get(re.sub(r"[\s_-]", "", name.lower()))
    return f"did you mean '{meant}'?" if meant else did_you_mean(name, JoinType)


@dataclass(frozen=True, slots=True)
class Join(Operator):
    """Joins two inputs: the paired columns must be equal, and `condition` must be true.

    `on` pairs a column of the left with one of the right. If both have the same name, the result has the column once.
    These columns come first, then the others of the left and of the right. `condition` calls the sides `left` and
    `right`.
    """

    default_name: ClassVar[str] = "Join"
    sees_single_rows: ClassVar[bool] = True
    on: tuple[tuple[str, str], ...]
    how: JoinType
    condition: str | None = None

    def columns_after(self, inputs: Sequence[Known]) -> Known:
        """Return the keys that both sides have once, then the other columns."""
        return joined(inputs[0], inputs[1], self.on, self.how)

    def columns_used(self) -> tuple[ColumnUse, ...]:
        """Return the paired columns, and its condition over both inputs."""
        return (*_pairs(self.on), *computed(self.expressions(), inputs=(0, 1), is_condition=True))

    def column_problems(self, inputs: Sequence[Columns]) -> Iterator[Problem]:
        return _on_both_sides(self.on, self.how, inputs)

    def expressions(self) -> tuple[str, ...]:
        return () if self.condition is None else (self.condition,)

    def problems(self) -> Iterator[Problem]:
        """Yield a join without columns that is not a cross join, and a cross join with columns or a condition."""
        if self.how is JoinType.CROSS:
            has_keys = self.on or self.condition is not None
            message = "a cross join takes neither columns nor a condition"
            if has_keys:
                yield Problem(message=message, allowed="how='cross' alone, or keys with another join type")
        elif not self.on and self.condition is None:
            yield Problem(
                message="it has neither columns nor a condition",
                allowed='on="id", or condition="left.a < right.b"',
                hint="to pair all rows, use how='cross'",
            )


@dataclass(frozen=True, slots=True)
class IntervalJoin(Operator):
    """Joins rows with the same key and close times: right time between left time + `lower` and left time + `upper`.

    Both bounds are inclusive, such as `-5 minutes`, `1 hour`. The join is inner, as in Flink. If both inputs are
    streams, rows wait for those of the other side until the watermark has passed their bounds.
    """

    default_name: ClassVar[str] = "Interval Join"
    keeps_state: ClassVar[bool] = True
    on: tuple[tuple[str, str], ...]
    left_time: str
    right_time: str
    lower: str
    upper: str

    def columns_after(self, inputs: Sequence[Known]) -> Known:
        return joined(inputs[0], inputs[1], self.on, JoinType.INNER)

    def columns_used(self) -> tuple[ColumnUse, ...]:
        return (*_pairs(self.on), time_named(self.left_time), time_named(self.right_time, 1))

    def column_problems(self, inputs: Sequence[Columns]) -> Iterator[Problem]:
        return _on_both_sides(self.on, JoinType.INNER, inputs)

    def problems(self) -> Iterator[Problem]:
        for name, text in (("lower", self.lower), ("upper", self.upper)):
            if allowed := wrong_interval(text, CALENDAR):
                yield Problem(message=f"its {name} bound is {text!r}", allowed=allowed)


def _on_both_sides(on: Sequence[tuple[str, str]], how: JoinType, inputs: Sequence[Columns]) -> Iterator[Problem]:
    """Yield columns that the result of a join would have twice."""
    if how in (JoinType.SEMI, JoinType.ANTI):
        return
    shared = {one.lower() for one, other in on if one.lower() == other.lower()}
    left, right = ({each.name.lower(): each.name for each in side} for side in inputs)
    if both := [name for key, name in left.items() if key in right and key not in shared]:
        yield Problem(
            message=f"both sides of the join have columns called {listing(both)}",
            hint=f'rename one: rename({{"{both[0]}": "{both[0]}_2"}}), or join on it too',
        )


def _pairs(on: Sequence[tuple[str, str]]) -> tuple[ColumnUse, ...]:
    return (*named(one for one, _ in on), *named((other for _, other in on), 1))


@dataclass(frozen=True, slots=True)
class UnionByName(Operator):
    """Combines the rows of several inputs; a column that one of them does not have is NULL in its rows."""

    default_name: ClassVar[str] = "Union by Name"
    sees_single_rows: ClassVar[bool] = True

    def columns_after(self, inputs: Sequence[Known]) -> Known:
        return common(inputs, fills=True)


@dataclass(frozen=True, slots=True)
class SetOperator(Operator):
    """The base class. Without `all`, the result is a set: it contains each row once."""

    all: bool = False

    def columns_after(self, inputs: Sequence[Known]) -> Known:
        return common(inputs)

    def column_problems(self, inputs: Sequence[Columns]) -> Iterator[Problem]:
        left, right = ([each.name for each in side] for side in inputs)
        if odd := only_in_one(left, right):
            yield Problem(message=f"its inputs have different columns: only one has {listing(odd)}")


@dataclass(frozen=True, slots=True)
class Intersect(SetOperator):
    """Keeps rows that are in both inputs."""

    default_name: ClassVar[str] = "Intersect"


@dataclass(frozen=True, slots=True)
class Except(SetOperator):
    """Keeps rows of the left input that are not in the right one."""

    default_name: ClassVar[str] = "Except"


@dataclass(frozen=True, slots=True)
class Sql(Operator):
    """The result of a query; `{name}` in it is the input of that name."""

    default_name: ClassVar[str] = "SQL"
    query: str
    names: tuple[str, ...]

    def expressions(self) -> tuple[str, ...]:
        return (self.query,)

    def reading(self, tables: Mapping[str, str]) -> str:
        """Return the query with the names of tables in place of its inputs."""
        pieces, end = [], 0
        for place in _in_braces(self.query):
            pieces += [self.query[end : place.start - 1], tables[name_at(self.query, place)]]
            end = place.end + 1
        return "".join([*pieces, self.query[end:]])

    def problems(self) -> Iterator[Problem]:
        """Yield a text that is no query, names without an input, and inputs that the query does not read."""
        if self.query.strip() and (problem := query_problem(self.query)):
            yield problem
        places = [name_at(self.query, place) for place in _in_braces(self.query)]
        unknown = [name for name in places if name not in self.names]
        if unknown:
            known = ", ".join(f"{{{name}}}" for name in self.names)
            message = f"its query reads {{{unknown[0]}}}; its inputs are {known}"
            yield Problem(message=message, hint=did_you_mean(unknown[0], self.names))
            return  # an unread input is the one whose name is misspelled
        unread = [name for name in self.names if name not in places]
        if unread:
            message = f"its query does not read {{{unread[0]}}}"
            yield Problem(message=message, hint="write the name of a stream in braces: FROM {orders}")


def _in_braces(query: str) -> Iterator[Token]:
    """Yield the names in braces, outside of quotes and comments; not those of templates, in two braces."""
    tokens = tokens_of(query)
    around = zip(("", *(each.text for each in tokens)), tokens, tokens[1:], tokens[2:], strict=False)
    for before, opening, name, closing in around:
        is_close = opening.end == name.start and name.end == closing.start
        if (opening.text, closing.text) == ("{", "}") and is_close and before != "{" and not name.is_quoted:
            yield name


INSTEAD_OF_ITERATIONS = "iterate(step, max_iterations=…) applies a function to its own result, which Spark can run"


@dataclass(frozen=True, slots=True)
class IterationHead(Operator):
    """Where rows that flow back enter the graph; created by the compiler."""

    default_name: ClassVar[str] = "IterationSource"
    has_factory: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class IterationTail(Operator):
    """Where rows that flow back leave the graph; created by the compiler."""

    default_name: ClassVar[str] = "IterationSink"
    has_factory: ClassVar[bool] = False
