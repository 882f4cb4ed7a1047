"""Evaluate operators: each becomes one DataFrame expression, and nothing is run (only `iterate` runs its rounds)."""

from collections.abc import Mapping

from pyspark.sql import DataFrame

from graph_compiler.declaration.operators import Operator
from graph_compiler.extensions import load_spark_half
from graph_compiler.spark_runtime.operators import (
    combining_operators,
    contract_operators,
    function_operators,
    grouping_operators,
    row_operators,
)
from graph_compiler.spark_runtime.operators.columns import ColumnsError
from graph_compiler.spark_runtime.operators.combining_operators import union
from graph_compiler.spark_runtime.operators.scope import Scope, all_outputs, main_output

__all__ = ["ColumnsError", "Scope", "evaluate", "evaluate_outputs", "evaluations", "union"]

REGISTERED = (combining_operators, contract_operators, function_operators, grouping_operators, row_operators)
"""The modules that register the kinds of operators when they are imported."""


def evaluate(operator: Operator, inputs: Mapping[int, list[DataFrame]], scope: Scope) -> DataFrame:
    """Return the operator's main output. `inputs` has the rows by input number: 0 for a single one, else from 1."""
    load_spark_half(type(operator))
    return main_output(operator, [union(inputs[number]) for number in sorted(inputs)], scope)


def evaluate_outputs(
    operator: Operator, inputs: Mapping[int, list[DataFrame]], scope: Scope
) -> dict[str | None, DataFrame]:
    """Return the main output (under None) and the side outputs by tag: each row of the input in exactly one of them."""
    load_spark_half(type(operator))
    return all_outputs(operator, [union(inputs[number]) for number in sorted(inputs)], scope)


def evaluations() -> set[type]:
    """Return every operator type that can be evaluated."""
    return set(main_output.registry)
