"""`--watch` without Spark: which files count, which Spark a repeated command gets, and how it ends."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path

import pytest

from graph_compiler.cli.running import resident_spark
from graph_compiler.cli.running.resident_spark import (
    ResidentSpark,
    WatchError,
    require_resident_spark,
    start_driver,
    take_snapshot,
    wait_for_change,
    working_folder,
)
from tests.harness.fake_spark import write_spark
from tests.harness.waiting import is_running, wait_until

SUBMIT = f"""#!{sys.executable}
import os, sys
path = os.environ["_PYSPARK_DRIVER_CONN_INFO_PATH"]
secret = b"the secret"
with open(path + ".new", "wb") as file:
    file.write((4711).to_bytes(4, "big") + len(secret).to_bytes(4, "big") + secret)
os.rename(path + ".new", path)
print("started with", sys.argv[1:], flush=True)
sys.stdin.read()
"""
ASKING = """
import os, sys
sys.path[:0] = {path!r}
from graph_compiler.cli.running.resident_spark import require_resident_spark
require_resident_spark(os.environ | {more!r})
open({answer!r}, "a").write(os.environ["PYSPARK_GATEWAY_SECRET"] + "\\n")
sys.exit(3)
"""


class Asked:
    """Commands that ask for a Spark, and a host whose spark-submit waits for the end of its input."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, submit: str = SUBMIT) -> None:
        """Write the host."""
        monkeypatch.setenv("SPARK_HOME", str(write_spark(folder / "spark", submit)))
        self.answer = folder / "answer"
        (folder / "watch").mkdir()
        self.spark = ResidentSpark(folder / "watch")

    def command(self, **more: str) -> list[str]:
        return [sys.executable, "-c", ASKING.format(path=sys.path, more=more, answer=str(self.answer))]

    @property
    def process(self) -> int:
        jvm = self.spark._jvm
        assert jvm is not None
        return jvm.process.pid


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    return Asked(tmp_path, monkeypatch)


def test_the_same_spark_answers_again_and_another_one_if_settings_differ(asked: Asked) -> None:
    first = asked.command(PYSPARK_SUBMIT_ARGS="--conf 'a=b c' pyspark-shell")
    assert [asked.spark.run(first), asked.spark.run(first)] == [3, 3]
    before = asked.process
    assert "started with ['--conf', 'a=b c', 'pyspark-shell']" in (asked.spark._folder / "spark.log").read_text()
    assert asked.spark.run(asked.command(PYSPARK_SUBMIT_ARGS="pyspark-shell")) == 3
    assert asked.process != before
    assert not is_running(before)
    assert asked.spark.run(asked.command(PYSPARK_SUBMIT_ARGS="pyspark-shell", MORE="1")) == 3
    assert asked.answer.read_text() == "the secret\n" * 4
    asked.spark.stop()


def test_the_next_run_is_that_of_a_process_that_waits(asked: Asked) -> None:
    command = [sys.executable, "-m", "json.tool", "--help"]
    asked.spark.prepare(command[2:])
    assert asked.spark._next is None, "there is no Spark yet"
    asked.spark.run(asked.command())
    asked.spark.prepare(command[2:])
    waiting = asked.spark._next
    assert waiting is not None
    assert asked.spark.run(command) == 0
    assert waiting.process.returncode == 0
    asked.spark.prepare(command[2:])
    waiting = asked.spark._next
    assert waiting is not None
    asked.spark.stop()
    assert waiting.process.returncode is not None


def test_a_spark_program_is_that_of_a_process_that_waits_if_its_variables_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resident_spark, "_PROGRAM_MODULES", ("json",))  # the true ones need pyspark
    (tmp_path / "program.py").write_text("import os, sys\nprint(sys.argv[1], os.environ['WANTED'])\n")
    for wanted in ("1", "2"):
        resident_spark.at_start({"WANTED": "1"})
        (waiting,) = resident_spark._waiting
        environment = {**os.environ, "WANTED": wanted}
        process = start_driver(tmp_path / "program.py", Path("request"), environment, tmp_path / "output")
        assert process.wait(30) == 0
        assert (tmp_path / "output").read_text() == f"request {wanted}\n"
        assert (process is waiting.process) is (wanted == "1")
        assert not resident_spark._waiting
        assert waiting.process.returncode is not None, "it does not stay"


