"""Q10, returned items: the twenty customers with the largest losses, in two tasks."""

from pathlib import Path

from graph_compiler import Parquet, StreamExecutionEnvironment
from tests.tpch.query import Query
from tests.tpch.tables import source

SQL = """
    SELECT c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) AS revenue, c_acctbal, n_name, c_address, c_phone,
        c_comment
    FROM customer, orders, lineitem, nation
    WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_returnflag = 'R' AND c_nationkey = n_nationkey
        AND o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1993-10-01' + INTERVAL '3' MONTH
    GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment
    ORDER BY revenue DESC, c_custkey
    LIMIT 20
"""
COLUMNS = "c_custkey c_name revenue c_acctbal n_name c_address c_phone c_comment"


def declare(data: Path, target: Path) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("q10", params={"day": "1993-10-01"})
    orders = source(env, data, "orders").filter(
        "o_orderdate >= to_date(:day) AND o_orderdate < to_date(:day) + INTERVAL '3' MONTH"
    )
    returned = source(env, data, "lineitem").filter("l_returnflag = 'R'").name("returned")
    losses = (
        orders.name("of_quarter")
        .join(returned, on={"o_orderkey": "l_orderkey"})
        .name("returned_orders")
        .key_by("o_custkey")
        .aggregate(revenue="sum(l_extendedprice * (1 - l_discount))")
        .name("losses")
    )
    (
        losses.stage("a failure after the join does not repeat it")
        .join(source(env, data, "customer"), on={"o_custkey": "c_custkey"})
        .name("of_customers")
        .join(source(env, data, "nation").broadcast(), on={"c_nationkey": "n_nationkey"})
        .name("with_nation")
        .select(*COLUMNS.split())
        .name("arranged")
        .top_n(20, "revenue DESC", "c_custkey")
        .name("twenty_largest")
        .sink_to(Parquet(f"{target}/returned_items"))
        .name("returned_items")
    )
    return env


RETURNED_ITEMS = Query(declare=declare, answers={"returned_items": SQL})
