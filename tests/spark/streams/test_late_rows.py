"""Late rows: each row is in a window or in the side output, whatever the files, the batches, and who dies in them."""

import os
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from graph_compiler import (
    EventTimeSessionWindows,
    Json,
    Parquet,
    SlidingEventTimeWindows,
    StreamExecutionEnvironment,
    TumblingEventTimeWindows,
)
from graph_compiler.declaration.windows import Window
from graph_compiler.deployment.documents.stream import batch_words
from graph_compiler.spark_runtime.region.coordination import SinkCommitter
from graph_compiler.spark_runtime.streams import stream_query
from graph_compiler.spark_runtime.streams.batch_inputs import BatchInputs
from graph_compiler.staging.publications.ledger import Ledger
from tests.harness.position_runs import Runs, write
from tests.lake.dying import die

pytestmark = [pytest.mark.spark, pytest.mark.ci]
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
EPOCH = -int(BEGIN.timestamp()) // 60
"""The minute of 1970, at which a watermark begins."""
Row = tuple[int, str, int | None]
"""A number, a word, and the minute of the event."""
DISORDER, CLOSING = 10, 100_000
SCHEMA = "id INT, word STRING, at TIMESTAMP"
LAST: list[list[Row]] = [[(9998, "b", 0)], [(9999, "a", CLOSING)]]
"""The last files: a row that is late, and one that completes all windows."""
PLACES: list[tuple[Any, str]] = [
    (BatchInputs, "check"),
    (SinkCommitter, "prepare"),
    (Ledger, "decide"),
    (SinkCommitter, "commit"),
    (stream_query, "run_region"),
]


@dataclass
class Watermarks:
    """A model of Spark's: a batch begins with that of all rows before it, and late rows are found by the one before."""

    now: int = EPOCH
    last_batch: int | None = None
    late_by: list[int] = field(default_factory=list)
    """For each batch of rows, the minute that has passed for its late rows."""

    def run(self, files: Iterable[Sequence[Row]]) -> None:
        """Read files, each a batch; then Spark runs another batch if the watermark has moved."""
        for rows in files:
            self.late_by.append(EPOCH if self.last_batch is None else self.last_batch)
            self.last_batch = self.now
            self.now = max([self.now, *(at - DISORDER for _, _, at in rows if at is not None)])
        self.last_batch = self.now


@dataclass(frozen=True)
class Kind:
    """Windows of whole minutes: when they begin, relative to a multiple of `slide`, and how long they are."""

    window: Window
    size: int
    slide: int = 0
    offset: int = 0

    def windows(self, at: int) -> Iterator[int]:
        """Yield when the windows of a row begin, the last one first."""
        begin = at - (at - EPOCH - self.offset) % self.slide
        while begin > at - self.size:
            yield begin
            begin -= self.slide

    def end(self, at: int) -> int:
        return (next(self.windows(at)) if self.slide else at) + self.size


KINDS = {
    "tumbling": Kind(TumblingEventTimeWindows("at", "10 minutes"), 10, 10),
    "offset": Kind(TumblingEventTimeWindows("at", "1 hour", "-7 minutes"), 60, 60, -7),
    "sliding": Kind(SlidingEventTimeWindows("at", "30 minutes", "10 minutes", "3 minutes"), 30, 10, 3),
    "uneven": Kind(SlidingEventTimeWindows("at", "25 minutes", "10 minutes"), 25, 10),
    "sessions": Kind(EventTimeSessionWindows("at", "8 minutes"), 8),
}


def declared(folder: Path, window: Window, *, unbounded: bool = True) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("late", config={"execution.runtime-mode": "AUTOMATIC"})
    options = {"maxFilesPerTrigger": 1} if unbounded else {}
    rows = env.from_source(Json(f"{folder}/in", schema=SCHEMA, options=options), "in", unbounded=unbounded).uid("in")
    add_windows(rows, folder, window)
    return env


