"""The type of a failure, which decides whether a retry can help.

    a staged input is gone                            PARTITION_DATA_MISSING   its producer must run again
    no memory, disk or master; executor, worker gone  ENVIRONMENT              another machine, or later
    a staging root this worker does not share         ENVIRONMENT              another machine may have it mounted
    analysis: a column, a type, SQL                   NON_RECOVERABLE          the same plan fails the same way
    SQL text that is a command                        NON_RECOVERABLE          the same text is refused again
    a contract with on_violation="fail"               NON_RECOVERABLE          the same rows violate it again
    data that a cast, a sum, a division cannot take   NON_RECOVERABLE          the same rows fail the same way
    a number that pandas or its result would change   NON_RECOVERABLE          the same rows fail the same way
    a record of a file that does not fit its schema   NON_RECOVERABLE          the same file fails the same way
    a mistake in a function (TypeError, NameError …)  NON_RECOVERABLE          the same code fails the same way
    a function that ends the process (sys.exit)       NON_RECOVERABLE          the same code ends it again
    infinite recursion, a plan that is too deep       NON_RECOVERABLE          the same code or plan fails again
    an executor without Python, or a module           NON_RECOVERABLE          every executor has the same image
    another Spark than the plan or its Python needs   NON_RECOVERABLE          it is installed there
    what our calls find in no JVM of this Spark       NON_RECOVERABLE          the same version has the same classes
    another run has not published what it has read    RECOVERABLE              it may be about to
    a position that only a person can move            NON_RECOVERABLE          the same documents refuse it again
    an input path that does not exist                 NON_RECOVERABLE          see below
    a previous version that is gone                   NON_RECOVERABLE          no attempt finds it again
    a file that was listed and then deleted           RECOVERABLE              the next attempt lists again
    anything else that a function raises              RECOVERABLE              it may call a service that is down
    a database that refuses or does not respond       RECOVERABLE              it may be starting, or full
    everything else                                   RECOVERABLE              Flink's default

In Flink every exception of user code is recoverable unless marked otherwise. A stream's next rows may be good, but a
batch region reads the same rows again, after repeating all the work before them. So an error in the data that Spark
names is not retried. A missing path is usually a typo; to wait for data, use Airflow's assets and sensors, which need
no Spark application.
"""

from __future__ import annotations

import re

from pyspark.errors import AnalysisException

from graph_compiler.deployment.documents.report import ThrowableType
from graph_compiler.errors import (
    ConsumersMustRerunError,
    DescriptorError,
    ExtensionError,
    FunctionNotImportableError,
    PartitionNotFoundError,
    PreviousVersionError,
    PublicationConflictError,
    PublicationError,
    PublicationPendingError,
    RepeatedReadError,
    SchemaChangedError,
    SecretError,
    StagingRootNotSharedError,
    StaleResultError,
    UnreadFilesError,
    UpstreamMustRerunError,
)
from graph_compiler.spark_runtime.executor_probe import ExecutorNotPreparedError
from graph_compiler.spark_runtime.failures.bad_records import bad_record, unescaped_quote
from graph_compiler.spark_runtime.failures.causes import PYTHON_WORKER, Cause
from graph_compiler.spark_runtime.operators import ColumnsError
from graph_compiler.spark_runtime.operators.contracts import ContractViolatedError
from graph_compiler.spark_runtime.operators.pandas_frames import refusal
from graph_compiler.spark_runtime.pinned_jvm import JvmNotPinnedError
from graph_compiler.spark_runtime.spark_internals.java import Py4JError, Py4JJavaError, Py4JNetworkError
from graph_compiler.spark_runtime.spark_internals.parsed_queries import NotAQueryError
from graph_compiler.spark_runtime.spark_internals.versions import SparkVersionError
from graph_compiler.staging.positions.position_log import PositionBusyError, PositionError

