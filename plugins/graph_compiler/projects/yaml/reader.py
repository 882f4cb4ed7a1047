"""Read the YAML file of a pipeline.

read_pipeline(Path("pipelines/sales.yaml"))   →   Pipeline
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from graph_compiler.declaration.pipeline import IncompletePipelineError, Pipeline
from graph_compiler.errors import InvalidPipelineError, Problem
from graph_compiler.options.durations import as_text
from graph_compiler.options.reader import read_options
from graph_compiler.projects.yaml.declare import Broken, declare
from graph_compiler.projects.yaml.pipeline_spec import PipelineSpec
from graph_compiler.projects.yaml.references import read_file_bytes
from graph_compiler.projects.yaml.refusals import KeyPath, problem_in, refusals
from graph_compiler.projects.yaml.tree import MAX_CHARACTERS, Node, plain_tree, read_tree

_STAND_IN = {"from_source": {"range": 0, "end": 0}, "name": "broken"}
_NO_NAME = "refused"
_STREAMS = frozenset({"sources", "steps"})


def read_pipeline(path: Path) -> Pipeline:
    """Return the pipeline of a file. Raises InvalidPipelineError with every problem found, and OSError."""
    name = path.stem
    try:
        text = read_file_bytes(path, most=4 * MAX_CHARACTERS).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"{path} is not UTF-8 text: byte {error.start} is {error.object[error.start]:#04x}"
        raise InvalidPipelineError(name, [Problem(message=message)]) from None
    except ValueError as error:
        problem = Problem(message=f"{path} cannot be read: {error}", allowed=f"{MAX_CHARACTERS} characters")
        raise InvalidPipelineError(name, [problem]) from None
    return parse_pipeline(text, str(path))


def parse_pipeline(text: str, file: str) -> Pipeline:
    """Return the pipeline of a text; `file` is its path, for messages and relative paths."""
    tree = read_tree(text, file)
    name = _name(tree, file)
    spec, broken, problems = _validated(tree, file)
    if spec is None:
        raise InvalidPipelineError(name, problems)
    unsure = _unsure(tree, problems)
    problems += _wrong_options(spec, tree, file)
    env, refused = declare(spec, tree, file, broken, knows_streams=not unsure & _STREAMS)
    problems += refused
    if env is None or problems:
        # A broken parameter is not a problem of the steps that use it.
        is_of_params = any((problem.key or "").startswith("params") for problem in problems)
        is_complete = env is not None and not is_of_params and "params" not in unsure
        declared = env.pipeline() if env is not None and is_complete else None
        raise IncompletePipelineError(name, _sorted(problems), declared=declared)
    return env.pipeline()


def _validated(tree: Node, file: str) -> tuple[PipelineSpec | None, Broken, list[Problem]]:
    """Return the model, and the parts that were left out so that the rest can be checked."""
    data: Any = plain_tree(tree)
    try:
        return PipelineSpec.model_validate(data), {}, []
    except ValidationError as error:
        found = refusals(error, tree, file)
    broken = _take_out(data, found) if isinstance(data, dict) else {}
    try:
        return PipelineSpec.model_validate(data), broken, list(found.values())
    except ValidationError:  # the file as a whole, or its name
        return None, broken, list(found.values())


def _take_out(data: dict[Any, Any], refused: Iterable[KeyPath]) -> Broken:
    """Remove and return refused parts; a refused step is replaced by a placeholder, so that indexes stay the same."""
    broken: dict[tuple[str | int, str | int], dict[str, Any]] = {}
    for section, *names in refused:
        if section in data and names:
            entry = data[section][names[0]]
            broken[section, names[0]] = entry if isinstance(entry, dict) else {}
        else:
            data.pop(section, None)
    data.setdefault("name", _NO_NAME)
    for section, name in broken:
        if section == "steps":
            data[section][name] = _STAND_IN
        else:
            data[section].pop(name)
    return broken


def _unsure(tree: Node, problems: Iterable[Problem]) -> frozenset[str]:
    """Return the sections of which nothing is known: refused as a whole, or absent where a key is misspelled."""
    keys = {str(key) for key in tree.value} if isinstance(tree.value, dict) else set()
    known = frozenset(PipelineSpec.model_fields)
    absent = known - keys if keys - known else frozenset()
    return absent | (known & {problem.key for problem in problems if problem.key})


def _sorted(problems: Iterable[Problem]) -> list[Problem]:
    return sorted(problems, key=_position)


def _position(problem: Problem) -> tuple[int, int]:
    return problem.declared_at.line if problem.declared_at else 0, problem.column or 0


def _wrong_options(spec: PipelineSpec, tree: Node, file: str) -> list[Problem]:
    """Check each option separately; the compiler checks combinations."""
    found: list[Problem] = []
    for key, value in spec.config.items():
        found.extend(
            problem_in(tree, file, ("config", key), wrong.message, allowed=wrong.allowed, hint=wrong.hint)
            for wrong in read_options([(key, as_text(value))])[1]
        )
    return found


def _name(tree: Node, file: str) -> str:
    named = tree.value.get("name") if isinstance(tree.value, dict) else None
    found = None if named is None else named.value
    return found if isinstance(found, str) and found else Path(file).stem
