"""Delta tables in HDFS, where of two writers of one entry of the log one is refused; the staging root is there, too."""

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Delta, StreamExecutionEnvironment, Values
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.connectors.lake import delta
from graph_compiler.spark_runtime.spark_internals.java import Py4JJavaError
from graph_compiler.spark_runtime.stores.hdfs_client import JvmClient
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.store import stores
from graph_compiler.staging.store.hdfs_store import HdfsStore
from tests.harness.hdfs_server import hdfs_server
from tests.harness.position_runs import Runs
from tests.harness.sinks import Sinks
from tests.lake.conftest import sold
from tests.lake.dying import die, dying

pytestmark = pytest.mark.lake
COLUMNS = "id INT, day STRING, amount INT"
OLD, MINE, THEIRS = (1, "mon", 10), (3, "mon", 30), (9, "wed", 90)
FILE_IS_THERE = "java.nio.file.FileAlreadyExistsException"
_NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start HDFS; yield its root."""
    with hdfs_server(tmp_path_factory.mktemp("hdfs")) as found:
        yield found.place()


@pytest.fixture
def place(server: str) -> str:
    return f"{server}/test-{next(_NUMBERS)}"


@pytest.fixture
def store(server: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> HdfsStore:  # noqa: ARG001  # its JVM
    found = HdfsStore(JvmClient(f"{server}/"))
    monkeypatch.setattr(stores, "_OPENING", {None: lambda _: lambda _: found})
    return found


@pytest.fixture
def sinks(spark: SparkSession, tmp_path: Path, place: str, store: HdfsStore) -> Sinks:
    return Sinks(spark, tmp_path, store, f"{place}/staging")


def rows(spark: SparkSession, path: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in spark.read.format("delta").load(path).collect())


def settings(mode: str) -> dict[str, Any]:
    return {"mode": mode, "keys": ("id",)} if mode == "merge" else {"mode": mode}


def test_of_two_writers_of_one_entry_of_deltas_log_in_hdfs_one_is_refused(
    spark: SparkSession, store: HdfsStore, place: str
) -> None:
    """On a disk, both are accepted (test_one_writer.py)."""
    java: Any = spark._jvm
    configuration = spark._jsc.hadoopConfiguration()
    store.make_folder(f"{place}/_delta_log")

    def writes(writer: str, entry: str) -> str:
        lines = java.java.util.ArrayList()
        lines.add(writer)
        try:
            java.io.delta.storage.HDFSLogStore(configuration).write(
                java.org.apache.hadoop.fs.Path(entry), lines.iterator(), False, configuration
            )
        except Py4JJavaError as error:
            return str(error.java_exception.getClass().getName())
        return writer

    with ThreadPoolExecutor(4) as threads:
        for number in range(10):
            entry = f"{place}/_delta_log/{number:020d}.json"
            answers = list(threads.map(writes, "abcd", [entry] * 4))
            (accepted,) = (each for each in answers if each in "abcd")
            assert answers.count(FILE_IS_THERE) == 3
            assert spark.read.text(entry).collect() == [(accepted,)]


@pytest.mark.parametrize("mode", ["append", "overwrite", "overwrite-partitions", "merge"])
@pytest.mark.parametrize("dies_after", ["the decision", "the commit"])
def test_what_a_dead_driver_has_decided_in_hdfs_is_committed_once(
    mode: str, dies_after: str, spark: SparkSession, sinks: Sinks, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Delta(f"{place}/sold", partitioned_by=("day",))
    sinks.write(table, sold((1, "tue", 10)), run="r0")
    owner, name = {"the decision": (Ledger, "decide"), "the commit": (delta, "_write")}[dies_after]
    if name == "decide" and mode in ("append", "merge"):
        name = "decide_behind_others"
    die(monkeypatch, owner, name, after=True)
    with dying():
        sinks.write(table, sold(MINE), **settings(mode))
    sinks.write(table, sold(THEIRS), mode="append", run="r2")
    kept = [] if mode == "overwrite" else [(1, "tue", 10)]
    assert rows(spark, table.path) == [*kept, MINE, THEIRS]


def test_a_pipeline_with_tables_and_its_staging_root_in_hdfs(
    spark: SparkSession, store: HdfsStore, place: str, tmp_path: Path
) -> None:
    table = Delta(f"{place}/sold")
    env = StreamExecutionEnvironment("lake")
    env.from_source(Values([OLD, MINE], COLUMNS), "rows").sink_to(table, mode="append").name("sold").uid("sold")
    runs = Runs(env, tmp_path, spark, store=store, place=f"{place}/staging")
    for run in ("r1", "r1", "r2"):
        assert runs.run(run) == []
    assert rows(spark, table.path) == [OLD, OLD, MINE, MINE]
    assert read_source(Delta(table.path, version=0), spark).count() == 2
    again = StreamExecutionEnvironment("again")
    again.from_source(table, "sold").filter("id = 1").sink_to(Delta(f"{place}/copy"), mode="overwrite").name("copy")
    assert Runs(again, tmp_path, spark, store=store, place=f"{place}/staging").run("r1") == []
    assert rows(spark, f"{place}/copy") == [OLD, OLD]