def add_windows(rows: Any, folder: Path, window: Window, suffix: str = "") -> None:
    marked = rows.assign_timestamps_and_watermarks("at", max_out_of_orderness=f"{DISORDER} minutes")
    windows = marked.key_by("word").window(window).side_output_late_data("late")
    counted = windows.aggregate(ids="sort_array(collect_list(id))").uid(f"windows{suffix}")
    counted.sink_to(Parquet(f"{folder}/windows{suffix}"), mode="append").uid(f"out{suffix}")
    late = counted.get_side_output("late").select("id", late="true")  # operators may follow
    late.sink_to(Parquet(f"{folder}/late{suffix}"), mode="append").uid(f"late{suffix}")


def json_of(row: Row) -> dict[str, Any]:
    id, word, minute = row
    at = None if minute is None else (BEGIN + timedelta(minutes=minute)).isoformat()
    return {"id": id, "word": word, "at": at}


def arrive(folder: Path, number: int, rows: Sequence[Row], place: str = "in") -> None:
    """Let a file arrive: Spark takes them in the order of their times."""
    file = folder / place / f"{number:03}.json"
    write(file, *map(json_of, rows))
    os.utime(file, (number + 1, number + 1))


def files_of(chance: random.Random, first: int = 0) -> list[list[Row]]:
    """Return the rows of each file, some of them far too late, some without a time."""
    files, minute, number = [], 0, first
    for _ in range(chance.randint(5, 8)):
        rows: list[Row] = []
        for _ in range(chance.randint(0, 6)):
            minute += chance.choice((0, 1, 5, 40))
            late = chance.choice((0, 3, 9, 10, 11, 20, 45, 100, 200))
            at = None if chance.random() < 0.1 else minute - late
            rows.append((number, chance.choice("ab"), at))
            number += 1
        files.append(rows)
    return files


def windows_of(spark: SparkSession, folder: Path, suffix: str = "") -> dict[tuple[str, int], list[int]]:
    """Return the numbers in each window that is published, by word and begin; the windows are published once."""
    found = spark.read.parquet(f"{folder}/windows{suffix}").collect()
    begins = [(row.word, round((row.window_start - BEGIN.replace(tzinfo=None)).total_seconds()) // 60) for row in found]
    assert len(set(begins)) == len(begins)
    return dict(zip(begins, (row.ids for row in found), strict=True))


def late_of(spark: SparkSession, folder: Path, suffix: str = "") -> Counter[int]:
    return Counter(row.id for row in spark.read.parquet(f"{folder}/late{suffix}").collect())


@contextmanager
def dying(chance: random.Random) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if chance.random() < 0.5:
            die(patch, *chance.choice(PLACES), after=chance.random() < 0.5)
        yield


def run_to_end(runs: Runs, run: str, chance: random.Random) -> None:
    """Run until nothing fails; a driver may die in each try but the last."""
    for _ in range(2):
        with dying(chance):
            if runs.run(run) == []:
                return
    assert runs.run(run) == []


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 6))])
@pytest.mark.parametrize("name", KINDS)
def test_each_row_is_in_its_windows_or_late(name: str, seed: int, tmp_path: Path, spark: SparkSession) -> None:
    """All that is published is what a model in Python says: which rows are late, and what each window has."""
    kind, chance = KINDS[name], random.Random(f"{name} {seed}")
    files = [*files_of(chance), *LAST]
    runs, model, waiting = Runs(declared(tmp_path, kind.window), tmp_path, spark), Watermarks(), list[list[Row]]()
    for number, rows in enumerate(files):
        arrive(tmp_path, number, rows)
        waiting.append(rows)
        if chance.random() < 0.3 or number == len(files) - 1:
            run_to_end(runs, f"run {number}", chance)
            model.run(waiting)
            waiting.clear()
    timed = [(row, passed) for rows, passed in zip(files, model.late_by, strict=True) for row in rows]
    late = {id for (id, _, at), passed in timed if at is not None and kind.end(at) <= passed}
    kept = {id for (id, _, at), _ in timed if at is not None} - late
    assert late
    assert late_of(spark, tmp_path) == Counter(late)
    found = windows_of(spark, tmp_path)
    if kind.slide:
        expected: dict[tuple[str, int], list[int]] = {}
        for (id, word, at), passed in timed:
            for begin in kind.windows(at) if at is not None and at < CLOSING else ():
                if begin + kind.size > passed:
                    expected.setdefault((word, begin), []).append(id)
        assert found == expected
    assert {id for ids in found.values() for id in ids} == kept - {9999}


