"""What an operator does, as frozen values that the Spark side evaluates (`spark_runtime/evaluate.py`).

Expressions are Spark SQL text, columns are names. `:late_after` in an expression is the pipeline's parameter
`late_after`, bound as a typed value; Jinja is refused there (see `Operator.expressions`).
To add one: a value here, and its evaluation there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from graph_compiler.declaration.connectors import Connector, SinkMode
from graph_compiler.declaration.functions import FunctionRef


class ChainingStrategy(StrEnum):
    """Whether an operator may join the chain of its input (Flink's noun)."""

    ALWAYS = "ALWAYS"
    NEVER = "NEVER"
    HEAD = "HEAD"
    HEAD_WITH_SOURCES = "HEAD_WITH_SOURCES"


class JoinType(StrEnum):
    """Which rows of a join survive without a partner; Spark's names."""

    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorAttributes:
    """What the compiler must know of an operator beyond its kind; Flink asks the operator's factory.

    `is_yielding`: it may wait in the middle of a row (async, a sink's writer), so no legacy source may drive it.
    `outputs_only_after_end`: nothing comes out before all input is in, so a pipelined consumer would wait idly.
    `sorts_input`: it sorts keyed input itself, so a batch job need not.
    `output_tags`: the side outputs its function may give.
    """

    is_yielding: bool = False
    outputs_only_after_end: bool = False
    sorts_input: bool = False
    output_tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Operator:
    """Common shape; the leaves below are the kinds."""

    default_name: ClassVar[str]
    chaining_strategy: ClassVar[ChainingStrategy] = ChainingStrategy.ALWAYS
    has_factory: ClassVar[bool] = True
    """Whether Flink makes it from an operator factory; what has none is never chained."""
    attributes: OperatorAttributes = field(default=OperatorAttributes(), kw_only=True)

    def expressions(self) -> tuple[str, ...]:
        """Give every piece of SQL text in it, where Jinja is refused and `:name` is a parameter."""
        return ()

    def output_tags(self) -> tuple[str, ...]:
        """Give the tags of its side outputs."""
        return self.attributes.output_tags


@dataclass(frozen=True, slots=True)
class Source(Operator):
    """Reads a connector.

    `is_bounded`: it ends. `is_legacy`: it pushes rows instead of being asked for them, and nothing that yields may
    run behind it. `is_parallel` false forces a single subtask.
    """

    default_name: ClassVar[str] = "Source"
    connector: Connector
    is_bounded: bool = field(default=True, kw_only=True)
    is_legacy: bool = field(default=False, kw_only=True)
    is_parallel: bool = field(default=True, kw_only=True)


@dataclass(frozen=True, slots=True)
class Sink(Operator):
    """Brings rows to where the connector says, once its whole region has succeeded.

    `mode` says what becomes of what is there. Columns of `partition_by` become folders (`carrier=UA/`); `files` tasks
    write one file each (with `partition_by`, one in each folder they have rows for), None leaves that to the plan.
    """

    default_name: ClassVar[str] = "Sink"
    connector: Connector
    mode: SinkMode = field(default=SinkMode.OVERWRITE, kw_only=True)
    partition_by: tuple[str, ...] = field(default=(), kw_only=True)
    files: int | None = field(default=None, kw_only=True)
    has_writer: bool = field(default=False, kw_only=True)
    """Whether its writer is an operator of its own, made during translation (Flink's Sink V2)."""


@dataclass(frozen=True, slots=True)
class Filter(Operator):
    """Keeps rows for which `condition` is true; the others (false, NULL) go to the side output `rejects`, if named."""

    default_name: ClassVar[str] = "Filter"
    condition: str
    rejects: str | None = None

    def expressions(self) -> tuple[str, ...]:
        """Give the condition."""
        return (self.condition,)

    def output_tags(self) -> tuple[str, ...]:
        """Give the tag for rejected rows."""
        rejects = () if self.rejects is None else (self.rejects,)
        return (*rejects, *self.attributes.output_tags)


@dataclass(frozen=True, slots=True)
class Select(Operator):
    """Gives exactly these columns: (name, expression) in order."""

    default_name: ClassVar[str] = "Select"
    columns: tuple[tuple[str, str], ...]

    def expressions(self) -> tuple[str, ...]:
        """Give the columns' expressions."""
        return tuple(expression for _, expression in self.columns)


@dataclass(frozen=True, slots=True)
class WithColumns(Operator):
    """Adds these columns, or replaces those of the same name: (name, expression)."""

    default_name: ClassVar[str] = "With Columns"
    columns: tuple[tuple[str, str], ...]

    def expressions(self) -> tuple[str, ...]:
        """Give the columns' expressions."""
        return tuple(expression for _, expression in self.columns)


@dataclass(frozen=True, slots=True)
class Transform(Operator):
    """Applies a function from DataFrame to DataFrame."""

    default_name: ClassVar[str] = "Transform"
    function: FunctionRef


@dataclass(frozen=True, slots=True)
class Aggregate(Operator):
    """One row for each key: the key columns, then (name, aggregate expression) in order."""

    default_name: ClassVar[str] = "Aggregate"
    keys: tuple[str, ...]
    aggregates: tuple[tuple[str, str], ...]

    def expressions(self) -> tuple[str, ...]:
        """Give the aggregates."""
        return tuple(expression for _, expression in self.aggregates)


@dataclass(frozen=True, slots=True)
class Join(Operator):
    """Joins two inputs where the columns `on` are equal: these first, then the others of the left and of the right."""

    default_name: ClassVar[str] = "Join"
    on: tuple[str, ...]
    how: JoinType


@dataclass(frozen=True, slots=True)
class IterationHead(Operator):
    """Where what flows back enters the graph again; made by the compiler."""

    default_name: ClassVar[str] = "IterationSource"
    has_factory: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class IterationTail(Operator):
    """Where what flows back leaves the graph; made by the compiler."""

    default_name: ClassVar[str] = "IterationSink"
    has_factory: ClassVar[bool] = False
