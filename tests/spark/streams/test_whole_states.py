"""A state has all that its operator computes with, whatever reads it: what is behind it may change from run to run."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from graph_compiler import DataStream, Json, Parquet, StreamExecutionEnvironment, TumblingEventTimeWindows
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from tests.harness.position_runs import Runs, write
from tests.harness.savepoints import save_and_reset

pytestmark = pytest.mark.spark
CONFIG = {"execution.runtime-mode": "AUTOMATIC"}
Declared = Callable[[Path, str], StreamExecutionEnvironment]
Batch = dict[str, list[dict[str, Any]]]


def rows(spark: SparkSession, folder: Path) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, spark.read.parquet(str(folder)).collect()), key=repr)


def at(time: str) -> str:
    return f"2024-01-01T{time}:00Z"


def read(env: StreamExecutionEnvironment, folder: Path, name: str, schema: str) -> DataStream:
    return env.from_source(Json(f"{folder}/{name}", schema=schema), name, unbounded=True).uid(name)


def marked(env: StreamExecutionEnvironment, folder: Path, name: str, schema: str) -> DataStream:
    time = f"{name}_at"
    found = read(env, folder, name, f"{schema}, {time} TIMESTAMP")
    return found.assign_timestamps_and_watermarks(time, max_out_of_orderness="1 minute")


def totals(folder: Path, column: str) -> StreamExecutionEnvironment:
    """Return a pipeline that publishes one of two sums."""
    env = StreamExecutionEnvironment("stream", config=CONFIG)
    both = read(env, folder, "a", "k STRING, x INT, y INT").key_by("k").aggregate(s="sum(x)", t="sum(y)").uid("sums")
    both.select("k", v=column).sink_to(Parquet(f"{folder}/out"), mode="merge", keys=["k"]).uid("out")
    return env


def windows(folder: Path, condition: str) -> StreamExecutionEnvironment:
    """Return a pipeline that publishes the windows of some keys."""
    env = StreamExecutionEnvironment("stream", config=CONFIG)
    keyed = marked(env, folder, "a", "k STRING").key_by("k").window(TumblingEventTimeWindows("a_at", "1 hour"))
    counts = keyed.aggregate(n="count(*)").uid("windows").filter(condition).select("k", "n")
    counts.sink_to(Parquet(f"{folder}/out"), mode="append").uid("out")
    return env


def pairs(folder: Path) -> tuple[StreamExecutionEnvironment, DataStream]:
    env = StreamExecutionEnvironment("stream", config=CONFIG)
    left, right = (marked(env, folder, name, f"k STRING, {name} STRING, {name}2 STRING") for name in "ab")
    bounds = {"lower": "-1 hour", "upper": "1 hour"}
    return env, left.interval_join(right, on="k", times=("a_at", "b_at"), **bounds).uid("pairs")


def joined_columns(folder: Path, column: str) -> StreamExecutionEnvironment:
    """Return a pipeline that publishes a column of pairs."""
    env, found = pairs(folder)
    found.select("k", v=column).sink_to(Parquet(f"{folder}/out"), mode="append").uid("out")
    return env


def joined_rows(folder: Path, condition: str) -> StreamExecutionEnvironment:
    """Return a pipeline that publishes some pairs."""
    env, found = pairs(folder)
    some = found.filter(condition).select("k", "a")
    some.sink_to(Parquet(f"{folder}/out"), mode="append").uid("out")
    return env


EARLY = [{"k": k, "a": k, "a2": f"{k}2", "a_at": at("10:00")} for k in "xy"]
LATE = [{"k": k, "b": "1", "b_at": at("10:01")} for k in "xy"]
MORE = [{"k": k, "a_at": at("10:30")} for k in "xy"]


@pytest.mark.parametrize(
    ("declared", "changes", "batches", "published"),
    [
        pytest.param(
            totals,
            ("s", "t"),
            [{"a": [{"k": "x", "x": 1, "y": 1000}]}, {"a": [{"k": "x", "x": 1, "y": 1000}]}],
            [("x", 2000)],
            id="columns behind a total",
        ),
        pytest.param(
            windows,
            ("k = 'x'", "k IN ('x', 'y')"),
            [{"a": EARLY}, {"a": [*MORE, {"k": "z", "a_at": at("12:00")}]}],
            [("x", 2), ("y", 2)],
            id="keys behind a window",
        ),
        pytest.param(
            joined_columns,
            ("a", "a2"),
            [{"a": EARLY, "b": []}, {"b": LATE}],
            [("x", "x2"), ("y", "y2")],
            id="columns behind a join",
            marks=pytest.mark.ci,
        ),
        pytest.param(
            joined_rows,
            ("a = 'x'", "a IN ('x', 'y')"),
            [{"a": EARLY, "b": []}, {"b": LATE}],
            [("x", "x"), ("y", "y")],
            id="rows behind a join",
        ),
        pytest.param(
            joined_rows,
            ("1 = 0", "1 = 1"),
            [{"a": EARLY, "b": []}, {"b": LATE}],
            [("x", "x"), ("y", "y")],
            id="a constant behind a join",
            marks=pytest.mark.ci,
        ),
    ],
)
def test_what_is_behind_a_state_does_not_change_what_is_kept(
    tmp_path: Path,
    spark: SparkSession,
    declared: Declared,
    changes: tuple[str, str],
    batches: list[Batch],
    published: list[tuple[Any, ...]],
) -> None:
    for number, (change, batch) in enumerate(zip(changes, batches, strict=True)):
        for name, arrived in batch.items():
            write(tmp_path / name / f"{number}.json", *arrived)
        assert Runs(declared(tmp_path, change), tmp_path, spark, tries=number).run(f"run {number}") == []
    assert rows(spark, tmp_path / "out") == published


def branches(
    folder: Path, uids: Sequence[str] = ("one", "two"), *, has_copy: bool = False, saved: str | None = None
) -> StreamExecutionEnvironment:
    """Return a pipeline with two readers of one total, each of another sum."""
    config = CONFIG | ({"execution.savepoint.path": saved} if saved else {})
    env = StreamExecutionEnvironment("stream", config=config)
    arrived = read(env, folder, "a", "k STRING, x INT, y INT")
    both = arrived.key_by("k").aggregate(s="sum(x)", t="sum(y)").uid("sums")
    for column, uid in zip("st", uids, strict=True):
        sums = both.select("k", column).uid(uid)
        sums.sink_to(Parquet(f"{folder}/{column}"), mode="merge", keys=["k"]).name(column).uid(column)
    if has_copy:
        arrived.sink_to(Parquet(f"{folder}/copy"), mode="append").name("copy").uid("copy")
    return env


def order(env: StreamExecutionEnvironment) -> list[int]:
    """Return the nodes whose rows Spark has as one query, in its order."""
    (region,) = describe_regions(compile_pipeline(env.pipeline()))
    return [id for id, _ in region.batch_inputs]


@pytest.mark.ci
@pytest.mark.parametrize("is_moved", [False, True], ids=["another order", "a savepoint with one more sink"])
def test_branches_of_one_state_are_not_mixed_up(tmp_path: Path, spark: SparkSession, is_moved: bool) -> None:
    first = branches(tmp_path)
    write(tmp_path / "a" / "1.json", {"k": "x", "x": 1, "y": 1000})
    assert Runs(first, tmp_path, spark).run("one") == []
    if is_moved:
        saved = save_and_reset(f"{tmp_path}/staging")
        then = branches(tmp_path, has_copy=True, saved=saved)
    else:
        others = (branches(tmp_path, (f"one{number}", "two")) for number in range(50))
        then = next(each for each in others if order(each) != order(first))
    write(tmp_path / "a" / "2.json", {"k": "x", "x": 1, "y": 1000})
    assert Runs(then, tmp_path, spark, tries=9).run("two") == []
    assert rows(spark, tmp_path / "s") == [("x", 2)]
    assert rows(spark, tmp_path / "t") == [("x", 2000)]


@pytest.mark.ci
def test_a_filter_leaves_rows_out_when_the_watermark_has_seen_them(tmp_path: Path, spark: SparkSession) -> None:
    env = StreamExecutionEnvironment("stream", config=CONFIG)
    kept = marked(env, tmp_path, "a", "k STRING").filter("k = 'x'")
    counts = kept.key_by("k").window(TumblingEventTimeWindows("a_at", "1 hour")).aggregate(n="count(*)").uid("windows")
    counts.select("k", "n").sink_to(Parquet(f"{tmp_path}/out"), mode="append").uid("out")
    write(tmp_path / "a" / "1.json", {"k": "x", "a_at": at("10:00")}, {"k": "y", "a_at": at("12:00")})
    assert Runs(env, tmp_path, spark).run("one") == []
    assert rows(spark, tmp_path / "out") == [("x", 1)]
