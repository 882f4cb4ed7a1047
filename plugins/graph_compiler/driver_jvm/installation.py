"""Which Java and which Spark `spark-submit` would start on this host, with the class path of the driver's JVM.

    conf/ · jars/slf4j-api-….jar · jars/* · HADOOP_CONF_DIR · YARN_CONF_DIR        (bin/spark-class, Spark's launcher)

Nothing is started to find out. What cannot be known without it is a reason not to know.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from glob import glob
from importlib.util import find_spec
from pathlib import Path
from shutil import which

from graph_compiler.errors import GraphCompilerError
from graph_compiler.stores.known_stores import spark_package_of
from graph_compiler.stores.store_kind import SparkPackage

_LIBJVM = "lib/server/libjvm.so"
_OTHER_SPARK = "spark-distribution"
_FOLDERS = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
_OTHERS = ("SPARK_DIST_CLASSPATH", "SPARK_PREPEND_CLASSES", "SPARK_TESTING", "SPARK_SQL_TESTING")
"""Variables that add to the class path what is not looked at here."""


_UNREAD = ("java-opts", "spark-env.sh")
"""Files of the folder with settings which may set options of the JVM, and are not read here."""


class DriverStartError(GraphCompilerError):
    """What a driver would start with is not known, or a class archive cannot be used or made."""


@contextmanager
def saying_why(what: object) -> Iterator[None]:
    """Raise an OSError of this block as a DriverStartError, with the file's name or else `what`."""
    try:
        yield
    except OSError as error:
        raise DriverStartError(f"{error.filename or what}: {error.strerror or error}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkInstallation:
    """A Java, a Spark, and the folder with its settings."""

    java_home: Path
    spark_home: Path
    conf_folder: Path

    def unread_file(self) -> Path | None:
        """Return a file which may set options of the JVM, and is not read here; None if there is none."""
        files = [self.conf_folder / name for name in _UNREAD]
        return next((file for file in files if os.path.lexists(file)), None)


def find_installation(environment: Mapping[str, str], program: str = "spark-submit") -> SparkInstallation:
    """Return what a program, spark-submit or another of that kind, would start.

    Raises DriverStartError.
    """
    with saying_why(program):
        return SparkInstallation(
            java_home=_java_home(environment),
            spark_home=_spark_home(environment, program),
            conf_folder=find_conf_folder(environment, program),
        )


def find_conf_folder(environment: Mapping[str, str], program: str = "spark-submit") -> Path:
    """Return the folder with Spark's settings, which need not exist; no Java is needed for it.

    Raises DriverStartError.
    """
    folder = environment.get("SPARK_CONF_DIR")
    with saying_why(program):
        return Path(folder).absolute() if folder else _spark_home(environment, program) / "conf"


def class_path_key(installation: SparkInstallation, environment: Mapping[str, str]) -> str:
    """Return a name for the JVM and its class path in order, with sizes and times: another one if any file changes.

    Raises DriverStartError if a folder with files is on the class path: a JVM shares no classes then.
    """
    for name in _OTHERS:
        if environment.get(name):
            raise DriverStartError(f"{name} is set")
    lists = (environment.get(name, "") for name in _FOLDERS)
    named = [each for one in lists for each in one.split(os.pathsep) if each]
    with saying_why("the working directory"):
        folders = [installation.conf_folder, *(Path(each).absolute() for each in named)]
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
    with saying_why(java):
        yield (java / "release").read_text("utf-8", "replace")
        shared = sorted((java / _LIBJVM).parent.glob("classes*.jsa"))  # Java's own archive, below ours
        for file in (java / _LIBJVM, java / "lib/modules", *shared):
            yield _line(file)
        for entry in os.scandir(installation.spark_home / "jars"):
            yield _line(Path(entry.path))
    yield from map(str, folders)


def _line(file: Path) -> str:
    found = file.stat()
    return f"{file} {found.st_size} {found.st_mtime_ns}"


def _is_empty(folder: Path) -> bool:
    with saying_why(folder):
        try:
            with os.scandir(folder) as entries:
                return not any(entries)
        except FileNotFoundError:
            return True


def _spark_home(environment: Mapping[str, str], program: str) -> Path:
    """Do what Spark's `find-spark-home` does, and check that a Spark is there."""
    found = which(program, path=environment.get("PATH", ""))
    named = environment.get("SPARK_HOME")
    if found is None and not named:
        raise DriverStartError(f"{program} is not on PATH")
    home = Path(named).absolute() if named else _home_of(Path(str(found)), environment)
    if not (home / "bin" / "spark-class").is_file() or not any(home.glob("jars/spark-core_*.jar")):
        raise DriverStartError(f"there is no Spark in {home}")
    if found is not None and not _is_of_spark(Path(found), home):
        raise DriverStartError(f"{found} is not Spark's own, and may start any Spark")
    return home


def _is_of_spark(program: Path, home: Path) -> bool:
    """Whether a program is Spark's spark-submit, or a copy by pip: others may set SPARK_HOME, and more."""
    own = home / "bin" / "spark-submit"
    if program.resolve() == own.resolve():
        return True
    beside = (program.parent / "find-spark-home").is_file()
    with saying_why(program):
        return beside and own.is_file() and program.read_bytes() == own.read_bytes()


def _home_of(program: Path, environment: Mapping[str, str]) -> Path:
    """Return the folder of the Spark that a program finds without SPARK_HOME."""
    folder = program.parent.absolute()
    if not (folder / "find_spark_home.py").is_file():
        return folder.parent
    python = environment.get("PYSPARK_DRIVER_PYTHON")
    if python is not None and Path(python) != Path(sys.executable):
        raise DriverStartError(f"PYSPARK_DRIVER_PYTHON, {python}, may have another pyspark")
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise DriverStartError("pyspark is not installed")
    home = Path(spec.origin).parent
    if os.path.lexists(home / _OTHER_SPARK):  # with PYSPARK_HADOOP_VERSION, pip puts one there
        raise DriverStartError(f"{home / _OTHER_SPARK} may be used, and is not known")
    return home


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


# Which package a scheme or a format needs beside Spark's own jars, with the version that fits them.
#
# Versions are in the names of Spark's own jars: hadoop-client-api-3.5.0.jar, spark-core_2.13-4.3.0.jar.

_HADOOP = re.compile(r"hadoop-client-api-(?P<version>[\d.]+)\.jar")
_SPARK = re.compile(r"spark-core_(?P<scala>[\d.]+)-(?P<version>[\d.]+)\.jar")
_UNKNOWN = "VERSION"
_NAMES_JARS = ("spark.jars", "spark.jars.packages")
_CLASS_PATH = ("spark.driver.extraClassPath",)


_FORMATS: Mapping[str, tuple[SparkPackage, re.Pattern[str]]] = {
    "avro": (SparkPackage(group="org.apache.spark", artifact="spark-avro"), _SPARK)
}


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
    package = spark_package_of(scheme)
    return None if package is None else _coordinates(package, _HADOOP if package.has_hadoops_version else None, jars)


def package_of_format(format: str, jars: Path | None) -> str | None:
    """Return the coordinates of the package with a format; None if it is Spark's own, or not known."""
    found = _FORMATS.get(format.lower())
    return None if found is None else _coordinates(*found, jars)


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


def _coordinates(package: SparkPackage, versions_of: re.Pattern[str] | None, jars: Path | None) -> str:
    """Return group, artifact and version; the pattern is that of the jar with its version, None if it has its own."""
    found = _version(versions_of, sorted(os.listdir(jars)) if jars else [])
    scala = found["scala"] if found is not None and "scala" in found.groupdict() else None
    artifact = f"{package.artifact}_{scala}" if scala else package.artifact
    return f"{package.group}:{artifact}:{found['version'] if found else _UNKNOWN}"


def _version(pattern: re.Pattern[str] | None, names: Sequence[str]) -> re.Match[str] | None:
    matches = (pattern.fullmatch(name) for name in names) if pattern else ()
    return next((match for match in matches if match), None)


def _expanded(entry: str) -> list[str]:
    return glob(entry) if entry.endswith("*") else [entry]
