"""`graph-compiler new`: a pipeline to begin with, its test and its Dag file."""

from __future__ import annotations

import json
import keyword
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from graph_compiler.cli.console import AsJson, program, pytest, speaking_plainly
from graph_compiler.cli.running.dag_files import loads_all
from graph_compiler.cli.starter import starter_files
from graph_compiler.errors import ParameterError
from graph_compiler.identifiers import PIPELINES, listing

_NAME = re.compile(r"[a-z][a-z0-9_]{0,99}")
_IMPORTED = frozenset(
    {"airflow", "dags", "graph_compiler", PIPELINES, "plugins", "pyspark", "tests"}
)
"""A Dag file of such a name could hide what Dag files import."""


def new(
    name: Annotated[str, typer.Argument(help="Name of the pipeline, its module and its Dag.")],
    in_yaml: Annotated[
        bool, typer.Option("--yaml", help="Declare it in YAML instead of Python.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write a small pipeline that runs at once, with its test and its Dag file, to make your own from."""
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
        f"Next:  {program()} explain {name}    shows the tasks it becomes\n"
        f"       {program()} run {name}        runs it, with rows of its own\n"
        f"       {pytest()} tests/test_{name}.py\n"
        f"       then edit {next(iter(files))}"
    )


def _check_name(name: str) -> None:
    """Refuse what is no module's name, or another module's; raises ParameterError."""
    if not _NAME.fullmatch(name):
        raise ParameterError(
            f"a pipeline cannot be called '{name}'\n"
            "  allowed: lowercase letters, digits and '_', starting with a letter, at most 100 characters"
        )
    if keyword.iskeyword(name):
        raise ParameterError(f"a pipeline cannot be called '{name}': it is a Python keyword")
    if name in sys.stdlib_module_names or name in _IMPORTED:
        raise ParameterError(
            f"a pipeline cannot be called '{name}': an importable module has this name\n"
            f"  hint: {name}_pipeline"
        )


def _check_free(name: str, files: Mapping[str, str]) -> None:
    """Refuse to overwrite, or to be a second pipeline of the name; raises ParameterError with all that is there."""
    others = (f"{PIPELINES}/{name}.py", f"{PIPELINES}/{name}.yaml", f"{PIPELINES}/{name}")
    taken = [path for path in dict.fromkeys((*files, *others)) if Path(path).exists()]
    if taken:
        raise ParameterError(
            f"there is already {listing(taken)}; nothing was written\n  hint: use another name"
        )


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("x") as file:  # if another process has created it, keep its file
        file.write(text)
