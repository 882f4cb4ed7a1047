"""Which Java and which Spark `spark-submit` would start on this host, with the class path of the driver's JVM.

    conf/ · jars/slf4j-api-….jar · jars/* · HADOOP_CONF_DIR · YARN_CONF_DIR        (bin/spark-class, Spark's launcher)

Nothing is started to find out. What cannot be known without it is a reason not to know.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from shutil import which

from graph_compiler.errors import GraphCompilerError

_LIBJVM = "lib/server/libjvm.so"
_FOLDERS = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
_OTHERS = ("SPARK_DIST_CLASSPATH", "SPARK_PREPEND_CLASSES", "SPARK_TESTING", "SPARK_SQL_TESTING")
"""Variables that add to the class path what is not looked at here."""


class DriverStartError(GraphCompilerError):
    """What a driver would start with is not known, or a class archive cannot be used or made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkInstallation:
    """A Java, a Spark, and the folder with its settings."""

    java_home: Path
    spark_home: Path
    conf_folder: Path

    @property
    def defaults(self) -> Path:
        """Return the file with Spark's settings, which need not exist."""
        return self.conf_folder / "spark-defaults.conf"


def find_installation(
    environment: Mapping[str, str], program: str = "spark-submit"
) -> SparkInstallation:
    """Return what a program, spark-submit or another of that kind, would start.

    Raises DriverStartError.
    """
    spark_home = _spark_home(environment, program)
    folder = environment.get("SPARK_CONF_DIR")
    return SparkInstallation(
        java_home=_java_home(environment),
        spark_home=spark_home,
        conf_folder=Path(folder) if folder else spark_home / "conf",
    )


def class_path_key(installation: SparkInstallation, environment: Mapping[str, str]) -> str:
    """Return a name for the JVM and its class path in order, with sizes and times: another one if any file changes.

    Raises DriverStartError if a folder with files is on the class path: a JVM shares no classes then.
    """
    for name in _OTHERS:
        if environment.get(name):
            raise DriverStartError(f"{name} is set")
    folders = [
        installation.conf_folder,
        *(Path(environment[name]) for name in _FOLDERS if environment.get(name)),
    ]
    for folder in folders:
        if not _is_empty(folder):
            raise DriverStartError(f"{folder}, which is on the class path, has files")
    known = hashlib.sha256()
    for line in _lines(installation, folders):
        known.update(line.encode("utf-8", "surrogateescape") + b"\n")
    return known.hexdigest()[:32]


def _lines(installation: SparkInstallation, folders: list[Path]) -> Iterator[str]:
    """Yield what the key depends on. Jars are in the folder's own order, in which Java expands `jars/*`."""
    yield "1"
    java = installation.java_home
    try:
        yield (java / "release").read_text("utf-8", "replace")
        for file in (java / _LIBJVM, java / "lib/modules"):
            yield _line(file)
        for entry in os.scandir(installation.spark_home / "jars"):
            yield _line(Path(entry.path))
    except OSError as error:
        raise DriverStartError(f"{error.filename}: {error.strerror}") from None
    yield from map(str, folders)


def _line(file: Path) -> str:
    found = file.stat()
    return f"{file} {found.st_size} {found.st_mtime_ns}"


def _is_empty(folder: Path) -> bool:
    try:
        with os.scandir(folder) as entries:
            return not any(entries)
    except FileNotFoundError:
        return True
    except OSError as error:
        raise DriverStartError(f"{folder}: {error.strerror}") from None


def _spark_home(environment: Mapping[str, str], program: str) -> Path:
    """Do what Spark's `find-spark-home` does."""
    home = environment.get("SPARK_HOME")
    if home:
        return Path(home)
    found = which(program, path=environment.get("PATH", ""))
    if found is None:
        raise DriverStartError(f"{program} is not on PATH")
    folder = Path(found).parent.absolute()
    if not (folder / "find_spark_home.py").is_file():
        return folder.parent
    python = environment.get("PYSPARK_DRIVER_PYTHON")
    if python is not None and Path(python) != Path(sys.executable):
        raise DriverStartError(f"PYSPARK_DRIVER_PYTHON, {python}, may have another pyspark")
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise DriverStartError("pyspark is not installed")
    return Path(spec.origin).parent


def _java_home(environment: Mapping[str, str]) -> Path:
    """Return the folder of the Java that would be started: the one of JAVA_HOME, or of the first java on PATH."""
    home = environment.get("JAVA_HOME")
    path = str(Path(home, "bin")) if home else environment.get("PATH", "")
    found = which("java", path=path)
    if found is None:
        raise DriverStartError(f"there is no java in {path}")
    folder = Path(found).resolve().parents[1]
    if not (folder / _LIBJVM).is_file():  # a program that chooses a Java
        raise DriverStartError(f"{found} is not the program of a JDK: no {folder / _LIBJVM}")
    return folder
