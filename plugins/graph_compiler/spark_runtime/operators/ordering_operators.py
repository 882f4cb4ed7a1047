"""Operators that sort rows, or keep some of them."""

from __future__ import annotations

from pyspark.sql import DataFrame

from graph_compiler.declaration.operators import Limit, Sort, TopN
from graph_compiler.spark_runtime.operators.evaluation import main_output
from graph_compiler.spark_runtime.operators.scope import Scope


@main_output.register
def _(operator: Sort, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    return scope.select("*", inputs[0], f"ORDER BY {scope.order(operator.order_by)}")


@main_output.register
def _(operator: TopN, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    return scope.select(
        "*", inputs[0], f"ORDER BY {scope.order(operator.order_by)} LIMIT {operator.n}"
    )


@main_output.register
def _(operator: Limit, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    return inputs[0].limit(operator.n)
