"""The base class of operators, with what the compiler must know about each kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from graph_compiler.declaration.coordination import CoordinatorKind, InputSplitSource, MasterHook
from graph_compiler.declaration.functions import FunctionRef
from graph_compiler.declaration.operators.column_uses import ColumnUse
from graph_compiler.declaration.operators.known_columns import Columns, Known
from graph_compiler.errors import Problem
from graph_compiler.extensions import Extensible


class ChainingStrategy(StrEnum):
    """Whether an operator may join the chain of its input (Flink's noun)."""

    ALWAYS = "ALWAYS"
    NEVER = "NEVER"
    HEAD = "HEAD"
    HEAD_WITH_SOURCES = "HEAD_WITH_SOURCES"


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorAttributes:
    """What the compiler must know about an operator beyond its kind; in Flink, the operator's factory knows it.

    `is_yielding`: it can block in the middle of a row (async, a sink's writer), so no legacy source may drive it.
    `outputs_only_after_end`: it has no output before the end of its input, so a pipelined consumer would be idle: its
    output is staged. Our own operators say it by `waits_for_end`, and are not staged for it (decision 7).
    `sorts_input`: it sorts keyed input itself, so a batch job need not.
    `output_tags`: the side outputs that its function may return.
    """

    is_yielding: bool = False
    outputs_only_after_end: bool = False
    sorts_input: bool = False
    output_tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Operator(Extensible):
    """The base class; its subclasses are the kinds. Properties of a kind are methods: no code checks classes."""

    entry_points: ClassVar[str] = "graph_compiler.operators"
    default_name: ClassVar[str]
    chaining_strategy: ClassVar[ChainingStrategy] = ChainingStrategy.ALWAYS
    has_factory: ClassVar[bool] = True
    """Whether Flink makes it from an operator factory; an operator without one is never chained."""
    distributes_itself: ClassVar[bool] = True
    """Whether Spark's own exchange brings the rows of one key together for it; false for user functions."""
    gathers: ClassVar[bool] = False
    """Whether Spark itself brings all its rows into one partition, as late as possible."""
    is_non_parallel: ClassVar[bool] = False
    """Whether it always has exactly one subtask (Flink's `forceNonParallel`)."""
    keeps_order: ClassVar[bool] = False
    """Whether its rows come in the order of the rows that it reads."""
    sees_single_rows: ClassVar[bool] = False
    """Whether what it makes of a row depends on that row only: then it means the same in each batch of a stream."""
    keeps_state: ClassVar[bool] = False
    """Whether Spark keeps state for it on a stream, which later batches continue."""
    waits_for_end: ClassVar[bool] = False
    """Whether it emits nothing before it has read all its input. Spark makes its readers wait, without staging."""
    attributes: OperatorAttributes = field(default=OperatorAttributes(), kw_only=True)

    def outputs_only_after_end(self) -> bool:
        """Whether it emits nothing before it has read all its input (Flink's `isOutputOnlyAfterEndOfStream`)."""
        return self.waits_for_end or self.attributes.outputs_only_after_end

    def sorts_by(self) -> tuple[str, ...]:
        """Return the order that it gives its rows, none if it does not sort."""
        return ()

    def keeps_column(self, name: str) -> bool:  # noqa: ARG002  # for operators that change columns
        """Whether an operator that keeps the order has this column of its input, with the same values."""
        return True

    def columns_after(self, inputs: Sequence[Known]) -> Known:  # noqa: ARG002  # it reads none of them
        """Return the columns of its output, without Spark; None if they are not certain."""
        return None

    def columns_aside(self, inputs: Sequence[Known]) -> Known:  # noqa: ARG002  # it reads none of them
        """Return the columns of its side outputs, in the same way."""
        return None

    def columns_used(self) -> tuple[ColumnUse, ...]:
        """Return the columns of its inputs that it reads, by name or in an expression; it need not say all."""
        return ()

    def column_problems(self, inputs: Sequence[Columns]) -> Iterator[Problem]:  # noqa: ARG002  # for those that have any
        """Yield why it refuses the columns of its inputs, all of which are known; what it reads is `columns_used`."""
        yield from ()

    def expressions(self) -> tuple[str, ...]:
        """Return its SQL texts, in which Jinja is refused and `:name` is a parameter."""
        return ()

    def functions(self) -> tuple[FunctionRef, ...]:
        """Return the user functions that it calls."""
        return ()

    def bound_parameters(self) -> tuple[str, ...]:
        """Return the parameters bound to its arguments, without those in its expressions."""
        return ()

    def output_tags(self) -> tuple[str, ...]:
        """Return the tags of its side outputs."""
        return self.attributes.output_tags

    def master_hooks(self) -> tuple[MasterHook, ...]:
        """Return the hooks that the driver runs for it before any data moves."""
        return ()

    def coordinator(self) -> CoordinatorKind | None:
        """Return its coordinator on the driver."""
        return None

    def input_split_source(self) -> InputSplitSource | None:
        """Return the connector that may know its input splits."""
        return None

    def problems(self) -> Iterator[Problem]:
        """Yield the problems of its fields; the caller adds the operator (`problems_at`)."""
        yield from ()

    def refusing_contract(self) -> str | None:
        """Return the name of its contract, if a violation fails the task."""
        return None

    def copies_what_it_reads(self) -> bool:
        """Whether it only writes its input to files: staging that input would write it twice."""
        return False

    def why_unrepeatable(self) -> str | None:
        """Return why recomputing it from the same rows may give different rows, None if it does not (decision 9)."""
        return None
