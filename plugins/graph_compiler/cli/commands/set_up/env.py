"""`graph-compiler env`: print the environment that `run` passes to Airflow."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import typer

from graph_compiler.cli.console import AsJson, speaking_plainly
from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow


def env(as_json: AsJson = False) -> None:
    """Print the environment that `run` passes to Airflow; eval "$(graph-compiler env)" sets it in your shell."""
    with speaking_plainly():
        variables = EmbeddedAirflow(Path.cwd()).environment()
    if as_json:
        typer.echo(json.dumps(variables, indent=1))
        return
    for name, value in variables.items():
        typer.echo(f"export {name}={shlex.quote(value)}")
