"""Unusual rows: none, NULL keys, one key with nearly all, a thousand columns, odd names, nested types."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from graph_compiler import DataStream, Parquet, StreamExecutionEnvironment
from tests.conftest import with_options
from tests.harness.reference import Row, expected
from tests.harness.ways import ways
from tests.spark.conftest import RunPipeline

pytestmark = [pytest.mark.spark, pytest.mark.ci]

NESTED = "named_struct('a', id, 'b', array(named_struct('c', id, 'd', NULL)), 'm', map(id, 'x')) AS n"


@dataclass(frozen=True)
class Case:
    """Rows, the operation on them, and DuckDB's query on the same file (`rows`)."""

    rows: Callable[[SparkSession], DataFrame]
    declare: Callable[[DataStream], DataStream]
    query: str


def keyed(s: DataStream) -> DataStream:
    """Aggregate, and join the sums back."""
    sums = s.key_by("k").aggregate(n="count(*)", total="sum(v)")
    return s.deduplicate("k", order_by="v").join(sums, on="k", how="left")


KEYED = """
    SELECT k, min(v) AS v, any_value(n) AS n, any_value(total) AS total
    FROM rows LEFT JOIN (SELECT k AS k2, count(*) AS n, sum(v) AS total FROM rows GROUP BY k) ON k = k2 GROUP BY k
"""
CASES = {
    "no rows": Case(
        lambda s: s.range(0).selectExpr("'a' AS k", "id AS v"), keyed, KEYED
    ),
    "no rows, one in the end": Case(
        lambda s: s.range(0).selectExpr("'a' AS k", "id AS v"),
        lambda s: s.aggregate(n="count(*)", total="sum(v)"),
        "SELECT count(*) AS n, sum(v) AS total FROM rows",
    ),
    "all keys NULL": Case(
        lambda s: s.range(0, 100, 1, 5).selectExpr("CAST(NULL AS STRING) AS k", "id AS v"), keyed, KEYED
    ),
    "one key with nine of ten rows": Case(
        lambda s: s.range(0, 20_000, 1, 8).selectExpr("IF(id % 10 < 9, 'big', CAST(id AS STRING)) AS k", "id AS v"),
        keyed,
        KEYED,
    ),
    "a thousand columns": Case(
        lambda s: s.range(0, 50, 1, 2).selectExpr("id % 7 AS k", *(f"id + {n} AS c{n}" for n in range(1_000))),
        lambda s: s.deduplicate("k", order_by="c0 DESC").filter("c999 > 0"),
        "SELECT * FROM (SELECT * FROM rows QUALIFY row_number() OVER (PARTITION BY k ORDER BY c0 DESC) = 1)",
    ),
    "names with anything in them": Case(
        lambda s: s.range(0, 30, 1, 3).selectExpr(
            "id % 4 AS `größe in m`", "id AS `a.b`", "id AS `back``tick`", "id AS `select`", "id AS `日本`"
        ),
        lambda s: (
            s.key_by("größe in m", "back`tick").aggregate({"summe.α": "sum(`a.b`)", "日本": "max(`日本`)"})
            .key_by("größe in m").aggregate({"n": "count(*)", "summe.α": "sum(`summe.α`)"})
            .join(s.select("größe in m", "select").deduplicate("größe in m", order_by="`select`"), on="größe in m")
            .drop("select")
        ),
        'SELECT "größe in m", count(*) AS n, sum("a.b") AS "summe.α" FROM rows GROUP BY ALL',
    ),
    "nested types": Case(
        lambda s: s.range(0, 20, 1, 3).selectExpr("id % 3 AS k", NESTED),
        lambda s: s.filter("n.a > 3").deduplicate("k", order_by="n.a").select("k", "n", b="n.b[0].c"),
        """
        SELECT k, n, n.b[1].c AS b FROM rows WHERE n.a > 3
        QUALIFY row_number() OVER (PARTITION BY k ORDER BY n.a) = 1
        """,
    ),
}  # fmt: skip


@ways("fused-unset", "staged-set")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_rows_are_those_duckdb_gives(
    case: Case, mode: str, parallelism: int | None, *, run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path
) -> None:
    folder = tmp_path / "ein Ordner mit Ä und 日本"
    case.rows(spark).write.parquet(f"{folder}/in put")
    env = StreamExecutionEnvironment("p")
    stream = case.declare(env.from_source(Parquet(f"{folder}/in put"), "in"))
    if parallelism is not None and not env.transformation(stream.id).operator.is_non_parallel:  # type: ignore[attr-defined]  # physical
        stream.set_parallelism(parallelism)
    stream.sink_to(Parquet(f"{folder}/out put")).name("out")
    report = run_pipeline(with_options(env.pipeline(), shuffle_mode=mode, chaining="true"))[-1]
    assert report.failure is None, report.failure
    wanted = expected(case.query.replace("FROM rows", f"FROM read_parquet('{folder}/in put/*.parquet') rows"))
    found = expected(f"SELECT * FROM read_parquet('{folder}/out put/*.parquet')")
    assert found[0] == wanted[0]
    assert ordered(found[1]) == ordered(wanted[1])


def ordered(rows: list[Row]) -> list[str]:
    return sorted(map(str, rows))
