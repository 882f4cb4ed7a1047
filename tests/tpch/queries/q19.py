"""Q19, discounted revenue: a condition on both sides of a join, of three parts."""

from pathlib import Path

from graph_compiler import Parquet, StreamExecutionEnvironment
from tests.tpch.query import Query
from tests.tpch.tables import source

SQL = """
    SELECT sum(l_extendedprice * (1 - l_discount)) AS revenue
    FROM lineitem, part
    WHERE p_partkey = l_partkey AND (
        (p_container LIKE 'SM %' AND l_quantity BETWEEN 1 AND 11 AND p_size BETWEEN 1 AND 15)
        OR (p_container LIKE 'MED %' AND l_quantity BETWEEN 10 AND 20 AND p_size BETWEEN 1 AND 20)
        OR (p_container LIKE 'LG %' AND l_quantity BETWEEN 20 AND 30 AND p_size BETWEEN 1 AND 25)
    )
"""


def declare(data: Path, target: Path) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("q19")
    allowed = (
        "(p_container LIKE 'SM %' AND l_quantity BETWEEN 1 AND 11 AND p_size BETWEEN 1 AND 15)"
        " OR (p_container LIKE 'MED %' AND l_quantity BETWEEN 10 AND 20 AND p_size BETWEEN 1 AND 20)"
        " OR (p_container LIKE 'LG %' AND l_quantity BETWEEN 20 AND 30 AND p_size BETWEEN 1 AND 25)"
    )
    (
        source(env, data, "lineitem")
        .join(source(env, data, "part"), on={"l_partkey": "p_partkey"}, condition=allowed)
        .name("discounted")
        .aggregate(revenue="sum(l_extendedprice * (1 - l_discount))")
        .name("revenue")
        .sink_to(Parquet(f"{target}/discounted_revenue"))
        .name("discounted_revenue")
    )
    return env


DISCOUNTED_REVENUE = Query(declare=declare, answers={"discounted_revenue": SQL})
