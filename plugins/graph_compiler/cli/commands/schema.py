"""`graph-compiler schema`."""

from __future__ import annotations

import typer


def schema() -> None:
    """Print the JSON Schema of pipelines in YAML, by which editors complete and check (docs/yaml.md)."""
    # Imported when called: making models of the whole API takes longer than most commands.
    from graph_compiler.projects.yaml.schema import schema_json

    typer.echo(schema_json(), nl=False)
