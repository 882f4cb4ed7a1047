"""Tests of pipelines/flights.py, as the author of that pipeline would write them with the testing kit."""

from collections.abc import Callable

import pytest

from graph_compiler.testing import CompiledPlan, PipelineResult, Rows
from pipelines.flights import env

pytestmark = pytest.mark.spark

FLIGHTS = (
    "year INT, month INT, day INT, dep_time INT, arr_delay DOUBLE, carrier STRING, tailnum STRING, "
    "origin STRING, dest STRING, hour INT, time_hour TIMESTAMP"
)
WEATHER = (
    "origin STRING, year INT, month INT, day INT, hour INT, time_hour TIMESTAMP, "
    "temp DOUBLE, precip DOUBLE, visib DOUBLE, wind_speed DOUBLE"
)
HOUR = {
    "year": 2013, "month": 1, "day": 1, "hour": 5, "time_hour": "2013-01-01T10:00:00", "origin": "JFK",
}  # fmt: skip
TO_LAX = HOUR | {"carrier": "AA", "tailnum": "N1", "dest": "LAX", "dep_time": 517}
RAIN = HOUR | {"temp": 39.0, "precip": 0.1, "visib": 10.0, "wind_speed": 9.0}
Run = Callable[..., PipelineResult]


def sources(*flights: dict[str, object], weather: tuple[dict[str, object], ...] = ()) -> object:
    return {
        "flights": Rows(FLIGHTS, flights),
        "weather": Rows(WEATHER, weather),
        "carriers": [{"carrier": "AA", "name": "American Airlines Inc."}],
        "planes": [{"tailnum": "N1", "year": 2004}],
    }


def test_a_flight_that_did_not_leave_is_cancelled_and_in_no_other_report(pipeline_run: Run) -> None:
    result = pipeline_run(env, sources(TO_LAX | {"arr_delay": 20}, TO_LAX | {"dep_time": None, "dest": "SFO"}))
    result.assert_rows("flown.cancelled", [{"dest": "SFO"}])
    assert result.sink("cancelled").rows == result.rows("flown.cancelled")
    result.assert_rows("lateness", [{"dest": "LAX", "flights": 1}])


def test_a_diverted_flight_counts_as_flown_and_breaks_the_contract_that_warns(pipeline_run: Run) -> None:
    result = pipeline_run(env, sources(TO_LAX, TO_LAX | {"arr_delay": 40}))
    contract = result.contract("arrival_is_known")
    assert (contract.rows, contract.violations) == (2, 1)
    result.assert_rows(
        "late_routes", [{"flights": 2, "mean_delay": 40.0, "late_flights": 1, "name": "American Airlines Inc."}]
    )


@pytest.mark.parametrize(("late_after", "late"), [(15, 2), (30, 1)])
def test_the_run_sets_what_counts_as_late(late_after: int, late: int, pipeline_run: Run) -> None:
    flights = (TO_LAX | {"arr_delay": delay} for delay in (10, 20, 40))
    result = pipeline_run(env, sources(*flights), params={"late_after": late_after}, until="lateness")
    result.assert_rows("lateness", [{"flights": 3, "late_flights": late}])


def test_weather_is_joined_by_airport_and_hour(pipeline_run: Run) -> None:
    elsewhere = TO_LAX | {"origin": "EWR", "arr_delay": 5}
    result = pipeline_run(env, sources(TO_LAX | {"arr_delay": 20}, elsewhere, weather=(RAIN,)), until="facts")
    result.assert_rows("facts", [{"origin": "JFK", "weather": "rain or snow"}, {"origin": "EWR", "weather": "unknown"}])


def test_only_the_join_is_staged(compiled_plan: Callable[..., CompiledPlan]) -> None:
    plan = compiled_plan(env)
    plan.assert_tasks("with_weather", "late_routes")
    plan.assert_same_task("flown", "with_weather", "sink cancelled")
    plan.assert_staged("with_weather", "facts", because="DECLARED")
    plan.assert_not_staged("facts", "ten_worst")
    plan.assert_chained("with_carrier_name", "regular_routes", "sink late_routes")
    plan.assert_not_chained("facts", "lateness", because="NOT_FORWARD")
