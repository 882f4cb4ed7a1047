"""Streams under Airflow, with a real spark-submit: one runs until it is stopped, one completes its data interval."""

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from tests.end_to_end.conftest import ROOT, Home
from tests.end_to_end.test_daily_increments import RUN

pytestmark = [pytest.mark.e2e, pytest.mark.ci]
PATIENCE = 300.0
CONTINUOUS = '''"""An airflow dag of a stream that runs until it is stopped."""
from graph_compiler import Parquet, StreamExecutionEnvironment, Text
from graph_compiler.airflow_backend import build_dag

config = {{
    "execution.runtime-mode": "STREAMING",
    "execution.continuous": "true",
    "execution.checkpointing.interval": "500",
}}
env = StreamExecutionEnvironment("words", config=config)
lines = env.from_source(Text("{folder}/in"), "lines", unbounded=True).uid("lines")
words = lines.select(word="explode(split(value, ' '))")
words.key_by("word").aggregate(n="count(*)").sink_to(Parquet("{folder}/counts"), mode="merge", keys=["word"])
dag = build_dag(env, schedule=None)
'''
FLUSHED = '''"""An airflow dag of a stream whose runs complete the windows of their data intervals."""
from graph_compiler import Json, Parquet, StreamExecutionEnvironment, TumblingEventTimeWindows
from graph_compiler.airflow_backend import build_dag

config = {{"execution.runtime-mode": "STREAMING", "execution.flush": "DATA_INTERVAL_END"}}
env = StreamExecutionEnvironment("hours", config=config)
rows = env.from_source(Json("{folder}/in", schema="id INT, at TIMESTAMP"), "rows", unbounded=True).uid("rows")
marked = rows.assign_timestamps_and_watermarks("at", max_out_of_orderness="20 minutes")
hours = marked.key_by("id").window(TumblingEventTimeWindows("at", "1 hour")).aggregate(n="count(*)")
hours.sink_to(Parquet("{folder}/hours"), mode="append")
dag = build_dag(env, schedule=None)
'''

COUNTED = """from graph_compiler import Parquet, StreamExecutionEnvironment, Text

config = {{"execution.runtime-mode": "STREAMING", "state.backend.type": "rocksdb", "parallelism.default": {number}}}
env = StreamExecutionEnvironment("counted", config=config)
lines = env.from_source(Text("{folder}/in"), "lines", unbounded=True).uid("lines")
words = lines.select(word="explode(split(value, ' '))").name("words")
words.key_by("word").aggregate(n="count(*)").sink_to(Parquet("{folder}/counts"), mode="merge", keys=["word"])
"""
OF_PIPELINE = '''"""An airflow dag of a pipeline."""
from graph_compiler.airflow_backend import build_dag
from pipelines.counted import env

dag = build_dag(env, schedule=None)
'''


def deploy(folder: Path, text: str) -> Path:
    (folder / "in").mkdir()
    (folder / "dags").mkdir()
    file = folder / "dags/stream.py"
    file.write_text(text.format(folder=folder))
    return file


def environment(home: Home, file: Path) -> dict[str, str]:
    return home.environment(AIRFLOW__CORE__DAGS_FOLDER=str(file.parent))


def arrive(folder: Path, name: str, text: str) -> None:
    (folder / "in" / f".{name}").write_text(text)
    (folder / "in" / f".{name}").rename(folder / "in" / name)


def published(folder: str) -> list[tuple[object, ...]]:
    """Return the rows of Parquet files; none if there are none yet."""
    try:
        return sorted(duckdb.execute(f"SELECT * FROM '{folder}/*.parquet'").fetchall(), key=repr)
    except duckdb.IOException:
        return []


