"""Find a pipeline by the name of its module."""

from __future__ import annotations

import traceback
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from graph_compiler.declaration.environment import StreamExecutionEnvironment
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.errors import GraphCompilerError, InvalidPipelineError, Problem
from graph_compiler.identifiers import did_you_mean

PACKAGE = "pipelines"


class PipelineNotLoadableError(GraphCompilerError):
    """A pipeline's module raised something of its own while it was imported."""


def load_pipeline(name: str) -> Pipeline:
    """Import `pipelines.<name>` and give what its `env` declares.

    Raises InvalidPipelineError where there is none, PipelineNotLoadableError where its code fails.
    """
    if not name.isidentifier() or not _is_there(name):
        known = sorted(path.stem for path in Path(PACKAGE).glob("[!_]*.py"))
        hint = did_you_mean(name, known) or f"run this in the folder that holds {PACKAGE}/"
        problem = Problem(
            message=f"there is no module {PACKAGE}/{name}.py",
            allowed=", ".join(known) or None,
            hint=hint,
        )
        raise InvalidPipelineError(name, [problem])
    environment = getattr(_import(name), "env", None)
    if not isinstance(environment, StreamExecutionEnvironment):
        message = f"{PACKAGE}/{name}.py has no StreamExecutionEnvironment called 'env'"
        problem = Problem(message=message, hint=f'env = StreamExecutionEnvironment("{name}")')
        raise InvalidPipelineError(name, [problem])
    return environment.pipeline()


def _import(name: str) -> ModuleType:
    try:
        return import_module(f"{PACKAGE}.{name}")
    except GraphCompilerError:
        raise
    except Exception as error:  # whatever a person's file raises is shown from that file on
        own = [
            f
            for f in traceback.extract_tb(error.__traceback__)
            if Path(f.filename).parent.name == PACKAGE
        ]
        where = "".join(f"  {frame.filename}:{frame.lineno}: {frame.line}\n" for frame in own)
        words = "".join(traceback.format_exception_only(error)).strip()
        raise PipelineNotLoadableError(
            f"pipeline '{name}' cannot be loaded\n{where}  {words}"
        ) from None


def _is_there(name: str) -> bool:
    try:
        return find_spec(f"{PACKAGE}.{name}") is not None
    except ModuleNotFoundError:  # there is no pipelines/ here
        return False
