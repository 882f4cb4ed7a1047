"""What a declared path shows before a run renders it: its beginning, with the default of its first parameter."""

from __future__ import annotations

import re
from collections.abc import Mapping

from graph_compiler.compiler.checks.connector_checks import connectors_of
from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.declaration.connectors.file_uris import store_part
from graph_compiler.declaration.parameters.parameter import ParameterValue
from graph_compiler.declaration.pipeline import Pipeline

_FIRST_PARAMETER = re.compile(r"^\{\{\s*params\.(\w+)\s*\}\}")
_BEGINS_WITH_TEMPLATE = re.compile(r"(file:(//)?)?\{[{%#]", re.IGNORECASE)


def beginning(connector: FileConnector, defaults: Mapping[str, ParameterValue]) -> str | None:
    """Return a path with its first parameter's default; None if it starts with another template."""
    begins = _FIRST_PARAMETER.sub(lambda found: str(defaults.get(found[1], "/")), connector.path)
    return None if _BEGINS_WITH_TEMPLATE.match(begins) else begins


def stores_of(pipeline: Pipeline, staging_root: str) -> tuple[str, ...]:
    """Return the buckets and file systems that a pipeline's runs use: `s3a://lake`; in the order of declaration."""
    defaults = dict(pipeline.params)
    begins = [
        beginning(connector, defaults)
        for _, connector in connectors_of(pipeline)
        if isinstance(connector, FileConnector)
    ]
    found = (store_part(place) for place in (staging_root, *begins) if place is not None)
    return tuple(dict.fromkeys(store for store in found if store is not None))
