"""Which carriers and routes run late, and does bad weather explain it? All flights out of New York in 2013."""

from pathlib import Path

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

PROJECT = Path(__file__).parents[1]
HOUR_OF_AIRPORT = ["origin", "year", "month", "day", "hour", "time_hour"]
BAD_WEATHER = "precip > 0 OR visib < 5 OR wind_speed > 25"

env = StreamExecutionEnvironment(
    "flights",
    params={
        "input": f"{PROJECT}/data/nycflights13",
        "output": f"{PROJECT}/output/flights",
        "late_after": 15,  # minutes; the US Department of Transportation counts a flight as late from here on
    },
)

flights = env.from_source(Csv("{{ params.input }}/flights.csv", null_value="NA"), "flights")
weather = env.from_source(Csv("{{ params.input }}/weather.csv", null_value="NA"), "weather")
carriers = env.from_source(Csv("{{ params.input }}/airlines.csv"), "carriers")

flown = flights.filter("dep_time IS NOT NULL", rejects="cancelled").name("flown")
cancelled = flown.get_side_output("cancelled")

lateness = (
    flown.join(weather, on=HOUR_OF_AIRPORT, how="left")
    .name("with_weather")
    .stage("the join is the dear part; a failure after it must not repeat it")
    .key_by("carrier", "origin", "dest")
    .aggregate(
        flights="count(*)",
        mean_delay="avg(arr_delay)",
        late_flights="count_if(arr_delay > :late_after)",
        mean_delay_bad_weather=f"avg(arr_delay) FILTER (WHERE {BAD_WEATHER})",
    )
    .name("lateness")
    .join(carriers.broadcast(), on="carrier")
    .name("with_carrier_name")
)

lateness.sink_to(Parquet("{{ params.output }}/late_routes")).name("late_routes")
cancelled.sink_to(Parquet("{{ params.output }}/cancelled")).name("cancelled")
