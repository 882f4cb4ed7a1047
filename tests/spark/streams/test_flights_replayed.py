"""The flights of January 2013 arrive hour by hour, and are published day by day: the numbers are those of the batch."""

import csv
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from tests.harness.position_runs import Runs

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


def declared(folder: Path, data: Path, *, unbounded: bool) -> StreamExecutionEnvironment:
    name = "stream" if unbounded else "batch"
    env = StreamExecutionEnvironment(name, config={"execution.runtime-mode": "AUTOMATIC"})
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


def test_january_hour_by_hour_has_the_numbers_of_the_batch(tmp_path: Path, january: Path, spark: SparkSession) -> None:
    with (january / "flights.csv").open() as file:
        header, *lines = csv.reader(file)
    day, hour = header.index("day"), header.index("hour")
    hours: dict[int, dict[int, list[list[str]]]] = {}
    for row in lines:
        hours.setdefault(int(row[day]), {}).setdefault(int(row[hour]), []).append(row)
    assert len(hours) == DAYS
    (tmp_path / "in").mkdir()
    runs = Runs(declared(tmp_path, january, unbounded=True), tmp_path, spark)
    for date in sorted(hours):
        for at, flown in sorted(hours[date].items()):
            hidden = tmp_path / "in" / f".{date:02}-{at:02}.csv"
            with hidden.open("w", newline="") as file:
                csv.writer(file).writerows([header, *flown])
            hidden.rename(hidden.with_name(hidden.name[1:]))
        assert runs.run(f"day {date}") == []
    batch = Runs(declared(tmp_path, january, unbounded=False), tmp_path, spark, tries=100)
    assert batch.run("batch") == []
    for name in (*REPORTS, "cancelled"):
        found, wanted = (
            sorted(map(tuple, spark.read.parquet(f"{tmp_path}/{way}/{name}").collect()), key=repr)
            for way in ("stream", "batch")
        )
        assert found == wanted, name
        assert found
