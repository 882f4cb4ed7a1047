"""`graph-compiler schema`."""

from __future__ import annotations

import typer


def schema() -> None:
    """Print the JSON Schema of pipelines in YAML, which editors use to complete and check them (docs/yaml.md)."""
    # Imported when called: building the models of the whole API takes longer than most commands.
    from graph_compiler.projects.yaml.pipeline_spec import schema_json

    typer.echo(schema_json(), nl=False)
