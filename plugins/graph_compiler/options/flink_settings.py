"""Spark's settings that options under Flink's keys stand for.

{"python.executable": "/opt/python3.11/bin/python"}   →   {"spark.pyspark.python": "/opt/python3.11/bin/python"}
{"pipeline.classpaths": "/opt/jars/a.jar;/opt/jars/b.jar"}   →   spark.driver.extraClassPath and that of executors
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from graph_compiler.declaration.connectors.file_uris import local_path
from graph_compiler.errors import Problem
from graph_compiler.options.model import PipelineOptions

PYTHON, DRIVER_PYTHON = "spark.pyspark.python", "spark.pyspark.driver.python"
CLASS_PATHS = ("spark.driver.extraClassPath", "spark.executor.extraClassPath")
CLASS_PATH_SEPARATOR = ":"
"""What is between two places of a Java class path, on the systems that Spark's clusters have."""


def with_flink_settings(settings: Mapping[str, str], options: PipelineOptions) -> dict[str, str]:
    """Return settings with those of Flink's keys, which win; a class path begins with them."""
    pythons = {PYTHON: options.python_executable, DRIVER_PYTHON: options.python_client_executable}
    found = {**settings, **{key: value for key, value in pythons.items() if value}}
    for key in CLASS_PATHS if options.classpaths else ():
        places = [str(local_path(entry)) for entry in _entries(options.classpaths or "")]
        found[key] = CLASS_PATH_SEPARATOR.join([*places, *filter(None, [settings.get(key)])])
    return dict(sorted(found.items()))


def class_path_problems(text: str) -> Iterator[Problem]:
    """Find places of a class path that are not the same on every host."""
    for entry in _entries(text):
        path = local_path(entry)
        if path is None or CLASS_PATH_SEPARATOR in str(path):
            yield Problem(
                message=f"option 'pipeline.classpaths' has {entry!r}",
                allowed="absolute paths and file: URIs, without ':' in the path",
                hint="they must be on every host; a jar in pipeline.jars travels",
            )


def _entries(text: str) -> list[str]:
    return [entry for part in text.split(";") if (entry := part.strip())]
