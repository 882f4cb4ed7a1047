"""The project folder of a file of declarations."""

from __future__ import annotations

from pathlib import Path

from graph_compiler.identifiers import PIPELINES

YAML = ".yaml"
"""The suffix of pipelines' YAML files."""


def project_of(file: Path) -> Path:
    """Return the folder that contains pipelines/, or the outermost package of the file."""
    whole = file.resolve()
    for parent in whole.parents:
        if parent.name == PIPELINES:
            return parent.parent
    folder = whole.parent
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder
