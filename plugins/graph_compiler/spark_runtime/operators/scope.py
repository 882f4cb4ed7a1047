"""What an operator's evaluation can use besides its rows, and how it runs Spark's SQL.

SQL text goes to Spark's parser with the parameters as typed arguments. Only names are inserted into the text, and
expressions that Spark has parsed alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import singledispatch

from pyspark.errors import ParseException
from pyspark.sql import Column, DataFrame, SparkSession

from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.operators import Operator
from graph_compiler.declaration.parameters.parameter import ParameterValue
from graph_compiler.identifiers import quoted
from graph_compiler.spark_runtime.operators.contracts import Contract
from graph_compiler.spark_runtime.repeatability.variations import why_rows_vary
from graph_compiler.spark_runtime.spark_internals.java import Py4JError, Py4JJavaError
from graph_compiler.spark_runtime.spark_internals.parsed_queries import (
    check_syntax,
    parsed_query,
    require_expression,
    require_order,
    rows_of_query,
    rows_of_text,
    with_types,
)

INPUT = "graph_compiler_input"
"""The name of rows in a query over one input: Spark takes two orders for one if the names in them are equal, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What one operator's evaluation can use. `parallelism` is None if its declaration sets none.

    `read` returns the rows of a source, in as many splits as its parallelism if that is set.
    `fix` stages rows under a separate name, so that they are read again and not recomputed. `stop_clock` returns rows
    with the run's time as the current time; outputs and fixed rows already have it.
    `contracts` collects an operator's counts; `counts_apart`: a job of its own counts them, not what reads its rows.
    `inputs_vary`: computing an input again may give other rows.
    """

    spark: SparkSession
    parameters: Mapping[str, ParameterValue]
    parallelism: int | None
    read: Callable[[Connector, int | None], DataFrame]
    materialize: Callable[[str, DataFrame], DataFrame]
    stop_clock: Callable[[DataFrame], DataFrame]
    contracts: list[Contract]
    is_dry: bool
    """Whether plans are only inspected, so that nothing may be run."""
    varies: Callable[[DataFrame], bool] = lambda rows: why_rows_vary(rows) is not None
    """Whether two queries over the same rows may see different ones."""
    counts_apart: bool = False
    inputs_vary: bool = False
    passed: Column | None = None
    """The time that the watermark of a stream has passed, by which Spark finds late rows; None in a batch."""

    def select(self, columns: str, rows: DataFrame, clauses: str = "") -> DataFrame:
        """Return `SELECT columns FROM rows clauses`, parameters bound."""
        # The alias is needed: Spark reads `FROM t WHERE (flag)` as the alias WHERE with a column called flag.
        return self.query(f"SELECT {columns} FROM {INPUT} AS {INPUT} {clauses}", {INPUT: rows})

    def query(self, query: str, tables: Mapping[str, DataFrame]) -> DataFrame:
        """Return the rows of a query that reads tables only in its main FROM, parameters bound."""
        return query_over(tables, query, self.parameters, self.spark)

    def expression(self, text: str) -> str:
        """Return an expression in parentheses on separate lines, so that a `--` comment in it ends there."""
        require_expression(text, self.parameters, self.spark)
        return f"(\n{text}\n)"

    def named(self, columns: tuple[tuple[str, str], ...]) -> str:
        """Return `(expression) AS name` for each (name, expression)."""
        return ", ".join(f"{self.expression(text)} AS {quoted(name)}" for name, text in columns)

    def order(self, items: Iterable[str]) -> str:
        """Return the items of ORDER BY."""
        return order_of(items, self.parameters, self.spark)

    def any_query(self, query: str, tables: Mapping[str, DataFrame]) -> DataFrame:
        """Return the rows of any query over tables, parameters bound."""
        return query_over_views(tables, query, self.parameters, self.spark)


def listed(names: tuple[str, ...] | list[str]) -> str:
    """Return names as quoted identifiers, separated by commas."""
    return ", ".join(quoted(name) for name in names)


# The two functions of an operator: its main output, and its side outputs.
#
# Each is a `singledispatch` on the operator's type; the other modules of this package register the kinds.


@singledispatch
def main_output(operator: Operator, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    """Return the rows of the main output: one DataFrame expression, nothing is run."""
    raise AssertionError(f"no evaluation for {type(operator).__name__}")


@singledispatch
def all_outputs(operator: Operator, inputs: list[DataFrame], scope: Scope) -> dict[str | None, DataFrame]:
    """Return the main output (under None) and the side outputs by tag: each row of the input in exactly one of them."""
    raise AssertionError(f"{type(operator).__name__} has no side outputs")


def query_over(
    tables: Mapping[str, DataFrame], query: str, parameters: Mapping[str, ParameterValue], spark: SparkSession
) -> DataFrame:
    """Return the rows of a query that reads tables only in its main FROM: their plans replace the names.

    A view for each table, as in `query_over_views`, costs 50 ms of the driver's CPU, appears as a query in Spark's SQL
    tab, and leaves three more nodes in the plan for every later analysis. Raises NotAQueryError.
    """
    typed = with_types(query, parameters)
    try:
        with _placing_syntax_errors(query, spark):
            return rows_of_query(tables, typed, parameters, spark)
    except Py4JJavaError:
        raise
    except (Py4JError, TypeError):  # a Spark version with different classes
        return query_over_views(tables, query, parameters, spark)


def order_of(items: Iterable[str], parameters: Mapping[str, ParameterValue], spark: SparkSession) -> str:
    """Return the items of ORDER BY, which Spark has parsed alone, each on a separate line: comments end there."""
    listed = [*items]
    for item in listed:
        require_order(item, parameters, spark)
    return ", ".join(f"{item}\n" for item in listed)


def query_over_views(
    tables: Mapping[str, DataFrame], query: str, parameters: Mapping[str, ParameterValue], spark: SparkSession
) -> DataFrame:
    """Return the rows of any query, including one with subqueries and common table expressions.

    Raises NotAQueryError.
    """
    for name, rows in tables.items():
        rows.createOrReplaceTempView(name)
    try:
        with _placing_syntax_errors(query, spark):
            typed = with_types(query, parameters)
            parsed_query(typed, parameters, spark)
            return rows_of_text(typed, parameters, spark)
    finally:
        for name in tables:
            spark.catalog.dropTempView(name)


@contextmanager
def _placing_syntax_errors(query: str, spark: SparkSession) -> Iterator[None]:
    """Raise a syntax error with its place in the query: Spark leaves it out where parameters are bound."""
    try:
        yield
    except ParseException:
        check_syntax(query, spark)
        raise
