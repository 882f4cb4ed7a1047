"""Q2, minimum cost suppliers: of each part, the offers of a region with the lowest cost of that region."""

from pathlib import Path

from graph_compiler import Parquet, StreamExecutionEnvironment
from tests.tpch.query import Query
from tests.tpch.tables import source

SQL = """
    SELECT s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment
    FROM part, supplier, partsupp, nation, region
    WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND p_size <= 15 AND p_type LIKE '%BRASS'
        AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'EUROPE'
        AND ps_supplycost = (
            SELECT min(ps_supplycost)
            FROM partsupp, supplier, nation, region
            WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND s_nationkey = n_nationkey
                AND n_regionkey = r_regionkey AND r_name = 'EUROPE'
        )
    ORDER BY s_acctbal DESC, n_name, s_name, p_partkey
    LIMIT 100
"""


def declare(data: Path, target: Path) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("q02", params={"region": "EUROPE", "size": 15})
    region = source(env, data, "region").filter("r_name = :region").name("european")
    nations = source(env, data, "nation").join(region.broadcast(), on={"n_regionkey": "r_regionkey"}).name("nations")
    suppliers = (
        source(env, data, "supplier").join(nations.broadcast(), on={"s_nationkey": "n_nationkey"}).name("suppliers")
    )
    parts = source(env, data, "part").filter("p_size <= :size AND p_type LIKE '%BRASS'").name("of_brass")
    offers = (
        source(env, data, "partsupp")
        .join(suppliers.broadcast(), on={"ps_suppkey": "s_suppkey"})
        .name("of_region")
        .join(parts, on={"ps_partkey": "p_partkey"})
        .name("offers")
        .with_columns(p_partkey="ps_partkey")
        .name("keyed")
    )
    lowest = offers.key_by("p_partkey").aggregate(least="min(ps_supplycost)").name("lowest")
    (
        offers.join(lowest, on="p_partkey")
        .name("with_lowest")
        .filter("ps_supplycost = least")
        .name("cheapest")
        .select("s_acctbal", "s_name", "n_name", "p_partkey", "p_mfgr", "s_address", "s_phone", "s_comment")
        .name("arranged")
        .top_n(100, "s_acctbal DESC", "n_name", "s_name", "p_partkey")
        .name("hundred_first")
        .sink_to(Parquet(f"{target}/minimum_cost"))
        .name("minimum_cost")
    )
    return env


MINIMUM_COST = Query(declare=declare, answers={"minimum_cost": SQL})
