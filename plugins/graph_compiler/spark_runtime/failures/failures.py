"""Build the message of a failure: the operator, what was found, its inputs, and suggestions."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace

import pyspark
from pyspark.errors import ParseException, PySparkException
from pyspark.sql.types import ArrayType, DataType, StructType

from graph_compiler.declaration.functions import FunctionRef
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor
from graph_compiler.deployment.documents.report import Failure, ThrowableType
from graph_compiler.errors import GraphCompilerError, InitializeOnMasterError
from graph_compiler.identifiers import did_you_mean, plain, quoted
from graph_compiler.spark_runtime.exchange.distribution import misrouting
from graph_compiler.spark_runtime.failures.bad_records import read_failure, source_of
from graph_compiler.spark_runtime.failures.causes import (
    PYTHON_WORKER,
    Cause,
    Frame,
    marked,
    missing_input,
    own_fragments,
    own_names,
    read_cause,
)
from graph_compiler.spark_runtime.failures.throwable_types import DATABASE, is_other_spark, throwable_type
from graph_compiler.spark_runtime.operators import ColumnsError
from graph_compiler.spark_runtime.operators.pandas_frames import refusal
from graph_compiler.spark_runtime.spark_internals.java import Py4JError
from graph_compiler.tested_versions import SPARK

MOST_COLUMNS = 40
LONGEST_TYPE = 60
LONGEST_MESSAGE = 20_000
_WORKER_MEMORY = "spark.executor.pyspark.memory, in the conf of its slot sharing group,"
_OTHER_SPARK = f"this package is tested with Spark {SPARK.range}: docs/versions.md"
_LITERALS = ("DATE", "TIMESTAMP")
"""Words that Spark takes for a column unless text in quotes follows: DATE :day is a path into a column."""
_MISSING_COLUMN = ("UNRESOLVED_COLUMN", "UNRESOLVED_USING_COLUMN_FOR_JOIN")


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSchema:
    """One input of an operator; `producer` is None if another task produced it."""

    producer: str | None
    schema: StructType


class OperatorFailedError(GraphCompilerError):
    """An operator failed; the cause is its `__cause__`.

    `chain`: all operators that may have run, in order, this one last. `writes`: it failed in an action, which runs all
    of them; otherwise only this operator was being evaluated. `schemas` returns an operator's inputs as far as they are
    known.
    """

    def __init__(
        self, chain: Chain, schemas: Callable[[OperatorDescriptor], tuple[InputSchema, ...]], *, writes: bool
    ) -> None:
        super().__init__(chain[-1].name)
        self.chain = chain
        self.schemas = schemas
        self.writes = writes


def root_cause(error: BaseException) -> BaseException:
    """Return the exception that an operator raised; any other error unchanged."""
    is_ours = isinstance(error, OperatorFailedError) and error.__cause__ is not None
    return error.__cause__ if is_ours and error.__cause__ is not None else error


def explain_failure(error: BaseException) -> Failure:
    """Return the failure of an execution, with its first cause first, in a message of bounded length.

    A value of a row may be in it: its control characters are escaped.
    """
    failure = _explained(error)
    failure = replace(failure, message=plain(failure.message))
    if len(failure.message) <= LONGEST_MESSAGE:
        return failure
    more = len(failure.message) - LONGEST_MESSAGE
    words = f"{failure.message[:LONGEST_MESSAGE]} … and {more:,} more characters"
    return replace(failure, message=words)


def _explained(error: BaseException) -> Failure:
    if isinstance(error, InitializeOnMasterError):
        return _before_any_data_moved(error)
    if not isinstance(error, OperatorFailedError):
        cause = read_cause(error)
        return Failure(
            throwable_type=throwable_type(error, cause),
            operator=None,
            declared_at=None,
            message=_headline(error, cause),
        )
    exception = error.__cause__
    assert exception is not None
    cause = read_cause(exception)
    culprit = _culprit(error, exception, cause)
    kind = throwable_type(exception, cause)
    return Failure(
        throwable_type=kind,
        operator=None if culprit is None else culprit.name,
        declared_at=None if culprit is None else culprit.declared_at,
        message="\n  ".join(_lines(error, exception, cause, culprit, kind)),
    )


def _before_any_data_moved(error: InitializeOnMasterError) -> Failure:
    """Return a failure with the operator of the only problem; several problems are listed, each with its operator."""
    first, *others = error.problems
    listed = "\n".join(f"  {line}" for line in str(error).splitlines())
    return Failure(
        throwable_type=ThrowableType.NON_RECOVERABLE_ERROR,
        operator=None if others else first.operator,
        declared_at=None if others else first.declared_at,
        message=f"before any data moved, {len(error.problems)} problems were found\n{listed}"
        if others
        else first.message,
    )


def _culprit(error: OperatorFailedError, exception: BaseException, cause: Cause) -> OperatorDescriptor | None:
    """Return the operator of the cause; if unknown, the current one, unless Spark was running its whole chain."""
    ran_all = error.writes and isinstance(exception, PySparkException | Py4JError)
    found = find_culprit(cause, error.chain) or _misrouted(exception, error.chain)
    return found if found is not None or ran_all else error.chain[-1]


def _misrouted(exception: BaseException, chain: Chain) -> OperatorDescriptor | None:
    """Return the operator to which an edge could not send a row."""
    found = misrouting(exception)
    named = [operator for operator in chain if found and operator.name == found[0]]
    return named[0] if len(named) == 1 else None


def _lines(
    error: OperatorFailedError,
    exception: BaseException,
    cause: Cause,
    culprit: OperatorDescriptor | None,
    kind: ThrowableType,
) -> Iterator[str]:
    writer = error.chain[-1]
    if culprit is None:
        lines = missing_input(cause) or read_failure(cause, culprit)
        yield from lines or [_headline(exception, cause)]
        if cause.condition == PYTHON_WORKER:
            yield from (f"raised at {frame}" for frame in cause.frames[-1:])
        chain = " → ".join(operator.name for operator in error.chain)
        yield f"in the chain of {chain}; Spark does not say in which of them"
        return
    # A JVM that has exited, or is out of memory, cannot return a schema.
    is_known = kind is not ThrowableType.ENVIRONMENT_ERROR and (
        bool(cause.condition) or isinstance(exception, ColumnsError)
    )
    inputs = error.schemas(culprit) if is_known else ()
    yield from _description(exception, cause, culprit, inputs)
    if culprit is not writer:
        yield f"while writing '{writer.name}'"


def _description(
    exception: BaseException, cause: Cause, culprit: OperatorDescriptor, inputs: tuple[InputSchema, ...]
) -> Iterator[str]:
    if lines := missing_input(cause) or read_failure(cause, culprit):
        yield from lines
        return
    if cause.condition.startswith(_MISSING_COLUMN) or cause.condition == "FIELD_NOT_FOUND":
        yield from _missing_column(cause, inputs)
        yield from _place(culprit, cause)
        return
    if words := _own_message_lines(exception, inputs):
        yield from words
        return
    expressions = culprit.operator.expressions()
    yield own_names(_headline(exception, cause), expressions)
    if cause.condition.startswith(DATABASE):
        yield f"because: {cause.chain[-1].partition(': ')[2]}"  # the database driver's message, which Spark leaves out
    fragments = own_fragments([context.fragment for context in cause.contexts], expressions)
    if isinstance(exception, ParseException):
        fragments = marked(str(exception), expressions)
    for fragment in fragments:
        yield "in: " + "\n      ".join(fragment.strip("\n").rstrip().splitlines())
    yield from _place(culprit, cause)
    yield from _found(inputs)


def _own_message_lines(exception: BaseException, inputs: tuple[InputSchema, ...]) -> list[str]:
    """Return the lines of this package's own error messages; none for errors of Spark or a function."""
    if isinstance(exception, ColumnsError):
        hint = [f"hint: {exception.hint}"] if exception.hint else []
        return [exception.message, *_found(inputs), *hint]
    found = misrouting(exception)
    return [found[1]] if found else []


