"""Q5, local supplier volume: small tables are broadcast, and customer and supplier are of the same nation."""

from pathlib import Path

from graph_compiler import Parquet, StreamExecutionEnvironment
from tests.tpch.query import Query
from tests.tpch.tables import source

SQL = """
    SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue
    FROM customer, orders, lineitem, supplier, nation, region
    WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey
        AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'ASIA'
        AND o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1994-01-01' + INTERVAL '1' YEAR
    GROUP BY n_name
    ORDER BY revenue DESC, n_name
"""


def declare(data: Path, target: Path) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("q05", params={"region": "ASIA", "year": 1994})
    region = source(env, data, "region").filter("r_name = :region").name("asia")
    nations = source(env, data, "nation").join(region.broadcast(), on={"n_regionkey": "r_regionkey"}).name("nations")
    suppliers = (
        source(env, data, "supplier").join(nations.broadcast(), on={"s_nationkey": "n_nationkey"}).name("suppliers")
    )
    orders = source(env, data, "orders").filter("year(o_orderdate) = :year").name("of_year")
    (
        source(env, data, "customer")
        .join(orders, on={"c_custkey": "o_custkey"})
        .name("of_customers")
        .join(source(env, data, "lineitem"), on={"o_orderkey": "l_orderkey"})
        .name("items")
        .join(suppliers.broadcast(), on={"l_suppkey": "s_suppkey"}, condition="left.c_nationkey = right.s_nationkey")
        .name("local")
        .key_by("n_name")
        .aggregate(revenue="sum(l_extendedprice * (1 - l_discount))")
        .name("revenues")
        .sort("revenue DESC", "n_name")
        .name("sorted")
        .sink_to(Parquet(f"{target}/local_suppliers"))
        .name("local_suppliers")
    )
    return env


LOCAL_SUPPLIERS = Query(declare=declare, answers={"local_suppliers": SQL})
