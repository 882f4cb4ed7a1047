"""A stream of files, run by run: each batch is published once, whatever happens to its driver."""

import gc
import json
import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.utils import ForeachBatchFunction

from graph_compiler import (
    Csv,
    Files,
    Jdbc,
    Json,
    Kafka,
    Parquet,
    StreamExecutionEnvironment,
    Text,
    TumblingEventTimeWindows,
)
from graph_compiler.declaration.connectors import Connector
from graph_compiler.projects.yaml.forms import leaves
from graph_compiler.spark_runtime.connectors.arriving.kafka_source import KafkaError
from graph_compiler.spark_runtime.connectors.source import read_source
from graph_compiler.spark_runtime.region.coordination import SinkCommitter
from graph_compiler.spark_runtime.results.pinned_settings import pinned
from graph_compiler.spark_runtime.streams import state_backend, stream_query
from graph_compiler.spark_runtime.streams.batch_inputs import BatchInputs, StreamSources
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.streams.checkpoint import Checkpoint
from tests.harness.position_runs import Runs, write
from tests.harness.postgres import PASSWORD, Postgres
from tests.harness.waiting import wait_until
from tests.lake.dying import die

pytestmark = pytest.mark.spark
Rows = list[tuple[Any, ...]]


def environment(name: str = "stream") -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment(name, config={"execution.runtime-mode": "AUTOMATIC"})


def word_count(folder: Path, n: str = "count(*)") -> StreamExecutionEnvironment:
    """Count the words of lines that arrive, and keep the words, too."""
    env = environment("word_count")
    lines = env.from_source(Text(f"{folder}/in"), "lines", unbounded=True).uid("lines")
    words = lines.select(word="explode(split(lower(value), '[^a-z]+'))").filter("word <> ''")
    counts = words.key_by("word").aggregate(n=n)
    counts.sink_to(Parquet(f"{folder}/counts"), mode="merge", keys=["word"]).name("counts").uid("counts")
    words.sink_to(Parquet(f"{folder}/words"), mode="append").name("words").uid("words")
    return env


@pytest.fixture
def arrive(tmp_path: Path) -> Callable[[str, str], None]:
    """Let a text arrive."""
    (tmp_path / "in").mkdir()

    def arrives(name: str, text: str) -> None:
        hidden = tmp_path / "in" / f".{name}"
        hidden.write_text(text)
        hidden.rename(tmp_path / "in" / name)

    return arrives


def rows(spark: SparkSession, folder: Path | str) -> Rows:
    return sorted(map(tuple, spark.read.parquet(str(folder)).collect()), key=repr)


def words_of(folder: Path) -> Counter[str]:
    """Count the words of all files by Python."""
    texts = [file.read_text() for file in sorted((folder / "in").iterdir()) if not file.name.startswith(".")]
    return Counter(" ".join(texts).lower().split())


def is_counted(spark: SparkSession, folder: Path) -> bool:
    expected = words_of(folder)
    assert dict(rows(spark, folder / "counts")) == expected
    assert Counter(word for (word,) in rows(spark, folder / "words")) == expected
    return True


@pytest.mark.ci
def test_how_long_files_wait_is_known(tmp_path: Path, spark: SparkSession, arrive: Callable[[str, str], None]) -> None:
    runs = Runs(word_count(tmp_path), tmp_path, spark)
    for name, age in (("a.txt", 7_200), ("b.txt", 3_600)):
        arrive(name, "to be")
        written = time.time() - age
        os.utime(tmp_path / "in" / name, (written, written))
    assert runs.run("one") == []
    (batch,) = runs.report().batches
    assert batch.progress is not None
    assert batch.progress.waited is not None
    assert 7_200 <= batch.progress.waited < 7_260


