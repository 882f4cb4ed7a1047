"""Streams whose files, targets, ledgers and checkpoint are in HDFS: drivers that die, states, and savepoints."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from graph_compiler import Json, Parquet, StreamExecutionEnvironment, Text
from graph_compiler.spark_runtime.results.pinned_settings import pinned
from graph_compiler.spark_runtime.streams import state_backend
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.store import stores
from graph_compiler.staging.store.hdfs_store import HdfsStore
from graph_compiler.staging.streams.batch_log import state_place
from graph_compiler.staging.streams.checkpoint import known_streams
from tests.harness.position_runs import Runs, tried
from tests.harness.savepoints import save_and_reset
from tests.lake.dying import die
from tests.spark.streams.process_functions import Counts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.hdfs
LINES = ("to be or not to be", "be quick", "not so quick")


@pytest.fixture
def store(spark: SparkSession, place: str, monkeypatch: pytest.MonkeyPatch) -> HdfsStore:  # noqa: ARG001  # its JVM
    from graph_compiler.spark_runtime.stores.hdfs_client import JvmClient

    found = HdfsStore(JvmClient(f"{place}/"))
    monkeypatch.setattr(stores, "_OPENING", {None: lambda _: lambda _: found})
    return found


def environment(
    name: str, saved: str | None = None, settings: Mapping[str, str] | None = None
) -> StreamExecutionEnvironment:
    config = {"execution.runtime-mode": "AUTOMATIC", **(settings or {})}
    return StreamExecutionEnvironment(name, config=config | ({"execution.savepoint.path": saved} if saved else {}))


def word_count(
    root: str, saved: str | None = None, settings: Mapping[str, str] | None = None
) -> StreamExecutionEnvironment:
    env = environment("word_count", saved, settings)
    lines = env.from_source(Text(f"{root}/in"), "lines", unbounded=True).uid("lines")
    words = lines.select(word="explode(split(lower(value), '[^a-z]+'))").filter("word <> ''")
    counts = words.key_by("word").aggregate(n="count(*)")
    counts.sink_to(Parquet(f"{root}/counts"), mode="merge", keys=["word"]).name("counts").uid("counts")
    words.sink_to(Parquet(f"{root}/words"), mode="append").name("words").uid("words")
    return env


def arrive(store: HdfsStore, root: str, number: int) -> None:
    store.put(f"{root}/in/{number}.txt", LINES[number].encode())


def rows(spark: SparkSession, place: str) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, spark.read.parquet(place).collect()))


def assert_counted(spark: SparkSession, root: str, files: int) -> None:
    expected = Counter(" ".join(LINES[:files]).split())
    assert dict(rows(spark, f"{root}/counts")) == expected
    assert Counter(word for (word,) in rows(spark, f"{root}/words")) == expected


def test_states_continue_in_another_number_of_partitions(
    spark: SparkSession, store: HdfsStore, root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = None
    for number, partitions in enumerate((4, 2, 5)):
        arrive(store, root, number)
        monkeypatch.setattr(state_backend, "asked_partitions", lambda _, asked=partitions: asked)
        env = word_count(root, saved, {"state.backend.type": "rocksdb"})
        runs = Runs(env, tmp_path, spark, tries=10 * number, store=store, place=f"{root}/staging")
        with pinned(spark, {"spark.sql.shuffle.partitions": "4"}):
            assert tried(runs, f"run {number}") == []
        (stream,) = known_streams(store, f"{root}/staging")
        assert state_place(store, stream.layout.checkpoint(stream.stream_id)).partitions == partitions
        assert_counted(spark, root, number + 1)
        saved = save_and_reset(f"{root}/staging", f"{root}/saved-{number}", store)


@pytest.mark.parametrize("step", [("decide", False), ("decide", True), ("finish", True)], ids="{0[0]}-{0[1]}".format)
def test_a_driver_that_dies_in_a_batch_publishes_it_once(
    spark: SparkSession,
    store: HdfsStore,
    root: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: tuple[str, bool],
) -> None:
    runs = Runs(word_count(root), tmp_path, spark, store=store, place=f"{root}/staging")
    arrive(store, root, 0)
    assert runs.run("one") == []
    assert_counted(spark, root, 1)
    arrive(store, root, 1)
    die(monkeypatch, Ledger, step[0], after=step[1])
    assert len(runs.run("two")) == 1
    arrive(store, root, 2)
    assert runs.run("two") == []
    assert_counted(spark, root, 3)


def test_a_stream_continues_from_a_savepoint(spark: SparkSession, store: HdfsStore, root: str, tmp_path: Path) -> None:
    runs = Runs(word_count(root), tmp_path, spark, store=store, place=f"{root}/staging")
    arrive(store, root, 0)
    assert runs.run("one") == []
    saved = save_and_reset(f"{root}/staging", f"{root}/saved", store)
    arrive(store, root, 1)
    continued = Runs(word_count(root, saved), tmp_path, spark, tries=10, store=store, place=f"{root}/staging")
    assert continued.run("two") == []
    assert_counted(spark, root, 2)


def counting(root: str, saved: str | None = None) -> StreamExecutionEnvironment:
    env = environment("counting", saved)
    users = env.from_source(Json(f"{root}/in", schema="id INT, user STRING"), "in", unbounded=True).uid("in")
    counted = users.key_by("user").process(Counts, "user STRING, n INT, ids ARRAY<INT>").uid("counted")
    counted.sink_to(Parquet(f"{root}/counted"), mode="append").uid("out")
    return env


def test_a_function_has_its_state_again_also_from_a_savepoint(
    spark: SparkSession, store: HdfsStore, root: str, tmp_path: Path
) -> None:
    def arrives(id: int) -> None:
        store.put(f"{root}/in/{id}.json", json.dumps({"id": id, "user": "a"}).encode())

    runs = Runs(counting(root), tmp_path, spark, store=store, place=f"{root}/staging")
    for id in (1, 2):
        arrives(id)
        assert tried(runs, f"run {id}") == []
    arrives(3)
    saved = save_and_reset(f"{root}/staging", f"{root}/saved", store)
    continued = Runs(counting(root, saved), tmp_path, spark, tries=10, store=store, place=f"{root}/staging")
    assert tried(continued, "run 3") == []
    assert rows(spark, f"{root}/counted") == [("a", 1, [1]), ("a", 2, [1, 2]), ("a", 3, [1, 2, 3])]
