"""How Spark evaluates it; only Spark's driver imports this."""

from __future__ import annotations

from pyspark.sql import DataFrame

from acme_unpivot.operator import Unpivot
from graph_compiler.extending.spark import Scope, main_output, require_columns


@main_output.register
def _(operator: Unpivot, inputs: list[DataFrame], scope: Scope) -> DataFrame:
    (rows,) = inputs
    require_columns(rows, operator.columns)
    others = [name for name in rows.columns if name not in operator.columns]
    return rows.unpivot(others, list(operator.columns), operator.names, operator.values)