def test_words_are_counted_run_by_run(tmp_path: Path, spark: SparkSession, arrive: Callable[[str, str], None]) -> None:
    runs = Runs(word_count(tmp_path), tmp_path, spark)
    arrive("a.txt", "to be or not to be")
    assert runs.run("one") == []
    assert is_counted(spark, tmp_path)
    arrive("b.txt", "be quick")
    assert runs.run("two") == []
    assert is_counted(spark, tmp_path)
    (batch,) = runs.report().batches
    assert (batch.number, batch.rows) == (1, 4)
    assert batch.progress is not None
    assert (batch.progress.state_rows, batch.progress.behind, batch.progress.watermark) == (5, None, None)
    assert batch.progress.rows_in == 1  # of one line, which two sinks read
    assert {output.name: output.rows for output in runs.report().outputs} == {"counts": 2, "words": 2}
    written = [json.loads(each.schema)["fields"] for each in runs.report().schemas]
    assert sorted([column["name"] for column in columns] for columns in written) == [["value"], ["word"], ["word", "n"]]
    assert runs.run("three") == []
    assert runs.report().batches == ()
    assert is_counted(spark, tmp_path)


@pytest.mark.ci
@pytest.mark.parametrize(
    ("place", "after"),
    [
        ((BatchInputs, "check"), False),
        ((SinkCommitter, "prepare"), False),
        ((SinkCommitter, "prepare"), True),
        ((Ledger, "decide"), False),
        ((Ledger, "decide"), True),
        ((Ledger, "finish"), False),
        ((Ledger, "finish"), True),
        ((SinkCommitter, "commit"), True),
        ((stream_query, "run_region"), True),
    ],
    ids=str,
)
def test_a_driver_that_dies_in_a_batch_publishes_it_once(
    tmp_path: Path,
    spark: SparkSession,
    arrive: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
    place: tuple[Any, str],
    after: bool,
) -> None:
    runs = Runs(word_count(tmp_path), tmp_path, spark)
    arrive("a.txt", "to be or not to be")
    assert runs.run("one") == []
    arrive("b.txt", "be quick")
    die(monkeypatch, *place, after=after)
    assert len(runs.run("two")) == 1
    arrive("c.txt", "not so quick")
    assert runs.run("two") == []
    assert is_counted(spark, tmp_path)
    assert runs.run("three") == []
    assert is_counted(spark, tmp_path)


