"""What this host is asked: Java, Python and Spark as a task would find them, the configuration, the staging root.

The staging root is tried in a temporary folder in it: what commits and cleanup rely on, on a disk or in a store.
"""

from __future__ import annotations

import grp
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from graph_compiler.cli.diagnosis.question import Finding, Host, Need, Question, failed, ok, warning
from graph_compiler.deployment.documents.jvm_settings import CONFIRMED_ZONE, READS_DIFFERENTLY, ZONE
from graph_compiler.driver_jvm.pinned_process import host_zone
from graph_compiler.driver_jvm.start_settings import DriverStart, start_settings
from graph_compiler.errors import ConfigurationError, StagingError
from graph_compiler.identifiers import counted
from graph_compiler.staging.store.root_probe import why_unlisted, why_unsafe
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.store.stores import store_of
from graph_compiler.tested_versions import PYTHON, SPARK, Product, Standing, installed_version, without_client

JAVA_VERSIONS = (17, 21)
INSTALL_PYSPARK = f'pip install "{SPARK.requirement}"'
_TABLE = "docs/versions.md"
_SECONDS = 20
_MINOR = re.compile(r"\d+\.\d+")
_VERSION = re.compile(r'version "(\d+)([^"]*)"')
_SKEW = 5.0
_GIGABYTE = 10**9


def java(host: Host) -> Finding:
    """Check the Java that Spark would start: in JAVA_HOME, else the first on PATH."""
    home = host.environment.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home, "bin")) if home else host.environment.get("PATH"))
    if found is None:
        return failed(f"there is none {f'in JAVA_HOME, {home}' if home else 'on PATH, and JAVA_HOME is not set'}")
    return judge_java(_output_of([found, "-version"], host), found)


def judge_java(said: str, where: str) -> Finding:
    """Check the output of `java -version`."""
    found = _VERSION.search(said)
    if found is None:
        return failed(f"{where} says {said.strip()[:200]!r}")
    words = f"{found[1]}{found[2]}, {where}"
    return ok(words) if int(found[1]) in JAVA_VERSIONS else failed(f"{words}; Spark 4 runs on 17 and 21")


def driver_python(host: Host) -> Finding:
    """Check the Python of driver and executors: Spark requires the same minor version for both."""
    ours = "{}.{}".format(*sys.version_info)
    odd = []
    for variable in ("PYSPARK_DRIVER_PYTHON", "PYSPARK_PYTHON"):
        program = host.environment.get(variable)
        if program is None:
            continue
        theirs = _output_of([program, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], host).strip()
        if theirs != ours:
            odd.append(f"{variable}={program} is {theirs if _MINOR.fullmatch(theirs) else 'not a working Python'}")
    if odd:
        return failed(f"{' and '.join(odd)}; this is {ours}")
    found = judge_version(PYTHON, ours)
    return replace(found, found=f"{found.found}, {sys.executable}")


def pyspark(_: Host) -> Finding:
    """Check that pyspark is installed, and not the package that overwrites its files."""
    return judge_pyspark(installed_version("pyspark"), has_client=installed_version("pyspark-client") is not None)


def judge_pyspark(found: str | None, *, has_client: bool) -> Finding:
    """Check the version of pyspark."""
    if found is None:
        return failed("it is not installed")
    if has_client:
        return failed(
            f"{found}, and pyspark-client beside it, which overwrites files of pyspark", without_client(found)
        )
    return judge_version(SPARK, found)


def judge_version(product: Product, found: str) -> Finding:
    """Check a version against those that are tested."""
    if (why := product.why_refused(found)) is not None:
        return failed(why)
    if product.standing(found) is Standing.NEWER:
        return warning(f"{found} is not tested yet; {product.range_is}", f"compare the rows of a run: {_TABLE}")
    return ok(found)


