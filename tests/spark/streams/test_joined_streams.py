"""Rows of two streams that are close in time: all pairs of rows that are not late, as in a batch."""

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Json, Parquet, StreamExecutionEnvironment
from graph_compiler.spark_runtime.region.coordination import SinkCommitter
from graph_compiler.spark_runtime.streams import stream_query
from graph_compiler.staging.publications.ledger import Ledger
from tests.harness.position_runs import Runs, write
from tests.lake.dying import die

pytestmark = [pytest.mark.spark, pytest.mark.ci]
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
EPOCH = -int(BEGIN.timestamp()) // 60
DISORDER = {"left": 20, "right": 5}
LOWER, UPPER = -30, 15
"""In minutes: the right row is at most so long before, and behind, the left one."""
SIDES = ("left", "right")
Row = tuple[int, str | None, int | None]
"""A number, a key, and the minute of the event."""


def declared(
    folder: Path, *, unbounded: Sequence[str] = SIDES, lower: str = f"{LOWER} minutes", upper: str = f"{UPPER} minutes"
) -> StreamExecutionEnvironment:
    name = "stream" if unbounded else "batch"
    env = StreamExecutionEnvironment(name, config={"execution.runtime-mode": "AUTOMATIC"})
    left, right = (
        env.from_source(
            Json(f"{folder}/{side}", schema=f"{side} INT, key STRING, {side}_at TIMESTAMP"),
            side,
            unbounded=side in unbounded,
        )
        .uid(side)
        .assign_timestamps_and_watermarks(f"{side}_at", max_out_of_orderness=f"{DISORDER[side]} minutes")
        for side in SIDES
    )
    pairs = left.interval_join(right, on="key", times=("left_at", "right_at"), lower=lower, upper=upper)
    pairs.select("left", "right").sink_to(Parquet(f"{folder}/{name}"), mode="append").uid("out")
    return env


def arrive(folder: Path, side: str, number: int, rows: Sequence[Row]) -> None:
    write(folder / side / f"{number:03}.json", *(json_of(side, row) for row in rows))


def json_of(side: str, row: Row) -> dict[str, Any]:
    id, key, minute = row
    at = None if minute is None else (BEGIN + timedelta(minutes=minute)).isoformat()
    return {side: id, "key": key, f"{side}_at": at}


def pairs_of(spark: SparkSession, folder: Path, name: str = "stream") -> list[tuple[int, int]]:
    return sorted(map(tuple, spark.read.parquet(f"{folder}/{name}").collect()))


def pairs_in(left: Sequence[Row], right: Sequence[Row]) -> list[tuple[int, int]]:
    """Join rows by Python."""
    return sorted(
        (one, other)
        for one, key, at in left
        for other, other_key, other_at in right
        if key is not None and key == other_key and at is not None and other_at is not None
        if at + LOWER <= other_at <= at + UPPER
    )


def run_to_end(runs: Runs, run: str, chance: random.Random) -> None:
    """Run until nothing fails; the driver may die in the first try."""
    with pytest.MonkeyPatch.context() as patch:
        places: list[tuple[Any, str]] = [
            (SinkCommitter, "prepare"),
            (Ledger, "decide"),
            (SinkCommitter, "commit"),
            (stream_query, "run_region"),
        ]
        if chance.random() < 0.5:
            die(patch, *chance.choice(places), after=chance.random() < 0.5)
        if runs.run(run) == []:
            return
    assert runs.run(run) == []


def test_pairs_of_rows_in_time_are_those_of_a_batch(tmp_path: Path, spark: SparkSession) -> None:
    chance = random.Random("pairs")
    runs, rows = Runs(declared(tmp_path), tmp_path, spark), {side: list[Row]() for side in SIDES}
    for run in range(6):
        for side in SIDES:
            new: list[Row] = []
            for number in range(chance.randint(0, 10)):
                minute = run * 30 + chance.randint(0, 29) - (chance.randint(0, 4) if chance.random() < 0.5 else 0)
                at = None if chance.random() < 0.1 else min(minute, run * 30 + 29)
                new.append((run * 100 + number, chance.choice(["a", "b", None]), at))
            new = [each for each in new if each[2] is None or each[2] > run * 30 - DISORDER[side]]
            rows[side] += new
            arrive(tmp_path, side, run, new)
        run_to_end(runs, f"run {run}", chance)
    assert Runs(declared(tmp_path, unbounded=()), tmp_path, spark, tries=100).run("batch") == []
    found = pairs_of(spark, tmp_path)
    assert found == pairs_of(spark, tmp_path, "batch") == pairs_in(rows["left"], rows["right"])
    assert len(found) > 20
    assert not any(batch.late for batch in runs.report().batches)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 6))])
