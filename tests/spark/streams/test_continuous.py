"""Continuous streams: files arrive while a driver runs, and it ends behind a batch: asked, by time, by a signal."""

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from graph_compiler import Json, Parquet, StreamExecutionEnvironment, Text, TumblingEventTimeWindows
from graph_compiler.deployment.documents.heartbeat import StreamEnd, StreamHeartbeat
from graph_compiler.deployment.documents.progress import ExecutionProgress
from graph_compiler.deployment.documents.report import Phase
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StreamLayout
from graph_compiler.spark_runtime.region.coordination import SinkCommitter
from graph_compiler.spark_runtime.results.pinned_settings import pinned
from graph_compiler.spark_runtime.spark_internals import running_query
from graph_compiler.spark_runtime.streams import stream_watch
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments
from graph_compiler.staging.streams.batch_log import last_begun, uncommitted_batch
from graph_compiler.staging.streams.checkpoint import Checkpoint, last_query
from graph_compiler.staging.streams.heartbeats import StreamTurn
from tests.harness.driver_processes import Driver
from tests.harness.position_runs import STORE, Runs, write

pytestmark = [pytest.mark.spark, pytest.mark.ci]
PATIENCE = 240.0
MODULE = "tests.spark.streams.one_stream"


def word_count(folder: Path, **options: str) -> StreamExecutionEnvironment:
    """Count the words of lines that arrive, and keep the words, too."""
    config = {"execution.continuous": "true", "execution.checkpointing.interval": "200"}
    config |= {"execution.runtime-mode": "AUTOMATIC"} | options
    env = StreamExecutionEnvironment("words", config=config)
    lines = env.from_source(Text(f"{folder}/in"), "lines", unbounded=True).uid("lines")
    words = lines.select(word="explode(split(lower(value), '[^a-z]+'))").filter("word <> ''")
    counts = words.key_by("word").aggregate(n="count(*)").uid("count")
    counts.sink_to(Parquet(f"{folder}/counts"), mode="merge", keys=["word"]).name("counts").uid("counts")
    words.sink_to(Parquet(f"{folder}/words"), mode="append").name("words").uid("words")
    return env


def for_a_while(folder: Path) -> StreamExecutionEnvironment:
    """Return the pipeline with a short run time."""
    return word_count(folder, **{"execution.max-run-time": "5 s"})


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_LOOK", "_ASK"):
        monkeypatch.setattr(stream_watch, name, 0.1)


def arrive(folder: Path, name: str, text: str) -> None:
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / f".{name}").write_text(text)
    (folder / "in" / f".{name}").rename(folder / "in" / name)


def is_counted(spark: SparkSession, folder: Path) -> bool:
    texts = (file.read_text() for file in sorted((folder / "in").iterdir()) if not file.name.startswith("."))
    expected = Counter(" ".join(texts).split())
    assert dict(map(tuple, spark.read.parquet(f"{folder}/counts").collect())) == expected
    assert Counter(word for (word,) in spark.read.parquet(f"{folder}/words").collect()) == expected
    return True


def turn_of(runs: Runs) -> StreamTurn | None:
    (task,) = runs.last
    assert task.region.stream is not None
    return StreamTurn.last_of_query(STORE, StreamLayout(root=runs.root, owner=task.identity.owner), task.region.stream)


def heartbeat(runs: Runs) -> StreamHeartbeat | None:
    turn = turn_of(runs) if hasattr(runs, "last") else None
    return None if turn is None else turn.heartbeat()


def until(is_so: Callable[[], object]) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError("it did not happen")
        time.sleep(0.05)


def progress(runs: Runs) -> ExecutionProgress | None:
    return AttemptDocuments.of(runs.last[-1]).read_progress()


def has_published(runs: Runs, batch: int) -> bool:
    found = heartbeat(runs)
    return found is not None and any(each.number == batch for each in found.batches)


def stop(runs: Runs) -> None:
    turn = turn_of(runs)
    assert turn is not None
    turn.request_stop(time.time(), "a test")


@contextmanager
def beside(*acts: Callable[[], object]) -> Iterator[None]:
    """Do things, one after the other, while a driver runs in this thread; it ends if one of them fails."""

    def do() -> None:
        try:
            for act in acts:
                act()
        except BaseException:
            os.kill(os.getpid(), signal.SIGINT)
            raise

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(do)
        try:
            yield
        except KeyboardInterrupt:
            done.result(PATIENCE)
            raise
        done.result(PATIENCE)


def is_between_batches(runs: Runs) -> bool:
    turn = turn_of(runs)
    assert turn is not None
    checkpoint = turn.layout.checkpoint(turn.stream_id)
    return uncommitted_batch(STORE, checkpoint) is None


