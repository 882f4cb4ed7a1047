"""Turn what went wrong into words, and say what it means for a retry."""

from __future__ import annotations

from difflib import get_close_matches

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import AnalysisException, ParseException, PySparkException

from graph_compiler.deployment.report import Failure, ThrowableType
from graph_compiler.errors import (
    DescriptorError,
    FunctionNotImportableError,
    GraphCompilerError,
    PartitionNotFoundError,
    PublicationConflictError,
    PublicationError,
    SchemaChangedError,
    SecretError,
    StaleResultError,
)
from graph_compiler.identifiers import listing
from graph_compiler.spark_runtime.evaluate import ColumnsError
from graph_compiler.spark_runtime.region import OperatorFailedError

_NON_RECOVERABLE = (
    AnalysisException,
    ColumnsError,
    ParseException,
    DescriptorError,
    FunctionNotImportableError,
    PublicationError,
    SchemaChangedError,
    SecretError,
    StaleResultError,
    TypeError,
)


def explain_failure(error: Exception) -> Failure:
    """Give the failure of an execution, its first cause in front."""
    if not isinstance(error, OperatorFailedError):
        return Failure(
            throwable_type=_throwable_type(error),
            operator=None,
            declared_at=None,
            message=_words(error),
        )
    cause = error.__cause__
    assert isinstance(cause, Exception)
    return Failure(
        throwable_type=_throwable_type(cause),
        operator=error.operator.name,
        declared_at=error.operator.declared_at,
        message=_operator_words(cause, error),
    )


_DATABASE = "FAILED_JDBC"


def _throwable_type(error: Exception) -> ThrowableType:
    if isinstance(error, PartitionNotFoundError):
        return ThrowableType.PARTITION_DATA_MISSING_ERROR
    if isinstance(error, PublicationConflictError) or _condition(error).startswith(_DATABASE):
        return ThrowableType.RECOVERABLE_ERROR
    if isinstance(error, _NON_RECOVERABLE):
        return ThrowableType.NON_RECOVERABLE_ERROR
    if isinstance(error, Py4JError | ConnectionError) and not isinstance(error, PySparkException):
        return ThrowableType.ENVIRONMENT_ERROR  # the JVM is gone, or does not answer
    return ThrowableType.RECOVERABLE_ERROR


def _operator_words(cause: Exception, error: OperatorFailedError) -> str:
    condition = _condition(cause)
    parameters = (cause.getMessageParameters() or {}) if isinstance(cause, PySparkException) else {}
    if condition.startswith(_DATABASE):
        return f"{_words(cause)}{_first_cause(cause)}"
    if condition == "PATH_NOT_FOUND":
        return f"its input {parameters.get('path')} does not exist"
    if condition.startswith(("UNRESOLVED_COLUMN", "UNRESOLVED_USING_COLUMN_FOR_JOIN")):
        missing = (parameters.get("objectName") or parameters.get("colName", "?")).replace("`", "")
        return _missing_column(missing, error.columns)
    if isinstance(cause, ParseException):
        expressions = "".join(
            f"\n  in: {expression}" for expression in error.operator.operator.expressions()
        )
        return f"{_words(cause).partition(' (line ')[0]}{expressions}"
    return _words(cause)


def _missing_column(missing: str, columns: list[str]) -> str:
    close = [name for name in get_close_matches(missing, columns, n=1) if name != missing]
    hint = f"\n  hint: did you mean '{close[0]}'?" if close else ""
    expression, renamed, name = missing.upper().partition(" AS ")
    if renamed:
        hint = f'\n  hint: an expression is named: select({name.lower()}="{expression.lower()}")'
    return f"there is no column '{missing}'\n  found: {listing(columns)}{hint}"


def _condition(error: BaseException) -> str:
    return (error.getCondition() or "") if isinstance(error, PySparkException) else ""


def _first_cause(error: BaseException) -> str:
    """Give what the database's driver said; Spark leaves it out of its own message."""
    origin = getattr(error, "_origin", None)
    while origin is not None and origin.getCause() is not None:
        origin = origin.getCause()
    return "" if origin is None else f"\n  because: {origin.getMessage()}"


def _words(error: Exception) -> str:
    """Give the first paragraph of a message; Spark puts plans and stack traces after it."""
    if isinstance(error, Py4JJavaError):
        return str(error.java_exception.toString())
    text = str(error).strip() or type(error).__name__
    first = text.split("\n\n")[0].split("\n\tat ")[0].split("\nJVM stacktrace")[0]
    return (
        first
        if isinstance(error, PySparkException | GraphCompilerError)
        else f"{type(error).__name__}: {first}"
    )
