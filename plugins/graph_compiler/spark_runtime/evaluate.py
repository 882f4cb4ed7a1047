"""What an operator makes of its inputs: one DataFrame expression, nothing is run.

SQL text reaches Spark's own parser with the parameters as typed arguments; nothing is pasted into it but column names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce, singledispatch

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.declaration.operators import (
    Aggregate,
    Filter,
    Join,
    Operator,
    Select,
    Source,
    Transform,
    WithColumns,
)
from graph_compiler.declaration.pipeline import ParameterValue
from graph_compiler.spark_runtime.connectors import read_source

_VIEW = "graph_compiler_input"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What expressions can see besides their rows."""

    spark: SparkSession
    parameters: Mapping[str, ParameterValue]

    def select(self, columns: str, rows: DataFrame, clauses: str = "") -> DataFrame:
        """Give `SELECT columns FROM rows clauses`, parameters bound."""
        rows.createOrReplaceTempView(_VIEW)
        try:
            return self.spark.sql(
                f"SELECT {columns} FROM {_VIEW} {clauses}", args=dict(self.parameters)
            )
        finally:
            self.spark.catalog.dropTempView(_VIEW)


def evaluate(operator: Operator, inputs: Mapping[int, list[DataFrame]], scope: Scope) -> DataFrame:
    """Give the operator's main output. `inputs` has the rows by input number: 0 for a single one, else from 1."""
    return _evaluate(operator, [union(inputs[number]) for number in sorted(inputs)], scope)


def evaluate_side_output(
    operator: Operator, tag: str, inputs: Mapping[int, list[DataFrame]], scope: Scope
) -> DataFrame:
    """Give the rows the operator puts aside under `tag`."""
    return _evaluate_side_output(
        operator, tag, [union(inputs[number]) for number in sorted(inputs)], scope
    )


def evaluations() -> set[type]:
    """Give every operator type that can be evaluated."""
    return set(_evaluate.registry)


@singledispatch
def _evaluate(operator: Operator, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    raise AssertionError(f"no evaluation for {type(operator).__name__}")


@_evaluate.register
def _(operator: Source, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    return read_source(operator.connector, scope.spark)


@_evaluate.register
def _(operator: Filter, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    return scope.select("*", inputs[0], f"WHERE {_lines(operator.condition)}")


@_evaluate.register
def _(operator: Select, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    return scope.select(_columns(operator.columns), inputs[0])


@_evaluate.register
def _(operator: WithColumns, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    kept = {column: _quoted(column) for column in inputs[0].columns}
    return scope.select(_columns(tuple((kept | dict(operator.columns)).items())), inputs[0])


@_evaluate.register
def _(operator: Transform, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    rows = operator.function.load()(inputs[0])
    if not isinstance(rows, DataFrame):
        raise TypeError(
            f"{operator.function} gave a {type(rows).__name__}; it must give a DataFrame"
        )
    return rows


@_evaluate.register
def _(operator: Aggregate, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    keys = ", ".join(_quoted(key) for key in operator.keys)
    return scope.select(f"{keys}, {_columns(operator.aggregates)}", inputs[0], f"GROUP BY {keys}")


@_evaluate.register
def _(operator: Join, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    left, right = inputs
    return left.join(right, on=list(operator.on), how=operator.how.value)


@singledispatch
def _evaluate_side_output(
    operator: Operator, tag: str, inputs: list[DataFrame], scope: Scope
) -> DataFrame:
    raise AssertionError(f"{type(operator).__name__} has no side output '{tag}'")


@_evaluate_side_output.register
def _(operator: Filter, tag: str, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    return scope.select("*", inputs[0], f"WHERE NOT coalesce({_lines(operator.condition)}, false)")


def union(streams: list[DataFrame]) -> DataFrame:
    """Put streams with the same columns together, by name."""
    return reduce(DataFrame.unionByName, streams)


def _columns(columns: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(f"{_lines(expression)} AS {_quoted(name)}" for name, expression in columns)


def _lines(expression: str) -> str:
    """Put an expression in parentheses on lines of its own: a `--` comment at its end then ends there."""
    return f"(\n{expression}\n)"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