def test_the_secret_is_in_no_file(asked: Asked) -> None:
    asked.spark.run(asked.command())
    assert not any(b"the secret" in path.read_bytes() for path in asked.spark._folder.rglob("*") if path.is_file())
    asked.spark.stop()


def test_a_spark_that_a_function_has_ended_is_started_again(asked: Asked) -> None:
    asked.spark.run(asked.command())
    ended = asked.process
    os.kill(ended, 9)
    wait_until(lambda: not is_running(ended))
    assert asked.spark.run(asked.command()) == 3
    assert asked.process != ended
    asked.spark.stop()


def test_spark_ends_if_the_terminals_process_is_gone(asked: Asked) -> None:
    asked.spark.run(asked.command())
    jvm = asked.spark._jvm
    assert jvm is not None
    assert jvm.process.stdin is not None
    jvm.process.stdin.close()  # as the system does when a process is killed
    wait_until(lambda: jvm.process.poll() is not None)


def test_after_many_runs_another_spark_is_started(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resident_spark, "_MOST_RUNS", 2)
    found = []
    for _ in range(3):
        asked.spark.run(asked.command())
        found.append(asked.process)
    assert found[0] == found[1] != found[2]
    asked.spark.stop()


def test_a_spark_that_does_not_start_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(tmp_path, monkeypatch, "#!/bin/sh\necho no such master >&2\nexit 1\n")
    with pytest.raises(WatchError, match="Spark does not start:\n  no such master"):
        asked.spark.run(asked.command())
    asked.spark.stop()


def test_a_command_whose_settings_change_each_time_is_refused(asked: Asked) -> None:
    code = asked.command()[-1].replace("os.environ | {}", 'os.environ | {"NOW": str(__import__("time").time())}')
    with pytest.raises(WatchError, match="needs another Spark each time"):
        asked.spark.run([sys.executable, "-c", code])
    asked.spark.stop()


def test_without_watch_nothing_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRAPH_COMPILER_WATCH", raising=False)
    require_resident_spark({"a": "b"})


def test_what_is_needed_is_written_as_what_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    monkeypatch.setenv("GRAPH_COMPILER_WATCH", str(writing))
    with pytest.raises(SystemExit) as ended:
        require_resident_spark({**os.environ, "MORE": "1"})
    assert ended.value.code == 75
    with os.fdopen(reading) as pipe:
        assert json.loads(pipe.read()) == {"MORE": "1"}


def test_the_folder_of_a_repeated_command_keeps_only_copies_of_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPH_COMPILER_WATCH_FOLDER", str(tmp_path))
    for name in ("run/files/1/own.jar", "request.json", "run/report.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    with working_folder("any-") as folder:
        assert [path.name for path in Path(folder).rglob("*") if path.is_file()] == ["own.jar"]
    monkeypatch.delenv("GRAPH_COMPILER_WATCH_FOLDER")
    with working_folder("any-") as folder:
        (Path(folder) / "request.json").write_text("")
    assert not Path(folder).exists()


def test_files_of_pipelines_count_and_data_and_hidden_folders_do_not(tmp_path: Path) -> None:
    for name in ("pipelines/a.py", "pipelines/b.yaml", "lib/own.jar", "data/a.csv", ".venv/x.py", "__pycache__/a.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "gone.py").symlink_to(tmp_path / "nothing.py")
    assert set(take_snapshot(tmp_path)) == {"pipelines/a.py", "pipelines/b.yaml", "lib/own.jar"}


@pytest.mark.parametrize("change", ["edit", "new", "remove", "replace"])
def test_each_kind_of_change_is_seen(change: str, tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("x = 1")
    before = take_snapshot(tmp_path)

    def make() -> None:
        time.sleep(0.3)
        if change == "edit":
            file.write_text("x = 22")
        elif change == "new":
            (tmp_path / "b.py").write_text("")
        elif change == "remove":
            file.unlink()
        else:  # as editors do: another file of the same size and time takes its place
            state = file.stat()
            (tmp_path / "c").write_text("x = 2")
            os.utime(tmp_path / "c", ns=(state.st_atime_ns, state.st_mtime_ns))
            (tmp_path / "c").replace(file)

    changing = threading.Thread(target=make)
    changing.start()
    assert wait_for_change(tmp_path, before) == ("b.py" if change == "new" else "a.py")
    changing.join()
