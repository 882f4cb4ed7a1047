"""Compile one pipeline for `diff` in a separate process: its file is the argument, the import path the input."""

from __future__ import annotations

import json
import sys
from dataclasses import fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import typer

from graph_compiler.cli.arguments.pipelines import deployment_options
from graph_compiler.cli.console import speaking_plainly
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.errors import InvalidPipelineError
from graph_compiler.explain.plan.plan_writer import plan_of
from graph_compiler.projects.pipeline_files import load_declared, nothing_declared, pipeline_at

Value = TypeVar("Value")


def summarize_version(file: Path) -> None:
    """Print the plan of the pipeline a file declares, whose paths are as if its folder were elsewhere."""
    said = json.load(sys.stdin)
    sys.path[:] = said["path"]
    with speaking_plainly():
        module = pipeline_at(file)
        pipeline = load_declared(module)
        if pipeline is None:
            raise InvalidPipelineError(file.stem, [nothing_declared(module)])
        if said["unpacked"]:
            pipeline = _as_in(said["repository"], said["unpacked"], pipeline)
        compiled = compile_pipeline(pipeline, deployment_options())
        root = str(module.root).replace(said["unpacked"] or "", said["repository"] or "")
        typer.echo(json.dumps(plan_of(compiled, describe_pipeline(compiled), root=root).document()))


def _as_in(repository: str, unpacked: str, value: Value) -> Value:
    """Return a value whose texts name the repository in place of the folder into which a revision was unpacked.

    A pipeline builds paths from its own file (`Path(__file__).parents[1]`): they are no difference of two versions.
    """
    found: Any = value
    as_in = partial(_as_in, repository, unpacked)
    match found:
        case str() if unpacked in found:
            return type(found)(found.replace(unpacked, repository))  # type: ignore[return-value]  # the same type
        case tuple() | list():
            return type(found)(map(as_in, found))  # type: ignore[return-value]  # the same type
        case dict():
            return type(found)((name, as_in(item)) for name, item in found.items())  # type: ignore[return-value]  # the same type
        case _ if is_dataclass(found) and not isinstance(found, type):
            own = {field.name: getattr(found, field.name) for field in fields(found) if field.init}
            changed = {name: new for name, old in own.items() if (new := as_in(old)) != old}
            return replace(found, **changed) if changed else value  # type: ignore[return-value]  # the same type
        case _:
            return value


if __name__ == "__main__":
    typer.run(summarize_version)