def jars_of_spark(host: Host) -> Finding:
    """Check that spark-submit's jars have the version of the Python package."""
    package = installed_version("pyspark")
    home = host.environment.get("SPARK_HOME")
    spec = find_spec("pyspark")
    folder = Path(home) if home else Path(str(spec.origin)).parent if spec else None
    if folder is None or package is None:
        return failed("there is no Spark")
    names = [path.name for path in folder.glob("jars/spark-core_*.jar")]
    return judge_jars(names, package, f"{folder}/jars", has_home=home is not None)


def judge_jars(names: list[str], package: str, where: str, *, has_home: bool) -> Finding:
    """Check the versions of the core jars in Spark's folder, by their file names."""
    versions = [name.removesuffix(".jar").partition("-core_")[2].partition("-")[2] for name in names]
    if versions == [package]:
        return ok(f"{package}, {where}")
    cure = "unset SPARK_HOME" if has_home else f'pip install --force-reinstall --no-deps "pyspark=={package}"'
    return failed(f"{', '.join(versions) or 'none'} in {where}, and pyspark is {package}", cure)


def spark_submit(host: Host) -> Finding:
    """Check that the program every task starts is on PATH."""
    home = host.environment.get("SPARK_HOME")
    path = os.pathsep.join([*([f"{home}/bin"] if home else []), host.environment.get("PATH", "")])
    found = shutil.which("spark-submit", path=path)
    return failed("it is not on PATH") if found is None else ok(found)


def pyarrow(_: Host) -> Finding:
    """Check the package that functions over batches, and the preview of `run`, need."""
    found = installed_version("pyarrow")
    if found is None:
        return warning("it is not installed: no map_partitions, no apply_in_pandas, no preview")
    return ok(found) if _numbers(found) >= (18,) else warning(f"{found}; Spark 4 wants 18")


def driver_start(host: Host) -> Finding:
    """Check whether drivers of this host start with a class archive; the connection's settings are not known here."""
    found = start_settings(DriverStart(environment=host.environment, conf={}))
    words = "; ".join(f"without {what}: {why}" for what, why in found.left_out)
    if found.wanted is not None:
        words += (
            " (graph-compiler warm makes one: drivers then start in half the CPU time; a task makes one in the "
            "background, unless the option execution.class-archives is false)"
        )
    return ok(words or "with a class archive")


def time_zone(host: Host) -> Finding:
    """Check whether this host's zone is the one that drivers and executors have."""
    zone = host_zone(host.environment)
    if zone is None:
        return ok("UTC, as in drivers and executors")
    return warning(f"{zone}; drivers and executors have UTC. {READS_DIFFERENTLY}")


def configuration(host: Host) -> Finding:
    """Check that our section can be found, and names a folder."""
    airflow = host.airflow
    try:
        root = airflow.staging_root
    except ConfigurationError as error:
        return failed(error.summary, f"fix {error.origin}: docs/options.md")
    except StagingError as error:
        found = airflow.setting("staging_root")
        assert found is not None, "what is built in is a folder"
        return failed(str(error), f"set {found.origin} to a folder every worker sees")
    file = airflow.configuration_file
    return ok(f"staging root {root}; {file if file.is_file() else 'no airflow.cfg'}")


def pipeline_options(host: Host) -> Finding:
    """Check the options for all pipelines."""
    try:
        found = host.airflow.options
    except ConfigurationError as error:
        return failed(error.summary, f"fix {error.origin}: docs/options.md")
    if not found.values:
        return ok("none are set for all pipelines")
    return ok(f"{counted(len(found.values), 'option')} for all pipelines, {found.origin}")


