"""Q13, customer distribution: a left join with a condition, and two aggregates in two regions of one task."""

from pathlib import Path

from graph_compiler import Parquet, StreamExecutionEnvironment
from tests.tpch.query import Query
from tests.tpch.tables import source

SQL = """
    SELECT c_count, count(*) AS custdist
    FROM (
        SELECT c_custkey, count(o_orderkey) AS c_count
        FROM customer LEFT OUTER JOIN orders
            ON c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%'
        GROUP BY c_custkey
    ) AS c_orders
    GROUP BY c_count
    ORDER BY custdist DESC, c_count DESC
"""


def declare(data: Path, target: Path) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("q13")
    (
        source(env, data, "customer")
        .join(
            source(env, data, "orders"),
            on={"c_custkey": "o_custkey"},
            how="left",
            condition="right.o_comment NOT LIKE '%special%requests%'",
        )
        .name("with_orders")
        .key_by("c_custkey")
        .aggregate(c_count="count(o_orderkey)")
        .name("orders_of_customers")
        .stage("a failure after it does not repeat the join", same_task=True)
        .key_by("c_count")
        .aggregate(custdist="count(*)")
        .name("distribution")
        .sort("custdist DESC", "c_count DESC")
        .name("sorted")
        .sink_to(Parquet(f"{target}/customer_distribution"))
        .name("customer_distribution")
    )
    return env


CUSTOMER_DISTRIBUTION = Query(declare=declare, answers={"customer_distribution": SQL})
