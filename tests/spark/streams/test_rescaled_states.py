"""Another number of partitions for the states of a stream, by a savepoint: the rows are those of a stream without."""

import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from graph_compiler import (
    DataStream,
    EventTimeSessionWindows,
    Json,
    Parquet,
    StreamExecutionEnvironment,
    TumblingEventTimeWindows,
)
from graph_compiler.spark_runtime.region.coordination import SinkCommitter
from graph_compiler.spark_runtime.results.pinned_settings import pinned
from graph_compiler.spark_runtime.streams import state_backend
from graph_compiler.staging.store.local_store import LocalStore
from graph_compiler.staging.streams.batch_log import state_place
from graph_compiler.staging.streams.checkpoint import known_streams
from tests.harness.position_runs import Runs, tried, write
from tests.harness.savepoints import reset, save, save_and_reset
from tests.lake.dying import die
from tests.spark.streams.process_functions import Visits

pytestmark = [pytest.mark.spark, pytest.mark.ci]
STORE = LocalStore()
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
NUMBERS = (4, 2, 7, 3)
"""How many partitions are asked for in each run."""


def totals(rows: DataStream) -> DataStream:
    return rows.key_by("user").aggregate(n="count(*)", last="max(id)").uid("kept")


def windows(rows: DataStream) -> DataStream:
    windows = marked(rows).key_by("user").window(TumblingEventTimeWindows("at", "30 minutes"))
    return windows.aggregate(n="count(*)").uid("kept")


def sessions(rows: DataStream) -> DataStream:
    windows = marked(rows).key_by("user").window(EventTimeSessionWindows("at", "7 minutes"))
    return windows.aggregate(n="count(*)").uid("kept")


def unique(rows: DataStream) -> DataStream:
    return marked(rows.select("user", "at", minute="id % 40")).deduplicate("user", "minute").uid("kept")


def joined(rows: DataStream) -> DataStream:
    left = marked(rows)
    right = marked(rows.filter("id % 3 = 0").select("user", other="id", then="at"), "then")
    return left.interval_join(right, on="user", times=("at", "then"), lower="-10 minutes", upper="10 minutes").uid(
        "kept"
    )


def functions(rows: DataStream) -> DataStream:
    visits = marked(rows).key_by("user")
    return visits.process(Visits, "user STRING, minute BIGINT, ids ARRAY<INT>", time="at").uid("kept")


def marked(rows: DataStream, time: str = "at") -> DataStream:
    return rows.assign_timestamps_and_watermarks(time, max_out_of_orderness="5 minutes")


KINDS: tuple[Callable[[DataStream], DataStream], ...] = (totals, windows, sessions, unique, joined, functions)


def declared(
    folder: Path, kind: Callable[[DataStream], DataStream], saved: str | None = None, backend: str = "rocksdb"
) -> StreamExecutionEnvironment:
    config = {"execution.runtime-mode": "AUTOMATIC", "state.backend.type": backend}
    config |= {"execution.savepoint.path": saved} if saved else {}
    env = StreamExecutionEnvironment("visits", config=config)
    schema = "id INT, user STRING, at TIMESTAMP"
    rows = env.from_source(Json(f"{folder}/in", schema=schema), "in", unbounded=True).uid("in")
    kept = kind(rows)
    if kind is totals:
        kept.sink_to(Parquet(f"{folder}/out"), mode="merge", keys=["user"]).uid("out")
    else:
        kept.sink_to(Parquet(f"{folder}/out"), mode="append").uid("out")
    return env


def arrive(folder: Path, number: int) -> None:
    draw = random.Random(number)
    rows = (
        {"id": number * 100 + each, "user": draw.choice("abcdefgh"), "at": stamp(number * 60 + draw.randrange(60))}
        for each in range(40)
    )
    write(folder / "in" / f"{number}.json", *rows)


def stamp(minute: int) -> str:
    return (BEGIN + timedelta(minutes=minute)).strftime("%Y-%m-%dT%H:%M:%SZ")


def published(spark: SparkSession, folder: Path) -> list[str]:
    return sorted(str(row) for row in spark.read.parquet(f"{folder}/out").collect())


def partitions(folder: Path) -> int | None:
    (stream,) = known_streams(STORE, str(folder / "staging"))
    return state_place(STORE, stream.layout.checkpoint(stream.stream_id)).partitions


