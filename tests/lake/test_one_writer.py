"""On a disk, two processes can write one entry of Delta's log: so `validate` warns of a second writer.

A tool of Debian's delays the first process between its look whether the entry is there, and its rename.
"""

import os
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

pytestmark = pytest.mark.lake
WRITER = """
import sys
from pathlib import Path
from graph_compiler.spark_runtime.rehearsal.local_session import local_session
folder, writer = sys.argv[1:]
with local_session({"spark.ui.showConsoleProgress": "false"}) as spark:
    java = spark._jvm
    configuration = spark._jsc.hadoopConfiguration()
    store = java.io.delta.storage.LocalLogStore(configuration)
    def write(name):
        lines = java.java.util.ArrayList()
        lines.add(writer)
        store.write(java.org.apache.hadoop.fs.Path(f"file://{folder}/{name}"), lines.iterator(), False, configuration)
    write(f"{writer}.json")
    print("@", spark.sparkContext._gateway.proc.pid, flush=True)
    sys.stdin.readline()
    write("00000000000000000001.json")
    print("@ accepted", flush=True)
"""
_DELAY = 12
"""Seconds between the look and the rename."""


def _start(folder: Path, writer: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", WRITER, str(folder), writer]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)


def _heard(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return next(line[2:].strip() for line in process.stdout if line.startswith("@ "))


def _tell(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def test_two_processes_write_one_entry_of_deltas_log_on_a_disk(tmp_path: Path) -> None:
    strace = shutil.which("strace")
    if strace is None and os.geteuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "install", "-y", "-q", "strace"], check=False, capture_output=True)
        strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not there")
    with ExitStack() as stack:

        def started(process: "subprocess.Popen[str]") -> "subprocess.Popen[str]":
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        first, second = started(_start(tmp_path, "a")), started(_start(tmp_path, "b"))
        jvm = _heard(first)
        _heard(second)
        calls, log = "rename,renameat2", str(tmp_path / "log")
        delay = ["-e", f"trace={calls}", "-e", f"inject={calls}:delay_enter={_DELAY * 1_000_000}"]
        started(subprocess.Popen([strace, "-f", "-q", *delay, "-p", jvm, "-o", log], text=True))
        time.sleep(2)
        _tell(first)
        _wait_for(tmp_path, ".00000000000000000001.json.*.tmp")
        time.sleep(2)  # it looks once more
        _tell(second)
        assert [_heard(second), _heard(first)] == ["accepted", "accepted"]
        assert (tmp_path / "00000000000000000001.json").read_text() == "a\n", "the entry of b is lost"


def _wait_for(folder: Path, pattern: str) -> None:
    deadline = time.monotonic() + 60
    while not list(folder.glob(pattern)):
        assert time.monotonic() < deadline, f"nothing like {pattern} was written"
        time.sleep(0.02)
