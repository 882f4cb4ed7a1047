"""Q3, shipping priority: the ten orders with the largest revenue among those that have not been shipped."""

from pathlib import Path

from graph_compiler import Parquet, StreamExecutionEnvironment
from tests.tpch.query import Query
from tests.tpch.tables import source

SQL = """
    SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority
    FROM customer, orders, lineitem
    WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
        AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'
    GROUP BY l_orderkey, o_orderdate, o_shippriority
    ORDER BY revenue DESC, o_orderdate, l_orderkey
    LIMIT 10
"""


def declare(data: Path, target: Path) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("q03", params={"segment": "BUILDING", "day": "1995-03-15"})
    customers = source(env, data, "customer").filter("c_mktsegment = :segment").name("segment")
    orders = source(env, data, "orders").filter("o_orderdate < to_date(:day)").name("ordered")
    shipped_later = source(env, data, "lineitem").filter("l_shipdate > to_date(:day)")
    (
        customers.join(orders, on={"c_custkey": "o_custkey"})
        .name("of_segment")
        .join(shipped_later.name("shipped_later"), on={"o_orderkey": "l_orderkey"})
        .name("unshipped")
        .key_by("l_orderkey", "o_orderdate", "o_shippriority")
        .aggregate(revenue="sum(l_extendedprice * (1 - l_discount))")
        .name("revenues")
        .select("l_orderkey", "revenue", "o_orderdate", "o_shippriority")
        .name("arranged")
        .top_n(10, "revenue DESC", "o_orderdate", "l_orderkey")
        .name("ten_largest")
        .sink_to(Parquet(f"{target}/shipping_priority"))
        .name("shipping_priority")
    )
    return env


SHIPPING_PRIORITY = Query(declare=declare, answers={"shipping_priority": SQL})