def _place(culprit: OperatorDescriptor, cause: Cause) -> Iterator[str]:
    if place := place_in(culprit, cause):
        yield f"raised at {place}"


def _missing_column(cause: Cause, inputs: tuple[InputSchema, ...]) -> Iterator[str]:
    fragment = next((context.fragment for context in cause.contexts if context.fragment), "")
    if cause.condition == "FIELD_NOT_FOUND":  # the parameter is only the last part of the path
        missing, noun = fragment or cause.parameters.get("fieldName", "?"), "field"
    else:
        missing = cause.parameters.get("objectName") or cause.parameters.get("colName", "?")
        noun = "column"
    is_quoted_twice = "``" in missing
    missing = missing.replace("`", "")
    yield f"there is no {noun} '{missing}'"
    yield from _found(inputs)
    if missing in {column.name for given in inputs for column in given.schema.fields}:
        where = "a name alone is not quoted" if is_quoted_twice else "in an expression, quote this name"
        yield f"hint: {where}: {missing if is_quoted_twice else quoted(missing)}"
        return
    names = list(dict.fromkeys(name for given in inputs for name in _paths(given.schema)))
    expression, renamed, name = missing.upper().partition(" AS ")
    if expression in _LITERALS:
        yield f"hint: {expression} '…' is a literal; for a parameter or a column: CAST(:name AS {expression})"
    elif missing.lower().partition(".")[0] == "_metadata":
        yield f'hint: Spark has it of rows of files: source.with_columns(file="{missing}"), right behind the source'
    elif renamed:
        yield f'hint: an expression is named: select({name.lower()}="{expression.lower()}")'
    elif hint := did_you_mean(missing, names):
        yield f"hint: {hint}"


