"""Q1, the pricing summary report. Averages are DOUBLE, as in DuckDB; Spark's average of a DECIMAL is a DECIMAL."""

from pathlib import Path

from graph_compiler import Parquet, StreamExecutionEnvironment
from tests.tpch.query import Query
from tests.tpch.tables import source

SQL = """
    SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice) AS sum_base_price,
        sum(l_extendedprice * (1 - l_discount)) AS sum_disc_price,
        sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge,
        avg(l_quantity) AS avg_qty, avg(l_extendedprice) AS avg_price, avg(l_discount) AS avg_disc,
        count(*) AS count_order
    FROM lineitem
    WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL '90' DAY
    GROUP BY l_returnflag, l_linestatus
    ORDER BY l_returnflag, l_linestatus
"""


def declare(data: Path, target: Path) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("q01", params={"days": 90})
    (
        source(env, data, "lineitem")
        .filter("l_shipdate <= date_sub(DATE '1998-12-01', :days)")
        .name("shipped")
        .with_columns(disc_price="l_extendedprice * (1 - l_discount)")
        .name("discounted")
        .key_by("l_returnflag", "l_linestatus")
        .aggregate(
            sum_qty="sum(l_quantity)",
            sum_base_price="sum(l_extendedprice)",
            sum_disc_price="sum(disc_price)",
            sum_charge="sum(disc_price * (1 + l_tax))",
            avg_qty="avg(DOUBLE(l_quantity))",
            avg_price="avg(DOUBLE(l_extendedprice))",
            avg_disc="avg(DOUBLE(l_discount))",
            count_order="count(*)",
        )
        .name("summary")
        .sort("l_returnflag", "l_linestatus")
        .name("sorted")
        .sink_to(Parquet(f"{target}/pricing_summary"))
        .name("pricing_summary")
    )
    return env


PRICING_SUMMARY = Query(declare=declare, answers={"pricing_summary": SQL})
