"""Contracts on streams: each batch is checked before it is published, whatever happens to its driver."""

from pathlib import Path
from typing import Any, Literal

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Json, Parquet, StreamExecutionEnvironment
from graph_compiler.spark_runtime.region.coordination import SinkCommitter
from graph_compiler.spark_runtime.streams import stream_query
from graph_compiler.staging.publications.ledger import Ledger
from tests.harness.position_runs import Runs, write
from tests.lake.dying import die

pytestmark = [pytest.mark.spark, pytest.mark.ci]
SCHEMA = "id INT, n INT"
FIRST = [{"id": 1, "n": 1}, {"id": 2, "n": -2}, {"id": 3, "n": None}]
SECOND = [{"id": 4, "n": 4}, {"id": 5, "n": -5}]


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})


def checked(folder: Path, on_violation: Literal["warn", "drop", "fail"], **limits: Any) -> StreamExecutionEnvironment:
    """Count all rows by their sign, and publish those that a contract passes on."""
    env = environment()
    rows = env.from_source(Json(f"{folder}/in", schema=SCHEMA), "rows", unbounded=True).uid("rows")
    positive = rows.expect("positive", "n > 0", on_violation=on_violation, **limits)
    positive.select("id").sink_to(Parquet(f"{folder}/out"), mode="append").name("out").uid("out")
    signs = rows.select("id", sign="coalesce(sign(n), 0)").key_by("sign").aggregate(n="count(*)").uid("by_sign")
    signs.sink_to(Parquet(f"{folder}/signs"), mode="merge", keys="sign").name("signs").uid("signs")
    return env


def split(folder: Path) -> StreamExecutionEnvironment:
    """Publish rows with what is wrong with them, or without."""
    env = environment()
    rows = env.from_source(Json(f"{folder}/in", schema=SCHEMA), "rows", unbounded=True).uid("rows")
    known = rows.expect("known", "n IS NOT NULL", to="unknown")
    good = known.expect("positive", "n > 0", to="negative")
    outputs = {"good": good, "negative": good.get_side_output("negative"), "unknown": known.get_side_output("unknown")}
    for name, found in outputs.items():
        found.select("id").sink_to(Parquet(f"{folder}/{name}"), mode="append").name(name).uid(name)
    return env


def ids(spark: SparkSession, folder: Path) -> list[int]:
    return sorted(id for (id,) in spark.read.parquet(str(folder)).select("id").collect())


def counts(runs: Runs) -> list[tuple[str, int, int, bool]]:
    """Return the contracts of the last run: rows, violations, and whether it is violated."""
    return [(each.contract, each.rows, each.violations, each.is_violated) for each in runs.report().contracts]


@pytest.mark.parametrize(("on_violation", "published"), [("warn", [1, 2, 3, 4, 5]), ("drop", [1, 4])])
def test_rows_of_each_batch_are_counted_and_dropped(
    tmp_path: Path, spark: SparkSession, on_violation: Literal["warn", "drop"], published: list[int]
) -> None:
    env = checked(tmp_path, on_violation)
    runs = Runs(env, tmp_path, spark)
    write(tmp_path / "in" / "1.json", *FIRST)
    assert runs.run("one") == []
    assert counts(runs) == [("positive", 3, 2, True)]
    write(tmp_path / "in" / "2.json", *SECOND)
    assert runs.run("two") == []
    assert counts(runs) == [("positive", 2, 1, True)]
    assert ids(spark, tmp_path / "out") == published
    assert runs.run("three") == []
    assert counts(runs) == []


def test_counts_of_several_batches_are_added(tmp_path: Path, spark: SparkSession) -> None:
    env = environment()
    source = Json(f"{tmp_path}/in", schema=SCHEMA, options={"maxFilesPerTrigger": 1})
    rows = env.from_source(source, "rows", unbounded=True).uid("rows")
    rows.expect("positive", "n > 0", max_share=0.6).sink_to(Parquet(f"{tmp_path}/out"), mode="append").uid("out")
    runs = Runs(env, tmp_path, spark)
    write(tmp_path / "in" / "1.json", *FIRST)
    write(tmp_path / "in" / "2.json", *SECOND)
    assert runs.run("one") == []
    assert len(runs.report().batches) == 2
    assert counts(runs) == [("positive", 5, 3, True)]  # two of three rows of a batch are more than 60 %


