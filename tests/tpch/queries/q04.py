"""Q4, order priority checking: EXISTS is a semi join."""

from pathlib import Path

from graph_compiler import Parquet, StreamExecutionEnvironment
from tests.tpch.query import Query
from tests.tpch.tables import source

SQL = """
    SELECT o_orderpriority, count(*) AS order_count
    FROM orders
    WHERE o_orderdate >= DATE '1993-07-01' AND o_orderdate < DATE '1993-07-01' + INTERVAL '3' MONTH
        AND EXISTS (SELECT * FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)
    GROUP BY o_orderpriority
    ORDER BY o_orderpriority
"""


def declare(data: Path, target: Path) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("q04", params={"day": "1993-07-01"})
    orders = source(env, data, "orders").filter(
        "o_orderdate >= to_date(:day) AND o_orderdate < to_date(:day) + INTERVAL '3' MONTH"
    )
    late = source(env, data, "lineitem").filter("l_commitdate < l_receiptdate").name("late")
    (
        orders.name("of_quarter")
        .join(late, on={"o_orderkey": "l_orderkey"}, how="semi")
        .name("with_late_items")
        .key_by("o_orderpriority")
        .aggregate(order_count="count(*)")
        .name("counts")
        .sort("o_orderpriority")
        .name("sorted")
        .sink_to(Parquet(f"{target}/order_priority"))
        .name("order_priority")
    )
    return env


ORDER_PRIORITY = Query(declare=declare, answers={"order_priority": SQL})