def writable(host: Host) -> Finding:
    """Check that a folder can be created in the staging root, which the first task creates if it is missing."""
    folder = host.folder
    cure = (
        f"mkdir -p -m 700 {folder} as the user Airflow's tasks run as, "
        "or export AIRFLOW__GRAPH_COMPILER__STAGING_ROOT=<a folder every worker sees>"
    )
    above = next((path for path in (folder, *folder.parents) if path.exists()), None)
    if above is not None and not above.is_dir():
        return failed(f"{above} is no folder", cure)
    try:
        with _scratch(host):
            pass
    except OSError as error:
        return failed(f"{folder}: {error.strerror}", cure)
    there = _there(host)
    return ok(str(folder) if there == folder else f"{folder} is not there yet; the first task makes it in {there}")


def private(host: Host) -> Finding:
    """Check who may enter: staged rows are data."""
    folder = host.folder
    if not folder.is_dir():
        return ok("the first task makes it with mode 0700")
    found = folder.stat()
    mode = found.st_mode & 0o777
    if store_of(str(folder)).is_open_to_group(str(folder)):
        try:
            group = grp.getgrgid(found.st_gid).gr_name
        except KeyError:
            group = str(found.st_gid)
        return ok(f"mode {found.st_mode & 0o7777:04o}: group {group} may read and change everything in it")
    if mode & 0o077:
        return warning(
            f"its mode is {mode:04o}: other users can enter it and see names; what tasks write below it is private",
            f"chmod 700 {folder}",
        )
    return ok(f"mode {mode:04o}")


def commits(host: Host) -> Finding:
    """Check what decides between two writers: that a file name can be created only once, with its whole content."""
    store = store_of(str(host.folder))
    with _scratch(host) as folder:
        key = str(folder / "manifest")
        try:
            given = [store.put_if_absent(key, content) for content in (b"first", b"second")]
        except OSError as error:
            return failed(
                f"the file system has no hard links ({error.strerror})",
                "choose a staging_root on a file system with hard links (a local disk, NFS)",
            )
        if given != [True, False] or store.get(key) != b"first":
            return failed(
                "a file was created twice under one name: two writers could both commit",
                "choose a staging_root on another file system",
            )
    return ok("of two writers, only one can create a file")


def renames(host: Host) -> Finding:
    """Check that a folder with a file in it can be moved."""
    with _scratch(host) as folder:
        (folder / "prepared").mkdir()
        (folder / "prepared" / "part").write_bytes(b"rows")
        (folder / "prepared").rename(folder / "published")
        if (folder / "published" / "part").read_bytes() != b"rows":
            return failed("a renamed folder lost its file", "choose another staging_root")
    return ok("a folder is renamed in one step")


def clock(host: Host) -> Finding:
    """Compare the file system's clock with ours: it decides which runs are silent, and which are old."""
    with _scratch(host) as folder:
        before = time.time()
        (folder / "now").touch()
        skew = (folder / "now").stat().st_mtime - before
    return _judge_clock(skew, "the file system's", f"{_NTP}, on this machine and on the file server")


def space(host: Host) -> Finding:
    """Check the free space."""
    free = shutil.disk_usage(_there(host)).free
    words = f"{free / _GIGABYTE:.1f} GB free"
    return ok(words) if free >= _GIGABYTE else warning(words)


def reachable(host: Host) -> Finding:
    """Check that the store answers, and lets this process list objects."""
    root = str(host.root)
    store_of(root).keys(root)
    return ok(root)


def commits_to_store(host: Host) -> Finding:
    """Check what decides between two writers: that an object can be created only once."""
    with _scratch_in_store(host) as (store, folder):
        wrong = why_unsafe(store, folder)
    if wrong is not None:
        return failed(wrong.splitlines()[0], "choose a store that honors If-None-Match: docs/stores.md")
    return ok("of two writers, only one can create an object")


def lists(host: Host) -> Finding:
    """Check that what was written is listed, and can be deleted."""
    with _scratch_in_store(host) as (store, folder):
        wrong = why_unlisted(store, folder)
    if wrong is not None:
        return failed(wrong, f"choose another store, or {_ACCESS}")
    return ok("objects are listed once they are written, and can be deleted")


