"""Wherever a driver is killed, a later collection finds what it left, and keeps what the next execution needs."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.spark_runtime import main
from graph_compiler.spark_runtime.connectors.file_sink import FileSink
from graph_compiler.spark_runtime.publishing import local_target
from graph_compiler.spark_runtime.publishing.publication import Publisher
from graph_compiler.spark_runtime.publishing.written_files import write_files
from graph_compiler.spark_runtime.region.coordination import SinkCommitter
from graph_compiler.spark_runtime.results import staging_area as staging
from graph_compiler.staging.gc.collection import Policy, Waste, collect
from graph_compiler.staging.gc.removal import remove
from graph_compiler.staging.gc.survey import survey
from graph_compiler.staging.publications import files_on_disk
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.store.local_store import LocalStore
from tests.harness.reference import published
from tests.harness.staging_trees import age
from tests.spark.region.test_region_failover import Tasks

pytestmark = [pytest.mark.spark, pytest.mark.ci]
DAY = 86400.0


class Killed(BaseException):
    """SIGKILL: it cannot be caught, and nothing is cleaned up."""


def dies(*_: object, **__: object) -> None:
    raise Killed


def and_dies(function: Callable[..., Any]) -> Callable[..., Any]:
    def then(*arguments: Any, **keywords: Any) -> None:
        function(*arguments, **keywords)
        raise Killed

    return then


POINTS = {
    "between data and manifest": (staging, "written_partitions", dies),
    "before a sink's rows": (FileSink, "prepare", dies),
    "behind a sink's rows": (local_target, "write_files", and_dies(write_files)),
    "before the intent": (Ledger, "decide", dies),
    "behind the intent": (Publisher, "_carry_out", dies),
    "in the middle of publishing": (files_on_disk, "_rename", and_dies(files_on_disk._rename)),
    "before it is recorded as done": (Ledger, "finish", dies),
}
UNDONE = list(POINTS)[4:]
ALWAYS = ("between data and manifest", "behind a sink's rows", "in the middle of publishing")


@pytest.fixture
def tasks(tmp_path: Path, spark: SparkSession) -> Tasks:
    (tmp_path / "in.csv").write_text("k,v\na,1\na,2\nb,3\n")
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Csv(f"{tmp_path}/in.csv"), "in").name("first").stage("dear")
    kept = rows.filter("v > 1").name("kept")
    kept.stage("dear too").filter("v > 2").name("most").sink_to(Parquet(f"{tmp_path}/most")).name("most_out")
    kept.sink_to(Parquet(f"{tmp_path}/out")).name("out")
    return Tasks(env, tmp_path, spark)


def collected(tasks: Tasks) -> list[Waste]:
    """Collect what a run of eight days ago has left."""
    now = time.time()
    age(tasks.root, now, 8 * DAY)
    collection = collect(survey(LocalStore(), str(tasks.root)), Policy(now=now, airflow={}))
    removed = list(remove(LocalStore(), collection, str(tasks.root)))
    assert len(removed) == len(collection.removals)
    return [removal.waste for removal in removed]


def left(tmp_path: Path) -> list[str]:
    """List everything but input, published rows and ledgers."""
    files = [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()]
    known = ("in.csv", "out", "most")
    return [str(path) for path in files if path.parts[0] not in known and ".targets" not in path.parts]


@pytest.mark.parametrize(
    "point", [pytest.param(point, marks=[] if point in ALWAYS else [pytest.mark.long]) for point in POINTS]
)
def test_leftovers_of_a_killed_driver_are_found(
    point: str, tasks: Tasks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, _ = tasks.regions
    assert tasks.run(first).failure is None
    owner, name, death = POINTS[point]
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, death)
        patch.setattr(SinkCommitter, "execution_attempt_failed", lambda *_: None)
        patch.setattr(main, "_leave", dies)  # a driver that is killed leaves no report
        with pytest.raises(Killed):
            tasks.run(second)
    is_undone = point in UNDONE
    wastes = collected(tasks)
    assert (Waste.RUN in wastes) is not is_undone
    if is_undone:
        assert tasks.run(second).failure is None, "it carries out what was decided, and goes on"
        assert sorted(published(tmp_path / "out")[1]) == [("a", 2), ("b", 3)]
        assert Waste.RUN in collected(tasks)
    assert left(tmp_path) == []
    assert not list(tmp_path.glob(".*")), "nor a folder beside a target"
