"""What an operator makes of its inputs: one DataFrame expression, nothing is run.

SQL text reaches Spark's own parser with the parameters as typed arguments; nothing is pasted into it but column names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce, singledispatch
from typing import TypeAlias

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.declaration.operators import (
    Aggregate,
    Filter,
    Join,
    JoinType,
    Operator,
    Select,
    Source,
    Transform,
    WithColumns,
)
from graph_compiler.declaration.pipeline import ParameterValue
from graph_compiler.errors import GraphCompilerError
from graph_compiler.identifiers import listing
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.shared_rows import is_deterministic

_VIEW = "graph_compiler_input"
_KEPT = "graph_compiler_kept"
Settle: TypeAlias = Callable[[DataFrame], DataFrame]
"""Makes rows the same however often they are read."""


class ColumnsError(GraphCompilerError):
    """The inputs of an operator have columns that do not go together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What expressions can see besides their rows."""

    spark: SparkSession
    parameters: Mapping[str, ParameterValue]
    parallelism: int | None = None
    """That of the operator, None where its declaration sets none; a source may read in as many splits."""

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


def evaluate_outputs(
    operator: Operator, inputs: Mapping[int, list[DataFrame]], scope: Scope, settle: Settle
) -> dict[str | None, DataFrame]:
    """Give the main output (under None) and the side outputs by tag: each row of the input in exactly one of them."""
    return _evaluate_outputs(
        operator, [union(inputs[number]) for number in sorted(inputs)], scope, settle
    )


def evaluations() -> set[type]:
    """Give every operator type that can be evaluated."""
    return set(_evaluate.registry)


@singledispatch
def _evaluate(operator: Operator, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    raise AssertionError(f"no evaluation for {type(operator).__name__}")


@_evaluate.register
def _(operator: Source, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    return read_source(operator.connector, scope.spark, scope.parallelism)


@_evaluate.register
def _(operator: Filter, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    return scope.select("*", inputs[0], f"WHERE {_lines(operator.condition)}")


@_evaluate.register
def _(operator: Select, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    return scope.select(_columns(operator.columns), inputs[0])


@_evaluate.register
def _(operator: WithColumns, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    new = {name.lower(): (name, expression) for name, expression in operator.columns}
    # Spark's names differ in more than case; a replaced column keeps its place
    kept = [
        _columns((new.pop(name.lower()),)) if name.lower() in new else _quoted(name)
        for name in inputs[0].columns
    ]
    added = [_columns((column,)) for column in new.values()]
    return scope.select(", ".join([*kept, *added]), inputs[0])


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
    has_keys = all(key in left.columns and key in right.columns for key in operator.on)
    both = [name for name in left.columns if name in right.columns and name not in operator.on]
    if both and has_keys and operator.how not in (JoinType.SEMI, JoinType.ANTI):
        raise ColumnsError(
            f"both sides of the join have {listing(both)}\n"
            f'  hint: rename one: select(…, {both[0]}_2="{both[0]}"), or join on it too'
        )
    return left.join(right, on=list(operator.on), how=operator.how.value)


@singledispatch
def _evaluate_outputs(
    operator: Operator, inputs: list[DataFrame], scope: Scope, settle: Settle
) -> dict[str | None, DataFrame]:
    raise AssertionError(f"{type(operator).__name__} has no side outputs")


@_evaluate_outputs.register
def _(
    operator: Filter, inputs: list[DataFrame], scope: Scope, settle: Settle
) -> dict[str | None, DataFrame]:
    condition, rows = _lines(operator.condition), inputs[0]
    kept = scope.select("*", rows, f"WHERE {condition}")
    if is_deterministic(kept):  # two plans, each of which Spark can push into its source
        return {
            None: kept,
            operator.rejects: scope.select("*", rows, f"WHERE NOT coalesce({condition}, false)"),
        }
    decided = settle(scope.select(f"*, coalesce({condition}, false) AS {_quoted(_KEPT)}", rows))
    return {
        None: decided.where(_quoted(_KEPT)).drop(_KEPT),
        operator.rejects: decided.where(f"NOT {_quoted(_KEPT)}").drop(_KEPT),
    }


def union(streams: list[DataFrame]) -> DataFrame:
    """Put streams with the same columns together, by name; raises ColumnsError where they differ."""
    first, *others = streams
    for other in others:
        if odd := sorted(set(first.columns) ^ set(other.columns)):
            raise ColumnsError(
                f"it reads a union of streams with different columns: only one has {listing(odd)}\n"
                "  hint: select the same columns from each"
            )
    return reduce(DataFrame.unionByName, streams)


def _columns(columns: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(f"{_lines(expression)} AS {_quoted(name)}" for name, expression in columns)


def _lines(expression: str) -> str:
    """Put an expression in parentheses on lines of its own: a `--` comment at its end then ends there."""
    return f"(\n{expression}\n)"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
