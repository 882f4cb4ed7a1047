"""Whether an error is one that a user can act on."""

from __future__ import annotations

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from graph_compiler.errors import GraphCompilerError
from graph_compiler.spark_runtime.failures.failures import explain_failure
from tests.machine.execution import Execution
from tests.machine.faults import Died


def why_not_clear(execution: Execution) -> str | None:
    """Return why an execution's error is unclear; None for an error of our tree, of Spark, or of the fault."""
    error = execution.error
    if error is None or isinstance(error, GraphCompilerError):
        return None
    if isinstance(error, Died):
        return None if execution.fate.is_dead else "it died of itself"
    if isinstance(error, PySparkException | Py4JError):
        return None if explain_failure(error).message else "Spark's error has no words"
    if isinstance(error, OSError) and execution.fate.has_struck:
        return None
    return f"it ended with {type(error).__name__}: {error}"
