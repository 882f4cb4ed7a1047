"""Functions with state and timers: a stream gives what a batch job gives, whatever increments and deaths it has."""

import json
import random
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Json, KeyedProcessFunction, Parquet, StreamExecutionEnvironment
from graph_compiler.spark_runtime import executor_probe
from graph_compiler.spark_runtime.region.coordination import SinkCommitter
from graph_compiler.spark_runtime.streams import stream_query
from graph_compiler.staging.publications.ledger import Ledger
from tests.harness.position_runs import Runs, tried, write
from tests.harness.savepoints import save_and_reset
from tests.lake.dying import die
from tests.spark.streams.process_functions import TYPES, Counts, Forgetful, Keeper, Reminders, Visits, Wrong

pytestmark = [pytest.mark.spark, pytest.mark.ci]
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
DISORDER = 20
"""By how many minutes rows come out of order at most, as the pipelines say."""
GAP = 10
Row = tuple[int, str | None, int | None]
"""A number, a user, and the minute of the event."""
SCHEMAS: dict[type[KeyedProcessFunction], str] = {
    Visits: "user STRING, minute BIGINT, ids ARRAY<INT>",
    Reminders: "user STRING, what STRING, at BIGINT, ids ARRAY<INT>",
}
COUNTS = "user STRING, n INT, ids ARRAY<INT>"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"


def declared(
    folder: Path, function: type[KeyedProcessFunction], *, unbounded: bool = True
) -> StreamExecutionEnvironment:
    name = "stream" if unbounded else "batch"
    env = StreamExecutionEnvironment(name, config={"execution.runtime-mode": "AUTOMATIC"})
    rows = env.from_source(Json(f"{folder}/in", schema="id INT, user STRING, at TIMESTAMP"), "in", unbounded=unbounded)
    marked = rows.uid("in").assign_timestamps_and_watermarks("at", max_out_of_orderness=f"{DISORDER} minutes")
    made = marked.key_by("user").process(function, SCHEMAS[function], time="at").uid("made")
    made.sink_to(Parquet(f"{folder}/{name}"), mode="append").uid("out")
    return env


def arrive(folder: Path, number: int, rows: Sequence[Row]) -> None:
    write(folder / "in" / f"{number:03}.json", *map(json_of, rows))


def json_of(row: Row) -> dict[str, Any]:
    id, user, minute = row
    at = None if minute is None else (BEGIN + timedelta(minutes=minute)).isoformat()
    return {"id": id, "user": user, "at": at}


def published(spark: SparkSession, folder: Path, name: str) -> list[str]:
    found = spark.read.parquet(f"{folder}/{name}").where("user IS NULL OR user <> 'end'")
    return sorted(str(row.asDict()) for row in found.collect())


def visits_in(rows: Sequence[Row]) -> list[str]:
    """Find visits by Python: sorted, and cut where nothing has come for a while."""
    found = []
    for user in {user for _, user, _ in rows}:
        own = sorted((at, id) for id, name, at in rows if name == user and at is not None)
        visit: list[tuple[int, int]] = []
        for at, id in [*own, (10**9, 0)]:
            if visit and at - visit[-1][0] >= GAP:
                minute = int(BEGIN.timestamp()) // 60 + visit[0][0]
                found.append(str({"user": user, "minute": minute, "ids": sorted(id for _, id in visit)}))
                visit = []
            visit.append((at, id))
    return sorted(found)


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
    assert tried(runs, run) == []


@pytest.mark.parametrize("function", [Visits, Reminders])
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 6))])
def test_what_functions_emit_is_that_of_a_batch(
    tmp_path: Path, spark: SparkSession, function: type[KeyedProcessFunction], seed: int
) -> None:
    chance = random.Random(f"rows {seed}")
    runs, rows = Runs(declared(tmp_path, function), tmp_path, spark), list[Row]()
    for run in range(3):
        new: list[Row] = []
        for number in range(chance.randint(5, 12)):
            minute = run * 30 + chance.randint(0, 29) - (DISORDER - 1) * (run > 0 and chance.random() < 0.3)
            minute = max(minute, run * 30 - DISORDER + 1)
            at = None if chance.random() < 0.1 else minute
            new.append((run * 100 + number, chance.choice(["a", "b", None]), at))
        rows += new
        arrive(tmp_path, run, new)
        run_to_end(runs, f"run {run}", chance)
    arrive(tmp_path, 3, [(300, "end", 10_000)])
    run_to_end(runs, "last", chance)
    assert not any(batch.late for batch in runs.report().batches)
    batch = Runs(declared(tmp_path, function, unbounded=False), tmp_path, spark, tries=100)
    assert tried(batch, "batch") == []
    found = published(spark, tmp_path, "stream")
    assert found == published(spark, tmp_path, "batch")
    if function is Visits:
        assert found == visits_in(rows)
    else:
        assert len(found) == sum(1 if at is None else 3 for *_, at in rows)


