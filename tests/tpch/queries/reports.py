"""Three reports of orders with their line items, which are joined once and staged: Q3, Q4 and Q12."""

from functools import partial
from pathlib import Path

from graph_compiler import Parquet, StreamExecutionEnvironment
from tests.tpch.queries import q03, q04, q12
from tests.tpch.query import Query
from tests.tpch.tables import source

PARAMS = {"segment": "BUILDING", "day": "1995-03-15", "quarter": "1993-07-01", "year": 1994}


def declare(data: Path, target: Path, *, same_task: bool) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("reports", params=PARAMS)
    sold = (
        source(env, data, "orders")
        .join(source(env, data, "lineitem"), on={"o_orderkey": "l_orderkey"})
        .name("sold")
        .stage("three reports read it", same_task=same_task)
    )
    shipping_priority = (
        sold.filter("o_orderdate < to_date(:day) AND l_shipdate > to_date(:day)")
        .name("unshipped")
        .join(
            source(env, data, "customer").filter("c_mktsegment = :segment").name("segment"),
            on={"o_custkey": "c_custkey"},
        )
        .name("of_segment")
        .key_by("l_orderkey", "o_orderdate", "o_shippriority")
        .aggregate(revenue="sum(l_extendedprice * (1 - l_discount))")
        .name("revenues")
        .select("l_orderkey", "revenue", "o_orderdate", "o_shippriority")
        .name("arranged")
        .top_n(10, "revenue DESC", "o_orderdate", "l_orderkey")
        .name("ten_largest")
    )
    order_priority = (
        sold.filter("l_commitdate < l_receiptdate")
        .name("received_late")
        .filter("o_orderdate >= to_date(:quarter) AND o_orderdate < add_months(to_date(:quarter), 3)")
        .name("of_quarter")
        .key_by("o_orderpriority")
        .aggregate(order_count="count(DISTINCT o_orderkey)")
        .name("orders_with_late_items")
        .sort("o_orderpriority")
        .name("by_priority")
    )
    shipping_modes = (
        sold.filter(q12.LATE)
        .name("late")
        .key_by("l_shipmode")
        .aggregate(q12.COUNTS)
        .name("counts")
        .sort("l_shipmode")
        .name("by_mode")
    )
    reports = {
        "shipping_priority": shipping_priority,
        "order_priority": order_priority,
        "shipping_modes": shipping_modes,
    }
    for name, report in reports.items():
        report.sink_to(Parquet(f"{target}/{name}")).name(name)
    return env


ANSWERS = {"shipping_priority": q03.SQL, "order_priority": q04.SQL, "shipping_modes": q12.SQL}
REPORTS = Query(declare=partial(declare, same_task=False), answers=ANSWERS)
REPORTS_IN_ONE_TASK = Query(declare=partial(declare, same_task=True), answers=ANSWERS)
