"""Q21, suppliers who kept orders waiting: line items are joined with themselves, once semi and once anti."""

from pathlib import Path

from graph_compiler import Parquet, StreamExecutionEnvironment
from tests.tpch.query import Query
from tests.tpch.tables import source

SQL = """
    SELECT s_name, count(*) AS numwait
    FROM supplier, lineitem l1, orders, nation
    WHERE s_suppkey = l1.l_suppkey AND o_orderkey = l1.l_orderkey AND o_orderstatus = 'F'
        AND l1.l_receiptdate > l1.l_commitdate
        AND EXISTS (
            SELECT * FROM lineitem l2 WHERE l2.l_orderkey = l1.l_orderkey AND l2.l_suppkey <> l1.l_suppkey
        )
        AND NOT EXISTS (
            SELECT * FROM lineitem l3 WHERE l3.l_orderkey = l1.l_orderkey AND l3.l_suppkey <> l1.l_suppkey
                AND l3.l_receiptdate > l3.l_commitdate
        )
        AND s_nationkey = n_nationkey AND n_name = 'SAUDI ARABIA'
    GROUP BY s_name
    ORDER BY numwait DESC, s_name
    LIMIT 100
"""
OTHER = "left.l_suppkey <> right.l_suppkey"


def declare(data: Path, target: Path) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("q21", params={"nation": "SAUDI ARABIA"})
    lineitem = source(env, data, "lineitem")
    late = lineitem.filter("l_receiptdate > l_commitdate").name("late")
    finished = source(env, data, "orders").filter("o_orderstatus = 'F'").name("finished")
    nation = source(env, data, "nation").filter("n_name = :nation").name("saudi")
    suppliers = (
        source(env, data, "supplier").join(nation.broadcast(), on={"s_nationkey": "n_nationkey"}).name("suppliers")
    )
    (
        late.join(lineitem, on="l_orderkey", how="semi", condition=OTHER)
        .name("with_others")
        .join(late, on="l_orderkey", how="anti", condition=OTHER)
        .name("only_late")
        .join(finished, on={"l_orderkey": "o_orderkey"}, how="semi")
        .name("of_finished")
        .join(suppliers.broadcast(), on={"l_suppkey": "s_suppkey"})
        .name("of_suppliers")
        .key_by("s_name")
        .aggregate(numwait="count(*)")
        .name("counts")
        .top_n(100, "numwait DESC", "s_name")
        .name("hundred_most")
        .sink_to(Parquet(f"{target}/waiting_suppliers"))
        .name("waiting_suppliers")
    )
    return env


WAITING_SUPPLIERS = Query(declare=declare, answers={"waiting_suppliers": SQL})
