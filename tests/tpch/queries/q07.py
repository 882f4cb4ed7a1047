"""Q7, volume shipping: the revenue between two nations, by year, whichever of them ships."""

from pathlib import Path

from graph_compiler import Parquet, StreamExecutionEnvironment
from tests.tpch.query import Query
from tests.tpch.tables import source

SQL = """
    SELECT n1.n_name AS supp_nation, n2.n_name AS cust_nation, year(l_shipdate)::INT AS l_year,
        sum(l_extendedprice * (1 - l_discount)) AS revenue
    FROM supplier, lineitem, orders, customer, nation n1, nation n2
    WHERE s_suppkey = l_suppkey AND o_orderkey = l_orderkey AND c_custkey = o_custkey
        AND s_nationkey = n1.n_nationkey AND c_nationkey = n2.n_nationkey
        AND ((n1.n_name = 'FRANCE' AND n2.n_name = 'GERMANY') OR (n1.n_name = 'GERMANY' AND n2.n_name = 'FRANCE'))
        AND l_shipdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'
    GROUP BY supp_nation, cust_nation, l_year
    ORDER BY supp_nation, cust_nation, l_year
"""


def declare(data: Path, target: Path) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("q07", params={"one": "FRANCE", "other": "GERMANY"})
    nations = source(env, data, "nation").filter("n_name IN (:one, :other)").name("two")
    senders = nations.select(s_nation="n_nationkey", supp_nation="n_name").name("senders")
    receivers = nations.select(c_nation="n_nationkey", cust_nation="n_name").name("receivers")
    suppliers = (
        source(env, data, "supplier").join(senders.broadcast(), on={"s_nationkey": "s_nation"}).name("suppliers")
    )
    customers = (
        source(env, data, "customer").join(receivers.broadcast(), on={"c_nationkey": "c_nation"}).name("customers")
    )
    orders = source(env, data, "orders").join(customers, on={"o_custkey": "c_custkey"}).name("their_orders")
    (
        source(env, data, "lineitem")
        .filter("l_shipdate BETWEEN DATE'1995-01-01' AND DATE'1996-12-31'")
        .name("of_two_years")
        .join(suppliers.broadcast(), on={"l_suppkey": "s_suppkey"})
        .name("sent")
        .join(orders, on={"l_orderkey": "o_orderkey"})
        .name("received")
        .filter("supp_nation <> cust_nation")
        .name("abroad")
        .with_columns(l_year="year(l_shipdate)")
        .name("with_year")
        .key_by("supp_nation", "cust_nation", "l_year")
        .aggregate(revenue="sum(l_extendedprice * (1 - l_discount))")
        .name("revenues")
        .sort("supp_nation", "cust_nation", "l_year")
        .name("sorted")
        .sink_to(Parquet(f"{target}/volume_shipping"))
        .name("volume_shipping")
    )
    return env


VOLUME_SHIPPING = Query(declare=declare, answers={"volume_shipping": SQL})
