"""`graph-compiler schema`."""

from __future__ import annotations

import typer

from graph_compiler.declaration.yaml_spec.schema import schema_json


def schema() -> None:
    """Print the JSON Schema of pipelines in YAML, by which editors complete and check (docs/yaml.md)."""
    typer.echo(schema_json(), nl=False)
