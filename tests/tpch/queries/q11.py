"""Q11, important stock: each part's value is compared with the total of all, a cross join with one row."""

from pathlib import Path

from graph_compiler import Parquet, StreamExecutionEnvironment
from tests.tpch.query import Query
from tests.tpch.tables import source

SQL = """
    SELECT ps_partkey, sum(ps_supplycost * ps_availqty) AS value
    FROM partsupp, supplier, nation
    WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'GERMANY'
    GROUP BY ps_partkey
    HAVING sum(ps_supplycost * ps_availqty) > (
        SELECT sum(ps_supplycost * ps_availqty) * 0.02
        FROM partsupp, supplier, nation
        WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'GERMANY'
    )
    ORDER BY value DESC, ps_partkey
"""


def declare(data: Path, target: Path) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("q11", params={"nation": "GERMANY"})
    nation = source(env, data, "nation").filter("n_name = :nation").name("german")
    suppliers = (
        source(env, data, "supplier").join(nation.broadcast(), on={"s_nationkey": "n_nationkey"}).name("suppliers")
    )
    values = (
        source(env, data, "partsupp")
        .join(suppliers.broadcast(), on={"ps_suppkey": "s_suppkey"})
        .name("stock")
        .key_by("ps_partkey")
        .aggregate(value="sum(ps_supplycost * ps_availqty)")
        .name("values")
        .expensive()
    )
    total = values.aggregate(total="sum(value)").name("total")
    (
        values.join(total.broadcast(), how="cross")
        .name("with_total")
        .filter("value > total * 0.02")
        .name("important")
        .select("ps_partkey", "value")
        .name("arranged")
        .sort("value DESC", "ps_partkey")
        .name("sorted")
        .sink_to(Parquet(f"{target}/important_stock"))
        .name("important_stock")
    )
    return env


IMPORTANT_STOCK = Query(declare=declare, answers={"important_stock": SQL})
