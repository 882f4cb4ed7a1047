"""What arrives in masses, in bursts, or by clocks that are wrong: all of it is published, or said to be late."""

import os
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Json, Parquet, StreamExecutionEnvironment, TumblingEventTimeWindows
from graph_compiler.spark_runtime.region.coordination import SinkCommitter
from graph_compiler.staging.publications import ledger as ledgers
from graph_compiler.staging.publications import ledger_records
from graph_compiler.staging.publications.ledger import Ledger
from graph_compiler.staging.publications.ledger_records import LedgerRecords
from tests.harness.position_runs import Runs, write
from tests.lake.dying import die

pytestmark = [pytest.mark.spark, pytest.mark.ci]
COLUMNS = "id INT, at TIMESTAMP"


def copies(folder: Path, spark: SparkSession, **options: Any) -> Runs:
    """Copy rows, and count them in one row."""
    env = StreamExecutionEnvironment("copies", config={"execution.runtime-mode": "AUTOMATIC"})
    source = Json(f"{folder}/in", schema=COLUMNS, options=options)
    rows = env.from_source(source, "rows", unbounded=True).uid("rows")
    rows.select("id").sink_to(Parquet(f"{folder}/copied"), mode="append").name("copied").uid("copied")
    total = rows.select("id", part="id % 2").key_by("part").aggregate(n="count(*)").uid("by_part")
    total.sink_to(Parquet(f"{folder}/total"), mode="merge", keys="part").name("total").uid("total")
    return Runs(env, folder, spark)


def is_copied(spark: SparkSession, folder: Path, count: int) -> bool:
    """Whether the rows from 0 on are there once, and are counted."""
    copied = spark.read.parquet(f"{folder}/copied")
    assert sorted(id for (id,) in copied.collect()) == list(range(count))
    total = dict(map(tuple, spark.read.parquet(f"{folder}/total").collect()))
    assert total == {part: len(range(part, count, 2)) for part in (0, 1) if part < count}
    return True


def minute(number: int) -> str:
    return f"2024-01-01T{number // 60:02}:{number % 60:02}:00Z"


@pytest.mark.long
def test_ten_thousand_small_files_are_published_in_one_run(tmp_path: Path, spark: SparkSession) -> None:
    for id in range(10_000):
        write(tmp_path / "in" / f"{id % 7}-{id}.json", {"id": id, "at": minute(0)})
    runs = copies(tmp_path, spark)
    assert runs.run("one") == []
    assert is_copied(spark, tmp_path, 10_000)
    write(tmp_path / "in" / "last.json", {"id": 10_000, "at": minute(0)})
    assert runs.run("two") == []
    assert is_copied(spark, tmp_path, 10_001)


def test_a_burst_is_published_in_batches_of_so_many_files(tmp_path: Path, spark: SparkSession) -> None:
    runs = copies(tmp_path, spark, maxFilesPerTrigger=2)
    write(tmp_path / "in" / "0.json", {"id": 0, "at": minute(0)})
    assert runs.run("one") == []
    for file in range(1, 6):
        ids = range(file * 20 - 19, file * 20 + 1)
        write(tmp_path / "in" / f"{file}.json", *({"id": id, "at": minute(0)} for id in ids))
    assert runs.run("two") == []
    assert [batch.number for batch in runs.report().batches] == [1, 2, 3]
    assert is_copied(spark, tmp_path, 101)


def test_ledgers_stay_small_while_drivers_die(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in `test_folded_batches.py`, with what Spark writes and repeats; a record is folded behind two batches."""
    for module in (ledgers, ledger_records):
        monkeypatch.setattr(module, "FOLDED_AFTER", 2)
    runs = copies(tmp_path, spark, maxFilesPerTrigger=1)
    for run in range(5):
        for file in range(3):
            id = run * 3 + file
            write(tmp_path / "in" / f"{id:02}.json", {"id": id, "at": minute(0)})
        with monkeypatch.context() as patch:
            places = (
                (LedgerRecords, "fold"),
                (ledger_records, "put_folded"),
                (Ledger, "finish"),
                (SinkCommitter, "commit"),
            )
            die(patch, *places[run % 4], after=run % 2 == 0)
            runs.run(f"run {run}")
        assert runs.run(f"run {run}") == []
        assert is_copied(spark, tmp_path, id + 1)
    folders = list((tmp_path / "staging/.targets").iterdir())
    assert len(folders) == 2
    assert all(len(list(folder.glob("*.intent.json"))) <= 5 for folder in folders)


def test_files_count_whatever_their_clock_says(tmp_path: Path, spark: SparkSession) -> None:
    runs = copies(tmp_path, spark)
    seconds = (4_000_000_000, 1, 1_700_000_000)  # in the year 2096, in 1970, in 2023
    for id, at in enumerate(seconds):
        write(tmp_path / "in" / f"{id}.json", {"id": id, "at": minute(0)})
        os.utime(tmp_path / "in" / f"{id}.json", (at, at))
        assert runs.run(f"run {id}") == []
        assert is_copied(spark, tmp_path, id + 1)


def test_rows_behind_a_clock_that_has_jumped_are_said_to_be_late(
    tmp_path: Path, spark: SparkSession, capfd: pytest.CaptureFixture[str]
) -> None:
    env = StreamExecutionEnvironment("windows", config={"execution.runtime-mode": "AUTOMATIC"})
    rows = env.from_source(Json(f"{tmp_path}/in", schema=COLUMNS), "rows", unbounded=True).uid("rows")
    marked = rows.assign_timestamps_and_watermarks("at", max_out_of_orderness="5 minutes")
    hours = marked.key_by("id").window(TumblingEventTimeWindows("at", "1 hour")).aggregate(n="count(*)").uid("hours")
    hours.select("id", "n").sink_to(Parquet(f"{tmp_path}/hours"), mode="append").name("hours").uid("sink")
    runs = Runs(env, tmp_path, spark)
    write(tmp_path / "in" / "0.json", {"id": 0, "at": minute(0)}, {"id": 1, "at": "2099-01-01T00:00:00Z"})
    assert runs.run("one") == []
    write(tmp_path / "in" / "1.json", {"id": 2, "at": minute(1)})
    assert runs.run("two") == []
    write(tmp_path / "in" / "2.json", {"id": 3, "at": minute(2)})
    capfd.readouterr()
    assert runs.run("three") == []
    late = sum(batch.late for batch in runs.report().batches)
    assert late == 1
    assert "1 late row" in capfd.readouterr().err