@contextmanager
def running(home: Home, file: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a Dag in a process of its own."""
    with log.open("wb") as output:
        command = [sys.executable, "-c", RUN, str(file), "2024-03-05"]
        run = subprocess.Popen(command, cwd=ROOT, env=environment(home, file), stdout=output, stderr=output)
        try:
            yield run
        finally:
            if run.poll() is None:
                run.terminate()
                run.wait(PATIENCE)


@pytest.mark.usefixtures("migrated_home")
def test_a_stream_runs_until_it_is_stopped(home: Home, tmp_path: Path) -> None:
    file, log = deploy(tmp_path, CONTINUOUS), tmp_path / "run.log"
    arrive(tmp_path, "a.txt", "to be or not to be")
    with running(home, file, log) as run:

        def until_counted(text: str) -> None:
            wanted = sorted(Counter(text.split()).items(), key=repr)
            until(lambda: published(f"{tmp_path}/counts") == wanted)

        def until(is_so: Callable[[], bool]) -> None:
            deadline = time.monotonic() + PATIENCE
            while not is_so():
                assert run.poll() is None, log.read_text()[-4000:]
                assert time.monotonic() < deadline, log.read_text()[-4000:]
                time.sleep(0.2)

        until_counted("to be or not to be")
        arrive(tmp_path, "b.txt", "be quick")
        until_counted("to be or not to be be quick")
        stopped = home.cli("streams", "stop", "words", "lines", environment=environment(home, file))
        assert stopped.returncode == 0, stopped.stdout + stopped.stderr
        assert run.wait(PATIENCE) == 0, log.read_text()[-4000:]
    arrive(tmp_path, "c.txt", "not so quick")
    with running(home, file, log) as run:
        until_counted("to be or not to be be quick not so quick")
        stopped = home.cli("streams", "stop", "words", "lines", environment=environment(home, file))
        assert stopped.returncode == 0, stopped.stdout + stopped.stderr
        assert run.wait(PATIENCE) == 0, log.read_text()[-4000:]


@pytest.mark.usefixtures("migrated_home")
def test_a_run_completes_its_data_interval(home: Home, tmp_path: Path) -> None:
    file = deploy(tmp_path, FLUSHED)
    arrive(tmp_path, "1.json", '{"id": 1, "at": "2024-03-04T23:30:00Z"}\n{"id": 1, "at": "2024-03-04T23:59:59Z"}\n')
    arrive(tmp_path, "2.json", '{"id": 1, "at": "2024-03-05T00:00:00Z"}\n')
    done = home.command("-c", RUN, str(file), "2024-03-05", environment=environment(home, file))
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    assert [n for *_, n in published(f"{tmp_path}/hours")] == [2]
    again = home.command("-c", RUN, str(file), "2024-03-05", environment=environment(home, file))
    assert again.returncode == 0, (again.stdout + again.stderr)[-4000:]
    assert "nothing has arrived" in again.stdout + again.stderr
    assert [n for *_, n in published(f"{tmp_path}/hours")] == [2]
    later = home.command("-c", RUN, str(file), "2024-03-06", environment=environment(home, file))
    assert later.returncode == 0, (later.stdout + later.stderr)[-4000:]
    assert [n for *_, n in published(f"{tmp_path}/hours")] == [2, 1]


@pytest.mark.usefixtures("migrated_home")
def test_a_run_moves_the_states_of_a_savepoint_to_more_partitions(home: Home, tmp_path: Path) -> None:
    for name in ("in", "pipelines", "dags"):
        (tmp_path / name).mkdir()
    (tmp_path / "dags/counted.py").write_text(OF_PIPELINE)
    own = home.environment(
        AIRFLOW__CORE__DAGS_FOLDER=str(tmp_path / "dags"), PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}/plugins"
    )

    def command(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "graph_compiler", *words],
            cwd=tmp_path,
            env=own,
            input="y\n",
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
        return done.stdout

    def declare(number: int) -> None:
        (tmp_path / "pipelines/counted.py").write_text(COUNTED.format(folder=tmp_path, number=number))

    def partitions() -> set[str]:
        return {
            each.name for each in home.staging.glob(".streams/counted/*/checkpoint/state/0/*") if each.name.isdecimal()
        }

    declare(2)
    arrive(tmp_path, "a.txt", "to be or not to be")
    command("run", "counted", "--in-process")
    assert partitions() == {"0", "1"}
    command("streams", "savepoint", "counted", "lines", "--to", str(tmp_path / "saved"))
    command("streams", "reset", "counted", "lines", "--yes")
    declare(5)
    arrive(tmp_path, "b.txt", "be quick")
    command("run", "counted", "--from-savepoint", "saved")
    assert partitions() == {"0", "1", "2", "3", "4"}
    wanted = sorted(Counter(["to", "be", "or", "not", "to", "be", "be", "quick"]).items(), key=repr)
    assert published(f"{tmp_path}/counts") == wanted
    arrive(tmp_path, "c.txt", "quick")
    command("run", "counted", "--in-process")
    assert ("quick", 2) in published(f"{tmp_path}/counts")
