"""Q16, parts and suppliers: how many suppliers without complaints offer parts of a kind."""

from pathlib import Path

from graph_compiler import Parquet, StreamExecutionEnvironment
from tests.tpch.query import Query
from tests.tpch.tables import source

SQL = """
    SELECT p_brand, p_type, p_size, count(DISTINCT ps_suppkey) AS supplier_cnt
    FROM partsupp, part
    WHERE p_partkey = ps_partkey AND p_brand <> 'Brand#45' AND p_type NOT LIKE 'MEDIUM POLISHED%'
        AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9)
        AND ps_suppkey NOT IN (SELECT s_suppkey FROM supplier WHERE s_comment LIKE '%Customer%Complaints%')
    GROUP BY p_brand, p_type, p_size
    ORDER BY supplier_cnt DESC, p_brand, p_type, p_size
"""


def declare(data: Path, target: Path) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("q16", params={"brand": "Brand#45"})
    complained = source(env, data, "supplier").filter("s_comment LIKE '%Customer%Complaints%'").name("complained")
    parts = (
        source(env, data, "part")
        .filter("p_brand <> :brand AND p_type NOT LIKE 'MEDIUM POLISHED%'")
        .filter("p_size IN (49, 14, 23, 45, 19, 3, 36, 9)")
        .name("parts")
    )
    (
        source(env, data, "partsupp")
        .join(complained.broadcast(), on={"ps_suppkey": "s_suppkey"}, how="anti")
        .name("without_complaints")
        .join(parts, on={"ps_partkey": "p_partkey"})
        .name("offers")
        .key_by("p_brand", "p_type", "p_size")
        .aggregate(supplier_cnt="count(DISTINCT ps_suppkey)")
        .name("counts")
        .sort("supplier_cnt DESC", "p_brand", "p_type", "p_size")
        .name("sorted")
        .sink_to(Parquet(f"{target}/suppliers_of_parts"))
        .name("suppliers_of_parts")
    )
    return env


SUPPLIERS_OF_PARTS = Query(declare=declare, answers={"suppliers_of_parts": SQL})