def test_what_arrives_is_published_until_it_is_asked_to_stop(tmp_path: Path, spark: SparkSession) -> None:
    runs = Runs(word_count(tmp_path), tmp_path, spark)
    arrive(tmp_path, "a.txt", "to be or not to be")

    def act() -> None:
        until(lambda: has_published(runs, 0))
        arrive(tmp_path, "b.txt", "be quick")
        until(lambda: has_published(runs, 1))
        until(lambda: (told := progress(runs)) and [each.number for each in told.batches if each.progress] == [0, 1])
        until(lambda: (told := progress(runs)) and told.current is None)
        stop(runs)

    with beside(act):
        assert runs.run("one") == []
    assert is_counted(spark, tmp_path)
    assert [each.number for each in runs.report().batches] == [0, 1]
    found = heartbeat(runs)
    assert found is not None
    assert (found.end, found.batch, found.run_id) == (StreamEnd.REQUESTED, None, "one")
    assert [each.progress is not None for each in found.batches] == [True, True]
    assert is_between_batches(runs)
    arrive(tmp_path, "c.txt", "not so quick")
    with beside(
        lambda: until(lambda: has_published(runs, 2)), lambda: stop(runs)
    ):  # it does not hear the earlier request
        assert runs.run("two") == []
    assert is_counted(spark, tmp_path)


def test_a_run_ends_after_its_time_and_the_next_one_continues(tmp_path: Path, spark: SparkSession) -> None:
    runs = Runs(for_a_while(tmp_path), tmp_path, spark)
    for name, text in (("a", "to be"), ("b", "or not"), ("c", "to be")):
        arrive(tmp_path, f"{name}.txt", text)
        run_on(runs, name, spark)
    assert is_counted(spark, tmp_path)
    found = heartbeat(runs)
    assert found is not None
    assert found.end is StreamEnd.TIME_IS_OVER


def run_on(runs: Runs, name: str, spark: SparkSession) -> None:
    """Run until all is there: on a slow machine, the time of a run may be over before its first batch."""
    until(lambda: runs.run(name) == [] and is_there(spark, runs.folder))


def is_there(spark: SparkSession, folder: Path) -> bool:
    if not (folder / "words").exists():
        return False
    texts = " ".join(file.read_text() for file in (folder / "in").iterdir())
    return spark.read.parquet(f"{folder}/words").count() == len(texts.split())


