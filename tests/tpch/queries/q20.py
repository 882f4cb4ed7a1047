"""Q20, potential promotion: suppliers with more of a part in stock than half of what they sold in a year."""

from pathlib import Path

from graph_compiler import Parquet, StreamExecutionEnvironment
from tests.tpch.query import Query
from tests.tpch.tables import source

SQL = """
    SELECT s_name, s_address
    FROM supplier, nation
    WHERE s_suppkey IN (
        SELECT ps_suppkey
        FROM partsupp
        WHERE ps_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE 'forest%' OR p_name LIKE 'green%')
            AND ps_availqty * 2 > (
                SELECT sum(l_quantity)
                FROM lineitem
                WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey
                    AND l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01'
            )
    ) AND s_nationkey = n_nationkey AND n_regionkey = 1
    ORDER BY s_name
"""


def declare(data: Path, target: Path) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("q20", params={"day": "1994-01-01"})
    parts = source(env, data, "part").filter("p_name LIKE 'forest%' OR p_name LIKE 'green%'").name("of_names")
    sold = (
        source(env, data, "lineitem")
        .filter("l_shipdate >= to_date(:day) AND l_shipdate < to_date(:day) + INTERVAL 1 YEAR")
        .name("of_year")
        .key_by("l_partkey", "l_suppkey")
        .aggregate(sold="sum(l_quantity)")
        .name("sold")
    )
    stock = (
        source(env, data, "partsupp")
        .join(parts, on={"ps_partkey": "p_partkey"}, how="semi")
        .name("stock")
        .join(sold, on={"ps_partkey": "l_partkey", "ps_suppkey": "l_suppkey"})
        .name("with_sold")
        .filter("ps_availqty * 2 > sold")
        .name("too_much")
    )
    nations = source(env, data, "nation").filter("n_regionkey = 1").name("american")
    (
        source(env, data, "supplier")
        .join(nations.broadcast(), on={"s_nationkey": "n_nationkey"}, how="semi")
        .name("suppliers")
        .join(stock, on={"s_suppkey": "ps_suppkey"}, how="semi")
        .name("with_stock")
        .select("s_name", "s_address")
        .name("arranged")
        .sort("s_name")
        .name("sorted")
        .sink_to(Parquet(f"{target}/promotion"))
        .name("promotion")
    )
    return env


PROMOTION = Query(declare=declare, answers={"promotion": SQL})
