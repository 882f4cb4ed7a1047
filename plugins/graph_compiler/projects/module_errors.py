"""Exceptions of a user's module during its import, as problems with file and line."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from types import ModuleType

from graph_compiler.declaration.environment import StreamExecutionEnvironment
from graph_compiler.declaration.functions import IMPORTABLE, WHERE_TO_MOVE
from graph_compiler.declaration.pipeline import IncompletePipelineError, Pipeline
from graph_compiler.declaration.refusals.collected import collecting_refusals
from graph_compiler.declaration.refusals.foreign_names import OF_SESSION
from graph_compiler.declaration.streams.settings_methods import Declared
from graph_compiler.errors import (
    FunctionNotImportableError,
    GraphCompilerError,
    InvalidPipelineError,
    Problem,
    SourceLocation,
)
from graph_compiler.identifiers import did_you_mean

_SUGGESTION = re.compile(r"\. Did you mean:? '[^']*'\?$")

_CALLED = re.compile(r"(\w+)\.__init__\(\) ")
_UNEXPECTED = re.compile(r"unexpected keyword argument '(\w+)'")
_FILE = re.compile(r" \(/[^()]*\)$")
_NAME = re.compile(r"cannot import name '(\w+)'")
_NO_SESSION = "[SESSION_OR_CONTEXT_NOT_EXISTS]"
"""How PySpark begins its message if something needs a Spark session and there is none."""
_WITHOUT_SESSION = (
    "there is no Spark session when a pipeline is loaded: write the type of a UDF as an object, "
    "@udf(StringType()), and columns, as col(…), inside of functions"
)


@contextmanager
def importing(name: str, file: Path) -> Iterator[list[Problem]]:
    """Yield the refused calls; raises InvalidPipelineError for them and for any exception of the import.

    An exit of the program counts as a failure, too.
    """
    with collecting_refusals() as refused:
        try:
            yield refused
        except InvalidPipelineError as error:
            raise InvalidPipelineError(error.pipeline, [*refused, *error.problems]) from None
        except (Exception, SystemExit) as error:
            problem = _problem(error, file)
            # what fails at the line of a refused call fails because of it: `a, b = rows.randomSplit(…)`
            lines = {known.declared_at for known in refused}
            problems = refused if problem.declared_at in lines else [*refused, problem]
            raise IncompletePipelineError(
                name, problems, declared=_declared_before(error, file)
            ) from None


def _declared_before(error: BaseException, file: Path) -> Pipeline | None:
    """Return what a module declared before it failed; its problems are also reported."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        environment = frame.f_globals.get("env")
        if frame.f_code.co_filename == str(file) and isinstance(
            environment, StreamExecutionEnvironment
        ):
            return None if environment.is_refused else environment.pipeline()
    return None


def _problem(error: BaseException, file: Path) -> Problem:
    if isinstance(error, SyntaxError):
        return _syntax_error(error, file)
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).parent == file.parent]
    where = own[-1] if own else None
    location = SourceLocation(where.filename, where.lineno or 1) if where else None
    by_way = [f"{frame.filename}:{frame.lineno}" for frame in own[:-1] if frame.name == "<module>"]
    hint = f"via {', '.join(by_way)}" if by_way else None
    if isinstance(error, GraphCompilerError):
        is_function = isinstance(error, FunctionNotImportableError)
        return Problem(
            message=str(error),
            allowed=IMPORTABLE if is_function else None,
            hint=WHERE_TO_MOVE if is_function else hint,
            declared_at=location or SourceLocation(str(file), 1),
        )
    words = "".join(traceback.format_exception_only(error)).strip().replace(".__init__()", "()")
    line = f"`{where.line}` raised " if where and where.line else ""
    form, meant = _form_of_call(error) if isinstance(error, TypeError) else (None, None)
    return Problem(
        operator=_operator(error),
        allowed=form,
        message=f"it cannot be loaded: {line}{_FILE.sub('', _SUGGESTION.sub('', words))}",
        hint=meant or _hint(error) or hint,
        declared_at=location or SourceLocation(str(file), 1),
    )


def _operator(error: BaseException) -> str | None:
    """Return the operator on which a missing method was called."""
    if isinstance(error, AttributeError) and isinstance(error.obj, Declared):
        return error.obj.place
    return None


def _hint_of_attribute(error: AttributeError) -> str | None:
    if not isinstance(error.obj, Declared | ModuleType | StreamExecutionEnvironment):
        return None
    public = [name for name in dir(error.obj) if not name.startswith("_")]
    name = str(error.name)
    if (near := did_you_mean(name, public)) or not hasattr(error.obj, "select"):
        return near
    return f'if {name} is a column, name it in an expression: filter("{name} IS NOT NULL")'


def _form_of_call(error: TypeError) -> tuple[str | None, str | None]:
    """Return the signature of a class that was called with wrong arguments, and a hint for the argument."""
    found = _CALLED.match(str(error))
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    kind = frames[-1].f_globals.get(found[1]) if found else None
    if not isinstance(kind, type):
        return None, None
    takes = signature(kind).parameters
    form = ", ".join(str(one.replace(annotation=one.empty)) for one in takes.values())
    odd = _UNEXPECTED.search(str(error))
    return f"{kind.__name__}({form})", did_you_mean(odd[1], takes) if odd else None


def _syntax_error(error: SyntaxError, file: Path) -> Problem:
    return Problem(
        message=f"not valid Python: {error.msg}",
        declared_at=SourceLocation(error.filename or str(file), error.lineno or 1),
        column=error.offset,
    )


def _hint(error: BaseException) -> str | None:
    if isinstance(error, ModuleNotFoundError):
        return "is it installed here, and is this the folder that holds pipelines/?"
    if isinstance(error, AttributeError):
        return _hint_of_attribute(error)
    if isinstance(error, NameError):
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        return OF_SESSION.get(str(error.name)) or did_you_mean(
            str(error.name), frames[-1].f_globals
        )
    if isinstance(error, ImportError) and (name := _NAME.search(str(error))):
        return did_you_mean(name[1], dir(sys.modules.get(str(error.name))))
    return _WITHOUT_SESSION if _needs_session(error) else None


def _needs_session(error: BaseException) -> bool:
    """Whether PySpark found no session; for columns it only asserts that there is one."""
    frames = traceback.extract_tb(error.__traceback__)
    is_assertion = isinstance(error, AssertionError) and bool(frames)
    return _NO_SESSION in str(error) or (
        is_assertion and "pyspark" in Path(frames[-1].filename).parts
    )
