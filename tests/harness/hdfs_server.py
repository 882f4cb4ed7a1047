"""HDFS on loopback, as a process of its own: Hadoop's test cluster, with a NameNode and a DataNode."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from graph_compiler.webhdfs.webhdfs_access import HdfsAccess

_PROJECT = Path(__file__).parents[2]
JARS = _PROJECT / "tests/hdfs/jars"
"""The jars of `tests/hdfs/pom.xml`, which Maven brings."""
_PROGRAM = _PROJECT / "tests/hdfs/MiniHdfs.java"
_OF_SPARK = ("hadoop-client-*.jar", "log4j-*.jar", "slf4j-*.jar", "snappy-*.jar")
_SECONDS = 300
USER = "lake"
"""The owner of what tests write."""


def access_at(port: int) -> HdfsAccess:
    """Return how WebHDFS is reached on a port of loopback."""
    return HdfsAccess(hosts=("127.0.0.1",), port=port, user=USER)


def connection_at(port: int) -> dict[str, object]:
    """Return the Airflow connection that says the same."""
    return {"conn_type": "webhdfs", "host": "127.0.0.1", "port": port, "login": USER}


@dataclass(frozen=True, slots=True)
class HdfsServer:
    """The NameNode's ports on loopback, and the file of its rule."""

    rpc: int
    http: int
    rule: Path

    def place(self, rpc: int | None = None) -> str:
        """Return the root as drivers name it, through another port if that is given."""
        return f"hdfs://127.0.0.1:{rpc or self.rpc}"

    def follows(self, lines: Sequence[str]) -> None:
        """Let the NameNode call a program once, when it has carried out an operation (`tests/hdfs/MiniHdfs.java`)."""
        draft = self.rule.with_suffix(".part")
        draft.write_text("\n".join(lines))
        draft.replace(self.rule)


@contextmanager
def hdfs_server(folder: Path) -> Iterator[HdfsServer]:
    """Yield a file system that is empty, and end it."""
    assert JARS.is_dir(), "make test-hdfs brings the jars"
    (packages,) = (_PROJECT / ".venv/lib").glob("python*/site-packages")
    jars = [*JARS.glob("*.jar")]
    for pattern in _OF_SPARK:
        jars += (packages / "pyspark/jars").glob(pattern)
    ports = folder / "ports"
    options = ["-Xmx512m", "-Djava.net.preferIPv4Stack=true", f"-DHADOOP_USER_NAME={USER}"]
    class_path = os.pathsep.join(map(str, [folder, *jars]))
    # Hadoop loads a class of it by name, which it cannot if Java runs the source.
    subprocess.run(["javac", "-cp", class_path, "-d", str(folder), str(_PROGRAM)], check=True)
    command = ["java", *options, "-cp", class_path, "MiniHdfs"]
    for left in (ports, folder / "rule"):  # of an earlier server
        left.unlink(missing_ok=True)
    with (folder / "server.out").open("wb") as output:
        process = subprocess.Popen(
            [*command, str(folder / "data"), str(ports), str(folder / "rule")],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
        )
    try:
        _wait(ports, process, folder / "server.out")
        rpc, http = map(int, ports.read_text().split())
        yield HdfsServer(rpc, http, folder / "rule")
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(ports: Path, process: subprocess.Popen[bytes], output: Path) -> None:
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until and process.poll() is None:
        if ports.exists():
            return
        time.sleep(0.2)
    raise AssertionError(f"HDFS did not start: {output.read_text(errors='replace')[-5000:]}")
