"""Which operator failed.

Spark runs a whole chain in one action, and only the action fails. Four facts identify the operator: an expression's
origin, which contains its operator's id; a file that only one source reads; a Column's call site; and the lines of a
traceback in a function's module.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from graph_compiler.declaration.functions import FunctionRef
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor
from graph_compiler.spark_runtime.failures.bad_records import source_of
from graph_compiler.spark_runtime.failures.causes import Cause, Frame

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
    calls = [
        Frame(file=file, line=int(line), function="") for file, _, line in sites if line.isdigit()
    ]
    return (*calls, *cause.frames)


def place_in(operator: OperatorDescriptor, cause: Cause) -> Frame | None:
    """Return the innermost line in the modules of an operator's functions."""
    modules = [function.module for function in functions_of(operator.operator)]
    return next(
        (
            place
            for place in reversed(places(cause))
            if any(_is_in(place, module) for module in modules)
        ),
        None,
    )


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
        if any(
            re.search(rf"{re.escape(str(function))}\b", message)
            for function in functions_of(operator.operator)
        )
    ]
    return found[0] if len(found) == 1 else None


def _only_function(chain: Chain) -> OperatorDescriptor | None:
    """Return the only operator that runs Python, itself or on its edges: Spark's own worker code has no other trace."""
    found = [
        operator
        for operator in chain
        if any(any(functions_of(part)) for part in (operator.operator, *operator.inputs))
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
