"""Q18, large volume customers: line items are read before and after the cut, by two regions of one task."""

from pathlib import Path

from graph_compiler import Parquet, StreamExecutionEnvironment
from tests.tpch.query import Query
from tests.tpch.tables import source

SQL = """
    SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) AS quantity
    FROM customer, orders, lineitem
    WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > 300)
        AND c_custkey = o_custkey AND o_orderkey = l_orderkey
    GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice
    ORDER BY o_totalprice DESC, o_orderdate, o_orderkey
    LIMIT 100
"""


def declare(data: Path, target: Path) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("q18", params={"quantity": 300})
    lineitem = source(env, data, "lineitem")
    large = (
        lineitem.key_by("l_orderkey")
        .aggregate(quantity="sum(l_quantity)")
        .name("quantities")
        .filter("quantity > :quantity")
        .name("large")
        .stage("few orders are large", same_task=True)
    )
    (
        source(env, data, "orders")
        .join(large, on={"o_orderkey": "l_orderkey"}, how="semi")
        .name("large_orders")
        .join(source(env, data, "customer"), on={"o_custkey": "c_custkey"})
        .name("with_customer")
        .join(lineitem, on={"o_orderkey": "l_orderkey"})
        .name("items")
        .key_by("c_name", "c_custkey", "o_orderkey", "o_orderdate", "o_totalprice")
        .aggregate(quantity="sum(l_quantity)")
        .name("totals")
        .top_n(100, "o_totalprice DESC", "o_orderdate", "o_orderkey")
        .name("hundred_largest")
        .sink_to(Parquet(f"{target}/large_volumes"))
        .name("large_volumes")
    )
    return env


LARGE_VOLUMES = Query(declare=declare, answers={"large_volumes": SQL})
