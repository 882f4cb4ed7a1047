"""Methods that take user functions, or a whole query."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from graph_compiler.declaration.call_checks import held_to_signatures
from graph_compiler.declaration.operators import (
    Batches,
    Iterate,
    MapPartitions,
    Operator,
    Process,
    Sink,
    Source,
    Sql,
    Transform,
)
from graph_compiler.declaration.parameters.parameter import Argument
from graph_compiler.declaration.streams.bound_arguments import bound_arguments
from graph_compiler.declaration.streams.stream import Stream
from graph_compiler.identifiers import did_you_mean, listing, shown

if TYPE_CHECKING:
    from graph_compiler.declaration.streams.data_stream import DataStream

SQL_INPUT = "input"
"""The name of the only stream in its query."""


@held_to_signatures
class FunctionMethods(Stream):
    """Functions and queries beside the declarative operators. A function is imported by its name, never pickled.

    `deterministic=False` declares that a function may return different rows for the same input: several readers of its
    result then read one staged copy. `expensive=True` is `.expensive()`. Other keywords are passed to the function:
    values, or `param("name")` for the run's value of a parameter.
    """

    def transform(
        self,
        function: Callable[..., object],
        *,
        deterministic: bool = True,
        expensive: bool = False,
        **arguments: Argument,
    ) -> DataStream:
        """Apply an importable function from DataFrame to DataFrame; raises InvalidPipelineError for a lambda."""
        operator = Transform(
            self._function(function, "transform", named=arguments), deterministic, arguments=bound_arguments(arguments)
        )
        return self._one_input(operator, expensive=expensive)

    def map_partitions(
        self,
        function: Callable[..., object],
        schema: str,
        *,
        batches: Literal["pandas", "arrow"] = "pandas",
        deterministic: bool = True,
        expensive: bool = False,
        **arguments: Argument,
    ) -> DataStream:
        """Apply a function from an iterator of batches to an iterator of batches, in each partition.

        Batches are `pandas.DataFrame` or `pyarrow.RecordBatch` (Spark's `mapInPandas`, `mapInArrow`); `schema` is the
        Spark DDL of the result.
        """
        if batches not in set(Batches):
            self.refuse(
                f"there are no batches of type '{batches}'",
                allowed=listing(Batches),
                hint=did_you_mean(batches, Batches),
            )
        ref = self._function(function, "map_partitions", named=arguments)
        bound = bound_arguments(arguments)
        operator = MapPartitions(ref, deterministic, schema, Batches(batches), arguments=bound)
        return self._one_input(operator, expensive=expensive)

    def process(
        self,
        function: Callable[..., object],
        *,
        outputs: tuple[str, ...],
        deterministic: bool = True,
        expensive: bool = False,
        **arguments: Argument,
    ) -> DataStream:
        """Apply a function from DataFrame to (DataFrame, {tag: DataFrame}); `outputs` are the tags it returns.

        Each is available as `get_side_output(tag)`.
        """
        if isinstance(function, type):
            self.refuse(
                f"process was given the class {function.__name__}, and its rows have no key",
                allowed="a class with state behind key_by(…); a function of DataFrames",
            )
        operator = Process(
            self._function(function, "process", named=arguments),
            deterministic,
            outputs,
            arguments=bound_arguments(arguments),
        )
        return self._one_input(operator, expensive=expensive)

    def apply(self, operator: Operator, *others: DataStream) -> DataStream:
        """Apply an operator of another package: `apply(Unpivot(("jan", "feb")))`; it reads these rows, then `others`.

        CONTRIBUTING.md describes how a package adds operators.
        """
        if not isinstance(operator, Operator) or isinstance(operator, Source | Sink):
            self.refuse(f"apply was given {shown(operator)}", allowed="an operator of a package")
        if others:
            return self._several_inputs(operator, *others)
        return self._one_input(operator)

    def sql(self, query: str) -> DataStream:
        """Return the result of a query: `sql("SELECT … FROM {input}")`. For several streams: `env.sql`."""
        return self._one_input(Sql(query, (SQL_INPUT,)))

    def iterate(
        self,
        step: Callable[..., object],
        *others: DataStream,
        max_iterations: int,
        until: str | None = None,
        deterministic: bool = True,
        expensive: bool = False,
        **arguments: Argument,
    ) -> DataStream:
        """Apply `step(state, *others)` to its own result, starting with these rows, and return the last state.

        `until` is an aggregate over the state, such as `max(change) < 0.001`: the loop ends when it is true, or after
        `max_iterations` rounds. Each round is staged, so that a round's plan starts with the result of the previous
        one.
        """
        ref = self._function(step, "iterate", 1 + len(others), arguments)
        bound = bound_arguments(arguments)
        operator = Iterate(ref, deterministic, max_iterations, until, arguments=bound)
        if not others:
            return self._one_input(operator, expensive=expensive)
        return self._several_inputs(operator, *others, expensive=expensive)
