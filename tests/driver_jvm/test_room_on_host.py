"""Whether a class archive may be made beside what else runs on a host."""

from __future__ import annotations

from pathlib import Path

import pytest

from graph_compiler.driver_jvm.room_on_host import Processes, why_no_room

GIB = 1 << 30
ME, TASK, SUPERVISOR = 40, 30, 20
SPARK = "/usr/bin/java\0org.apache.spark.deploy.SparkSubmit\0main.py"
EXECUTOR = "java\0org.apache.spark.executor.CoarseGrainedExecutorBackend"


class Host:
    """A folder like /proc."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.add(1, 0, "/sbin/init")
        self.add(SUPERVISOR, 1, "airflow worker -- supervisor")
        self.add(TASK, SUPERVISOR, "airflow worker -- 01a1")
        self.add(ME, TASK, "python\0-m\0graph_compiler\0warm")

    def add(self, pid: int, parent: int, command: str) -> None:
        place = self.folder / str(pid)
        place.mkdir()
        (place / "stat").write_text(f"{pid} (a ) odd (name) S {parent} 1 1 0")
        (place / "cmdline").write_bytes(command.encode())

    def why(self, free: float | None = 8, cores: float = 2) -> str | None:
        memory = None if free is None else int(free * GIB)
        return why_no_room(ME, Processes(self.folder), lambda: memory, lambda: cores)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_there_is_room_beside_what_the_maker_comes_from_and_starts(host: Host) -> None:
    host.add(50, ME, SPARK)
    host.add(51, 50, SPARK)
    host.add(60, 1, "/usr/bin/java\0-jar\0server.jar")
    assert host.why() is None


@pytest.mark.parametrize(
    ("command", "what"),
    [
        (SPARK, "a Spark driver (process 70) runs"),
        (EXECUTOR, "a Spark executor (process 70) runs"),
        ("airflow worker -- 01b2", "an Airflow task (process 70) runs"),
    ],
)
@pytest.mark.parametrize(
    ("free", "cores", "size"),
    [(8, 2, "2 cores, 8.0 GiB free"), (3.5, 16, "16 cores, 3.5 GiB free"), (None, 1.5, "1.5 cores")],
)
def test_a_small_host_has_no_room_beside_other_work(
    command: str, what: str, free: float | None, cores: float, size: str, host: Host
) -> None:
    host.add(70, SUPERVISOR, command)  # of the same Airflow, or of another user
    assert host.why(free, cores) == f"{what} on this small host ({size})"


@pytest.mark.parametrize(("free", "cores"), [(8, 3), (4, 16), (None, 4)])
def test_a_larger_host_has_room_beside_others(free: float | None, cores: float, host: Host) -> None:
    host.add(70, 1, SPARK)
    assert host.why(free, cores) is None


def test_there_is_no_room_without_memory_whatever_runs(host: Host) -> None:
    assert host.why(free=1.9, cores=64) == "less than 2 GiB of memory are free"


def test_a_small_host_that_hides_processes_has_no_room(tmp_path: Path) -> None:
    hidden = Processes(tmp_path)
    why = why_no_room(ME, hidden, lambda: None, lambda: 2.0)
    assert why == "it is not known what else runs: processes are hidden on this small host (2 cores)"
    assert why_no_room(ME, hidden, lambda: None, lambda: 4.0) is None


def test_this_host_is_looked_at() -> None:
    found = why_no_room()
    assert found is None or "host" in found or "memory" in found
