"""Find a pipeline by the name of its module."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from graph_compiler.declaration.environment import StreamExecutionEnvironment
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.errors import InvalidPipelineError, Problem
from graph_compiler.identifiers import listing

PACKAGE = "pipelines"


def load_pipeline(name: str) -> Pipeline:
    """Import `pipelines.<name>` and give what its `env` declares; raises InvalidPipelineError where there is none."""
    if not name.isidentifier() or not _is_there(name):
        known = sorted(path.stem for path in Path(PACKAGE).glob("[!_]*.py"))
        close = get_close_matches(name, known, n=1)
        hint = f"did you mean '{close[0]}'?" if close else None
        raise InvalidPipelineError(
            name,
            [
                Problem(
                    message=f"there is no module {PACKAGE}/{name}.py",
                    allowed=listing(known),
                    hint=hint,
                )
            ],
        )
    environment = getattr(import_module(f"{PACKAGE}.{name}"), "env", None)
    if not isinstance(environment, StreamExecutionEnvironment):
        hint = f'env = StreamExecutionEnvironment("{name}")'
        raise InvalidPipelineError(
            name,
            [
                Problem(
                    message=f"{PACKAGE}/{name}.py has no StreamExecutionEnvironment called 'env'",
                    hint=hint,
                )
            ],
        )
    return environment.pipeline()


def _is_there(name: str) -> bool:
    try:
        return find_spec(f"{PACKAGE}.{name}") is not None
    except ModuleNotFoundError:  # there is no pipelines/ here
        return False
