"""Which package a scheme or a format needs beside Spark's own jars, with the version that fits them.

Versions are in the names of Spark's own jars: hadoop-client-api-3.5.0.jar, spark-core_2.13-4.3.0.jar.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from glob import glob
from importlib.util import find_spec
from pathlib import Path

_HADOOP = re.compile(r"hadoop-client-api-(?P<version>[\d.]+)\.jar")
_SPARK = re.compile(r"spark-core_(?P<scala>[\d.]+)-(?P<version>[\d.]+)\.jar")
_UNKNOWN = "VERSION"
_NAMES_JARS = ("spark.jars", "spark.jars.packages")
_CLASS_PATH = ("spark.driver.extraClassPath",)


@dataclass(frozen=True, slots=True)
class _Package:
    """Group and artifact; `versions_of` is the pattern of the jar with its version, None if it has its own."""

    group: str
    artifact: str
    versions_of: re.Pattern[str] | None


_AZURE = _Package("org.apache.hadoop", "hadoop-azure", _HADOOP)
_SCHEMES: Mapping[str, _Package] = {
    "s3a": _Package("org.apache.hadoop", "hadoop-aws", _HADOOP),
    "gs": _Package("com.google.cloud.bigdataoss", "gcs-connector", None),
    **dict.fromkeys(("abfs", "abfss", "wasb"), _AZURE),
}
_FORMATS: Mapping[str, _Package] = {"avro": _Package("org.apache.spark", "spark-avro", _SPARK)}


def spark_jars(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return the folder of Spark's jars: that of SPARK_HOME, or of pyspark; None if neither is here."""
    home = environment.get("SPARK_HOME")
    if home is None:
        found = find_spec("pyspark")
        home = None if found is None or found.origin is None else str(Path(found.origin).parent)
    folder = Path(home or "/none") / "jars"
    return folder if folder.is_dir() else None


def package_of_scheme(scheme: str, jars: Path | None) -> str | None:
    """Return the coordinates of the package with a scheme's file system; None if it is Spark's own, or not known."""
    return _coordinates(_SCHEMES.get(scheme.lower()), jars)


def package_of_format(format: str, jars: Path | None) -> str | None:
    """Return the coordinates of the package with a format; None if it is Spark's own, or not known."""
    return _coordinates(_FORMATS.get(format.lower()), jars)


def add_package(package: str | None) -> str:
    """Return the hint to add a package; None for one that is not known."""
    return (
        f"add the package that has it: spark.jars.packages = {package or 'its package'}, in "
        "AIRFLOW__GRAPH_COMPILER__SPARK_CONF or the conf of a slot sharing group"
    )


def is_on_class_path(coordinates: str, jars: Path | None, settings: Mapping[str, str]) -> bool:
    """Whether a package is among Spark's jars, or a setting names it; a folder that a setting names is looked into."""
    artifact = coordinates.split(":")[1]
    if jars is not None and any(jars.glob(f"{artifact}-*.jar")):
        return True
    if any(artifact in settings.get(name, "") for name in _NAMES_JARS):
        return True
    entries = [entry for name in _CLASS_PATH for entry in settings.get(name, "").split(":")]
    return any(artifact in name for entry in entries for name in _expanded(entry))


def _coordinates(package: _Package | None, jars: Path | None) -> str | None:
    if package is None:
        return None
    found = _version(package.versions_of, sorted(os.listdir(jars)) if jars else [])
    scala = found["scala"] if found is not None and "scala" in found.groupdict() else None
    artifact = f"{package.artifact}_{scala}" if scala else package.artifact
    return f"{package.group}:{artifact}:{found['version'] if found else _UNKNOWN}"


def _version(pattern: re.Pattern[str] | None, names: Sequence[str]) -> re.Match[str] | None:
    matches = (pattern.fullmatch(name) for name in names) if pattern else ()
    return next((match for match in matches if match), None)


def _expanded(entry: str) -> list[str]:
    return glob(entry) if entry.endswith("*") else [entry]
