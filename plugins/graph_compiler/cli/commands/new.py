"""`graph-compiler new`: write a first pipeline, its test and its Dag file."""

from __future__ import annotations

import json
import keyword
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from graph_compiler.cli.console import AsJson, program_name, pytest, speaking_plainly
from graph_compiler.cli.running.dag_files import loads_all
from graph_compiler.cli.starter import starter_files
from graph_compiler.errors import ParameterError
from graph_compiler.identifiers import PIPELINES, listing

_NAME = re.compile(r"[a-z][a-z0-9_]{0,99}")
_IMPORTED = frozenset({"airflow", "dags", "graph_compiler", PIPELINES, "plugins", "pyspark", "tests"})
"""A Dag file with such a name could hide a module that Dag files import."""


def new(
    name: Annotated[str, typer.Argument(help="Name of the pipeline, its module and its Dag.")],
    in_yaml: Annotated[bool, typer.Option("--yaml", help="Declare it in YAML instead of Python.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a small runnable pipeline, with its test and its Dag file, as a starting point for your own."""
    with speaking_plainly():
        _check_name(name)
        files = starter_files(name, in_yaml=in_yaml, has_loader=loads_all(Path("dags")))
        _check_free(name, files)
        for path, text in files.items():
            _write(Path(path), text)
    if as_json:
        typer.echo(json.dumps({"pipeline": name, "files": list(files)}, indent=1))
        return
    typer.echo(
        f"wrote {listing(files)}\n"
        f"Next:  {program_name()} explain {name}    shows the tasks it becomes\n"
        f"       {program_name()} run {name}        runs it, with sample rows\n"
        f"       {pytest()} tests/test_{name}.py\n"
        f"       then edit {next(iter(files))}"
    )


def _check_name(name: str) -> None:
    """Raise ParameterError for a name that cannot be a module's, or is taken by an importable module."""
    if not _NAME.fullmatch(name):
        raise ParameterError(
            f"a pipeline cannot be called '{name}'\n"
            "  allowed: lowercase letters, digits and '_', starting with a letter, at most 100 characters"
        )
    if keyword.iskeyword(name):
        raise ParameterError(f"a pipeline cannot be called '{name}': it is a Python keyword")
    if name in sys.stdlib_module_names or name in _IMPORTED:
        raise ParameterError(
            f"a pipeline cannot be called '{name}': an importable module has this name\n  hint: {name}_pipeline"
        )


def _check_free(name: str, files: Mapping[str, str]) -> None:
    """Raise ParameterError if a file, or another pipeline of this name, exists; it lists all that exist."""
    others = (f"{PIPELINES}/{name}.py", f"{PIPELINES}/{name}.yaml", f"{PIPELINES}/{name}")
    taken = [path for path in dict.fromkeys((*files, *others)) if Path(path).exists()]
    if taken:
        raise ParameterError(f"there is already {listing(taken)}; nothing was written\n  hint: use another name")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("x") as file:  # keep a file that another process has created meanwhile
        file.write(text)