def test_late_rows_are_left_out_and_counted(tmp_path: Path, spark: SparkSession) -> None:
    runs = Runs(declared(tmp_path, Reminders), tmp_path, spark)
    arrive(tmp_path, 0, [(1, "a", 1000)])
    assert tried(runs, "one") == []
    arrive(tmp_path, 1, [(2, "a", 1000 - DISORDER), (3, "b", 1000 - DISORDER + 1), (4, "c", None)])
    assert tried(runs, "two") == []
    assert sum(batch.late for batch in runs.report().batches) == 1
    arrive(tmp_path, 2, [(5, "end", 9000)])
    assert tried(runs, "three") == []
    found = spark.read.parquet(f"{tmp_path}/stream").groupBy("user").count().collect()
    assert sorted(map(tuple, found)) == [("a", 3), ("b", 3), ("c", 1)]


def counting(folder: Path, *, saved: str | None = None, also: bool = False) -> StreamExecutionEnvironment:
    """Count the rows of users; `also` keeps all rows, by a sink whose rows Spark reads first."""
    config = {"execution.runtime-mode": "AUTOMATIC"} | ({"execution.savepoint.path": saved} if saved else {})
    env = StreamExecutionEnvironment("stream", config=config)
    rows = env.from_source(Json(f"{folder}/in", schema="id INT, user STRING, at TIMESTAMP"), "in", unbounded=True)
    rows.uid("in")
    if also:
        rows.filter("id > 0").uid("all").sink_to(Parquet(f"{folder}/all"), mode="append").uid("a_sink")
    rows.key_by("user").process(Counts, COUNTS).uid("counts").sink_to(Parquet(f"{folder}/counts"), mode="append").uid(
        "b"
    )
    return env


def counts(spark: SparkSession, folder: Path) -> list[tuple[str, int, list[int]]]:
    return sorted(map(tuple, spark.read.parquet(f"{folder}/counts").collect()))


def test_a_state_continues_from_a_savepoint_with_its_files_elsewhere(tmp_path: Path, spark: SparkSession) -> None:
    before = spark.conf.get(PROVIDER)
    runs = Runs(counting(tmp_path), tmp_path, spark)
    arrive(tmp_path, 0, [(1, "a", 0), (2, "b", 0)])
    assert tried(runs, "one") == []
    assert spark.conf.get(PROVIDER) == before, "only the query has it"
    (offsets,) = (tmp_path / "staging").glob(".streams/*/*/checkpoint/offsets/0")
    assert "RocksDB" in json.loads(offsets.read_text().splitlines()[1])["conf"][PROVIDER]
    place = save_and_reset(f"{tmp_path}/staging", f"{tmp_path}/saved")
    arrive(tmp_path, 1, [(3, "a", 0)])
    continued = Runs(counting(tmp_path, saved=place, also=True), tmp_path, spark, tries=10)
    assert tried(continued, "two") == []
    arrive(tmp_path, 2, [(4, "a", 0)])
    assert tried(continued, "three") == []
    found = counts(spark, tmp_path)
    assert found == [("a", 1, [1]), ("a", 2, [1, 3]), ("a", 3, [1, 3, 4]), ("b", 1, [2])]
    assert sorted(id for (id,) in spark.read.parquet(f"{tmp_path}/all").select("id").collect()) == [3, 4]


def keeping(folder: Path, *, unbounded: bool) -> StreamExecutionEnvironment:
    name = "stream" if unbounded else "batch"
    env = StreamExecutionEnvironment(name, config={"execution.runtime-mode": "AUTOMATIC"})
    rows = env.from_source(Json(f"{folder}/in", schema="id INT, user STRING"), "in", unbounded=unbounded).uid("in")
    typed = rows.with_columns(
        i="id - 2147483648",
        l="id + 9007199254740993",
        s="IF(id = 2, NULL, 'ä')",
        b="unhex('00FF')",
        d="DATE '0001-01-01' + id",
        t="TIMESTAMP '1582-10-04 00:00:00.000001' + make_dt_interval(id)",
        n="TIMESTAMP_NTZ '9999-12-30 23:59:59.999999' + make_dt_interval(id - 2)",
        c="CAST(id * 1.25 AS DECIMAL(12,3))",
        f="id / 3D",
        o="id > 1",
        a="array(DATE '2024-02-29', NULL)",
        m="map('b', TIMESTAMP '2024-01-01 00:00:00', 'a', NULL)",
        r="named_struct('x', id, 'y', DATE '2024-02-29')",
        of_day="DATE '1500-01-01'",
        of_time="TIMESTAMP '1582-10-04 00:00:00.000001'",
    )
    keys = ("user", "of_day", "of_time", "b")
    kept = typed.with_columns(i="CAST(i AS INT)", l="CAST(l AS BIGINT)").key_by(*keys)
    result = f"key STRING, id INT, ds ARRAY<DATE>, {TYPES}"
    kept.process(Keeper, result).uid("kept").sink_to(Parquet(f"{folder}/{name}"), mode="append").uid("out")
    return env