def clock_of_store(host: Host) -> Finding:
    """Compare the store's clock with ours: it decides which runs are silent, and which are old."""
    with _scratch_in_store(host) as (store, folder):
        before = time.time()
        store.put_if_absent(f"{folder}/now", b"1")
        written = store.written(f"{folder}/now")
    return _judge_clock(0.0 if written is None else written - before, "the store's", _NTP)


_NTP = "sudo timedatectl set-ntp true"
_ACCESS = (
    "check staging_conn_id, or the identity of this process, which must be allowed to get, put, list and delete "
    "objects below the root"
)
_ROOT = "staging root"
HOST_QUESTIONS = (
    Question("Java", java, "sudo apt-get install openjdk-17-jre-headless, or export JAVA_HOME=<a Java 17 or 21>"),
    Question("Python", driver_python, f"export PYSPARK_PYTHON={sys.executable} PYSPARK_DRIVER_PYTHON={sys.executable}"),
    Question("pyspark", pyspark, INSTALL_PYSPARK),
    Question("Spark's jars", jars_of_spark, INSTALL_PYSPARK),
    Question(
        "spark-submit", spark_submit, f'export PATH="{Path(sys.executable).parent}:$PATH" ({INSTALL_PYSPARK} brings it)'
    ),
    Question("pyarrow", pyarrow, 'pip install "pyarrow>=18"'),
    Question("Driver's start", driver_start),
    Question(
        "Time zone",
        time_zone,
        "compare the times of ORC files and of such tables with those of their sources; a merge or an append into a "
        f"target that such a version wrote is refused until {CONFIRMED_ZONE} is {ZONE}",
    ),
    Question("configuration", configuration),
    Question("options", pipeline_options),
    Question(_ROOT, writable, needs=Need.FOLDER),
    Question("staging is private", private, needs=Need.FOLDER, after=_ROOT),
    Question("staging commits", commits, needs=Need.FOLDER, after=_ROOT),
    Question("staging renames", renames, needs=Need.FOLDER, after=_ROOT),
    Question("staging clock", clock, needs=Need.FOLDER, after=_ROOT),
    Question("staging space", space, "graph-compiler staging gc", Need.FOLDER, after=_ROOT),
    Question(_ROOT, reachable, _ACCESS, Need.STORE),
    Question("staging commits", commits_to_store, _ACCESS, Need.STORE, after=_ROOT),
    Question("staging lists", lists, _ACCESS, Need.STORE, after=_ROOT),
    Question("staging clock", clock_of_store, _ACCESS, Need.STORE, after=_ROOT),
)


def _judge_clock(skew: float, whose: str, cure: str) -> Finding:
    if abs(skew) > _SKEW:
        return warning(f"its clock is {skew:+.0f} s from this machine's", cure)
    return ok(f"{whose} clock is this machine's")


def _output_of(command: list[str], host: Host) -> str:
    """Return a program's output, both streams; empty if it cannot be started."""
    try:
        done = subprocess.run(
            command, env=dict(host.environment), capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return done.stdout + done.stderr


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text)[:2])


def _there(host: Host) -> Path:
    """Return the staging root's folder, or the nearest existing folder above it."""
    return next(path for path in (host.folder, *host.folder.parents) if path.is_dir())


@contextmanager
def _scratch(host: Host) -> Iterator[Path]:
    """Yield a temporary folder in the staging root, and remove it; raises OSError."""
    folder = Path(tempfile.mkdtemp(prefix=".doctor-", dir=_there(host)))
    try:
        os.chmod(folder, 0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _scratch_in_store(host: Host) -> Iterator[tuple[StagingStore, str]]:
    """Yield the store of the staging root and a place in it, and delete what is below that; raises OSError."""
    store, folder = store_of(str(host.root)), f"{host.root}/.doctor-{uuid.uuid4().hex}"
    try:
        yield store, folder
    finally:
        store.delete(folder)
