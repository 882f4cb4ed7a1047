"""The flights of 2013 arrive bit by bit, and the numbers are those of the batch: in increments, or continuously."""

import csv
import time
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.deployment.documents.staging_layout import StreamLayout
from graph_compiler.staging.streams.batch_log import is_folder_read, nothing_arrived
from tests.harness.flights_data import DATA
from tests.harness.position_runs import STORE, Runs
from tests.spark.streams.test_continuous import beside, stop, until

pytestmark = [pytest.mark.spark, pytest.mark.long]
FLIGHTS = (
    "year INT, month INT, day INT, dep_time INT, sched_dep_time INT, dep_delay INT, arr_time INT, sched_arr_time INT, "
    "arr_delay INT, carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING, air_time INT, "
    "distance INT, hour INT, minute INT, time_hour TIMESTAMP"
)
HOUR = ["origin", "year", "month", "day", "hour", "time_hour"]
LATENESS = {"flights": "count(*)", "mean_delay": "avg(arr_delay)", "late": "count_if(arr_delay > 15)"}
REPORTS = {
    "routes": ("carrier", "origin", "dest"),
    "months": ("carrier", "month"),
    "weathers": ("weather",),
    "ages": ("age",),
}
DAYS = 31


def declared(folder: Path, data: Path, *, unbounded: bool, **config: str) -> StreamExecutionEnvironment:
    name = "stream" if unbounded else "batch"
    env = StreamExecutionEnvironment(name, config={"execution.runtime-mode": "AUTOMATIC"} | config)
    arriving = Csv(f"{folder}/in", schema=FLIGHTS, null_value="NA")
    flights = env.from_source(arriving, "flights", unbounded=unbounded).uid("flights")
    weather = env.from_source(Csv(f"{data}/weather.csv", null_value="NA"), "weather")
    planes = env.from_source(Csv(f"{data}/planes.csv", null_value="NA"), "planes")
    flown = flights.filter("dep_time IS NOT NULL", rejects="cancelled")
    facts = flown.join(weather, on=HOUR, how="left").with_columns(
        weather="CASE WHEN temp IS NULL THEN 'unknown' WHEN precip > 0 THEN 'rain or snow' ELSE 'fair' END"
    )
    built = planes.select("tailnum", built="year").broadcast()
    aged = facts.join(built, on="tailnum").with_columns(age="coalesce(5 * ((year - built) DIV 5), -1)")
    for report, keys in REPORTS.items():
        rows = aged if report == "ages" else facts
        totals = rows.key_by(*keys).aggregate(LATENESS).uid(report)
        target = Parquet(f"{folder}/{name}/{report}")
        totals.sink_to(target, mode="merge", keys=keys).name(report).uid(f"sink of {report}")
    cancelled = Parquet(f"{folder}/{name}/cancelled")
    flown.get_side_output("cancelled").sink_to(cancelled, mode="append").name("cancelled").uid("cancelled")
    return env


Hour = tuple[int, int, int]
"""Month, day, hour."""


def hours_of(data: Path) -> tuple[list[str], dict[Hour, list[list[str]]]]:
    """Return the header, and the flights of each hour, in order."""
    with (data / "flights.csv").open() as file:
        header, *lines = csv.reader(file)
    places = [header.index(name) for name in ("month", "day", "hour")]
    found: dict[Hour, list[list[str]]] = {}
    for row in lines:
        month, day, hour = (int(row[place]) for place in places)
        found.setdefault((month, day, hour), []).append(row)
    return header, dict(sorted(found.items()))


def arrive(folder: Path, name: str, header: list[str], rows: list[list[str]]) -> None:
    hidden = folder / "in" / f".{name}.csv"
    with hidden.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    hidden.rename(hidden.with_name(hidden.name[1:]))


def has_the_numbers_of_the_batch(folder: Path, data: Path, spark: SparkSession) -> bool:
    batch = Runs(declared(folder, data, unbounded=False), folder, spark, tries=1000)
    assert batch.run("batch") == []
    for name in (*REPORTS, "cancelled"):
        found, wanted = (
            sorted(map(tuple, spark.read.parquet(f"{folder}/{way}/{name}").collect()), key=repr)
            for way in ("stream", "batch")
        )
        assert found == wanted, name
        assert found
    return True


def test_january_hour_by_hour_has_the_numbers_of_the_batch(tmp_path: Path, january: Path, spark: SparkSession) -> None:
    header, hours = hours_of(january)
    (tmp_path / "in").mkdir()
    runs = Runs(declared(tmp_path, january, unbounded=True), tmp_path, spark)
    days = sorted({day for _, day, _ in hours})
    assert len(days) == DAYS
    for day in days:
        for (_, date, hour), rows in hours.items():
            if date == day:
                arrive(tmp_path, f"{date:02}-{hour:02}", header, rows)
        assert runs.run(f"day {day}") == []
    assert has_the_numbers_of_the_batch(tmp_path, january, spark)


def test_january_arrives_while_the_stream_runs(tmp_path: Path, january: Path, spark: SparkSession) -> None:
    header, hours = hours_of(january)
    (tmp_path / "in").mkdir()
    config = {"execution.continuous": "true", "execution.checkpointing.interval": "1000"}
    runs = Runs(declared(tmp_path, january, unbounded=True, **config), tmp_path, spark)

    def all_arrive() -> None:
        for (_, day, hour), rows in hours.items():
            arrive(tmp_path, f"{day:02}-{hour:02}", header, rows)
            time.sleep(0.2)

    def all_are_read() -> bool:
        (task,) = runs.last
        layout = StreamLayout(root=runs.root, owner=task.identity.owner)
        assert task.region.stream is not None
        is_read = partial(is_folder_read, str(tmp_path / "in"))
        are_read = {source.uid: is_read for source in task.region.stream.sources}
        return nothing_arrived(STORE, layout, task.region.stream, are_read)

    with beside(all_arrive, lambda: until(all_are_read), lambda: stop(runs)):
        assert runs.run("one") == []
    assert len(runs.report().batches) > 1
    assert has_the_numbers_of_the_batch(tmp_path, january, spark)


def test_the_year_in_twelve_increments_has_the_numbers_of_the_batch(tmp_path: Path, spark: SparkSession) -> None:
    header, hours = hours_of(DATA)
    (tmp_path / "in").mkdir()
    runs = Runs(declared(tmp_path, DATA, unbounded=True), tmp_path, spark)
    for month in range(1, 13):
        for day in range(1, 32):
            if found := [row for at, rows in hours.items() if at[:2] == (month, day) for row in rows]:
                arrive(tmp_path, f"{month:02}-{day:02}", header, found)
        assert runs.run(f"month {month}") == []
    assert has_the_numbers_of_the_batch(tmp_path, DATA, spark)