# The order matters: conflicts and pending publications are also PublicationErrors.
_OF_ERRORS: tuple[tuple[type[Exception], ThrowableType], ...] = (
    (PartitionNotFoundError, ThrowableType.PARTITION_DATA_MISSING_ERROR),
    (UpstreamMustRerunError, ThrowableType.PARTITION_DATA_MISSING_ERROR),
    (PublicationConflictError, ThrowableType.RECOVERABLE_ERROR),
    (PublicationPendingError, ThrowableType.RECOVERABLE_ERROR),
    (PublicationError, ThrowableType.NON_RECOVERABLE_ERROR),
    (PreviousVersionError, ThrowableType.NON_RECOVERABLE_ERROR),
    # Another worker may have the folder mounted: a retry there succeeds.
    (StagingRootNotSharedError, ThrowableType.ENVIRONMENT_ERROR),
    (JvmNotPinnedError, ThrowableType.ENVIRONMENT_ERROR),
    (ConsumersMustRerunError, ThrowableType.NON_RECOVERABLE_ERROR),
    (StaleResultError, ThrowableType.NON_RECOVERABLE_ERROR),
    (PositionBusyError, ThrowableType.RECOVERABLE_ERROR),
    (PositionError, ThrowableType.NON_RECOVERABLE_ERROR),
    (RepeatedReadError, ThrowableType.NON_RECOVERABLE_ERROR),
    (SchemaChangedError, ThrowableType.NON_RECOVERABLE_ERROR),
    (UnreadFilesError, ThrowableType.NON_RECOVERABLE_ERROR),
    (SecretError, ThrowableType.NON_RECOVERABLE_ERROR),
    (DescriptorError, ThrowableType.NON_RECOVERABLE_ERROR),
    (ExecutorNotPreparedError, ThrowableType.NON_RECOVERABLE_ERROR),
    (ExtensionError, ThrowableType.NON_RECOVERABLE_ERROR),
    (FunctionNotImportableError, ThrowableType.NON_RECOVERABLE_ERROR),
    (ColumnsError, ThrowableType.NON_RECOVERABLE_ERROR),
    (NotAQueryError, ThrowableType.NON_RECOVERABLE_ERROR),
    (SparkVersionError, ThrowableType.NON_RECOVERABLE_ERROR),
    (ContractViolatedError, ThrowableType.NON_RECOVERABLE_ERROR),
    (Py4JNetworkError, ThrowableType.ENVIRONMENT_ERROR),  # the JVM is gone, or does not respond
)
_MISTAKES_IN_CODE = frozenset(
    {
        "AttributeError", "ImportError", "IndentationError", "ModuleNotFoundError", "NameError",
        "PySparkAttributeError", "PySparkTypeError", "RecursionError", "SyntaxError", "SystemExit", "TypeError",
        "UnboundLocalError",
    }
)  # fmt: skip
# SQL's classes: 21 a subquery with too many rows, 22 data that an expression cannot take; P0001 is raise_error(…),
# 42K0B a pattern of times that Spark does not know, 42K0G batches of Arrow with other types than their schema.
DATABASE = "FAILED_JDBC"
_WRONG_RESULT = "[RESULT_"
"""Where a condition of PySpark begins that a function's result has not the columns of its schema."""
_TOO_DEEP = "StackOverflowError"
_NO_SUCH_CALL = "does not exist"
"""What py4j says of a class, a constructor or a method that the JVM does not have: another version of Spark."""
_BAD_DATA = re.compile(r"21|22|P0001|42K0B|42K0G")
_ENVIRONMENT = re.compile(
    r"OutOfMemoryError|Cannot allocate memory|MemoryError"
    r"|ExecutorLostFailure|Executor heartbeat timed out|Container killed|exit code (137|143)"
    r"|Python worker exited unexpectedly|Python worker failed to connect back"
    r"|stopped SparkContext|SparkContext was shut down|masters are unresponsive"
    r"|No space left on device|Connection refused|UnknownHostException"
)


def throwable_type(error: BaseException, cause: Cause) -> ThrowableType:
    """Return the type of a failure; `cause` is that of `error`."""
    for kind, found in _OF_ERRORS:
        if isinstance(error, kind):
            return found
    if cause.condition == PYTHON_WORKER or not cause.chain:
        return _of_python(error, cause)
    is_bad_data = bool(_BAD_DATA.match(cause.sql_state) or bad_record(cause) or unescaped_quote(cause))
    if is_bad_data or any(_TOO_DEEP in link for link in cause.chain):
        return ThrowableType.NON_RECOVERABLE_ERROR
    if any(_ENVIRONMENT.search(link) for link in cause.chain):
        return ThrowableType.ENVIRONMENT_ERROR
    if isinstance(error, AnalysisException) and not cause.condition.startswith(DATABASE):
        return ThrowableType.NON_RECOVERABLE_ERROR
    return ThrowableType.RECOVERABLE_ERROR


def is_other_spark(error: BaseException) -> bool:
    """Whether a call of this package found no such class or method in Spark's JVM."""
    return isinstance(error, Py4JError) and not isinstance(error, Py4JJavaError) and _NO_SUCH_CALL in str(error)


def _of_python(error: BaseException, cause: Cause) -> ThrowableType:
    """Return the type of a Python exception, on the driver or in a worker that reported it through the JVM."""
    is_mistake = cause.kind in _MISTAKES_IN_CODE or is_other_spark(error)
    if is_mistake or refusal(cause.message) or _WRONG_RESULT in cause.message:
        return ThrowableType.NON_RECOVERABLE_ERROR
    is_lost_connection = isinstance(error, ConnectionError) and not isinstance(error, Py4JJavaError)
    # NumPy's and Arrow's exceptions are subclasses with longer names.
    if cause.kind.endswith("MemoryError") or is_lost_connection:
        return ThrowableType.ENVIRONMENT_ERROR
    return ThrowableType.RECOVERABLE_ERROR
