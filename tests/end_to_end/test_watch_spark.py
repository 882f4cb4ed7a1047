"""`run --until --watch` with Spark: what is edited counts at once, and nothing is left when the command ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import psutil
import pytest

from tests.end_to_end.conftest import ROOT, Home
from tests.harness.waiting import is_running, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.ci]

HELPER = "FACTOR = {factor}\n"
FUNCTIONS = """
from pipelines.helper import FACTOR

def on_executors(frames):
    for frame in frames:
        frame["x"] = frame.x * FACTOR + {added}
        yield frame
"""
PIPELINE = """
from graph_compiler import Parquet, StreamExecutionEnvironment, Values
from pipelines.functions import on_executors

env = StreamExecutionEnvironment("small")
{jars}
rows = env.from_source(Values([(2.0,)], "x DOUBLE"), "in").map_partitions(on_executors, schema="x DOUBLE").name("made")
rows.sink_to(Parquet("/nowhere/out")).name("out")
"""
_SECONDS = 240
_JVM = "org.apache.spark.deploy.SparkSubmit"


class Watched:
    """A command with --watch in a project of its own."""

    def __init__(self, project: Path, environment: dict[str, str], arguments: Sequence[str]) -> None:
        """Start it."""
        self.project, self.lines = project, list[str]()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "graph_compiler", *arguments, "--watch"],
            cwd=project,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            # Whoever runs the tests may ignore it.
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  # no thread has begun
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        self.lines.extend(iter(self.process.stdout.readline, ""))

    def answer(self, name: str | None = None, text: str = "") -> str:
        """Return what is printed after a file is written."""
        done = len(self.lines)
        if name is not None:
            (self.project / name).write_text(text)
        self.wait_until(lambda: any("files are watched" in line for line in self.lines[done:]))
        return "".join(self.lines[done:])

    def wait_until(self, condition: Callable[[], bool]) -> None:
        wait_until(condition, seconds=_SECONDS, shows=lambda: "".join(self.lines))

    def spark(self) -> psutil.Process:
        """Return the JVM that stays."""
        children = psutil.Process(self.process.pid).children(recursive=True)
        (found,) = (each for each in children if is_running(each.pid) and _JVM in each.cmdline())
        return found


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in {
        "pipelines/__init__.py": "",
        "pipelines/helper.py": HELPER.format(factor=10),
        "pipelines/functions.py": FUNCTIONS.format(added=0),
        "pipelines/small.py": PIPELINE.format(jars=""),
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def watch(home: Home, project: Path) -> Iterator[Callable[..., Watched]]:
    begun: list[Watched] = []

    def begin(*arguments: str) -> Watched:
        environment = home.environment(
            PYTHONPATH=os.pathsep.join([str(project), f"{ROOT}/plugins"]), TMPDIR=str(home.folder), PASSWORD="swordfish"
        )
        del environment["SPARK_SUBMIT_OPTS"]
        begun.append(Watched(project, environment, arguments))
        return begun[-1]

    yield begin
    for each in begun:
        with each.process:
            if each.process.poll() is None:
                os.killpg(each.process.pid, signal.SIGKILL)


def test_what_is_edited_counts_at_once(watch: Callable[..., Watched], project: Path) -> None:
    watched = watch("run", "small", "--until", "made")
    assert "20.0" in watched.answer()
    spark = watched.spark()
    assert _listening(spark)
    assert set(_listening(spark)) <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
    assert "swordfish" not in " ".join(spark.cmdline())
    assert "25.0" in watched.answer("pipelines/functions.py", FUNCTIONS.format(added=5))
    assert "205.0" in watched.answer("pipelines/helper.py", HELPER.format(factor=100))
    assert "not valid Python" in watched.answer("pipelines/helper.py", "FACTOR = \n")
    assert "7.0" in watched.answer("pipelines/helper.py", HELPER.format(factor=1))
    assert watched.spark() == spark
    with zipfile.ZipFile(project / "own.zip", "w") as jar:
        jar.writestr("own.txt", "")
    (project / "own.zip").rename(project / "own.jar")
    watched.answer()
    assert "7.0" in watched.answer("pipelines/small.py", PIPELINE.format(jars="env.add_jars('own.jar')"))
    assert watched.spark() != spark
    with_jar = watched.spark()
    assert "8.0" in watched.answer("pipelines/functions.py", FUNCTIONS.format(added=6))
    assert watched.spark() == with_jar
    os.killpg(watched.process.pid, signal.SIGINT)
    assert watched.process.wait(30) == 0
    watched.wait_until(lambda: not is_running(spark.pid) and not is_running(with_jar.pid))


def test_nothing_is_left_if_the_command_is_killed(watch: Callable[..., Watched]) -> None:
    watched = watch("dry-run", "small")
    assert "3 operators analyzed, no problems found" in watched.answer()
    assert watched.spark()
    command = psutil.Process(watched.process.pid)
    # Spark, and what waits for the next command and its Spark program
    watched.wait_until(lambda: len(command.children(recursive=True)) > 2)
    children = command.children(recursive=True)
    watched.process.kill()
    watched.process.wait()
    watched.wait_until(lambda: not any(is_running(each.pid) for each in children))


def _listening(process: psutil.Process) -> list[str]:
    return [each.laddr.ip for each in process.net_connections("tcp") if each.status == psutil.CONN_LISTEN]