def test_values_of_all_types_come_back(tmp_path: Path, spark: SparkSession) -> None:
    runs = Runs(keeping(tmp_path, unbounded=True), tmp_path, spark)
    for id in range(1, 4):
        write(tmp_path / "in" / f"{id}.json", {"id": id, "user": "a"})
        assert tried(runs, f"run {id}") == []
    assert Runs(keeping(tmp_path, unbounded=False), tmp_path, spark, tries=100).run("batch") == []
    ours, batch = (
        sorted(str(row) for row in spark.read.parquet(f"{tmp_path}/{name}").collect()) for name in ("stream", "batch")
    )
    assert ours == batch
    assert len(ours) == 3


@pytest.mark.parametrize("unbounded", [True, False])
@pytest.mark.parametrize(
    ("id", "found"), [(1, "1.5, a float"), (0, "None\n  allowed: a value, since its schema says NOT NULL")]
)
def test_a_result_that_its_type_would_change_fails(
    tmp_path: Path, spark: SparkSession, unbounded: bool, id: int, found: str
) -> None:
    env = StreamExecutionEnvironment("wrong", config={"execution.runtime-mode": "AUTOMATIC"})
    rows = env.from_source(Json(f"{tmp_path}/in", schema="id INT, user STRING"), "in", unbounded=unbounded).uid("in")
    rows.key_by("user").process(Wrong, "user STRING, n INT NOT NULL").sink_to(Parquet(f"{tmp_path}/out"), mode="append")
    write(tmp_path / "in" / "0.json", {"id": id, "user": "a"})
    (failure,) = tried(Runs(env, tmp_path, spark), "one")
    assert f"process_element of tests.spark.streams.process_functions:Wrong returned: 'n' is {found}" in failure


def test_a_state_is_forgotten_when_its_time_to_live_is_over(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counts from the last write, by the clock of the batch: a batch that is repeated later has the same states."""
    env = StreamExecutionEnvironment("stream", config={"execution.runtime-mode": "AUTOMATIC"})
    rows = env.from_source(Json(f"{tmp_path}/in", schema="id INT, user STRING"), "in", unbounded=True).uid("in")
    made = rows.key_by("user").process(Forgetful, "user STRING, n INT, ever INT, ids ARRAY<INT>").uid("made")
    made.sink_to(Parquet(f"{tmp_path}/out"), mode="append").uid("out")
    runs = Runs(env, tmp_path, spark)

    def emitted(id: int) -> list[Any]:
        found = spark.read.parquet(f"{tmp_path}/out").where(f"array_contains(ids, {id})").orderBy("user", "n")
        return [(row["user"], row["n"], row["ever"], row["ids"]) for row in found.collect() if max(row["ids"]) == id]

    def arrives(id: int, *users: str) -> None:
        write(tmp_path / "in" / f"{id}.json", *({"id": id, "user": user} for user in users))

    arrives(1, "a", "b")
    assert tried(runs, "first") == []
    began = time.monotonic()
    assert emitted(1) == [("a", 1, 1, [1]), ("b", 1, 1, [1])]
    arrives(2, "a")
    with monkeypatch.context() as patch:
        die(patch, SinkCommitter, "commit", after=False)
        assert tried(runs, "dies")
    time.sleep(max(0.0, 22 - (time.monotonic() - began)))
    assert tried(runs, "repeated") == []
    if emitted(2) != [("a", 2, 2, [1, 2])]:
        assert emitted(2) == [("a", 1, 2, [2])], "the batch had begun more than 20 seconds after the first"
    time.sleep(22)
    arrives(3, "a", "b")
    assert tried(runs, "last") == []
    assert emitted(3) == [("a", 1, 3, [3]), ("b", 1, 2, [3])]


def test_what_spark_needs_for_states_is_asked_before_a_row_moves(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor_probe, "_OF_STATES", ("pandas", "no_such_package"))
    arrive(tmp_path, 0, [(1, "a", 0)])
    (failure,) = Runs(counting(tmp_path), tmp_path, spark).run("one")
    assert "functions with state need no_such_package in Spark's Python: ModuleNotFoundError" in failure
    assert not list((tmp_path / "staging").glob(".streams/*/*/checkpoint"))
