"""Operators that call user functions, which Spark's optimizer cannot look into."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from graph_compiler.declaration.functions import FunctionRef, with_bound_arguments
from graph_compiler.declaration.operators.base_operator import Operator
from graph_compiler.declaration.operators.column_uses import ColumnUse, named
from graph_compiler.declaration.operators.known_columns import Known, columns_of_schema
from graph_compiler.declaration.operators.process_functions import DeclaredState
from graph_compiler.declaration.parameters.parameter import Argument, ParameterReference, ParameterValue, python_value
from graph_compiler.errors import Problem
from graph_compiler.extensions import UNSAID
from graph_compiler.identifiers import listing


@dataclass(frozen=True, slots=True)
class FunctionOperator(Operator):
    """The base class. `deterministic` false: the function may return different rows for the same input.

    `arguments` are bound to the function's keywords, by name; a parameter gets the value of the run.
    """

    distributes_itself: ClassVar[bool] = False
    function: FunctionRef
    deterministic: bool = True
    arguments: tuple[tuple[str, Argument], ...] = field(default=(), kw_only=True, metadata={UNSAID: True})

    def functions(self) -> tuple[FunctionRef, ...]:
        return (self.function,)

    def bound_parameters(self) -> tuple[str, ...]:
        values = (value for _, value in self.arguments)
        return tuple(value.name for value in values if isinstance(value, ParameterReference))

    def load(self, parameters: Mapping[str, ParameterValue]) -> Callable[..., object]:
        """Import the function, bind its arguments; raises FunctionNotImportableError if its name does not resolve."""
        function = self.function.load()
        bound = {
            name: python_value(parameters[value.name]) if isinstance(value, ParameterReference) else value
            for name, value in self.arguments
        }
        return with_bound_arguments(function, bound) if bound else function

    def why_unrepeatable(self) -> str | None:
        """Return a reason if it is declared as not deterministic."""
        return None if self.deterministic else f"{self.function} is declared with deterministic=False"


@dataclass(frozen=True, slots=True)
class Transform(FunctionOperator):
    """Applies a function from one DataFrame, or several if it has several inputs, to a DataFrame."""

    default_name: ClassVar[str] = "Transform"


class Batches(StrEnum):
    """The batches that a function of partitions iterates over."""

    PANDAS = "pandas"
    ARROW = "arrow"


@dataclass(frozen=True, slots=True)
class MapPartitions(FunctionOperator):
    """Applies a function from an iterator of batches to an iterator of batches, for each partition.

    Batches are `pandas.DataFrame` or `pyarrow.RecordBatch`; `schema` is the Spark DDL of the result.
    """

    default_name: ClassVar[str] = "Map Partitions"
    sees_single_rows: ClassVar[bool] = True
    schema: str = ""
    batches: Batches = Batches.PANDAS

    def columns_after(self, inputs: Sequence[Known]) -> Known:  # noqa: ARG002  # it reads none of them
        return columns_of_schema(self.schema)

    def expressions(self) -> tuple[str, ...]:
        return (self.schema,)


@dataclass(frozen=True, slots=True)
class ApplyInPandas(FunctionOperator):
    """Applies a function to the `pandas.DataFrame` of each key; `schema` is the Spark DDL of the result."""

    default_name: ClassVar[str] = "Apply in Pandas"
    distributes_itself: ClassVar[bool] = True
    keys: tuple[str, ...] = ()
    schema: str = ""

    def columns_after(self, inputs: Sequence[Known]) -> Known:  # noqa: ARG002  # it reads none of them
        return columns_of_schema(self.schema)

    def columns_used(self) -> tuple[ColumnUse, ...]:
        return named(self.keys)

    def expressions(self) -> tuple[str, ...]:
        return (self.schema,)


@dataclass(frozen=True, slots=True)
class KeyedProcess(FunctionOperator):
    """Calls a class with state and timers for each row of a key; `schema` is the Spark DDL of the result.

    Rows of a key come in the order of `time`, the event time, by which its timers are; without it, it has no timers.
    On a stream, the state is kept from batch to batch. In a batch job, timers fire behind the last row of their key.
    """

    default_name: ClassVar[str] = "Keyed Process"
    distributes_itself: ClassVar[bool] = True
    keeps_state: ClassVar[bool] = True
    keys: tuple[str, ...] = ()
    schema: str = ""
    time: str | None = None
    states: tuple[DeclaredState, ...] = ()

    @property
    def has_time_to_live(self) -> bool:
        """Whether a state is forgotten by the clock."""
        return any(state.time_to_live is not None for state in self.states)

    def columns_after(self, inputs: Sequence[Known]) -> Known:  # noqa: ARG002  # it reads none of them
        return columns_of_schema(self.schema)

    def columns_used(self) -> tuple[ColumnUse, ...]:
        return named([*self.keys, *(() if self.time is None else (self.time,))])

    def expressions(self) -> tuple[str, ...]:
        types = (type for state in self.states for type in (state.key_type, state.value_type) if type is not None)
        return (self.schema, *types)

    def problems(self) -> Iterator[Problem]:
        """Yield states with mistakes, and a time to live beside timers: Spark has one time for both."""
        for state in self.states:
            yield from state.problems()
        by_name = Counter(state.name.lower() for state in self.states)
        if twice := [state.name for state in self.states if by_name[state.name.lower()] > 1]:
            yield Problem(message=f"its states {listing(twice)} differ only in case", allowed="other names")
        if self.time is not None and self.has_time_to_live:
            name = next(state.name for state in self.states if state.time_to_live is not None)
            yield Problem(
                message=f"its state '{name}' has a time to live, which is by the clock, and its timers are by the "
                f"event time '{self.time}': Spark has one of both",
                allowed="time=… without a time to live; a time to live without time=…",
                hint="remove what is old by a timer: clear() in on_timer",
            )


@dataclass(frozen=True, slots=True)
class Process(FunctionOperator):
    """Applies a function from DataFrame to (DataFrame, {tag: DataFrame}): a main output and side outputs."""

    default_name: ClassVar[str] = "Process"
    tags: tuple[str, ...] = ()

    def output_tags(self) -> tuple[str, ...]:
        return (*self.tags, *self.attributes.output_tags)


@dataclass(frozen=True, slots=True)
class Iterate(FunctionOperator):
    """Applies a function to its own result until a condition holds: a loop inside one application.

    The function takes the state (first input), then the other inputs, and returns the next state. `until` is an
    aggregate over that state (`max(delta) < 0.001`); there are at most `max_iterations` rounds. Each round is staged,
    so that the plan and the retries of a round start from the previous one.
    """

    default_name: ClassVar[str] = "Iterate"
    max_iterations: int = 1
    until: str | None = None

    def expressions(self) -> tuple[str, ...]:
        return () if self.until is None else (self.until,)

    def problems(self) -> Iterator[Problem]:
        if self.max_iterations < 1:
            yield Problem(message=f"max_iterations is {self.max_iterations}", allowed="1 or more")
