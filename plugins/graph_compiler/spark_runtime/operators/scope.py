"""What an operator's evaluation can see besides its rows, and how it asks Spark's SQL.

SQL text reaches Spark's own parser with the parameters as typed arguments; nothing is pasted into it but names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.parameters.parameter import ParameterValue
from graph_compiler.identifiers import quoted
from graph_compiler.spark_runtime.operators.contracts import Contract
from graph_compiler.spark_runtime.operators.queries import query_over, query_over_views

_INPUT = "graph_compiler_input"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """One operator's seams. `parallelism` is None where its declaration sets none.

    `read` gives the rows of a source, in as many splits as its parallelism where it has some.
    `fix` stages rows under a name of their own, so that reading them again is reading. `stop_clock` gives rows in which
    the current time is the run's; whatever is given out or fixed has it anyway.
    `contracts` is where an operator leaves what it counts.
    """

    spark: SparkSession
    parameters: Mapping[str, ParameterValue]
    parallelism: int | None
    read: Callable[[Connector, int | None], DataFrame]
    materialize: Callable[[str, DataFrame], DataFrame]
    stop_clock: Callable[[DataFrame], DataFrame]
    contracts: list[Contract]
    is_dry: bool
    """Whether plans are made to be looked at only: nothing may be run."""

    def select(self, columns: str, rows: DataFrame, clauses: str = "") -> DataFrame:
        """Return `SELECT columns FROM rows clauses`, parameters bound."""
        # The alias is not idle: Spark reads `FROM t WHERE (flag)` as the alias WHERE with a column called flag.
        return self.query(f"SELECT {columns} FROM {_INPUT} AS {_INPUT} {clauses}", {_INPUT: rows})

    def query(self, query: str, tables: Mapping[str, DataFrame]) -> DataFrame:
        """Return what a query gives whose own FROM alone reads the tables, parameters bound."""
        return query_over(tables, query, self.parameters, self.spark)

    def any_query(self, query: str, tables: Mapping[str, DataFrame]) -> DataFrame:
        """Return what a query over tables gives, parameters bound."""
        return query_over_views(tables, query, self.parameters, self.spark)


def named(columns: tuple[tuple[str, str], ...]) -> str:
    """Return `(expression) AS name` for each (name, expression)."""
    return ", ".join(f"{on_lines(expression)} AS {quoted(name)}" for name, expression in columns)


def on_lines(expression: str) -> str:
    """Put an expression in parentheses on lines of its own: a `--` comment at its end then ends there."""
    return f"(\n{expression}\n)"


def listed(names: tuple[str, ...] | list[str]) -> str:
    """Return names as identifiers, with commas."""
    return ", ".join(quoted(name) for name in names)