def test_two_windows_with_their_own_watermarks_in_one_query(tmp_path: Path, spark: SparkSession) -> None:
    """One watermark finds the late rows of all: the one that is behind. No row is lost, and none is in both."""
    chance = random.Random("two")
    env = StreamExecutionEnvironment("late", config={"execution.runtime-mode": "AUTOMATIC"})
    for name, window in (("left", "sliding"), ("right", "sessions")):
        source = Json(f"{tmp_path}/{name}", schema=SCHEMA, options={"maxFilesPerTrigger": 1})
        rows = env.from_source(source, name, unbounded=True).uid(name)
        add_windows(rows, tmp_path, KINDS[window].window, f"_{name}")
    runs = Runs(env, tmp_path, spark)
    files = {name: [*files_of(chance), *LAST] for name in ("left", "right")}
    for number in range(max(map(len, files.values()))):
        for name, each in files.items():
            if number < len(each):
                arrive(tmp_path, number, each[number], name)
        if chance.random() < 0.3:
            run_to_end(runs, f"run {number}", chance)
    run_to_end(runs, "last", chance)
    for name in ("left", "right"):  # so that both have passed all windows in one run
        arrive(tmp_path, 100, [(9999, "a", CLOSING)], name)
    run_to_end(runs, "closing", chance)
    for name, each in files.items():
        timed = {id for rows in each for id, _, at in rows if at is not None and at < CLOSING}
        late = late_of(spark, tmp_path, f"_{name}")
        kept = {id for ids in windows_of(spark, tmp_path, f"_{name}").values() for id in ids}
        assert late, "some rows are late"
        assert max(late.values()) == 1
        assert kept | set(late) == timed
        assert kept.isdisjoint(late)


def test_nothing_of_a_batch_is_late(tmp_path: Path, spark: SparkSession) -> None:
    files = files_of(random.Random(3))
    for number, rows in enumerate(files):
        arrive(tmp_path, number, rows)
    kind = KINDS["tumbling"]
    assert Runs(declared(tmp_path, kind.window, unbounded=False), tmp_path, spark).run("one") == []
    assert late_of(spark, tmp_path) == Counter()
    found = windows_of(spark, tmp_path)
    timed = [id for rows in files for id, _, at in rows if at is not None]
    assert sorted(id for ids in found.values() for id in ids) == timed


def test_rows_before_1970_are_late(tmp_path: Path, spark: SparkSession) -> None:
    """Spark's watermark begins there: such rows are set aside, and not lost."""
    arrive(tmp_path, 0, [(1, "a", EPOCH - 11), (2, "a", EPOCH + 1), (3, "a", 5)])
    runs = Runs(declared(tmp_path, KINDS["tumbling"].window), tmp_path, spark)
    assert runs.run("one") == []
    assert late_of(spark, tmp_path) == Counter([1])
    assert windows_of(spark, tmp_path) == {("a", EPOCH): [2]}


