"""Lists, days, decimals and NULL as parameters: bound with their types in SQL, and as values of Python in functions."""

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import lit

from graph_compiler import Parquet, StreamExecutionEnvironment, Values, param
from graph_compiler.declaration.parameters.typed_value import TypedValue, typed_value
from graph_compiler.spark_runtime.operators.scope import query_over, query_over_views
from graph_compiler.spark_runtime.spark_internals.parsed_queries import with_types
from tests.spark.conftest import RunPipeline

pytestmark = pytest.mark.spark

CASES: list[tuple[str, Any, str, object]] = [
    ("ARRAY<BIGINT>", [1, 2], "array<bigint>", [1, 2]),
    ("ARRAY<BIGINT>", [], "array<bigint>", []),
    ("ARRAY<INT>", [1, None], "array<int>", [1, None]),
    ("ARRAY<STRING>", ["a'); DROP TABLE t --", "b\\", "$\u007bx}", ":x"], "array<string>", None),
    ("ARRAY<DATE>", ["2026-01-31"], "array<date>", [date(2026, 1, 31)]),
    ("ARRAY<DECIMAL(4,2)>", ["0.1", "2"], "array<decimal(4,2)>", [Decimal("0.10"), Decimal("2.00")]),
    ("DATE", "2026-01-31", "date", date(2026, 1, 31)),
    ("DECIMAL(4,2)", "0.06", "decimal(4,2)", Decimal("0.06")),
    ("DECIMAL(38,0)", "9" * 38, "decimal(38,0)", Decimal("9" * 38)),
    ("BIGINT", 5, "bigint", 5),
    ("STRING", "' OR 1=1 --", "string", "' OR 1=1 --"),
    *(
        (kind, None, shown, None)
        for kind, shown in (("INT", "int"), ("DATE", "date"), ("ARRAY<STRING>", "array<string>"))
    ),
]


@pytest.mark.parametrize(("kind", "given", "shown", "value"), CASES, ids=str)
@pytest.mark.parametrize("query", [query_over, query_over_views], ids=["plan", "views"])
def test_a_typed_parameter_has_its_value_and_its_type(
    spark: SparkSession, query: Any, kind: str, given: object, shown: str, value: object
) -> None:
    rows: DataFrame = query({"t": spark.range(1)}, "SELECT :x AS x FROM t", {"x": typed_value(kind, given)}, spark)
    assert rows.schema["x"].dataType.simpleString() == shown
    ((found,),) = rows.collect()
    assert found == (given if value is None and given is not None else value)


def test_a_decimal_is_compared_exactly(spark: SparkSession) -> None:
    rows = spark.sql("SELECT CAST('0.07' AS DECIMAL(4, 2)) AS rate")
    least = {"least": typed_value("DECIMAL(4,2)", "0.07")}
    assert query_over({"t": rows}, "SELECT * FROM t WHERE rate >= :least", least, spark).count() == 1


LIST = {"ids": typed_value("ARRAY<BIGINT>", [1])}


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("id IN (:ids)", "id IN (CAST(:ids AS ARRAY<BIGINT>))"),
        (":ids", "CAST(:ids AS ARRAY<BIGINT>)"),
        ("':ids' || `:ids` -- :ids\n /* :ids */", None),
        ("order:ids", None),
        ("items[0]:ids", None),
        ("a::ids", None),
        (":idsx + :others", None),
        ("size(:ids) + size(:ids)", "size(CAST(:ids AS ARRAY<BIGINT>)) + size(CAST(:ids AS ARRAY<BIGINT>))"),
    ],
)
def test_only_markers_get_a_type(text: str, typed: str | None) -> None:
    assert with_types(text, LIST) == (text if typed is None else typed)


def plain(rows: DataFrame, *, ids: list[int], since: date, rate: Decimal, until: date | None) -> DataFrame:
    words = [type(each).__name__ for each in (ids, since, rate, until)]
    return rows.withColumn("words", lit(" ".join(words)))


def test_a_pipeline_binds_them_in_expressions_and_functions(
    run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path
) -> None:
    env = StreamExecutionEnvironment(
        "typed",
        params={
            "ids": [1, 2],
            "since": date(2026, 1, 1),
            "rate": {"default": "0.06", "sql_type": "DECIMAL(4, 2)"},
            "until": {"default": None, "sql_type": "DATE"},
        },
    )
    days = [(1, date(2026, 1, 2)), (2, date(2025, 12, 31)), (3, date(2026, 1, 2))]
    read = env.from_source(Values(days, "id BIGINT, day DATE"), "rows")
    kept = read.filter("array_contains(:ids, id) AND day >= :since AND (:until IS NULL OR day < :until)").name("kept")
    priced = kept.with_columns(price=":rate * 2", until=":until").name("priced")
    worded = priced.transform(plain, ids=param("ids"), since=param("since"), rate=param("rate"), until=param("until"))
    worded.name("words").sink_to(Parquet(f"{tmp_path}/out")).name("out")

    def rows(params: dict[str, Any] | None = None) -> list[tuple[object, ...]]:
        (report,) = run_pipeline(env.pipeline(), params)
        assert report.failure is None, report.failure
        return sorted(tuple(row) for row in spark.read.parquet(f"{tmp_path}/out").collect())

    words = "list date Decimal NoneType"
    assert rows() == [(1, date(2026, 1, 2), Decimal("0.12"), None, words)]
    others = {"ids": typed_value("ARRAY<BIGINT>", [3, 1]), "until": typed_value("DATE", "2026-01-02")}
    assert rows(others) == []


def test_cells_of_values_are_days_decimals_and_lists(spark: SparkSession) -> None:
    from graph_compiler.spark_runtime.connectors import read_source

    given = [(date(2026, 1, 31), Decimal("0.10"), [1, None], ["a", "1"]), (None, None, None, [])]
    schema = "day DATE, rate DECIMAL(4, 2), ids ARRAY<BIGINT>, words ARRAY<STRING>"
    found = [tuple(row) for row in read_source(Values(given, schema), spark).collect()]
    assert found == [(date(2026, 1, 31), Decimal("0.10"), [1, None], ["a", "1"]), (None, None, None, [])]


def test_a_typed_value_is_what_python_has() -> None:
    assert TypedValue("ARRAY<DATE>", ("2026-01-31", None)).python == [date(2026, 1, 31), None]


@pytest.mark.parametrize(
    ("cell", "kind", "words"),
    [
        (["a"], "STRING", r"the cell .* is a list, and column 'k' is STRING"),
        ("a", "ARRAY<STRING>", r"the cell 'a' is not a list, and column 'k' is ARRAY<STRING>"),
    ],
)
def test_a_list_in_another_column_is_refused(spark: SparkSession, cell: Any, kind: str, words: str) -> None:
    from graph_compiler.errors import SchemaChangedError
    from graph_compiler.spark_runtime.connectors import read_source

    with pytest.raises(SchemaChangedError, match=words):
        read_source(Values([(cell,)], f"k {kind}"), spark)
