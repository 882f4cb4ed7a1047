"""Literals that Spark casts to a type they do not fit: `altitude > 'high'` fails at the first row, in ANSI mode."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import DataFrame

from graph_compiler.spark_runtime.failures.causes import Cause, read_cause
from graph_compiler.spark_runtime.failures.sql_fragments import own_fragments
from graph_compiler.spark_runtime.spark_internals.origins import own_casts
from graph_compiler.spark_runtime.spark_internals.plans import error_of_constant


def failing_casts(rows: DataFrame, node_id: int) -> Iterator[str]:
    """Yield a warning for each literal in an operator's own expressions that Spark cannot cast as it would."""
    found = (error_of_constant(cast) for cast in own_casts(rows, str(node_id)))
    yield from dict.fromkeys(_sentence(read_cause(error)) for error in found if error is not None)


def _sentence(cause: Cause) -> str:
    fragments = own_fragments([context.fragment for context in cause.contexts], ())
    where = "".join(f"\n  in: {fragment}" for fragment in fragments)
    if cause.condition != "CAST_INVALID_INPUT":
        return f"{cause.message}{where}"
    value, target = cause.parameters["expression"], cause.parameters["targetType"].strip('"')
    return (
        f"Spark casts {value} to {target}, which it does not fit: the first row fails the task{where}\n"
        f"  hint: write a value of that type, or try_cast({value} AS {target}) for NULL"
    )
