"""A Java and a Spark that consist of the files that are looked at before a driver starts."""

from __future__ import annotations

from pathlib import Path

JAVA_FILES = ("release", "lib/modules", "lib/server/libjvm.so", "bin/java")
SPARK_FILES = (
    "bin/find-spark-home",
    "bin/spark-class",
    "bin/spark-submit",
    "jars/slf4j-api.jar",
    "jars/spark-core_2.13-4.1.0.jar",
)


def write_java(folder: Path) -> Path:
    return _write(folder, JAVA_FILES)


def write_spark(folder: Path, submit: str = "#!/bin/sh\n") -> Path:
    """Write a Spark whose spark-submit is this script."""
    _write(folder, SPARK_FILES)
    (folder / "bin" / "spark-submit").write_text(submit)
    return folder


def _write(folder: Path, files: tuple[str, ...]) -> Path:
    for name in files:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
        file.chmod(0o755 if file.parent.name == "bin" else 0o644)
    return folder
