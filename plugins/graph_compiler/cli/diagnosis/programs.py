"""Java, Python and Spark, as a task on this machine would find them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from shutil import which

from graph_compiler.cli.diagnosis.check import Check, Finding, failed, ok, warning
from graph_compiler.deployment.documents.jvm_settings import CONFIRMED_ZONE, READS_DIFFERENTLY, ZONE
from graph_compiler.driver_jvm.pinned_process import host_zone
from graph_compiler.driver_jvm.start_settings import DriverStart, start_settings

JAVA_VERSIONS = (17, 21)
TESTED_PYSPARK = (4, 3)
INSTALL_PYSPARK = 'pip install "pyspark>=4.3,<4.4"'
_INSTALL_JAVA = "sudo apt-get install openjdk-17-jre-headless, or export JAVA_HOME=<a Java 17 or 21>"
_SECONDS = 20
_MINOR = re.compile(r"\d+\.\d+")
_VERSION = re.compile(r'version "(\d+)([^"]*)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """Where programs are looked up: the environment of a task's process."""

    environment: Mapping[str, str]


def java(programs: Programs) -> Finding:
    """Check the Java that Spark would start: in JAVA_HOME, else the first on PATH."""
    home = programs.environment.get("JAVA_HOME")
    path = programs.environment.get("PATH")
    found = which("java", path=str(Path(home, "bin")) if home else path)
    if found is None:
        where = f"in JAVA_HOME, {home}" if home else "on PATH, and JAVA_HOME is not set"
        return failed(f"there is none {where}", _INSTALL_JAVA)
    said = _output_of([found, "-version"], programs)
    return judge_java(said, found)


def judge_java(said: str, where: str) -> Finding:
    """Check the output of `java -version`."""
    found = _VERSION.search(said)
    if found is None:
        return failed(f"{where} says {said.strip()[:200]!r}", _INSTALL_JAVA)
    major = int(found[1])
    words = f"{found[1]}{found[2]}, {where}"
    return ok(words) if major in JAVA_VERSIONS else failed(f"{words}; Spark 4 runs on 17 and 21", _INSTALL_JAVA)


def driver_python(programs: Programs) -> Finding:
    """Check the Python of driver and executors: Spark requires the same minor version for both."""
    ours = "{}.{}".format(*sys.version_info)
    odd = []
    for variable in ("PYSPARK_DRIVER_PYTHON", "PYSPARK_PYTHON"):
        program = programs.environment.get(variable)
        if program is None:
            continue
        theirs = _output_of([program, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], programs)
        if theirs.strip() != ours:
            what = theirs.strip() if _MINOR.fullmatch(theirs.strip()) else "not a working Python"
            odd.append(f"{variable}={program} is {what}")
    if odd:
        return failed(
            f"{' and '.join(odd)}; this is {ours}",
            f"export PYSPARK_PYTHON={sys.executable} PYSPARK_DRIVER_PYTHON={sys.executable}",
        )
    return ok(f"{ours}, {sys.executable}")


def pyspark(_: Programs) -> Finding:
    """Check that pyspark is installed, and not the package that overwrites its files."""
    return judge_pyspark(_version("pyspark"), has_client=_version("pyspark-client") is not None)


def judge_pyspark(found: str | None, *, has_client: bool) -> Finding:
    """Check the version of pyspark."""
    if found is None:
        return failed("it is not installed", INSTALL_PYSPARK)
    if has_client:
        return failed(
            f"{found}, and pyspark-client beside it, which overwrites files of pyspark",
            f'pip uninstall -y pyspark-client && pip install --force-reinstall --no-deps "pyspark=={found}"',
        )
    if _numbers(found)[:2] != TESTED_PYSPARK:
        return failed(f"{found}; {'.'.join(map(str, TESTED_PYSPARK))} is supported", INSTALL_PYSPARK)
    return ok(found)


def jars_of_spark(programs: Programs) -> Finding:
    """Check that spark-submit's jars have the version of the Python package."""
    package = _version("pyspark")
    home = programs.environment.get("SPARK_HOME")
    spec = find_spec("pyspark")
    folder = Path(home) if home else Path(str(spec.origin)).parent if spec else None
    if folder is None or package is None:
        return failed("there is no Spark", INSTALL_PYSPARK)
    names = [path.name for path in folder.glob("jars/spark-core_*.jar")]
    return judge_jars(names, package, f"{folder}/jars", has_home=home is not None)


def judge_jars(names: list[str], package: str, where: str, *, has_home: bool) -> Finding:
    """Check the versions of the core jars in Spark's folder, by their file names."""
    versions = [name.removesuffix(".jar").partition("-core_")[2].partition("-")[2] for name in names]
    cure = "unset SPARK_HOME" if has_home else f'pip install --force-reinstall --no-deps "pyspark=={package}"'
    if versions == [package]:
        return ok(f"{package}, {where}")
    return failed(f"{', '.join(versions) or 'none'} in {where}, and pyspark is {package}", cure)


def spark_submit(programs: Programs) -> Finding:
    """Check that the program every task starts is on PATH."""
    home = programs.environment.get("SPARK_HOME")
    path = programs.environment.get("PATH", "")
    found = which("spark-submit", path=os.pathsep.join([*([f"{home}/bin"] if home else []), path]))
    if found is None:
        return failed(
            "it is not on PATH", f'export PATH="{Path(sys.executable).parent}:$PATH" ({INSTALL_PYSPARK} brings it)'
        )
    return ok(found)


def pyarrow(_: Programs) -> Finding:
    """Check the package that functions over batches, and the preview of `run`, need."""
    found = _version("pyarrow")
    cure = 'pip install "pyarrow>=18"'
    if found is None:
        return warning("it is not installed: no map_partitions, no apply_in_pandas, no preview", cure)
    return ok(found) if _numbers(found) >= (18,) else warning(f"{found}; Spark 4 wants 18", cure)


def driver_start(programs: Programs) -> Finding:
    """Check whether drivers of this host start with a class archive; the connection's settings are not known here."""
    found = start_settings(DriverStart(environment=programs.environment, conf={}))
    words = "; ".join(f"without {what}: {why}" for what, why in found.left_out)
    if found.wanted is not None:
        words += (
            " (graph-compiler warm makes one: drivers then start in half the CPU time; a task makes one in the "
            "background, unless the option execution.class-archives is false)"
        )
    return ok(words or "with a class archive")


def time_zone(programs: Programs) -> Finding:
    """Check whether this host's zone is the one that drivers and executors have."""
    zone = host_zone(programs.environment)
    if zone is None:
        return ok("UTC, as in drivers and executors")
    return warning(
        f"{zone}; drivers and executors have UTC. {READS_DIFFERENTLY}",
        "compare the times of ORC files and of such tables with those of their sources; a merge or an append into a "
        f"target that such a version wrote is refused until {CONFIRMED_ZONE} is {ZONE}",
    )


PROGRAM_CHECKS: tuple[Check[Programs], ...] = (
    Check("Java", java),
    Check("Python", driver_python),
    Check("pyspark", pyspark),
    Check("Spark's jars", jars_of_spark),
    Check("spark-submit", spark_submit),
    Check("pyarrow", pyarrow),
    Check("Driver's start", driver_start),
    Check("Time zone", time_zone),
)


def _output_of(command: list[str], programs: Programs) -> str:
    """Return a program's output, both streams; empty if it cannot be started."""
    try:
        done = subprocess.run(
            command, env=dict(programs.environment), capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return done.stdout + done.stderr


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text)[:2])
