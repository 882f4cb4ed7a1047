"""Q9, product type profit: the profit with parts of a color, by nation and year."""

from pathlib import Path

from graph_compiler import Parquet, StreamExecutionEnvironment
from tests.tpch.query import Query
from tests.tpch.tables import source

SQL = """
    SELECT n_name AS nation, year(o_orderdate)::INT AS o_year,
        sum(l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity) AS sum_profit
    FROM part, supplier, lineitem, partsupp, orders, nation
    WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey AND p_partkey = l_partkey
        AND o_orderkey = l_orderkey AND s_nationkey = n_nationkey AND p_name LIKE '%green%'
    GROUP BY 1, 2
    ORDER BY 1, 2 DESC
"""


def declare(data: Path, target: Path) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("q09", params={"color": "%green%"})
    parts = source(env, data, "part").filter("p_name LIKE :color").name("of_color")
    nations = source(env, data, "nation").select("n_nationkey", nation="n_name").name("nations")
    suppliers = (
        source(env, data, "supplier").join(nations.broadcast(), on={"s_nationkey": "n_nationkey"}).name("suppliers")
    )
    costs = source(env, data, "partsupp").select("ps_partkey", "ps_suppkey", "ps_supplycost").name("costs")
    dates = source(env, data, "orders").select("o_orderkey", o_year="year(o_orderdate)").name("years")
    (
        source(env, data, "lineitem")
        .join(parts, on={"l_partkey": "p_partkey"}, how="semi")
        .name("of_parts")
        .join(costs, on={"l_partkey": "ps_partkey", "l_suppkey": "ps_suppkey"})
        .name("with_costs")
        .join(suppliers.broadcast(), on={"l_suppkey": "s_suppkey"})
        .name("with_nations")
        .join(dates, on={"l_orderkey": "o_orderkey"})
        .name("with_years")
        .key_by("nation", "o_year")
        .aggregate(sum_profit="sum(l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity)")
        .name("profits")
        .sort("nation", "o_year DESC")
        .name("sorted")
        .sink_to(Parquet(f"{target}/profit"))
        .name("profit")
    )
    return env


PROFIT = Query(declare=declare, answers={"profit": SQL})
