"""The two functions of an operator: its main output, and its side outputs.

Each is a `singledispatch` on the operator's type; the other modules of this package register the kinds.
"""

from __future__ import annotations

from functools import singledispatch

from pyspark.sql import DataFrame

from graph_compiler.declaration.operators import Operator
from graph_compiler.spark_runtime.operators.scope import Scope


@singledispatch
def main_output(operator: Operator, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    """Return the rows of the main output: one DataFrame expression, nothing is run."""
    raise AssertionError(f"no evaluation for {type(operator).__name__}")


@singledispatch
def all_outputs(
    operator: Operator, inputs: list[DataFrame], scope: Scope
) -> dict[str | None, DataFrame]:
    """Return the main output (under None) and the side outputs by tag: each row of the input in exactly one of them."""
    raise AssertionError(f"{type(operator).__name__} has no side outputs")