def test_a_batch_that_violates_a_contract_is_not_published_and_then_by_another_contract(
    tmp_path: Path, spark: SparkSession
) -> None:
    write(tmp_path / "in" / "1.json", {"id": 1, "n": 1})
    runs = Runs(checked(tmp_path, "fail"), tmp_path, spark)
    assert runs.run("one") == []
    write(tmp_path / "in" / "2.json", *SECOND)
    for run in ("two", "three"):
        (failure,) = runs.run(run)
        assert "1 of 2 rows violate 'positive'" in failure
        assert ids(spark, tmp_path / "out") == [1]
        assert dict(map(tuple, spark.read.parquet(f"{tmp_path}/signs").collect())) == {1: 1}
    write(tmp_path / "in" / "3.json", *FIRST[1:])
    dropping = Runs(checked(tmp_path, "drop"), tmp_path, spark, tries=10)
    assert dropping.run("four") == []
    assert ids(spark, tmp_path / "out") == [1, 4]
    assert dict(map(tuple, spark.read.parquet(f"{tmp_path}/signs").collect())) == {1: 2, -1: 2, 0: 1}


@pytest.mark.parametrize(
    ("place", "after"),
    [
        ((SinkCommitter, "prepare"), True),
        ((Ledger, "decide"), True),
        ((Ledger, "finish"), False),
        ((SinkCommitter, "commit"), True),
        ((stream_query, "run_region"), True),
    ],
    ids=str,
)
def test_each_row_is_passed_on_or_set_aside_whoever_dies(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, place: tuple[Any, str], after: bool
) -> None:
    runs = Runs(split(tmp_path), tmp_path, spark)
    write(tmp_path / "in" / "1.json", *FIRST)
    assert runs.run("one") == []
    write(tmp_path / "in" / "2.json", *SECOND)
    with monkeypatch.context() as patch:
        die(patch, *place, after=after)
        assert runs.run("two") != []
    write(tmp_path / "in" / "3.json", {"id": 6, "n": 6})
    assert runs.run("three") == []
    found = {name: ids(spark, tmp_path / name) for name in ("good", "negative", "unknown")}
    assert found == {"good": [1, 4, 6], "negative": [2, 5], "unknown": [3]}


def test_totals_are_checked_whenever_they_change(tmp_path: Path, spark: SparkSession) -> None:
    env = environment()
    rows = env.from_source(Json(f"{tmp_path}/in", schema=SCHEMA), "rows", unbounded=True).uid("rows")
    totals = rows.select("id", part="id % 2", n="n").key_by("part").aggregate(n="sum(n)").uid("totals")
    checked = totals.expect("positive", "n > 0")
    checked.sink_to(Parquet(f"{tmp_path}/out"), mode="merge", keys="part").name("out").uid("out")
    runs = Runs(env, tmp_path, spark)
    write(tmp_path / "in" / "1.json", *FIRST)
    assert runs.run("one") == []
    assert counts(runs) == [("positive", 2, 1, True)]
    write(tmp_path / "in" / "2.json", {"id": 6, "n": 9})
    assert runs.run("two") == []
    assert counts(runs) == [("positive", 1, 0, False)]
    assert sorted(map(tuple, spark.read.parquet(f"{tmp_path}/out").collect())) == [(0, 7), (1, 1)]


def test_the_current_time_behind_a_contract_is_that_of_the_batch(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = environment()
    rows = env.from_source(Json(f"{tmp_path}/in", schema=SCHEMA), "rows", unbounded=True).uid("rows")
    before = rows.with_columns(before="current_timestamp()").expect("known", "n IS NOT NULL")
    behind = before.with_columns(is_same="before = current_timestamp()").select("id", "is_same")
    behind.sink_to(Parquet(f"{tmp_path}/out"), mode="append").name("out").uid("out")
    runs = Runs(env, tmp_path, spark)
    write(tmp_path / "in" / "1.json", *FIRST)
    with monkeypatch.context() as patch:
        die(patch, SinkCommitter, "prepare", after=False)
        assert runs.run("one") != []
    assert runs.run("two") == []
    assert sorted(map(tuple, spark.read.parquet(f"{tmp_path}/out").collect())) == [(1, True), (2, True), (3, True)]