@pytest.mark.parametrize("tag", ["late", None])
def test_late_rows_that_are_left_out_are_reported(
    tmp_path: Path, spark: SparkSession, caplog: pytest.LogCaptureFixture, tag: str | None
) -> None:
    env = StreamExecutionEnvironment("late", config={"execution.runtime-mode": "AUTOMATIC"})
    rows = env.from_source(Json(f"{tmp_path}/in", schema=SCHEMA), "in", unbounded=True).uid("in")
    marked = rows.assign_timestamps_and_watermarks("at", max_out_of_orderness="10 minutes")
    windows = marked.key_by("word").window(TumblingEventTimeWindows("at", "10 minutes"))
    counted = (windows.side_output_late_data(tag) if tag else windows).aggregate(n="count(*)")
    counted.sink_to(Parquet(f"{tmp_path}/out"), mode="append").uid("out")
    if tag:
        counted.get_side_output(tag).sink_to(Parquet(f"{tmp_path}/late"), mode="append").uid("late")
    runs = Runs(env, tmp_path, spark)
    arrive(tmp_path, 0, [(1, "a", 100)])
    assert runs.run("one") == []
    assert not any(batch.late for batch in runs.report().batches)
    arrive(tmp_path, 1, [(2, "a", 1), (3, "b", 1), (4, "a", 101)])
    assert runs.run("two") == []
    found = sum(batch.late for batch in runs.report().batches)
    words = "at least 2 late rows were left out: the watermark had passed their time"
    assert found == (0 if tag else 2)
    assert (words in caplog.text) == (tag is None)
    assert (words in list(batch_words(runs.report().batches))) == (tag is None)


def test_late_rows_that_nothing_reads_are_left_out_and_reported(tmp_path: Path, spark: SparkSession) -> None:
    env = StreamExecutionEnvironment("late", config={"execution.runtime-mode": "AUTOMATIC"})
    rows = env.from_source(Json(f"{tmp_path}/in", schema=SCHEMA), "in", unbounded=True).uid("in")
    marked = rows.assign_timestamps_and_watermarks("at", max_out_of_orderness="10 minutes")
    marked.deduplicate("word").sink_to(Parquet(f"{tmp_path}/out"), mode="append").uid("out")
    runs = Runs(env, tmp_path, spark)
    arrive(tmp_path, 0, [(1, "a", 100)])
    assert runs.run("one") == []
    arrive(tmp_path, 1, [(2, "b", 1), (3, "c", 90)])
    assert runs.run("two") == []
    assert sum(batch.late for batch in runs.report().batches) == 2


def test_late_rows_of_a_stream_are_joined_and_united_as_others(tmp_path: Path, spark: SparkSession) -> None:
    write(tmp_path / "names" / "a.json", {"word": "a", "name": "one"})
    env = StreamExecutionEnvironment("late", config={"execution.runtime-mode": "AUTOMATIC"})
    rows = env.from_source(Json(f"{tmp_path}/in", schema=SCHEMA), "in", unbounded=True).uid("in")
    names = env.from_source(Json(f"{tmp_path}/names", schema="word STRING, name STRING"), "names")
    marked = rows.assign_timestamps_and_watermarks("at", max_out_of_orderness="10 minutes")
    windows = marked.window_all(TumblingEventTimeWindows("at", "10 minutes")).side_output_late_data("late")
    counted = windows.aggregate(n="count(*)")
    counted.sink_to(Parquet(f"{tmp_path}/out"), mode="append").uid("out")
    late = counted.get_side_output("late").join(names, on="word").select("id", "name")
    late.union(rows.filter("word = 'x'").select("id", name="word")).sink_to(
        Parquet(f"{tmp_path}/late"), mode="append"
    ).uid("late")
    runs = Runs(env, tmp_path, spark)
    arrive(tmp_path, 0, [(1, "a", 100)])
    assert runs.run("one") == []
    arrive(tmp_path, 1, [(2, "a", 1), (3, "x", 1)])
    assert runs.run("two") == []
    assert sorted(map(tuple, spark.read.parquet(f"{tmp_path}/late").collect())) == [(2, "one"), (3, "x")]
