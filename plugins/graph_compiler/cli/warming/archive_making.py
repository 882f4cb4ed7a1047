"""Make the class archive of this host's Java and Spark, in a process of its own.

A JVM that writes an archive when it ends may end with another exit code, and takes longer: so no task ever does it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import TypeAlias
from uuid import uuid4

import graph_compiler
from graph_compiler.cli.warming.warm_up_pipeline import warm_up_pipeline, write_input
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.local_task import DeskRun, desk_task
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.deployment.documents.in_process_run import REQUEST, InProcessRequest
from graph_compiler.deployment.documents.jvm_settings import with_pins
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.driver_jvm.class_archive import ArchiveCache, Draft, archive_cache
from graph_compiler.driver_jvm.installation import (
    DriverStartError,
    SparkInstallation,
    class_path_key,
    find_installation,
    saying_why,
)
from graph_compiler.driver_jvm.room_on_host import free_memory, why_not_alone
from graph_compiler.driver_jvm.start_settings import available_cores, option_word

_PROGRAM = Path(graph_compiler.__file__).parent / "spark_runtime" / "in_process.py"
_SECONDS = 600
_LOOKS_EVERY = 2.0
_LINES = 12
_MEMORY = "1g"
"""Of the driver, whatever SPARK_DRIVER_MEMORY says: it is enough, and others need theirs."""
_QUIET = "-Xlog:cds*=error"
"""What Java says of each class that it leaves out is no reason of a failure."""
_FOLDERS = ("JAVA_HOME", "SPARK_HOME", "SPARK_CONF_DIR")
_LISTS = ("PATH", "HADOOP_CONF_DIR", "YARN_CONF_DIR")


WhyStop: TypeAlias = Callable[[], str | None]


def _never() -> None:
    """Return no reason to stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkProgram:
    """The program that is run, spark-submit or another of that kind, and its environment."""

    path: str
    environment: Mapping[str, str]

    @classmethod
    def of(cls, installation: SparkInstallation, environment: Mapping[str, str], name: str) -> SparkProgram:
        """Return the program as a task finds it; it is run in another folder, so no path is relative."""
        found = which(name, path=environment.get("PATH", ""))
        path = found or str(installation.spark_home / "bin" / name)
        with saying_why("the working directory"):
            return cls(path=_whole(path), environment=_with_whole_paths(environment))


def make_archive(cache: ArchiveCache, key: str, program: SparkProgram, why_stop: WhyStop = _never) -> Path | None:
    """Make an archive and return it, None if another process is making one.

    `why_stop` is asked every two seconds; two reasons in a row end it. Raises DriverStartError; the reason is noted in
    the cache.
    """
    with cache.new_archive(key) as draft:
        if draft is None:
            return None
        try:
            with saying_why(draft.file):
                _write(draft, program, why_stop)
                _check(draft, program, why_stop)
        except DriverStartError as error:
            cache.note_failure(key, str(error))
            raise
    return cache.find(key)


def make_wanted_archive(key: str, name: str, environment: Mapping[str, str]) -> None:
    """Make the archive that a task wanted, with the task's program and environment.

    On a small host, it ends when other work begins. Raises DriverStartError; any reason is noted in the cache, since
    what this process prints is not read.
    """
    cache = archive_cache(environment)
    try:
        installation = find_installation(environment, name)
        if class_path_key(installation, environment) != key:
            raise DriverStartError("the process that makes it finds a different Java or Spark")
        if cache.find(key) is None:
            small = partial(why_not_alone, free=free_memory(), cores=available_cores())
            make_archive(cache, key, SparkProgram.of(installation, environment, name), small)
    except DriverStartError as error:
        cache.note_failure(key, str(error))
        raise


def be_patient() -> None:
    """Leave the processor to others: this is not urgent."""
    os.nice(19)


def _write(draft: Draft, program: SparkProgram, why_stop: WhyStop) -> None:
    """Run the pipeline of `warm_up_pipeline`, whose JVM writes the archive when it ends."""
    with TemporaryDirectory(prefix="warm-") as temporary:
        folder = Path(temporary)
        write_input(folder)
        (folder / REQUEST).write_text(to_json(_request(folder)))
        option = option_word(f"-XX:ArchiveClassesAtExit={draft.file}")
        _run(program, draft, why_stop, option, str(_PROGRAM), str(folder / REQUEST))
    if not draft.file.exists():
        raise DriverStartError("Java ended without writing an archive")


def _check(draft: Draft, program: SparkProgram, why_stop: WhyStop) -> None:
    """Check that a JVM with Spark's class path can use it: with -Xshare:on it would not start otherwise."""
    option = f"{option_word(f'-XX:SharedArchiveFile={draft.file}')} -Xshare:on"
    _run(program, draft, why_stop, option, "--version")


def _request(folder: Path) -> InProcessRequest:
    described = describe_pipeline(compile_pipeline(warm_up_pipeline(folder)))
    run = DeskRun(day="2024-01-01", params={"least": 1.5}, run_id="warm_up", staging_root=str(folder / "staging"))
    tasks = tuple(desk_task(each, run, execution_id=uuid4().hex) for each in described.regions)
    return InProcessRequest(tasks=tasks, preview=None)


def _run(program: SparkProgram, draft: Draft, why_stop: WhyStop, options: str, *application: str) -> None:
    """Run spark-submit with options of the JVM; raises DriverStartError with the end of its output.

    It has the lock, too: if this process is killed, no other one makes an archive before Java has ended.
    """
    settings = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": _MEMORY,
        "spark.driver.defaultJavaOptions": with_pins(f"{options} {_QUIET}"),
    }
    words = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    with TemporaryDirectory(prefix="warm-") as folder:
        try:
            with subprocess.Popen(
                [program.path, *words, *application],
                cwd=folder,
                env={**program.environment, "PYSPARK_DRIVER_PYTHON": sys.executable},
                pass_fds=(draft.lock,),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                process_group=0,
            ) as started:
                output = _output(started, why_stop)
        except OSError as error:
            raise DriverStartError(f"spark-submit: {error}") from None
    if started.returncode:
        end = "\n  ".join(output.splitlines()[-_LINES:])
        raise DriverStartError(f"spark-submit ended with {started.returncode}:\n  {end}")


def _output(started: subprocess.Popen[str], why_stop: WhyStop) -> str:
    """Return what spark-submit writes until its end; raises DriverStartError if it takes too long, or is to stop."""
    until = time.monotonic() + _SECONDS
    before: str | None = None
    try:
        while True:
            with suppress(subprocess.TimeoutExpired):
                return started.communicate(timeout=_LOOKS_EVERY)[0]
            # The task that started this process may still be about to end at the first look.
            now = why_stop()
            if before and now:
                raise DriverStartError(now)
            before = now
            if time.monotonic() > until:
                raise DriverStartError(f"spark-submit takes more than {_SECONDS} seconds")
    except BaseException:  # Ctrl-C, too: Java is in a process group of its own
        with suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
        raise


def _with_whole_paths(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment that means the same in another folder."""
    whole = {name: _whole(environment[name]) for name in _FOLDERS if environment.get(name)}
    for name in _LISTS:
        if environment.get(name):
            entries = environment[name].split(os.pathsep)
            whole[name] = os.pathsep.join(map(_whole, entries))
    return {**environment, **whole}


def _whole(path: str) -> str:
    return str(Path(path).absolute())
