"""Q14, promotion effect: a ratio of two sums, DOUBLE as in DuckDB."""

from pathlib import Path

from graph_compiler import Parquet, StreamExecutionEnvironment
from tests.tpch.query import Query
from tests.tpch.tables import source

SQL = """
    SELECT 100.00 * sum(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END)
        / sum(l_extendedprice * (1 - l_discount)) AS promo_revenue
    FROM lineitem, part
    WHERE l_partkey = p_partkey
        AND l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-09-01' + INTERVAL '1' MONTH
"""


def declare(data: Path, target: Path) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("q14", params={"day": "1995-09-01"})
    shipped = source(env, data, "lineitem").filter(
        "l_shipdate >= to_date(:day) AND l_shipdate < to_date(:day) + INTERVAL '1' MONTH"
    )
    (
        shipped.name("of_month")
        .join(source(env, data, "part"), on={"l_partkey": "p_partkey"})
        .name("parts")
        .with_columns(revenue="l_extendedprice * (1 - l_discount)")
        .name("revenues")
        .aggregate(promo="sum(revenue) FILTER (WHERE startswith(p_type, 'PROMO'))", all="sum(revenue)")
        .name("sums")
        .select(promo_revenue="100 * DOUBLE(promo) / DOUBLE(all)")
        .name("ratio")
        .sink_to(Parquet(f"{target}/promotion_effect"))
        .name("promotion_effect")
    )
    return env


PROMOTION_EFFECT = Query(declare=declare, answers={"promotion_effect": SQL})
