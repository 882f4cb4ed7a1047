"""Data contracts: what must hold for each row, and for all rows of a stream together.

each row     Expect, ExpectUnique, ExpectIn        the rows that violate it are known, and may go to a side output
all rows     ExpectRows, ExpectSame, ExpectFresh   one total holds or does not; all rows are passed on
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, NamedTuple, TypeAlias

from graph_compiler.declaration.connectors import SinkMode
from graph_compiler.declaration.operators.base_operator import Operator
from graph_compiler.declaration.operators.column_uses import ColumnUse, computed, named, time_named
from graph_compiler.declaration.operators.endpoints import Sink
from graph_compiler.declaration.operators.grouping import Aggregate, AggregateAll, Deduplicate, WindowAggregate
from graph_compiler.declaration.operators.known_columns import Known
from graph_compiler.declaration.operators.ordering import Sort
from graph_compiler.declaration.operators.rows import Cast, Drop, Filter, FlatMap, Rename, Select, WithColumns
from graph_compiler.declaration.parameters.parameter import RUN_DATE, ParameterReference
from graph_compiler.declaration.windows import CALENDAR, wrong_interval
from graph_compiler.errors import Problem
from graph_compiler.extensions import UNSAID
from graph_compiler.identifiers import shown

Count: TypeAlias = int | ParameterReference
Share: TypeAlias = float | ParameterReference
Interval: TypeAlias = str | ParameterReference


class OnViolation(StrEnum):
    """What happens if a contract is violated. TO: the rows that violate it go to a side output."""

    WARN = "warn"
    DROP = "drop"
    FAIL = "fail"
    TO = "to"


@dataclass(frozen=True, slots=True)
class ContractOperator(Operator):
    """The base class. A violated FAIL contract fails the task before any of its results is committed or published."""

    contract: str

    def outcome(self) -> OnViolation:
        """Return what happens if it is violated."""
        raise NotImplementedError

    def limits(self) -> tuple[Count | Share | Interval | None, ...]:
        """Return the limits that may be parameters."""
        return ()

    def needs_exact_counts(self) -> bool:
        """Whether a row that is counted twice may fail the task, or keep it from failing."""
        return False

    def columns_after(self, inputs: Sequence[Known]) -> Known:
        return inputs[0]

    def bound_parameters(self) -> tuple[str, ...]:
        return tuple(limit.name for limit in self.limits() if isinstance(limit, ParameterReference))

    def refusing_contract(self) -> str | None:
        return self.contract if self.outcome() is OnViolation.FAIL else None


@dataclass(frozen=True, slots=True)
class RowContract(ContractOperator):
    """The base class of contracts whose violations are rows.

    `max_share`: WARN and FAIL contracts allow this share of the rows to violate it, from 0 to below 1.
    """

    max_share: Share | None = field(default=None, kw_only=True, metadata={UNSAID: True})

    def side_output(self) -> str | None:
        """Return the tag of the rows that violate it."""
        raise NotImplementedError

    def limits(self) -> tuple[Count | Share | Interval | None, ...]:
        return (self.max_share,)

    def needs_exact_counts(self) -> bool:
        return self.max_share is not None and self.outcome() is OnViolation.FAIL

    def columns_aside(self, inputs: Sequence[Known]) -> Known:
        return inputs[0]

    def output_tags(self) -> tuple[str, ...]:
        tag = self.side_output()
        return (*(() if tag is None else (tag,)), *self.attributes.output_tags)

    def problems(self) -> Iterator[Problem]:
        """Yield a share that is none, and one that nothing could exceed."""
        if isinstance(self.max_share, int | float) and not 0 <= self.max_share < 1:
            yield Problem(message=f"its max_share is {self.max_share}", allowed="0 or more, less than 1: 0.05 is 5 %")


@dataclass(frozen=True, slots=True)
class Expect(RowContract):
    """Counts the rows for which `condition` is not true (false, NULL), and acts on them."""

    default_name: ClassVar[str] = "Expect"
    keeps_order: ClassVar[bool] = True
    condition: str
    on_violation: OnViolation
    tag: str | None = None

    def outcome(self) -> OnViolation:
        return self.on_violation

    def side_output(self) -> str | None:
        return self.tag

    def columns_used(self) -> tuple[ColumnUse, ...]:
        return computed([self.condition], is_condition=True)

    def expressions(self) -> tuple[str, ...]:
        return (self.condition,)


@dataclass(frozen=True, slots=True)
class ExpectUnique(RowContract):
    """Counts the rows whose values in `columns` other rows have, too: all of them. Keys with a NULL equal no other."""

    default_name: ClassVar[str] = "Expect Unique"
    columns: tuple[str, ...]
    on_violation: OnViolation
    tag: str | None = None

    def outcome(self) -> OnViolation:
        return self.on_violation

    def side_output(self) -> str | None:
        return self.tag

    def columns_used(self) -> tuple[ColumnUse, ...]:
        return named(self.columns)

    def problems(self) -> Iterator[Problem]:
        yield from RowContract.problems(self)
        if not self.columns:
            yield Problem(message="it names no columns", allowed="names of columns, at least one")


@dataclass(frozen=True, slots=True)
class ExpectIn(RowContract):
    """Counts the rows of its first input whose keys the second does not have. Keys with a NULL are not looked for.

    `on` pairs a column of the first with one of the second.
    """

    default_name: ClassVar[str] = "Expect In"
    on: tuple[tuple[str, str], ...]
    on_violation: OnViolation
    tag: str | None = None

    def outcome(self) -> OnViolation:
        return self.on_violation

    def side_output(self) -> str | None:
        return self.tag

    def columns_used(self) -> tuple[ColumnUse, ...]:
        return (*named(own for own, _ in self.on), *named((other for _, other in self.on), 1))

    def problems(self) -> Iterator[Problem]:
        yield from RowContract.problems(self)
        if not self.on:
            yield Problem(message="it has no columns", allowed='on="id", several names, or {name: name of the other}')


@dataclass(frozen=True, slots=True)
class TotalContract(ContractOperator):
    """The base class of contracts on all rows together: WARN or FAIL."""

    keeps_order: ClassVar[bool] = True
    on_violation: OnViolation = field(default=OnViolation.WARN, kw_only=True)

    def outcome(self) -> OnViolation:
        return self.on_violation


@dataclass(frozen=True, slots=True)
class ExpectRows(TotalContract):
    """The stream has at least and at most so many rows."""

    default_name: ClassVar[str] = "Expect Rows"
    at_least: Count | None = None
    at_most: Count | None = None

    def limits(self) -> tuple[Count | Share | Interval | None, ...]:
        return (self.at_least, self.at_most)

    def needs_exact_counts(self) -> bool:
        return self.outcome() is OnViolation.FAIL

    def problems(self) -> Iterator[Problem]:
        """Yield a missing limit, a limit below zero, and limits that no number of rows satisfies."""
        if self.at_least is None and self.at_most is None:
            yield Problem(message="it has no limit", allowed="at_least=1000, at_most=2000, or both")
        known = {name: getattr(self, name) for name in ("at_least", "at_most")}
        given = {name: limit for name, limit in known.items() if isinstance(limit, int)}
        for name, limit in given.items():
            if limit < 0:
                yield Problem(message=f"its {name} is {limit}", allowed="0 or more")
        if len(given) == 2 and given["at_least"] > given["at_most"]:
            yield Problem(
                message=f"no number of rows is at least {given['at_least']} and at most {given['at_most']}",
                allowed="an at_most that is not less than at_least",
            )


@dataclass(frozen=True, slots=True)
class ExpectSame(TotalContract):
    """The aggregate `total` of the first input equals `other_total` of the second, by default the same expression."""

    default_name: ClassVar[str] = "Expect Same"
    total: str
    other_total: str | None = None

    def columns_used(self) -> tuple[ColumnUse, ...]:
        return (*computed([self.total]), *computed([self.other_total or self.total], inputs=(1,)))

    def expressions(self) -> tuple[str, ...]:
        return (self.total, *([] if self.other_total is None else [self.other_total]))


@dataclass(frozen=True, slots=True)
class ExpectFresh(TotalContract):
    """The newest value of a column is not older than `within` before the run's date. No value at all violates it."""

    default_name: ClassVar[str] = "Expect Fresh"
    column: str
    within: Interval

    def limits(self) -> tuple[Count | Share | Interval | None, ...]:
        return (self.within,)

    def columns_used(self) -> tuple[ColumnUse, ...]:
        return (time_named(self.column),)

    def bound_parameters(self) -> tuple[str, ...]:
        return (RUN_DATE, *TotalContract.bound_parameters(self))

    def problems(self) -> Iterator[Problem]:
        if isinstance(self.within, str) and (allowed := wrong_age(self.within)):
            yield Problem(message=f"its within is {shown(self.within)}", allowed=allowed)