def _found(inputs: tuple[InputSchema, ...]) -> Iterator[str]:
    for number, given in enumerate(inputs, start=1):
        columns = [
            f"{column.name} {column.dataType.simpleString()[:LONGEST_TYPE]}"
            for column in given.schema.fields[:MOST_COLUMNS]
        ]
        if (more := len(given.schema.fields) - MOST_COLUMNS) > 0:
            columns.append(f"and {more} more")
        name = f"'{given.producer}'" if given.producer else f"input {number}, which is staged"
        where = f" in {name}" if len(inputs) > 1 else ""
        yield f"found{where}: {', '.join(columns) or 'no columns'}"


def _paths(kind: DataType, prefix: str = "") -> Iterator[str]:
    """Yield the name of every column, and of every field in it as `column.field`."""
    if isinstance(kind, ArrayType):
        yield from _paths(kind.elementType, prefix)
    if isinstance(kind, StructType):
        for column in kind.fields:
            yield prefix + column.name
            yield from _paths(column.dataType, f"{prefix}{column.name}.")


def _headline(exception: BaseException, cause: Cause) -> str:
    if isinstance(exception, GraphCompilerError):
        return str(exception)
    if is_other_spark(exception):
        return f"Spark {pyspark.__version__} does not have what this package calls: {exception}\n  hint: {_OTHER_SPARK}"
    if isinstance(exception, ParseException):
        return cause.message.partition(" (line ")[0]
    if cause.condition and cause.condition != PYTHON_WORKER:
        return cause.message
    raised = f"{cause.kind}: {cause.message}" if cause.message else cause.kind
    return "\n  ".join(_of_kind(cause) or [raised])


