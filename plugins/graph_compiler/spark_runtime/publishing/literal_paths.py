"""Let Spark read exactly the given path, and every file in it.

Spark's readers treat a path as a pattern: `x[1]` reads `x1`. Settings and options may skip files. The user may choose
both for a source, but they are wrong when a sink reads its own target, or rows it has set aside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import SparkSession

from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.declaration.connectors.connector import as_pairs
from graph_compiler.spark_runtime.results.pinned_settings import TARGET_OPTIONS, needed_here

_SPECIAL = frozenset("{}[]*?\\")
_LEAVES_FILES_OUT = frozenset({"pathglobfilter", "modifiedbefore", "modifiedafter"})
_PINNED = frozenset({"mergeschema", "basepath", *(name.lower() for name in TARGET_OPTIONS)})


def literal_path(path: str) -> str:
    """Return the pattern that matches only this path."""
    return "".join(f"\\{letter}" if letter in _SPECIAL else letter for letter in path)


def reads_everything(options: Mapping[str, str], spark: SparkSession) -> dict[str, str]:
    """Return a sink's options for reading its target, so that no option or session setting skips files."""
    kept = {name: value for name, value in options.items() if name.lower() not in _LEAVES_FILES_OUT | _PINNED}
    return kept | needed_here(spark, TARGET_OPTIONS)


def reading_target(connector: FileConnector, target: str, spark: SparkSession) -> FileConnector:
    """Return a connector that reads all files of exactly this target, with options as in `reads_everything`."""
    kept = (pair for pair in as_pairs(connector.options) if pair[0].lower() not in _LEAVES_FILES_OUT | _PINNED)
    options = (*kept, *needed_here(spark, TARGET_OPTIONS).items())
    return replace(connector, path=literal_path(target), options=options)