def wrong_age(text: object) -> str | None:
    """Return the allowed intervals if the text is none, or could reach beyond the run's date; otherwise None."""
    if allowed := wrong_interval(text, CALENDAR):
        return allowed
    return "an interval without a sign: '2 days', '12 hours'" if "-" in str(text) or "+" in str(text) else None


# Whether a total can be counted by the job that computes the rows anyway.
#
#     source ─▶ total ─▶ select ─▶ sink           the write reads all rows of the total once: it counts them
#     source ─▶ total ─▶ limit ─▶ sink            the limit ends early: the total has a job of its own
#     source ─▶ total                             nothing reads its rows: the same

_READ_EVERYTHING: tuple[type[Operator], ...] = (
    *(Filter, Select, WithColumns, Drop, Rename, Cast, FlatMap, Sort, ContractOperator),
    *(Aggregate, AggregateAll, WindowAggregate, Deduplicate),
)
"""Operators that read each row of their input once, if all their rows are read."""


class Reader(NamedTuple):
    """What reads an output: an operator, at the place `number` of its inputs, or a staged result.

    `is_union`: it reads other outputs at this place, too.
    """

    node_id: int
    name: str
    operator: Operator | None
    number: int = 0
    is_union: bool = False


def why_counted_apart(operator: Operator, node_id: int, readers: Callable[[int], Iterable[Reader]]) -> str | None:
    """Return why a contract is counted by a job of its own; None if the job that computes its rows counts it.

    `readers` returns what reads any output of an operator.
    """
    if not isinstance(operator, ContractOperator):
        return None
    if not list(readers(node_id)):
        return "nothing reads its rows"
    if isinstance(operator, ExpectSame):
        return "it compares two streams"
    return _why_partly_read(node_id, readers) if isinstance(operator, TotalContract) else None


def _why_partly_read(node_id: int, readers: Callable[[int], Iterable[Reader]]) -> str | None:
    seen, pending = {node_id}, [*readers(node_id)]
    while pending:
        reader = pending.pop()
        if reader.operator is None or reader.node_id in seen or _writes_everything(reader.operator):
            continue
        seen.add(reader.node_id)
        after = list(readers(reader.node_id))
        # A contract that nothing reads has a job of its own, which reads all rows.
        ends = not after and not isinstance(reader.operator, ContractOperator)
        if ends or reader.is_union or reader.number > 1 or not isinstance(reader.operator, _READ_EVERYTHING):
            return f"'{reader.name}' may not read each of its rows once"
        pending += after
    return None


def _writes_everything(operator: Operator) -> bool:
    if not isinstance(operator, Sink):
        return False
    return operator.copies_what_it_reads() and operator.mode is not SinkMode.MERGE