@pytest.fixture
def asks(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Let an option ask for a number of partitions."""

    def ask(number: int) -> None:
        monkeypatch.setattr(state_backend, "asked_partitions", lambda _: number)

    with pinned(spark, {"spark.sql.shuffle.partitions": str(NUMBERS[0])}):
        yield ask


def can_rescale(spark: SparkSession) -> bool:
    return spark.version >= "4.2"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_states_continue_in_another_number_of_partitions(
    kind: Callable[[DataStream], DataStream],
    tmp_path: Path,
    spark: SparkSession,
    asks: Callable[[int], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain, scaled = tmp_path / "plain", tmp_path / "scaled"
    saved = None
    for number, asked in enumerate(NUMBERS):
        arrive(plain, number)
        arrive(scaled, number)
        asks(NUMBERS[0])
        assert tried(Runs(declared(plain, kind), plain, spark, tries=10 * number), f"{number}") == []
        asks(asked)
        runs = Runs(declared(scaled, kind, saved), scaled, spark, tries=10 * number)
        if number == 2:
            with monkeypatch.context() as patch:
                die(patch, SinkCommitter, "commit", after=True)
                assert tried(runs, f"{number}")
        assert tried(runs, f"{number}") == []
        assert partitions(scaled) == (asked if can_rescale(spark) else NUMBERS[0])
        assert published(spark, scaled) == published(spark, plain)
        saved = save_and_reset(f"{scaled}/staging")
    assert len(published(spark, scaled)) > 5


def test_a_driver_that_dies_while_states_are_moved_has_changed_nothing(
    tmp_path: Path, spark: SparkSession, asks: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not can_rescale(spark):
        pytest.skip("this Spark has no other partitions for states")
    arrive(tmp_path, 0)
    asks(4)
    assert Runs(declared(tmp_path, totals), tmp_path, spark).run("one") == []
    saved = save_and_reset(f"{tmp_path}/staging")
    arrive(tmp_path, 1)
    asks(3)
    runs = Runs(declared(tmp_path, totals, saved), tmp_path, spark, tries=9)
    for after in (False, True):
        with monkeypatch.context() as patch:
            die(patch, state_backend.StateBackend, "rescale", after=after)
            assert runs.run("two")
        assert not list(known_streams(STORE, str(tmp_path / "staging")))
    assert runs.run("two") == []
    assert partitions(tmp_path) == 3
    assert [each.number for each in runs.report().batches] == [2], "batch 1 has no rows: Spark has moved states in it"
    assert sum(row["n"] for row in spark.read.parquet(f"{tmp_path}/out").collect()) == 80


def test_the_batch_behind_moved_states_is_not_appended_again(
    tmp_path: Path, spark: SparkSession, asks: Callable[[int], None]
) -> None:
    arrive(tmp_path, 0)
    asks(4)
    runs = Runs(declared(tmp_path, windows), tmp_path, spark)
    assert runs.run("one") == []
    saved = save(f"{tmp_path}/staging")
    arrive(tmp_path, 1)
    assert runs.run("two") == []
    reset(f"{tmp_path}/staging")
    before = published(spark, tmp_path)
    asks(3)
    (failure,) = Runs(declared(tmp_path, windows, saved), tmp_path, spark, tries=9).run("three")
    assert "and the savepoint" in failure
    assert published(spark, tmp_path) == before


def test_states_in_memory_keep_their_number_and_it_is_said(
    tmp_path: Path, spark: SparkSession, asks: Callable[[int], None], caplog: pytest.LogCaptureFixture
) -> None:
    arrive(tmp_path, 0)
    asks(4)
    assert Runs(declared(tmp_path, totals, backend="hashmap"), tmp_path, spark).run("one") == []
    saved = save_and_reset(f"{tmp_path}/staging")
    asks(3)
    arrive(tmp_path, 1)
    assert Runs(declared(tmp_path, totals, saved, backend="rocksdb"), tmp_path, spark, tries=9).run("two") == []
    assert partitions(tmp_path) == 4
    assert "is 3, and the state has 4 partitions: that stays so until it is reset" in caplog.text
    words = "state.backend.type is rocksdb, and the state is kept by HDFSBackedStateStoreProvider: that stays so"
    assert words in caplog.text
