"""Q17, small quantities: the revenue of line items with less than a fifth of their part's mean quantity."""

from pathlib import Path

from graph_compiler import Parquet, StreamExecutionEnvironment
from tests.tpch.query import Query
from tests.tpch.tables import source

SQL = """
    SELECT sum(l_extendedprice)::DOUBLE / 7.0 AS avg_yearly
    FROM lineitem, part
    WHERE p_partkey = l_partkey AND p_brand IN ('Brand#23', 'Brand#32')
        AND l_quantity * 5 < (SELECT avg(l_quantity) FROM lineitem WHERE l_partkey = p_partkey)
"""


def declare(data: Path, target: Path) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("q17", params={"one": "Brand#23", "other": "Brand#32"})
    parts = source(env, data, "part").filter("p_brand IN (:one, :other)").name("of_brands")
    items = source(env, data, "lineitem").join(parts, on={"l_partkey": "p_partkey"}, how="semi").name("of_parts")
    sums = items.key_by("l_partkey").aggregate(n="count(*)", total="sum(l_quantity)").name("sums")
    (
        items.join(sums, on="l_partkey")
        .name("with_sums")
        .filter("l_quantity * 5 * n < total")
        .name("small")
        .aggregate(avg_yearly="CAST(sum(l_extendedprice) AS DOUBLE) / 7.0D")
        .name("revenue")
        .sink_to(Parquet(f"{target}/small_quantities"))
        .name("small_quantities")
    )
    return env


SMALL_QUANTITIES = Query(declare=declare, answers={"small_quantities": SQL})
