"""The Spark half of operators and connectors of other packages; only Spark's driver imports it.

@main_output.register
def _(operator: Unpivot, inputs: list[DataFrame], scope: Scope) -> DataFrame: …
"""

from graph_compiler.spark_runtime.connectors.sink import (
    OpenSink,
    PreparedSink,
    SinkContext,
    Target,
    claim_target,
    conform_to_target,
)
from graph_compiler.spark_runtime.connectors.source import Found, Reading, read
from graph_compiler.spark_runtime.operators import Scope
from graph_compiler.spark_runtime.operators.columns import require_columns
from graph_compiler.spark_runtime.operators.scope import main_output

__all__ = [
    "Found",
    "OpenSink",
    "PreparedSink",
    "Reading",
    "Scope",
    "SinkContext",
    "Target",
    "claim_target",
    "conform_to_target",
    "main_output",
    "read",
    "require_columns",
]
