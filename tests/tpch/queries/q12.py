"""Q12, shipping modes and order priority: the join is declared expensive, so AUTO stages it."""

from pathlib import Path

from graph_compiler import Parquet, StreamExecutionEnvironment
from tests.tpch.query import Query
from tests.tpch.tables import source

SQL = """
    SELECT l_shipmode,
        sum(CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 END)::BIGINT
            AS high_line_count,
        sum(CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' THEN 1 ELSE 0 END)::BIGINT
            AS low_line_count
    FROM orders, lineitem
    WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate
        AND l_shipdate < l_commitdate
        AND l_receiptdate >= DATE '1994-01-01' AND l_receiptdate < DATE '1994-01-01' + INTERVAL '1' YEAR
    GROUP BY l_shipmode
    ORDER BY l_shipmode
"""
LATE = """
    l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate
    AND year(l_receiptdate) = :year
"""
COUNTS = {
    "high_line_count": "count_if(o_orderpriority IN ('1-URGENT', '2-HIGH'))",
    "low_line_count": "count_if(o_orderpriority NOT IN ('1-URGENT', '2-HIGH'))",
}


def declare(data: Path, target: Path) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("q12", params={"year": 1994})
    late = source(env, data, "lineitem").filter(LATE).name("late")
    (
        source(env, data, "orders")
        .join(late, on={"o_orderkey": "l_orderkey"})
        .name("late_items")
        .expensive()
        .key_by("l_shipmode")
        .aggregate(COUNTS)
        .name("counts")
        .sort("l_shipmode")
        .name("sorted")
        .sink_to(Parquet(f"{target}/shipping_modes"))
        .name("shipping_modes")
    )
    return env


SHIPPING_MODES = Query(declare=declare, answers={"shipping_modes": SQL})
