"""Q22, sales opportunity: customers of some countries with more than the mean balance, and no orders."""

from pathlib import Path

from graph_compiler import Parquet, StreamExecutionEnvironment
from tests.tpch.query import Query
from tests.tpch.tables import source

SQL = """
    SELECT substring(c_phone, 1, 2) AS cntrycode, count(*) AS numcust, sum(c_acctbal) AS totacctbal
    FROM customer
    WHERE substring(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17')
        AND c_acctbal > (
            SELECT avg(c_acctbal) FROM customer
            WHERE c_acctbal > 0 AND substring(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17')
        )
        AND NOT EXISTS (SELECT * FROM orders WHERE o_custkey = c_custkey)
    GROUP BY cntrycode
    ORDER BY cntrycode
"""


def declare(data: Path, target: Path) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("q22")
    customers = (
        source(env, data, "customer")
        .with_columns(cntrycode="substring(c_phone, 1, 2)")
        .filter("cntrycode IN ('13', '31', '23', '29', '30', '18', '17')")
        .name("of_countries")
    )
    balances = customers.filter("c_acctbal > 0").aggregate(n="count(*)", total="sum(c_acctbal)").name("balances")
    (
        customers.join(balances.broadcast(), how="cross")
        .name("with_balances")
        .filter("c_acctbal * n > total")
        .name("above_mean")
        .join(source(env, data, "orders"), on={"c_custkey": "o_custkey"}, how="anti")
        .name("without_orders")
        .key_by("cntrycode")
        .aggregate(numcust="count(*)", totacctbal="sum(c_acctbal)")
        .name("counts")
        .sort("cntrycode")
        .name("sorted")
        .sink_to(Parquet(f"{target}/opportunities"))
        .name("opportunities")
    )
    return env


OPPORTUNITIES = Query(declare=declare, answers={"opportunities": SQL})