def test_a_batch_is_finished_by_the_next_run(
    tmp_path: Path, spark: SparkSession, arrive: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(word_count(tmp_path), tmp_path, spark)
    arrive("a.txt", "to be")
    die(monkeypatch, SinkCommitter, "commit", after=True)
    assert len(runs.run("one")) == 1
    arrive("b.txt", "or not")
    assert runs.run("two") == []
    assert is_counted(spark, tmp_path)


def test_a_state_is_not_continued_by_another_aggregate(
    tmp_path: Path, spark: SparkSession, arrive: Callable[[str, str], None]
) -> None:
    arrive("a.txt", "to be or not to be")
    assert Runs(word_count(tmp_path), tmp_path, spark).run("one") == []
    (failure,) = Runs(word_count(tmp_path, "2 * count(*)"), tmp_path, spark, tries=1).run("two")
    assert "'Aggregate' has changed, or something before it, and the checkpoint has its state" in failure
    assert "`graph-compiler streams reset word_count lines`" in failure


@pytest.mark.ci
def test_what_is_behind_a_state_may_change(
    tmp_path: Path, spark: SparkSession, arrive: Callable[[str, str], None]
) -> None:
    def declared(factor: int) -> StreamExecutionEnvironment:
        env = environment()
        lines = env.from_source(Text(f"{tmp_path}/in"), "lines", unbounded=True).uid("lines")
        counts = lines.key_by("value").aggregate(n="count(*)").uid("count").with_columns(n=f"n * {factor}")
        counts.sink_to(Parquet(f"{tmp_path}/out"), mode="merge", keys=["value"]).uid("out")
        return env

    arrive("a.txt", "a\na\nb\n")
    assert Runs(declared(1), tmp_path, spark).run("one") == []
    assert rows(spark, tmp_path / "out") == [("a", 2), ("b", 1)]
    arrive("b.txt", "a\nb\nc\n")
    assert Runs(declared(10), tmp_path, spark, tries=1).run("two") == []
    assert rows(spark, tmp_path / "out") == [("a", 30), ("b", 20), ("c", 10)]


@pytest.mark.ci
def test_another_number_of_partitions_is_ignored_and_said(
    tmp_path: Path,
    spark: SparkSession,
    arrive: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    runs = Runs(word_count(tmp_path), tmp_path, spark)
    began = int(spark.conf.get("spark.sql.shuffle.partitions") or 0)
    for number, (name, asked) in enumerate((("a", began), ("b", began), ("c", began + 5))):
        arrive(f"{name}.txt", "to be or not to be")
        monkeypatch.setattr(state_backend, "asked_partitions", lambda _, asked=asked: asked)
        with pinned(spark, {"spark.sql.shuffle.partitions": str(asked)}):
            assert runs.run(f"run {number}") == []
        words = f"is {asked}, and the state has {began} partitions: that stays so until it is reset"
        assert (words in caplog.text) is (asked != began)
    states = tmp_path.glob("staging/.streams/*/*/checkpoint/state/0/*")
    assert len([folder for folder in states if folder.name.isdecimal()]) == began
    assert is_counted(spark, tmp_path)


@pytest.mark.ci
def test_a_query_that_has_ended_is_let_go(
    tmp_path: Path, spark: SparkSession, arrive: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, gateway = Runs(word_count(tmp_path), tmp_path, spark), spark.sparkContext._gateway
    assert gateway is not None

    called = gateway.gateway_property.pool.dict
    before = set(map(id, called.values()))

    def are_gone() -> bool:
        gc.collect()
        gateway.jvm.System.gc()
        functions = [each for each in [*called.values()] if isinstance(each, ForeachBatchFunction)]
        return before.issuperset(map(id, functions))

    for number, fails in enumerate((False, True, False)):
        arrive(f"{number}.txt", "to be or not to be")
        with monkeypatch.context() as patch:
            if fails:
                die(patch, SinkCommitter, "commit", after=True)
            assert bool(runs.run(f"run {number}")) is fails
    wait_until(are_gone)


def test_a_driver_without_its_turn_commits_nothing(
    tmp_path: Path, spark: SparkSession, arrive: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(word_count(tmp_path), tmp_path, spark)
    arrive("a.txt", "to be or not to be")
    prepare = SinkCommitter.prepare
    taken: list[bool] = []

    def slept(committer: SinkCommitter, rows: Any) -> int:
        found = prepare(committer, rows)
        if not taken:
            taken.append(True)
            query = runs.last[0].region.stream
            assert query is not None
            Checkpoint.open(runs.store, runs.root, runs.identity("other"), "e99", query)
        return found

    monkeypatch.setattr(SinkCommitter, "prepare", slept)
    (failure,) = runs.run("one")
    assert "a later driver has the checkpoint" in failure
    assert not (tmp_path / "words").exists()
    assert runs.run("two") == []
    assert is_counted(spark, tmp_path)


def test_windows_are_published_when_they_are_complete(tmp_path: Path, spark: SparkSession) -> None:
    env = environment()
    seen = env.from_source(Json(f"{tmp_path}/in", schema="at TIMESTAMP, n INT"), "seen", unbounded=True).uid("seen")
    marked = seen.assign_timestamps_and_watermarks("at", max_out_of_orderness="5 minutes")
    windows = marked.window_all(TumblingEventTimeWindows("at", "10 minutes")).aggregate(total="sum(n)")
    hours = windows.select(minute="minute(window_start)", total="total")
    hours.sink_to(Parquet(f"{tmp_path}/out"), mode="append").uid("out")
    runs = Runs(env, tmp_path, spark)

    def minute(number: int, n: int) -> dict[str, object]:
        return {"at": f"2024-01-01T00:{number:02}:00Z", "n": n}

    write(tmp_path / "in" / "a.json", minute(1, 1), minute(9, 2), minute(12, 4))
    assert runs.run("one") == []
    write(tmp_path / "in" / "b.json", minute(8, 8), minute(16, 16))  # one is in time, though another window has begun
    assert runs.run("two") == []
    assert rows(spark, tmp_path / "out") == [(0, 11)]
    write(tmp_path / "in" / "c.json", minute(3, 1000), minute(40, 32))  # one is late
    assert runs.run("three") == []
    assert rows(spark, tmp_path / "out") == [(0, 11), (10, 20)]


@pytest.mark.ci
def test_a_state_goes_on_behind_a_batch_that_its_only_sink_has_already(
    tmp_path: Path, spark: SparkSession, server: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PASSWORD.variable, server.password)
    server.sql("DROP TABLE IF EXISTS windows")
    target = Jdbc(server.url, table="windows", user=server.user, password=PASSWORD, driver="org.postgresql.Driver")
    env = environment()
    seen = env.from_source(Json(f"{tmp_path}/in", schema="at TIMESTAMP, n INT"), "seen", unbounded=True).uid("seen")
    marked = seen.assign_timestamps_and_watermarks("at", max_out_of_orderness="1 minute")
    windows = marked.window_all(TumblingEventTimeWindows("at", "10 minutes")).aggregate(total="sum(n)")
    windows.select(minute="minute(window_start)", total="total").sink_to(target, mode="append").uid("out")
    runs = Runs(env, tmp_path, spark)
    for number, run in enumerate(("one", "two", "three")):
        write(
            tmp_path / "in" / f"{run}.json",
            *({"at": f"2024-01-01T00:{number * 10 + minute:02}:00Z", "n": 1} for minute in (1, 5, 9)),
        )
        die(monkeypatch, SinkCommitter, "commit", after=True)
        while runs.run(run):
            pass
    assert server.sql("SELECT minute, total FROM windows ORDER BY 1") == [("0", "3"), ("10", "3")]


@pytest.mark.ci
def test_rows_of_several_sources_and_side_outputs(tmp_path: Path, spark: SparkSession) -> None:
    env = environment()
    sources = [
        env.from_source(Json(f"{tmp_path}/{name}", schema="id INT"), name, unbounded=True).uid(name)
        for name in ("left", "right")
    ]
    good = sources[0].union(sources[1]).filter("id > 0", rejects="bad")
    good.sink_to(Parquet(f"{tmp_path}/good"), mode="append").name("good").uid("good")
    good.get_side_output("bad").sink_to(Parquet(f"{tmp_path}/bad"), mode="append").name("bad").uid("bad")
    runs = Runs(env, tmp_path, spark)
    for number, run in enumerate(("one", "two")):
        write(tmp_path / "left" / f"{run}.json", {"id": 1 + number}, {"id": -1 - number})
        write(tmp_path / "right" / f"{run}.json", {"id": 11 + number}, {"id": None})
        assert runs.run(run) == []
    assert sorted(id for (id,) in rows(spark, tmp_path / "good")) == [1, 2, 11, 12]
    assert rows(spark, tmp_path / "bad") == [(-1,), (-2,), (None,), (None,)]


@pytest.mark.ci
def test_another_source_of_the_same_folder_may_end(tmp_path: Path, spark: SparkSession) -> None:
    env, folder = environment(), Json(f"{tmp_path}/in", schema="id INT")
    arriving = env.from_source(folder, "arriving", unbounded=True).uid("arriving")
    known = env.from_source(folder, "known").select(id="id", again="id * 10")
    arriving.join(known, on="id").sink_to(Parquet(f"{tmp_path}/out"), mode="append").uid("out")
    runs = Runs(env, tmp_path, spark)
    for number in (1, 2):
        write(tmp_path / "in" / f"{number}.json", {"id": 1})
        assert runs.run(f"run {number}") == []
    assert rows(spark, tmp_path / "out") == [(1, 10)] * 3, "the second row is joined with both that are there"


def copies(tmp_path: Path, source: Any, spark: SparkSession) -> Runs:
    env = environment()
    env.from_source(source, "in", unbounded=True).uid("in").sink_to(Parquet(f"{tmp_path}/out"), mode="append").uid("o")
    return Runs(env, tmp_path, spark)


def test_a_file_that_changes_after_it_was_listed_is_noticed(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "in" / "a.json"
    write(file, {"id": 1})
    runs = copies(tmp_path, Json(f"{tmp_path}/in", schema="id INT"), spark)
    prepare = SinkCommitter.prepare

    def grows(committer: SinkCommitter, given: Any) -> int:
        found = prepare(committer, given)
        write(file, {"id": 1}, {"id": 2})
        os.utime(file, (1, 1))
        return found

    with monkeypatch.context() as patch:
        patch.setattr(SinkCommitter, "prepare", grows)
        (failure,) = runs.run("one")
    assert "a.json has changed since the stream has listed it" in failure
    assert not (tmp_path / "out").exists()
    assert len(runs.run("one")) == 1, "it is still another file"


@pytest.mark.ci
def test_a_file_that_changes_is_noticed_beside_a_source_that_several_operators_read(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = environment()
    a, b = (
        env.from_source(Json(f"{tmp_path}/{name}", schema="id INT"), name, unbounded=True).uid(name) for name in "ab"
    )
    ones = a.with_columns(n="1").uid("one")
    ones.sink_to(Parquet(f"{tmp_path}/ones"), mode="append").name("ones").uid("ones")
    a.union(b).sink_to(Parquet(f"{tmp_path}/all"), mode="append").name("all").uid("all")
    for name in "ab":
        write(tmp_path / name / "1.json", {"id": 1})
    runs = Runs(env, tmp_path, spark)
    assert runs.run("one") == []
    query = runs.last[0].region.stream
    assert query is not None
    assert query.reads == ("a", "a", "b"), "otherwise its place in the offsets is also its number"
    prepare = SinkCommitter.prepare
    for number, name in enumerate("ab"):
        file = tmp_path / name / f"{number + 2}.json"
        write(file, {"id": 2})
        written = file.stat().st_mtime_ns

        def changes(committer: SinkCommitter, given: Any, file: Path = file) -> int:
            os.utime(file, (1, 1))
            return prepare(committer, given)

        with monkeypatch.context() as patch:
            patch.setattr(SinkCommitter, "prepare", changes)
            (failure,) = runs.run(f"run {number}")
        assert f"{file.name} has changed since the stream has listed it" in failure
        os.utime(file, ns=(written, written))
        assert runs.run(f"run {number}") == []


def test_files_of_any_name_are_read_once_and_noticed_when_they_are_written_again(
    tmp_path: Path, spark: SparkSession
) -> None:
    names = ["a b.json", "50%25.json", "x(1).json", "#é+&=.json", "q'\"`.json"]
    for number, name in enumerate(names):
        write(tmp_path / "in" / name, {"id": number})
    runs = copies(tmp_path, Json(f"{tmp_path}/in", schema="id INT", options={"maxFilesPerTrigger": 2}), spark)
    assert runs.run("one") == []
    assert [each.number for each in runs.report().batches] == [0, 1, 2]
    assert runs.run("two") == []
    assert rows(spark, tmp_path / "out") == [(number,) for number in range(len(names))]
    write(tmp_path / "in" / names[2], {"id": 2}, {"id": 99})
    os.utime(tmp_path / "in" / names[2], (1, 1))
    (failure,) = runs.run("three")
    assert "x(1).json was written again after the stream had read it" in failure
    (tmp_path / "in" / names[2]).unlink()
    write(tmp_path / "in" / "new.json", {"id": 99})
    assert runs.run("three") == []
    assert (99,) in rows(spark, tmp_path / "out")


@pytest.mark.parametrize("name", ["x[1].json", "{1}.json", "*.json", "?.json", "a\\b.json"])
def test_a_file_whose_name_is_a_pattern_is_refused_before_it_is_in_a_batch(
    tmp_path: Path, spark: SparkSession, name: str
) -> None:
    write(tmp_path / "in" / name, {"id": 1})
    write(tmp_path / "in" / "a.json", {"id": 2})
    runs = copies(tmp_path, Json(f"{tmp_path}/in", schema="id INT"), spark)
    (failure,) = runs.run("one")
    assert "has a character of patterns in its path" in failure
    (tmp_path / "in" / name).rename(tmp_path / "in" / "b.json")
    assert runs.run("one") == []
    assert rows(spark, tmp_path / "out") == [(1,), (2,)]


@pytest.mark.parametrize("before", [0, pytest.param(9, marks=pytest.mark.ci)])
def test_a_file_whose_name_is_a_pattern_is_refused_in_a_batch(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    """It arrives when the driver has looked at the names. Behind 9 batches, Spark's list has the files of all."""
    runs = copies(tmp_path, Json(f"{tmp_path}/in", schema="id INT"), spark)
    (tmp_path / "in").mkdir()
    for number in range(before):
        write(tmp_path / "in" / f"{number}.json", {"id": -number})
        assert runs.run(f"run {number}") == []
    write(tmp_path / "in" / "a.json", {"id": 1})
    write(tmp_path / "in" / "b.json", {"id": 2})
    looks = StreamSources.check_start

    def arrives(sources: StreamSources) -> None:
        looks(sources)
        write(tmp_path / "in" / "x[1].json", {"id": 3})

    with monkeypatch.context() as patch:
        patch.setattr(StreamSources, "check_start", arrives)
        (failure,) = runs.run("one")
    assert "x[1].json has a character of patterns in its path" in failure
    (failure,) = runs.run("one")
    assert "x[1].json has a character of patterns in its path" in failure
    (tmp_path / "in" / "x[1].json").rename(tmp_path / "in" / "y.json")
    assert runs.run("one") == []
    assert sorted(id for (id,) in rows(spark, tmp_path / "out")) == [*range(1 - before, 4)]


@pytest.mark.ci
def test_logs_of_many_batches_are_read_compacted(tmp_path: Path, spark: SparkSession) -> None:
    runs = copies(tmp_path, Json(f"{tmp_path}/in", schema="id INT", options={"maxFilesPerTrigger": 1}), spark)
    for number in range(13):
        write(tmp_path / "in" / f"{number}.json", {"id": number})
        os.utime(tmp_path / "in" / f"{number}.json", (number + 1, number + 1))
    assert runs.run("one") == []
    assert runs.run("two") == []
    assert sorted(id for (id,) in rows(spark, tmp_path / "out")) == list(range(13))
    os.utime(tmp_path / "in" / "4.json", (100, 100))
    (failure,) = runs.run("three")
    assert "4.json was written again" in failure


def test_a_run_that_fails_says_what_it_has_published(tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "in").mkdir()
    for number, text in enumerate(("1,2", "1,x")):
        (tmp_path / "in" / f"{number}.csv").write_text(f"id,n\n{text}\n")
        os.utime(tmp_path / "in" / f"{number}.csv", (number, number))
    source = Csv(f"{tmp_path}/in", schema="id INT, n INT", header=True, options={"maxFilesPerTrigger": "1"})
    runs = copies(tmp_path, source, spark)
    assert len(runs.run("one")) == 1
    assert [(batch.number, batch.rows) for batch in runs.report().batches] == [(0, 1)]
    assert rows(spark, tmp_path / "out") == [(1, 2)]


def test_records_that_do_not_fit_fail_the_batch_and_then_the_next_run_has_them(
    tmp_path: Path, spark: SparkSession
) -> None:
    file = tmp_path / "in" / "a.csv"
    file.parent.mkdir()
    file.write_text("id,n\n1,x\n")
    runs = copies(tmp_path, Csv(f"{tmp_path}/in", schema="id INT, n INT", header=True), spark)
    (failure,) = runs.run("one")
    assert "a.csv" in failure
    assert "does not fit column 'n', INT" in failure
    changed = file.stat().st_mtime_ns
    file.write_text("id,n\n1,2\n")
    os.utime(file, ns=(changed, changed))
    assert runs.run("one") == []
    assert rows(spark, tmp_path / "out") == [(1, 2)]


@pytest.mark.ci
def test_a_stream_with_state_continues_when_records_that_do_not_fit_are_read_as_null(
    tmp_path: Path, spark: SparkSession
) -> None:
    def sums(**settings: Any) -> StreamExecutionEnvironment:
        env = environment("sums")
        found = Json(f"{tmp_path}/in", schema="k STRING, n INT", **settings)
        totals = env.from_source(found, "in", unbounded=True).uid("in").key_by("k").aggregate(n="sum(n)").uid("sums")
        totals.sink_to(Parquet(f"{tmp_path}/out"), mode="merge", keys="k").name("out").uid("out")
        return env

    write(tmp_path / "in" / "1.json", {"k": "a", "n": 1})
    assert Runs(sums(), tmp_path, spark).run("one") == []
    write(tmp_path / "in" / "2.json", {"k": "a", "n": "x"}, {"k": "a", "n": 2})
    (failure,) = Runs(sums(), tmp_path, spark, tries=1).run("two")
    assert 'hint: on_misfit="null" reads NULL for what does not fit' in failure
    more = sums(on_misfit="null", options={"maxFilesPerTrigger": 1})
    assert Runs(more, tmp_path, spark, tries=2).run("two") == []
    assert rows(spark, tmp_path / "out") == [("a", 3)]


@pytest.mark.ci
def test_files_with_their_columns_in_another_order_fail_the_batch(tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("a,b\n1,2\n")
    runs = copies(tmp_path, Csv(f"{tmp_path}/in", schema="a INT, b INT"), spark)
    assert runs.run("one") == []
    (tmp_path / "in" / "a.csv").unlink()
    (tmp_path / "in" / "b.csv").write_text("b,a\n2,1\n")
    (failure,) = runs.run("two")
    assert "does not fit column 'a', INT" in failure
    assert "b.csv" in failure
    assert len(rows(spark, tmp_path / "out")) == 1


def test_headers_that_could_be_records_are_refused(tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("a,b\n1,2\n")
    (failure,) = copies(tmp_path, Csv(f"{tmp_path}/in", schema="a STRING, b STRING"), spark).run("one")
    assert "one with other names could be read as a record" in failure
    without = Csv(f"{tmp_path}/in", schema="a STRING, b STRING", header=False)
    assert copies(tmp_path / "other", without, spark).run("one") == []
    assert rows(spark, tmp_path / "other" / "out") == [("1", "2"), ("a", "b")]


@pytest.mark.ci
def test_records_of_xml_are_checked_in_each_batch(tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.xml").write_text("<R><ROW><a>1</a><b>2.50</b></ROW></R>")
    files = Files(f"{tmp_path}/in", format="xml", schema="a INT, b DECIMAL(9, 2)", options={"rowTag": "ROW"})
    runs = copies(tmp_path, files, spark)
    assert runs.run("one") == []
    (tmp_path / "in" / "b.xml").write_text("<R><ROW><a>1</a><b>3,50</b></ROW></R>")
    (failure,) = runs.run("two")
    assert "the value '3,50' does not fit column 'b', DECIMAL(9,2)" in failure
    assert len(rows(spark, tmp_path / "out")) == 1
    (tmp_path / "in" / "a.xml").write_text("<R><row><a>1</a></row></R>")
    (failure,) = copies(tmp_path / "other", files, spark).run("one")
    assert "a.xml has no element ROW, which is its rowTag" in failure


@pytest.mark.ci
def test_files_with_other_columns_fail_the_batch(tmp_path: Path, spark: SparkSession) -> None:
    spark.range(3).selectExpr("id", "id AS n").coalesce(1).write.parquet(f"{tmp_path}/in")
    runs = copies(tmp_path, Parquet(f"{tmp_path}/in", schema="id BIGINT, n BIGINT"), spark)
    assert runs.run("one") == []
    spark.range(3).select("id").coalesce(1).write.mode("append").parquet(f"{tmp_path}/in")
    (failure,) = runs.run("two")
    assert "n BIGINT" in failure
    assert len(rows(spark, tmp_path / "out")) == 3


def test_private_connectors_of_a_driver_have_no_key_in_yaml() -> None:
    assert {"_BatchRows", "_ArrivingRows"} <= {kind.__name__ for kind in Connector.__subclasses__()}
    assert not [kind for kind in leaves(Connector) if kind.__name__.startswith("_")]


def test_a_driver_without_the_connector_of_kafka_says_what_it_needs(spark: SparkSession) -> None:
    with pytest.raises(KafkaError, match=rf"org\.apache\.spark:spark-sql-kafka-0-10_2\.13:{spark.version}"):
        read_source(Kafka("orders", bootstrap_servers="127.0.0.1:1"), spark)


def test_a_folder_that_gets_its_name_when_it_is_complete_arrives_once(tmp_path: Path, spark: SparkSession) -> None:
    write(tmp_path / "in/one/a.json", {"id": 1})
    write(tmp_path / "in/.two/b.json", {"id": 2})
    runs = copies(tmp_path, Json(f"{tmp_path}/in/*", schema="id INT"), spark)
    assert runs.run("one") == []
    (tmp_path / "in/.two").rename(tmp_path / "in/two")
    assert runs.run("two") == []
    assert rows(spark, tmp_path / "out") == [(1,), (2,)]
