"""The expected rows of the flights pipeline, computed by DuckDB from the same files; and how rows are compared."""

import math
from pathlib import Path

import duckdb

from tests.harness.flights_data import DATA

Row = tuple[object, ...]

_FLIGHTS = f"read_csv('{DATA}/flights.csv', nullstr='NA')"
_WEATHER = f"read_csv('{DATA}/weather.csv', nullstr='NA')"
_CARRIERS = f"read_csv('{DATA}/airlines.csv')"

_PLANES = f"read_csv('{DATA}/planes.csv', nullstr='NA')"

_LATENESS = """count(*) AS flights, avg(arr_delay) AS mean_delay,
           count(*) FILTER (WHERE arr_delay > 15) AS late_flights"""
_FACTS = f"""(
    SELECT *, CASE WHEN temp IS NULL THEN 'unknown'
                   WHEN precip > 0 THEN 'rain or snow'
                   WHEN visib < 5 THEN 'fog'
                   WHEN wind_speed > 25 THEN 'strong wind'
                   ELSE 'fair' END AS weather
    FROM {_FLIGHTS} flights
    LEFT JOIN {_WEATHER} weather USING (origin, year, month, day, hour, time_hour)
    WHERE dep_time IS NOT NULL
) facts"""
LATE_ROUTES = f"""
    SELECT carrier, origin, dest, {_LATENESS},
           avg(arr_delay) FILTER (WHERE weather IN ('rain or snow', 'fog', 'strong wind')) AS mean_delay_bad_weather,
           any_value(name) AS name
    FROM {_FACTS} JOIN {_CARRIERS} carriers USING (carrier)
    GROUP BY carrier, origin, dest
"""
CANCELLED = f"SELECT * FROM {_FLIGHTS} WHERE dep_time IS NULL"
REPORTS = {
    "late_routes": LATE_ROUTES,
    "worst_routes": f"SELECT * FROM ({LATE_ROUTES}) WHERE flights >= 100 ORDER BY mean_delay DESC LIMIT 10",
    "by_month": f"SELECT carrier, month, {_LATENESS} FROM {_FACTS} GROUP BY carrier, month",
    "by_weather": f"SELECT weather, {_LATENESS} FROM {_FACTS} GROUP BY weather",
    "by_plane_age": f"""
        SELECT 5 * ((year - built) // 5) AS age_from, {_LATENESS}
        FROM {_FACTS} JOIN (SELECT tailnum, year AS built FROM {_PLANES}) planes USING (tailnum)
        GROUP BY age_from
    """,
    "cancelled": CANCELLED,
}
"""Each sink's rows, by the sink's name."""


def reports(data: Path = DATA) -> dict[str, str]:
    """Return the query of each sink, by the sink's name, over the tables of a folder."""
    return {name: query.replace(str(DATA), str(data)) for name, query in REPORTS.items()}


def expected(query: str) -> tuple[list[str], list[Row]]:
    """Return columns and rows of a query."""
    with duckdb.connect() as connection:
        result = connection.sql("SET TimeZone='UTC'") or connection.sql(query)
        return result.columns, result.fetchall()


def published(target: Path) -> tuple[list[str], list[Row]]:
    """Return columns and rows of a Parquet sink, read by DuckDB too: an engine that did not write them."""
    return expected(f"SELECT * FROM read_parquet('{target}/*.parquet')")


def rows(target: Path) -> list[Row]:
    """Return the rows of a Parquet sink, sorted by all columns."""
    return expected(f"SELECT * FROM read_parquet('{target}/*.parquet') ORDER BY ALL")[1]


def assert_same_rows(found: tuple[list[str], list[Row]], wanted: tuple[list[str], list[Row]]) -> None:
    """Compare every value, in any order of rows; doubles within 1e-9 relative."""
    assert found[0] == wanted[0]
    assert len(found[1]) == len(wanted[1])
    for one, other in zip(sorted(found[1], key=_key), sorted(wanted[1], key=_key), strict=True):
        assert all(_equal(a, b) for a, b in zip(one, other, strict=True)), (one, other)


def _key(row: Row) -> list[tuple[bool, str]]:
    """Sort by everything but doubles, which may differ in their last digit."""
    return [(value is None, str(value)) for value in row if not isinstance(value, float)]


def _equal(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9)
    return one == other
