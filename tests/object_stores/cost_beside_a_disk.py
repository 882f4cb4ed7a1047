"""What the flights example costs with staged results and sinks in a bucket, beside the same on a disk.

    python -m tests.object_stores.cost_beside_a_disk --rounds 3

Both run under Airflow (`airflow dags test`) with drivers on this host, in turns. The store is moto on
this host, which answers one request at a time: its answers cost more time than those of a real store nearby, and its
CPU time is not counted. Both read their sources from a disk.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.object_stores.s3_store import ObjectStore
from pipelines.flights import env
from tests.end_to_end.conftest import Home
from tests.harness.flights_data import DATA
from tests.harness.object_stores import CONNECTOR, ObjectServer, object_server
from tests.harness.staging_in_stores import staging_variables

BUCKET = "lake"
DAY = "2013-01-01"
DISK, STORE = "disk", "bucket"
TASKS = len(compile_pipeline(env.pipeline()).deployment.tasks)


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of a run and of all its processes, and what the store was asked meanwhile, by who asked."""

    wall: float
    cpu: float
    requests: Counter[str]
    sent: int
    answered: int


@dataclass(frozen=True)
class Bench:
    """An Airflow home, a store, and the tables that the pipeline reads."""

    home: Home
    server: ObjectServer
    folder: Path

    def run(self, place: str) -> Cost:
        """Run the pipeline once, and remove what it has left on a disk."""
        root = str(self.folder / "lake") if place == DISK else f"s3a://{BUCKET}"
        given = {"input": str(self.home.data), "output": f"{root}/out"}
        before, began = len(self.server.requests()), _children_cpu()
        start = time.perf_counter()
        ran = self.home.command(
            *("-m", "airflow", "dags", "test", "flights", DAY, "--conf", json.dumps(given)),
            environment=self._environment(f"{root}/staging"),
        )
        wall = time.perf_counter() - start
        assert ran.returncode == 0, ran.stderr + ran.stdout
        lines = [line.split(maxsplit=5) for line in self.server.requests(since=before)]
        shutil.rmtree(self.folder / "lake", ignore_errors=True)
        return Cost(
            wall=wall,
            cpu=_children_cpu() - began,
            requests=Counter("Airflow" if line[5] == "object_store" else "Spark" for line in lines),
            sent=sum(int(line[2]) for line in lines),
            answered=sum(int(line[3]) for line in lines if line[0] != "HEAD"),
        )

    def bytes_left(self) -> int:
        """Return the bytes of all objects in the bucket."""
        store = ObjectStore(BUCKET, self.server.access)
        return sum(file.bytes for file in store.files(f"s3a://{BUCKET}"))

    def _environment(self, root: str) -> dict[str, str]:
        settings = {**CONNECTOR, "spark.sql.shuffle.partitions": "4", "spark.ui.enabled": "false"}
        return self.home.environment(
            **staging_variables(root, self.server.connection), AIRFLOW__GRAPH_COMPILER__SPARK_CONF=json.dumps(settings)
        )


@contextmanager
def bench(folder: Path, data: Path = DATA) -> Iterator[Bench]:
    """Yield a bench in an empty folder."""
    with object_server(folder) as server:
        server.make_bucket(BUCKET)
        home = Home(folder / "airflow", data=data)
        home.folder.mkdir()
        assert home.command("-m", "airflow", "db", "migrate").returncode == 0
        yield Bench(home, server, folder)


def measure(bench: Bench, rounds: int) -> dict[str, list[Cost]]:
    """Run on the disk and in the bucket in turns."""
    found: dict[str, list[Cost]] = {DISK: [], STORE: []}
    for number in range(rounds):
        for place in found if number % 2 == 0 else reversed(found):
            found[place].append(bench.run(place))
            print(f"round {number}, {place}: {found[place][-1]}", flush=True)
    return found


def table(found: dict[str, list[Cost]]) -> str:
    """Return the medians, and the least and the most seconds, as lines of Markdown."""
    costs = found.values()
    rows = {
        "wall s": [_seconds([it.wall for it in each]) for each in costs],
        "CPU s": [_seconds([it.cpu for it in each]) for each in costs],
        "requests of Airflow, per task": [_per_task(each, "Airflow") for each in costs],
        "requests of drivers and executors, per task": [_per_task(each, "Spark") for each in costs],
        "MB sent to the store": [f"{median(it.sent for it in each) / 1e6:.1f}" for each in costs],
        "MB read from it": [f"{median(it.answered for it in each) / 1e6:.1f}" for each in costs],
    }
    head = [f"| | {' | '.join(found)} |", "| --- | --- | --- |"]
    return "\n".join([*head, *(f"| {name} | {' | '.join(row)} |" for name, row in rows.items())])


def _seconds(values: list[float]) -> str:
    return f"{median(values):.1f} ({min(values):.1f}–{max(values):.1f})"


def _per_task(costs: list[Cost], who: str) -> str:
    return f"{median(it.requests[who] / TASKS for it in costs):.0f}"


def _children_cpu() -> float:
    """Return the CPU seconds of all descendants that were waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="cost-") as folder, bench(Path(folder)) as found:
        print(table(measure(found, rounds)))


if __name__ == "__main__":
    main()