def test_a_batch_in_progress_is_published_and_committed(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(word_count(tmp_path), tmp_path, spark)
    arrive(tmp_path, "a.txt", "to be or not to be")
    ends: list[str] = []
    begin, prepare = running_query.begin_no_other_batch, SinkCommitter.prepare

    def ending(query: StreamingQuery, spark: SparkSession) -> None:
        begin(query, spark)
        ends.append("ends")

    def slow(committer: SinkCommitter, rows: Any) -> int:
        if not ends:
            until(lambda: (found := heartbeat(runs)) is not None and found.batch == 0)
            found = heartbeat(runs)
            assert found is not None
            assert found.batch_began is not None
            assert "in batch 0 for " in found.words(found.written)
            until(lambda: (told := progress(runs)) and told.current)
            told = progress(runs)
            assert told is not None
            assert told.current is not None
            assert (told.current.phase, told.batches) == (Phase.PREPARE, ())
            stop(runs)
            until(lambda: ends)
        return prepare(committer, rows)

    monkeypatch.setattr(stream_watch, "begin_no_other_batch", ending)
    monkeypatch.setattr(SinkCommitter, "prepare", slow)
    assert runs.run("one") == []
    assert ends == ["ends"]
    assert is_counted(spark, tmp_path)
    assert is_between_batches(runs)
    assert [each.number for each in runs.report().batches] == [0]


def test_nothing_is_written_while_nothing_arrives(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(stream_watch, "_BEAT", 0.2)
    runs = Runs(word_count(tmp_path), tmp_path, spark)
    arrive(tmp_path, "a.txt", "to be")
    before: list[list[str]] = []

    def act() -> None:
        until(lambda: has_published(runs, 0) and is_between_batches(runs))
        until(lambda: (told := progress(runs)) and told.current is None and told.batches)
        lines, (first, files) = len(caplog.records), _written(runs)
        until(lambda: _written(runs)[0] > first + 3)
        assert len(caplog.records) == lines
        before.append(files)
        assert _written(runs)[1] == files
        stop(runs)

    with beside(act):
        assert runs.run("one") == []
    assert len(runs.report().batches) == 1


def test_what_is_read_and_late_is_known_of_batches_behind_idle_times(tmp_path: Path, spark: SparkSession) -> None:
    """While nothing arrives, Spark reports no rows with the number of the next batch."""
    config = {"execution.continuous": "true", "execution.checkpointing.interval": "200"}
    env = StreamExecutionEnvironment("late", config=config | {"execution.runtime-mode": "STREAMING"})
    rows = env.from_source(Json(f"{tmp_path}/in", schema="id INT, at TIMESTAMP"), "rows", unbounded=True).uid("rows")
    hours = rows.assign_timestamps_and_watermarks("at", max_out_of_orderness="1 minute").key_by("id")
    hours.window(TumblingEventTimeWindows("at", "1 hour")).aggregate(n="count(*)").sink_to(
        Parquet(f"{tmp_path}/hours"), mode="append"
    )
    runs = Runs(env, tmp_path, spark)
    write(tmp_path / "in" / "0.json", {"id": 1, "at": "2024-01-01T12:30:00Z"})

    def late() -> int:
        return sum(each.late for each in told.batches) if (told := progress(runs)) else 0

    def act() -> None:
        until(lambda: has_published(runs, 1))  # that of the watermark
        for number, hour in ((1, 9), (2, 8)):
            until(lambda: (told := progress(runs)) and told.current is None and is_between_batches(runs))
            time.sleep(2)  # in which Spark reports that it is idle
            write(tmp_path / "in" / f"{number}.json", {"id": 1, "at": f"2024-01-01T0{hour}:30:00Z"})
            until(partial(lambda number: late() == number, number))
        stop(runs)

    with pinned(spark, {"spark.sql.streaming.noDataProgressEventInterval": "200"}), beside(act):
        assert runs.run("one") == []
    published = runs.report().batches
    assert sum(each.late for each in published) == 2
    assert sum(each.progress.rows_in or 0 for each in published if each.progress) == 3


def _written(runs: Runs) -> tuple[float, list[str]]:
    """Return when the heartbeat was written, and the files of batches."""
    found, turn = heartbeat(runs), turn_of(runs)
    assert found is not None
    assert turn is not None
    checkpoint = turn.layout.checkpoint(turn.stream_id)
    return found.written, sorted(key for name in ("offsets", "commits") for key in STORE.keys(f"{checkpoint}/{name}"))


def test_a_later_driver_takes_over(tmp_path: Path, spark: SparkSession) -> None:
    runs = Runs(word_count(tmp_path), tmp_path, spark)
    arrive(tmp_path, "a.txt", "to be")

    def act() -> None:
        until(lambda: has_published(runs, 0))
        turn, query = turn_of(runs), runs.last[0].region.stream
        assert turn is not None
        assert query is not None
        assert last_query(STORE, turn.layout, turn.stream_id) is not None
        Checkpoint.open(STORE, runs.root, RunIdentity.own("words", "later"), "other", query)

    with beside(act):
        (failure,) = runs.run("one")
    assert "a later driver has the checkpoint" in failure
    arrive(tmp_path, "b.txt", "or not")
    with beside(lambda: until(lambda: has_published(runs, 1)), lambda: stop(runs)):
        assert runs.run("two") == []
    assert is_counted(spark, tmp_path)


def test_ctrl_c_ends_it_behind_a_batch(tmp_path: Path, spark: SparkSession) -> None:
    runs = Runs(word_count(tmp_path), tmp_path, spark)
    arrive(tmp_path, "a.txt", "to be")
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with beside(lambda: until(lambda: has_published(runs, 0)), lambda: os.kill(os.getpid(), signal.SIGINT)):
        assert runs.run("one") == []
    found = heartbeat(runs)
    assert found is not None
    assert found.end is StreamEnd.SIGNAL
    assert is_counted(spark, tmp_path)
    assert {number: signal.getsignal(number) for number in handlers} == handlers


@pytest.mark.parametrize("point", ["prepare", "finish", "run_region"])
def test_a_driver_that_is_killed_in_a_batch_publishes_it_once(tmp_path: Path, point: str) -> None:
    world = {"folder": str(tmp_path), "kind": "totals", "url": None, "servers": None, "continuous": True}
    write(tmp_path / "in" / "0.json", {"id": 1, "word": "a", "at": "2024-01-01T00:00:00Z", "n": 1})
    victim = Driver.start(MODULE, world, **{"try": 0, "point": point, "when": "after", "signal": "SIGKILL"})
    try:
        victim.hear()
        victim.tell("one")
        assert victim.hear()[0] == "fired"
        victim.hear()
    finally:
        victim.end()
    write(tmp_path / "in" / "1.json", {"id": 2, "word": "a", "at": "2024-01-01T00:00:00Z", "n": 2})
    after = Driver.start(MODULE, world, **{"try": 10})
    try:
        after.hear()
        after.tell("two")
        checkpoint = str(next(tmp_path.glob("staging/.streams/*/*/checkpoint")))
        until(lambda: last_begun(STORE, checkpoint) == 1 and uncommitted_batch(STORE, checkpoint) is None)
        os.kill(after.process.pid, signal.SIGTERM)
        assert after.hear() == ("ended", [])
    finally:
        after.end()
    assert sorted(duckdb.execute(f"SELECT id FROM '{tmp_path}/copy/*.parquet'").fetchall()) == [(1,), (2,)]
    assert duckdb.execute(f"SELECT word, total FROM '{tmp_path}/totals/*.parquet'").fetchall() == [("a", 3)]