def test_late_rows_have_no_pairs_and_all_others_have_theirs(tmp_path: Path, spark: SparkSession, seed: int) -> None:
    """A row is late by the watermark of both streams, the one that is behind; it moves if both have rows in a run."""
    chance = random.Random(seed)
    runs = Runs(declared(tmp_path), tmp_path, spark)
    passed, in_time, late, minute = EPOCH, {side: list[Row]() for side in SIDES}, 0, 0
    for run in range(8):
        marks = dict.fromkeys(SIDES, EPOCH)
        for side in SIDES:
            if run and chance.random() < 0.2:
                continue
            new: list[tuple[int, str, int]] = []
            for number in range(chance.randint(1, 6)):
                minute += chance.choice((0, 2, 10, 30))
                new.append((run * 100 + number, chance.choice("ab"), minute - chance.choice((0, 4, 19, 60, 150))))
            arrive(tmp_path, side, run, new)
            kept = [row for row in new if row[2] > passed]
            late += len(new) - len(kept)
            in_time[side] += kept
            marks[side] = max(at for _, _, at in new) - DISORDER[side]
        run_to_end(runs, f"run {run}", chance)
        passed = max(passed, min(marks.values()))
    assert late, "some rows are late"
    found = pairs_of(spark, tmp_path)
    assert found == pairs_in(in_time["left"], in_time["right"])
    assert found


@pytest.mark.parametrize(("lower", "upper"), [("-30 minutes", "15 minutes"), ("-1 day", "1 week 1 hour")])
def test_rows_are_forgotten_when_no_pair_can_come(tmp_path: Path, spark: SparkSession, lower: str, upper: str) -> None:
    runs = Runs(declared(tmp_path, lower=lower, upper=upper), tmp_path, spark)
    for run, minute in enumerate((0, 20_000, 40_000)):
        for side in SIDES:
            arrive(tmp_path, side, run, [(run * 100 + number, "a", minute) for number in range(10)])
        assert runs.run(f"run {run}") == []
    (checkpoint,) = (tmp_path / "staging").glob(".streams/*/*/checkpoint")
    for side in SIDES:
        state = spark.read.format("statestore").option("joinSide", side).load(str(checkpoint))
        assert state.count() == 10, "only those of the last run"


@pytest.mark.parametrize("side", SIDES)
def test_a_side_that_ends_is_read_in_each_run(tmp_path: Path, spark: SparkSession, side: str) -> None:
    (other,) = set(SIDES) - {side}
    runs = Runs(declared(tmp_path, unbounded=[side]), tmp_path, spark)
    arrive(tmp_path, other, 0, [(1, "a", 100), (2, "b", 100)])
    for run in range(2):
        arrive(tmp_path, side, run, [(10 + run, "a", 100)])
        assert runs.run(f"run {run}") == []
    pairs = [(1, 10), (1, 11)] if side == "right" else [(10, 1), (11, 1)]
    assert pairs_of(spark, tmp_path) == pairs


def test_a_time_that_is_another_is_refused(tmp_path: Path, spark: SparkSession) -> None:
    env = StreamExecutionEnvironment("stream", config={"execution.runtime-mode": "AUTOMATIC"})
    left, right = (
        env.from_source(Json(f"{tmp_path}/{side}", schema=f"{side} INT, {side}_at TIMESTAMP"), side, unbounded=True)
        .uid(side)
        .assign_timestamps_and_watermarks(f"{side}_at", max_out_of_orderness="1 hour")
        for side in SIDES
    )
    moved = right.with_columns(right_at="right_at + INTERVAL '1' HOUR")
    pairs = left.interval_join(
        moved, on={"left": "right"}, times=("left_at", "right_at"), lower="0 minutes", upper="1 minute"
    )
    pairs.sink_to(Parquet(f"{tmp_path}/out"), mode="append").uid("out")
    for side in SIDES:
        write(tmp_path / side / "a.json", {side: 1})
    (failure,) = Runs(env, tmp_path, spark).run("one")
    assert "'right_at' of the right side is not the event time any more, and rows would never be forgotten" in failure
