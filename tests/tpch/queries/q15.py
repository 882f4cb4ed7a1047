"""Q15, top supplier: revenues are read twice, for the largest one and for the suppliers who have it."""

from pathlib import Path

from graph_compiler import Parquet, StreamExecutionEnvironment
from tests.tpch.query import Query
from tests.tpch.tables import source

SQL = """
    WITH revenue AS (
        SELECT l_suppkey AS supplier_no, sum(l_extendedprice * (1 - l_discount)) AS total_revenue
        FROM lineitem
        WHERE l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1996-01-01' + INTERVAL '3' MONTH
        GROUP BY l_suppkey
    )
    SELECT s_suppkey, s_name, s_address, s_phone, total_revenue
    FROM supplier, revenue
    WHERE s_suppkey = supplier_no AND total_revenue = (SELECT max(total_revenue) FROM revenue)
    ORDER BY s_suppkey
"""


def declare(data: Path, target: Path) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("q15", params={"day": "1996-01-01"})
    shipped = source(env, data, "lineitem").filter(
        "l_shipdate >= to_date(:day) AND l_shipdate < to_date(:day) + INTERVAL '3' MONTH"
    )
    revenues = (
        shipped.name("of_quarter")
        .key_by("l_suppkey")
        .aggregate(total_revenue="sum(l_extendedprice * (1 - l_discount))")
        .name("revenues")
        .stage("it is read twice", same_task=True)
    )
    largest = revenues.aggregate(largest="max(total_revenue)").name("largest")
    (
        source(env, data, "supplier")
        .join(revenues, on={"s_suppkey": "l_suppkey"})
        .name("suppliers")
        .join(largest, on={"total_revenue": "largest"}, how="semi")
        .name("top")
        .select("s_suppkey", "s_name", "s_address", "s_phone", "total_revenue")
        .name("arranged")
        .sort("s_suppkey")
        .name("sorted")
        .sink_to(Parquet(f"{target}/top_supplier"))
        .name("top_supplier")
    )
    return env


TOP_SUPPLIER = Query(declare=declare, answers={"top_supplier": SQL})
