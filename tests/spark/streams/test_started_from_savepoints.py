"""Streams that start from a savepoint: no row is lost, and none is published twice, whatever was published since."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Jdbc, Json, Parquet, StreamExecutionEnvironment, Text, TumblingEventTimeWindows
from graph_compiler.staging.streams import savepoints
from tests.harness.position_runs import Runs, write
from tests.harness.postgres import PASSWORD, Postgres
from tests.harness.savepoints import reset, save
from tests.lake.dying import die

pytestmark = [pytest.mark.spark, pytest.mark.ci]
Arrive = Callable[[str, str], None]


@pytest.fixture
def arrive(tmp_path: Path) -> Arrive:
    """Let a text arrive."""
    (tmp_path / "in").mkdir()

    def arrives(name: str, text: str) -> None:
        (tmp_path / "in" / f".{name}").write_text(text)
        (tmp_path / "in" / f".{name}").rename(tmp_path / "in" / name)

    return arrives


def declared(
    folder: Path,
    *,
    saved: str | None = None,
    words: str = "words",
    counts: bool = True,
    unclaimed: bool = False,
    name: str = "word_count",
) -> StreamExecutionEnvironment:
    """Count lines, and keep them."""
    config = {"execution.runtime-mode": "AUTOMATIC"}
    config |= {"execution.savepoint.path": saved} if saved else {}
    config |= {"execution.savepoint.ignore-unclaimed-state": "true"} if unclaimed else {}
    env = StreamExecutionEnvironment(name, config=config)
    lines = env.from_source(Text(f"{folder}/in"), "lines", unbounded=True).uid("lines")
    if counts:
        totals = lines.key_by("value").aggregate(n="count(*)").uid("totals")
        totals.sink_to(Parquet(f"{folder}/counts"), mode="merge", keys=["value"]).name("counts").uid("counts")
    if words:
        lines.sink_to(Parquet(f"{folder}/{words}"), mode="append").name("words").uid("words")
    return env


def rows(spark: SparkSession, folder: Path | str) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, spark.read.parquet(str(folder)).collect()), key=repr)


def test_a_stream_continues_where_the_savepoint_is(tmp_path: Path, spark: SparkSession, arrive: Arrive) -> None:
    runs = Runs(declared(tmp_path), tmp_path, spark)
    for name, text in (("one", "a\nb\na\n"), ("two", "b\n")):
        arrive(name, text)
        assert runs.run(name) == []
    saved = save(f"{tmp_path}/staging")
    reset(f"{tmp_path}/staging", "word_count")
    arrive("three", "a\nc\n")
    again = Runs(declared(tmp_path, saved=saved), tmp_path, spark, tries=9)
    assert again.run("three") == []
    assert [each.number for each in again.report().batches] == [2]
    assert rows(spark, tmp_path / "counts") == [("a", 3), ("b", 2), ("c", 1)]
    assert [word for (word,) in rows(spark, tmp_path / "words")] == ["a", "a", "a", "b", "b", "c"]
    arrive("four", "c\n")
    assert again.run("four") == []
    assert again.run("five") == []
    assert rows(spark, tmp_path / "counts") == [("a", 3), ("b", 2), ("c", 2)]
    assert len(rows(spark, tmp_path / "words")) == 7


def test_what_was_published_behind_a_savepoint_is_not_appended_again(
    tmp_path: Path, spark: SparkSession, arrive: Arrive
) -> None:
    runs = Runs(declared(tmp_path), tmp_path, spark)
    arrive("one", "a\nb\na\n")
    assert runs.run("one") == []
    saved = save(f"{tmp_path}/staging")
    for name, text in (("two", "b\n"), ("three", "d\n")):
        arrive(name, text)
        assert runs.run(name) == []
    reset(f"{tmp_path}/staging", "word_count")
    arrive("four", "a\n")
    (failure,) = Runs(declared(tmp_path, saved=saved), tmp_path, spark, tries=9).run("four")
    assert f"its target {tmp_path}/words has batch 2, and the savepoint {saved} is behind batch 0" in failure
    assert "another target for this sink; or mode='merge'" in failure
    assert len(rows(spark, tmp_path / "words")) == 5
    assert rows(spark, tmp_path / "counts") == [("a", 2), ("b", 2), ("d", 1)], "no sink has published"
    other = Runs(declared(tmp_path, saved=saved, words="others"), tmp_path, spark, tries=19)
    assert other.run("five") == []
    assert rows(spark, tmp_path / "counts") == [("a", 3), ("b", 2), ("d", 1)], "merged again, from the state"
    assert [word for (word,) in rows(spark, tmp_path / "others")] == ["a", "b", "d"]
    assert len(rows(spark, tmp_path / "words")) == 5


def test_rows_that_were_taken_out_of_the_target_may_be_appended_again(
    tmp_path: Path, spark: SparkSession, server: Postgres, arrive: Arrive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PASSWORD.variable, server.password)
    server.sql("DROP TABLE IF EXISTS lines")
    target = Jdbc(server.url, table="lines", user=server.user, password=PASSWORD, driver="org.postgresql.Driver")

    def copies(saved: str | None = None) -> Runs:
        config = {"execution.runtime-mode": "AUTOMATIC", **({"execution.savepoint.path": saved} if saved else {})}
        env = StreamExecutionEnvironment("word_count", config=config)
        lines = env.from_source(Text(f"{tmp_path}/in"), "lines", unbounded=True).uid("lines")
        lines.sink_to(target, mode="append").uid("out")
        return Runs(env, tmp_path, spark, tries=9 if saved else 0)

    runs = copies()
    arrive("one", "a\n")
    assert runs.run("one") == []
    saved = save(f"{tmp_path}/staging")
    arrive("two", "b\n")
    assert runs.run("two") == []
    reset(f"{tmp_path}/staging", "word_count")
    again = copies(saved)
    (failure,) = again.run("three")
    assert "has batch 1, and the savepoint" in failure
    assert server.sql("SELECT value FROM lines ORDER BY 1") == [("a",), ("b",)]
    server.sql("DELETE FROM lines WHERE value = 'b'")
    command = failure.partition("if you have removed the rows of batch 1 from the target: ")[2].splitlines()[0]
    text, _, file = command.removeprefix("echo ").partition(" > ")
    Path(file.strip("'")).write_text(text.strip("'"))
    assert again.run("four") == []
    assert server.sql("SELECT value FROM lines ORDER BY 1") == [("a",), ("b",)]


def test_targets_with_ledgers_elsewhere_are_refused(tmp_path: Path, spark: SparkSession, arrive: Arrive) -> None:
    arrive("one", "a\n")
    assert Runs(declared(tmp_path), tmp_path, spark).run("one") == []
    saved = save(f"{tmp_path}/staging")
    arrive("two", "b\n")
    root = str(tmp_path / "moved")
    moved = Runs(declared(tmp_path, saved=saved), tmp_path, spark, tries=9, place=root)
    (failure,) = moved.run("two")
    assert "another staging root has recorded of which batches" in failure
    assert [word for (word,) in rows(spark, tmp_path / "words")] == ["a"]
    others = Runs(declared(tmp_path, saved=saved, words="others"), tmp_path, spark, tries=19, place=root)
    assert others.run("two") == []
    assert [word for (word,) in rows(spark, tmp_path / "others")] == ["b"]
    assert rows(spark, tmp_path / "counts") == [("a", 1), ("b", 1)]


def test_a_stream_that_continues_does_not_share_a_target_with_its_copy(
    tmp_path: Path, spark: SparkSession, arrive: Arrive
) -> None:
    runs = Runs(declared(tmp_path), tmp_path, spark)
    arrive("one", "a\n")
    assert runs.run("one") == []
    saved = save(f"{tmp_path}/staging")
    arrive("two", "b\n")
    copy = declared(tmp_path, saved=saved, name="copy")
    (failure,) = Runs(copy, tmp_path, spark, tries=9).run("two")
    assert "has batches of 'word_count', whose stream continues" in failure
    assert runs.run("two") == []
    assert [word for (word,) in rows(spark, tmp_path / "words")] == ["a", "b"]


def test_a_pipeline_that_drops_its_state_continues_with_the_offsets(
    tmp_path: Path, spark: SparkSession, arrive: Arrive
) -> None:
    arrive("one", "a\nb\n")
    assert Runs(declared(tmp_path), tmp_path, spark).run("one") == []
    saved = save(f"{tmp_path}/staging")
    arrive("two", "c\n")
    (failure,) = Runs(declared(tmp_path, counts=False), tmp_path, spark, tries=9).run("two")
    assert "'Aggregate' is not in the pipeline any more" in failure
    assert "--allow-non-restored-state" in failure
    reset(f"{tmp_path}/staging", "word_count")
    (failure,) = Runs(declared(tmp_path, counts=False, saved=saved), tmp_path, spark, tries=19).run("two")
    assert "execution.savepoint.ignore-unclaimed-state" in failure
    without = Runs(declared(tmp_path, counts=False, saved=saved, unclaimed=True), tmp_path, spark, tries=29)
    assert without.run("two") == []
    assert [word for (word,) in rows(spark, tmp_path / "words")] == ["a", "b", "c"]
    arrive("three", "d\n")
    assert without.run("three") == []
    assert [word for (word,) in rows(spark, tmp_path / "words")] == ["a", "b", "c", "d"]
    assert rows(spark, tmp_path / "counts") == [("a", 1), ("b", 1)]


def two_totals(
    folder: Path, keys: str, saved: str | None = None, *, unclaimed: bool = False
) -> StreamExecutionEnvironment:
    """Count by each of some columns, in this order of declaration."""
    config = {"execution.runtime-mode": "AUTOMATIC", **({"execution.savepoint.path": saved} if saved else {})}
    config |= {"execution.savepoint.ignore-unclaimed-state": "true"} if unclaimed else {}
    env = StreamExecutionEnvironment("totals", config=config)
    pairs = env.from_source(Json(f"{folder}/in", schema="a STRING, b STRING"), "pairs", unbounded=True).uid("pairs")
    for key in keys:
        totals = pairs.key_by(key).aggregate(n="count(*)").uid(f"by_{key}")
        totals.sink_to(Parquet(f"{folder}/{key}"), mode="merge", keys=[key]).name(key).uid(key)
    return env


def test_the_order_of_declaration_does_not_mix_up_states(tmp_path: Path, spark: SparkSession) -> None:
    write(tmp_path / "in" / "1.json", {"a": "x", "b": "y"}, {"a": "x", "b": "z"})
    assert Runs(two_totals(tmp_path, "ab"), tmp_path, spark).run("one") == []
    write(tmp_path / "in" / "2.json", {"a": "x", "b": "y"})
    assert Runs(two_totals(tmp_path, "ba"), tmp_path, spark, tries=9).run("two") == []
    assert rows(spark, tmp_path / "a") == [("x", 3)]
    assert rows(spark, tmp_path / "b") == [("y", 2), ("z", 1)]


@pytest.mark.parametrize("left", "ab")
def test_one_state_of_two_is_dropped(tmp_path: Path, spark: SparkSession, left: str) -> None:
    write(tmp_path / "in" / "1.json", {"a": "x", "b": "y"}, {"a": "x", "b": "z"})
    assert Runs(two_totals(tmp_path, "ab"), tmp_path, spark).run("one") == []
    saved = save(f"{tmp_path}/staging")
    write(tmp_path / "in" / "2.json", {"a": "x", "b": "y"})
    (failure,) = Runs(two_totals(tmp_path, left), tmp_path, spark, tries=9).run("two")
    assert "is not in the pipeline any more" in failure
    reset(f"{tmp_path}/staging", "totals")
    one = Runs(two_totals(tmp_path, left, saved, unclaimed=True), tmp_path, spark, tries=19)
    assert one.run("two") == []
    write(tmp_path / "in" / "3.json", {"a": "x", "b": "z"})
    assert one.run("three") == []
    found = {key: rows(spark, tmp_path / key) for key in "ab"}
    whole = {"a": [("x", 4)], "b": [("y", 2), ("z", 2)]}
    old = {"a": [("x", 2)], "b": [("y", 1), ("z", 1)]}
    assert found == {**old, left: whole[left]}


def test_a_sink_that_reads_the_source_again_is_added_by_a_savepoint(
    tmp_path: Path, spark: SparkSession, arrive: Arrive
) -> None:
    arrive("one", "a\nb\na\n")
    assert Runs(declared(tmp_path, words=""), tmp_path, spark).run("one") == []
    saved = save(f"{tmp_path}/staging")
    arrive("two", "a\n")
    (failure,) = Runs(declared(tmp_path), tmp_path, spark, tries=9).run("two")
    assert "its sources have other places in the query, or other branches read them" in failure
    assert "--from-savepoint PATH`" in failure
    reset(f"{tmp_path}/staging", "word_count")
    both = Runs(declared(tmp_path, saved=saved), tmp_path, spark, tries=19)
    for name in ("two", "three"):
        assert both.run(name) == []
    assert rows(spark, tmp_path / "counts") == [("a", 3), ("b", 1)]
    assert rows(spark, tmp_path / "words") == [("a",)]


@pytest.mark.parametrize("selects", [False, True])
def test_sources_in_another_order_are_not_mixed_up(tmp_path: Path, spark: SparkSession, selects: bool) -> None:
    def united(order: str, saved: str | None = None) -> StreamExecutionEnvironment:
        config = {"execution.runtime-mode": "AUTOMATIC", **({"execution.savepoint.path": saved} if saved else {})}
        env = StreamExecutionEnvironment("united", config=config)
        read = [
            env.from_source(Json(f"{tmp_path}/{name}", schema="id INT"), name, unbounded=True).uid(name)
            for name in order
        ]
        both = read[0].union(read[1])
        both = both.select(id="id") if selects else both
        both.sink_to(Parquet(f"{tmp_path}/out"), mode="append").uid("out")
        return env

    for name in "lr":
        write(tmp_path / name / "1.json", {"id": 1})
    assert Runs(united("lr"), tmp_path, spark).run("one") == []
    write(tmp_path / "l" / "2.json", {"id": 2})
    saved = save(f"{tmp_path}/staging")
    if selects:
        (failure,) = Runs(united("rl"), tmp_path, spark, tries=9).run("two")
        assert "its sources have other places in the query" in failure
        reset(f"{tmp_path}/staging", "united")
    again = Runs(united("rl", saved if selects else None), tmp_path, spark, tries=19)
    assert again.run("two") == []
    write(tmp_path / "r" / "3.json", {"id": 3})
    assert again.run("three") == []
    assert [id for (id,) in rows(spark, tmp_path / "out")] == [1, 1, 2, 3]


@pytest.mark.parametrize(("place", "after"), [("_restore", True), ("begin_stream", False), ("begin_stream", True)])
def test_a_driver_that_dies_when_it_begins(
    tmp_path: Path, spark: SparkSession, arrive: Arrive, monkeypatch: pytest.MonkeyPatch, place: str, after: bool
) -> None:
    arrive("one", "a\n")
    assert Runs(declared(tmp_path), tmp_path, spark).run("one") == []
    saved = save(f"{tmp_path}/staging")
    reset(f"{tmp_path}/staging", "word_count")
    arrive("two", "a\nb\n")
    again = Runs(declared(tmp_path, saved=saved), tmp_path, spark, tries=9)
    die(monkeypatch, savepoints, place, after=after)
    assert len(again.run("two")) == 1
    assert again.run("two") == []
    assert rows(spark, tmp_path / "counts") == [("a", 2), ("b", 1)]
    assert [word for (word,) in rows(spark, tmp_path / "words")] == ["a", "a", "b"]


def test_windows_with_late_rows_continue_at_another_place(tmp_path: Path, spark: SparkSession) -> None:
    def windows(*, saved: str | None = None, copies: bool = False) -> StreamExecutionEnvironment:
        config = {"execution.runtime-mode": "AUTOMATIC", **({"execution.savepoint.path": saved} if saved else {})}
        env = StreamExecutionEnvironment("windows", config=config)
        orders = env.from_source(Json(f"{tmp_path}/in", schema="n INT, at TIMESTAMP"), "in", unbounded=True).uid("in")
        marked = orders.assign_timestamps_and_watermarks("at", max_out_of_orderness="1 second").uid("marked")
        hours = marked.window_all(TumblingEventTimeWindows("at", "1 hour")).side_output_late_data("late")
        totals = hours.aggregate(n="sum(n)").uid("hours")
        totals.select("n").sink_to(Parquet(f"{tmp_path}/hours"), mode="append").name("hours").uid("to hours")
        late = totals.get_side_output("late").select("n")
        late.sink_to(Parquet(f"{tmp_path}/late"), mode="append").name("late").uid("to late")
        if copies:  # before the others, in the order of Spark's query
            for number in range(4):
                copy = orders.select("n").uid(f"copy {number}")
                copy.sink_to(Parquet(f"{tmp_path}/copy{number}"), mode="append").name(f"copy {number}").uid(
                    f"c{number}"
                )
        return env

    def arrive(name: str, *written: tuple[int, int]) -> None:
        write(tmp_path / "in" / name, *({"n": n, "at": f"2024-01-01T{hour:02}:30:00Z"} for n, hour in written))

    runs = Runs(windows(), tmp_path, spark)
    arrive("1.json", (1, 1), (2, 2))
    assert runs.run("one") == []
    saved = save(f"{tmp_path}/staging")
    reset(f"{tmp_path}/staging", "windows")
    arrive("2.json", (4, 2), (8, 9))
    later = Runs(windows(saved=saved, copies=True), tmp_path, spark, tries=3)
    assert later.run("two") == []
    arrive("3.json", (16, 1), (32, 23))
    assert later.run("three") == []
    assert rows(spark, tmp_path / "hours") == [(1,), (6,), (8,)]
    assert rows(spark, tmp_path / "late") == [(16,)]
    assert [rows(spark, tmp_path / f"copy{number}") for number in range(4)] == [[(16,), (32,), (4,), (8,)]] * 4
