"""Q6, forecasting revenue change: one row for all rows.

The discount is written into the condition: a parameter of type float is DOUBLE, and as DOUBLE, 0.06 + 0.01 < 0.07.
"""

from pathlib import Path

from graph_compiler import Parquet, StreamExecutionEnvironment
from tests.tpch.query import Query
from tests.tpch.tables import source

SQL = """
    SELECT sum(l_extendedprice * l_discount) AS revenue
    FROM lineitem
    WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1994-01-01' + INTERVAL '1' YEAR
        AND l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 AND l_quantity < 24
"""


def declare(data: Path, target: Path) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("q06", params={"day": "1994-01-01", "quantity": 24})
    (
        source(env, data, "lineitem")
        .filter("l_shipdate >= to_date(:day) AND l_shipdate < add_months(to_date(:day), 12)")
        .name("of_year")
        .filter("l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 AND l_quantity < :quantity")
        .name("small")
        .aggregate(revenue="sum(l_extendedprice * l_discount)")
        .name("total")
        .sink_to(Parquet(f"{target}/revenue_change"))
        .name("revenue_change")
    )
    return env


REVENUE_CHANGE = Query(declare=declare, answers={"revenue_change": SQL})
