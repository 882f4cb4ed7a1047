"""`graph-compiler options`: the value of each option, and where it was set."""

from __future__ import annotations

import json
import re
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from graph_compiler.cli.arguments.pipelines import deployment_options
from graph_compiler.cli.console import AsJson, speaking_plainly, standard_output
from graph_compiler.compiler.checks.validation import validated_options
from graph_compiler.identifiers import PIPELINES
from graph_compiler.options.effective_options import EffectiveOption, OptionOrigin, effective_options
from graph_compiler.options.modes import DeploymentOptions
from graph_compiler.options.reader import read_options
from graph_compiler.projects.pipeline_files import load_pipeline

_BETWEEN = "  "
"""What stands between two columns, and before the second line of a key."""


def options(
    pipeline: Annotated[
        str | None,
        typer.Argument(help=f"A pipeline's module or YAML file in {PIPELINES}/: show the values for this pipeline."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show every option with its value, and where it was set: pipeline, deployment, or built-in default."""
    with speaking_plainly():
        deployment = deployment_options()
        found = _effective(pipeline, deployment)
    if as_json:
        values = [{"key": o.key, "value": o.value, "default": o.default, "origin": o.origin.value} for o in found]
        typer.echo(json.dumps({"deployment": deployment.origin or None, "options": values}, indent=1))
    else:
        _show(found, deployment)


def _effective(name: str | None, deployment: DeploymentOptions) -> tuple[EffectiveOption, ...]:
    if name is None:
        return effective_options(read_options((), deployment)[0], (), deployment)
    pipeline = load_pipeline(name)
    return effective_options(validated_options(pipeline, deployment), pipeline.config, deployment)


def broken_key(key: str, width: int) -> str:
    """Break a key that is too long after its dots, and only a part that is still too long after its hyphens."""
    parts = [
        piece
        for part in re.findall(r"[^.]+\.?", key)
        for piece in ([part] if len(_BETWEEN + part) <= width else re.findall(r"[^-]+-?", part))
    ]
    lines = [""]
    for part in parts:
        if lines[-1] and len(lines[-1] + part) > width:
            lines.append(_BETWEEN)
        lines[-1] += part
    return "\n".join(lines)


def _show(found: tuple[EffectiveOption, ...], deployment: DeploymentOptions) -> None:
    console = standard_output()
    origins = ["" if one.origin is OptionOrigin.BUILT_IN else one.origin.value for one in found]
    columns = ("value", *(one.value for one in found)), ("set by", *origins)
    others = sum(max(map(len, cells)) + len(_BETWEEN) for cells in columns)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("option", overflow="fold")  # the only column to fold
    table.add_column("value", no_wrap=True)
    table.add_column("set by", no_wrap=True)
    for option, origin in zip(found, origins, strict=True):
        style = "bold" if option.is_changed else ""
        key = Text(broken_key(option.key, console.width - others))
        table.add_row(key, Text(option.value, style=style), Text(origin))
    console.print(table)
    if deployment.origin:
        console.print(Text(f"deployment: {deployment.origin}"), soft_wrap=True)
