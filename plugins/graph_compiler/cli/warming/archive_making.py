"""Make the class archive of this host's Java and Spark, in a process of its own.

A JVM that writes an archive when it ends may end with another exit code, and takes longer: so no task ever does it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from uuid import uuid4

import graph_compiler
from graph_compiler.cli.warming.warm_up_pipeline import warm_up_pipeline, write_input
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.local_task import DeskRun, desk_task
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.deployment.documents.in_process_run import REQUEST, InProcessRequest
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.driver_jvm.class_archive import ArchiveCache
from graph_compiler.driver_jvm.installation import DriverStartError, SparkInstallation
from graph_compiler.driver_jvm.start_settings import option_word

_PROGRAM = Path(graph_compiler.__file__).parent / "spark_runtime" / "in_process.py"
_SECONDS = 600
_LINES = 12


def make_archive(
    cache: ArchiveCache, key: str, installation: SparkInstallation, environment: Mapping[str, str]
) -> Path | None:
    """Make an archive and return it, None if another process is making one.

    Raises DriverStartError; a reason that lies in Java or Spark is noted in the cache.
    """
    with cache.new_archive(key) as draft:
        if draft is None:
            return None
        try:
            _write(draft, installation, environment)
            _check(draft, installation, environment)
        except DriverStartError as error:
            cache.note_failure(key, str(error))
            draft.unlink(missing_ok=True)
            raise
    return cache.find(key)


def _write(draft: Path, installation: SparkInstallation, environment: Mapping[str, str]) -> None:
    """Run the pipeline of `warm_up_pipeline`, whose JVM writes the archive when it ends."""
    with TemporaryDirectory(prefix="warm-") as temporary:
        folder = Path(temporary)
        write_input(folder)
        (folder / REQUEST).write_text(to_json(_request(folder)))
        option = option_word(f"-XX:ArchiveClassesAtExit={draft}")
        application = [str(_PROGRAM), str(folder / REQUEST)]
        _run(installation, environment, option, *application)
    if not draft.exists():
        raise DriverStartError("Java ended without writing an archive")


def _check(draft: Path, installation: SparkInstallation, environment: Mapping[str, str]) -> None:
    """Check that a JVM with Spark's class path can use it: with -Xshare:on it would not start otherwise."""
    option = f"{option_word(f'-XX:SharedArchiveFile={draft}')} -Xshare:on"
    _run(installation, environment, option, "--version")


def _request(folder: Path) -> InProcessRequest:
    described = describe_pipeline(compile_pipeline(warm_up_pipeline(folder)))
    run = DeskRun(
        day="2024-01-01",
        params={"least": 1.5},
        run_id="warm_up",
        staging_root=str(folder / "staging"),
    )
    tasks = tuple(desk_task(each, run, execution_id=uuid4().hex) for each in described.regions)
    return InProcessRequest(tasks=tasks, preview=None)


def _run(
    installation: SparkInstallation, environment: Mapping[str, str], options: str, *application: str
) -> None:
    """Run spark-submit with options of the JVM; raises DriverStartError with the end of its output."""
    settings = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.defaultJavaOptions": options,
    }
    words = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    program = which("spark-submit", path=environment.get("PATH", ""))
    command = [program or str(installation.spark_home / "bin" / "spark-submit"), *words]
    with TemporaryDirectory(prefix="warm-") as folder:
        try:
            done = subprocess.run(
                [*command, *application],
                cwd=folder,
                env={**environment, "PYSPARK_DRIVER_PYTHON": sys.executable},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DriverStartError(f"spark-submit: {error}") from None
    if done.returncode:
        end = "\n  ".join(done.stdout.splitlines()[-_LINES:])
        raise DriverStartError(f"spark-submit ended with {done.returncode}:\n  {end}")


def be_patient() -> None:
    """Leave the processor to others: this is not urgent."""
    os.nice(19)