def _of_kind(cause: Cause) -> list[str]:
    """Return additional lines for failures whose messages are too short; none for others."""
    if cause.is_of_a_worker and (lines := refusal(cause.message)):
        return lines
    if cause.kind == "SystemExit":
        return [
            f"its function ended the program, as sys.exit({cause.message}) does",
            "allowed: to return rows, or to raise an error",
        ]
    if cause.kind == "StackOverflowError":
        return [
            "StackOverflowError: its expression, or the plan that contains it, is nested too deeply",
            "hint: stage(…) starts a new plan",
        ]
    if cause.is_of_a_worker and cause.kind.endswith("MemoryError"):
        return [
            f"{cause.kind}: {cause.message or 'its Python worker has reached its memory limit'}",
            f"hint: {_WORKER_MEMORY} sets the limit",
        ]
    if cause.is_lost_worker:
        return [
            "a Python worker died without a report: it used up the memory, was killed, or crashed",
            f"hint: {_WORKER_MEMORY} limits it, and its function gets a MemoryError; "
            "spark.python.worker.faulthandler.enabled shows where it crashed",
        ]
    return []


# Which operator failed.
#
# Spark runs a whole chain in one action, and only the action fails. Four facts identify the operator: an expression's
# origin, which contains its operator's id; a file that only one source reads; a Column's call site; and the lines of a
# traceback in a function's module.

Chain = tuple[OperatorDescriptor, ...]


def find_culprit(cause: Cause, chain: Chain) -> OperatorDescriptor | None:
    """Return the operator of a chain that failed; None if it cannot be determined."""
    by_id = {operator.node_id: operator for operator in chain}
    ids = {context.operator_id for context in cause.contexts} & set(by_id)
    if len(ids) == 1:
        (id,) = ids
        return by_id[id] if id is not None else None
    return (
        source_of(cause, chain)
        or _function_at(places(cause), chain)
        or _function_in(cause.message, chain)
        or (_only_function(chain) if cause.is_lost_worker or cause.is_of_a_worker else None)
    )


def places(cause: Cause) -> tuple[Frame, ...]:
    """Return the lines of code a failure came from, innermost last."""
    sites = [context.call_site.rpartition(":") for context in cause.contexts]
    calls = [Frame(file=file, line=int(line), function="") for file, _, line in sites if line.isdigit()]
    return (*calls, *cause.frames)


def place_in(operator: OperatorDescriptor, cause: Cause) -> Frame | None:
    """Return the innermost line in the modules of an operator's functions."""
    modules = [function.module for function in functions_of(operator.operator)]
    return next((place for place in reversed(places(cause)) if any(_is_in(place, module) for module in modules)), None)


def functions_of(value: object) -> Iterator[FunctionRef]:
    """Yield every function an operator refers to."""
    if isinstance(value, FunctionRef):
        yield value
    elif is_dataclass(value):
        for part in fields(value):
            yield from functions_of(getattr(value, part.name))


def _function_at(found: tuple[Frame, ...], chain: Chain) -> OperatorDescriptor | None:
    for place in reversed(found):
        candidates = [
            (operator, function)
            for operator in chain
            for function in functions_of(operator.operator)
            if _is_in(place, function.module)
        ]
        if len(candidates) > 1:
            candidates = [pair for pair in candidates if _holds(pair[1], found)]
        if len(candidates) == 1:
            return candidates[0][0]
    return None


def _function_in(message: str, chain: Chain) -> OperatorDescriptor | None:
    """Return the only operator whose function a message names."""
    found = [
        operator
        for operator in chain
        if any(re.search(rf"{re.escape(str(function))}\b", message) for function in functions_of(operator.operator))
    ]
    return found[0] if len(found) == 1 else None


def _only_function(chain: Chain) -> OperatorDescriptor | None:
    """Return the only operator that runs Python, itself or on its edges: Spark's own worker code has no other trace."""
    found = [
        operator for operator in chain if any(any(functions_of(part)) for part in (operator.operator, *operator.inputs))
    ]
    return found[0] if len(found) == 1 else None


def _is_in(place: Frame, module: str) -> bool:
    """Whether a line is in a module; an executor's folders may differ from the driver's."""
    return f"/{place.file}".endswith("/" + module.replace(".", "/") + ".py")


def _holds(function: FunctionRef, found: tuple[Frame, ...]) -> bool:
    """Whether a line is in a function's body."""
    lines, first = inspect.getsourcelines(function.load())
    body = range(first, first + len(lines))
    return any(_is_in(place, function.module) and place.line in body for place in found)
