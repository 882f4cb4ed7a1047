"""Read a pipeline's file.

read_pipeline(Path("pipelines/sales.yaml"))   →   Pipeline
"""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from graph_compiler.declaration.options import read_options
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.yaml_spec.declare import declare
from graph_compiler.declaration.yaml_spec.pipeline_spec import PipelineSpec
from graph_compiler.declaration.yaml_spec.refusals import problem_in, refusals
from graph_compiler.declaration.yaml_spec.tree import MAX_CHARACTERS, Node, plain, read_tree
from graph_compiler.errors import InvalidPipelineError, Problem

SUFFIX = ".yaml"


def read_pipeline(path: Path) -> Pipeline:
    """Read what a file declares. Raises InvalidPipelineError with every problem found, and OSError."""
    name = path.stem
    if path.stat().st_size > 4 * MAX_CHARACTERS:
        message = f"{path} has {path.stat().st_size} bytes"
        raise InvalidPipelineError(
            name, [Problem(message=message, allowed=f"{MAX_CHARACTERS} characters")]
        )
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"{path} is no UTF-8 text: byte {error.start} is {error.object[error.start]:#04x}"
        raise InvalidPipelineError(name, [Problem(message=message)]) from None
    return parse_pipeline(text, str(path))


def parse_pipeline(text: str, file: str) -> Pipeline:
    """Read what a text declares; `file` is where it stands, for messages and for paths from there."""
    tree = read_tree(text, file)
    name = _name(tree, file)
    try:
        spec = PipelineSpec.model_validate(plain(tree))
    except ValidationError as error:
        raise InvalidPipelineError(name, refusals(error, tree, file)) from None
    problems = _wrong_options(spec, tree, file)
    try:
        pipeline = declare(spec, tree, file).pipeline()
    except InvalidPipelineError as error:
        problems.extend(error.problems)
    if problems:
        raise InvalidPipelineError(name, problems)
    return pipeline


def _wrong_options(spec: PipelineSpec, tree: Node, file: str) -> list[Problem]:
    """Check each option by itself; those that are wrong together are the compiler's to find."""
    found: list[Problem] = []
    for key, value in spec.config.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        found.extend(
            problem_in(
                tree, file, ("config", key), wrong.message, allowed=wrong.allowed, hint=wrong.hint
            )
            for wrong in read_options([(key, text)])[1]
        )
    return found


def _name(tree: Node, file: str) -> str:
    named = tree.value.get("name") if isinstance(tree.value, dict) else None
    found = None if named is None else named.value
    return found if isinstance(found, str) and found else Path(file).stem
