"""Q8, national market share: the part of a nation in the revenue of a region, by year."""

from pathlib import Path

from graph_compiler import Parquet, StreamExecutionEnvironment
from tests.tpch.query import Query
from tests.tpch.tables import source

SQL = """
    SELECT year(o_orderdate)::INT AS o_year,
        sum(CASE WHEN n2.n_name = 'BRAZIL' THEN l_extendedprice * (1 - l_discount) ELSE 0 END)::DOUBLE
            / sum(l_extendedprice * (1 - l_discount))::DOUBLE AS mkt_share
    FROM part, supplier, lineitem, orders, customer, nation n1, nation n2, region
    WHERE p_partkey = l_partkey AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey AND o_custkey = c_custkey
        AND c_nationkey = n1.n_nationkey AND n1.n_regionkey = r_regionkey AND r_name = 'AMERICA'
        AND s_nationkey = n2.n_nationkey AND o_orderdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'
        AND p_type LIKE 'ECONOMY%'
    GROUP BY o_year
    ORDER BY o_year
"""


def declare(data: Path, target: Path) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("q08", params={"nation": "BRAZIL", "region": "AMERICA"})
    region = source(env, data, "region").filter("r_name = :region").name("american")
    nations = source(env, data, "nation")
    own = nations.join(region.broadcast(), on={"n_regionkey": "r_regionkey"}).select(own="n_nationkey").name("own")
    sellers = nations.select(seller="n_nationkey", nation="n_name").name("sellers")
    customers = (
        source(env, data, "customer").join(own.broadcast(), on={"c_nationkey": "own"}, how="semi").name("customers")
    )
    suppliers = source(env, data, "supplier").join(sellers.broadcast(), on={"s_nationkey": "seller"}).name("suppliers")
    parts = source(env, data, "part").filter("p_type LIKE 'ECONOMY%'").name("economical")
    orders = (
        source(env, data, "orders")
        .filter("o_orderdate BETWEEN DATE'1995-01-01' AND DATE'1996-12-31'")
        .name("of_two_years")
        .join(customers, on={"o_custkey": "c_custkey"}, how="semi")
        .name("their_orders")
    )
    (
        source(env, data, "lineitem")
        .join(parts, on={"l_partkey": "p_partkey"}, how="semi")
        .name("of_parts")
        .join(suppliers.broadcast(), on={"l_suppkey": "s_suppkey"})
        .name("of_nations")
        .join(orders, on={"l_orderkey": "o_orderkey"})
        .name("sold")
        .select(
            o_year="year(o_orderdate)",
            volume="l_extendedprice * (1 - l_discount)",
            of_nation="CASE WHEN nation = :nation THEN l_extendedprice * (1 - l_discount) ELSE 0 END",
        )
        .name("volumes")
        .key_by("o_year")
        .aggregate(mkt_share="CAST(sum(of_nation) AS DOUBLE) / CAST(sum(volume) AS DOUBLE)")
        .name("shares")
        .sort("o_year")
        .name("sorted")
        .sink_to(Parquet(f"{target}/market_share"))
        .name("market_share")
    )
    return env


MARKET_SHARE = Query(declare=declare, answers={"market_share": SQL})
