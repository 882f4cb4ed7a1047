"""Plans that Catalyst calls deterministic are checked again: each row of the table of what may vary."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import struct

from graph_compiler import DataStream, Parquet, StreamExecutionEnvironment, Table
from graph_compiler.declaration import varying_rows
from graph_compiler.declaration.varying_rows import VARYING_ROWS, VaryingRows
from graph_compiler.spark_runtime.repeatability.variations import why_rows_vary
from tests.harness.reference import published
from tests.spark.conftest import RunPipeline

pytestmark = [pytest.mark.spark, pytest.mark.ci]
ROOT = Path(__file__).parents[3]

AGGREGATES: dict[str, VaryingRows | None] = {
    "first(id)": varying_rows.ANY_VALUE,
    "last(id)": varying_rows.ANY_VALUE,
    "any_value(id)": varying_rows.ANY_VALUE,
    "first_value(id)": varying_rows.ANY_VALUE,
    "collect_list(id)": varying_rows.ANY_VALUE,
    "collect_set(id)": varying_rows.ANY_VALUE,
    "array_agg(id)": varying_rows.ANY_VALUE,
    "listagg(s, ',')": varying_rows.ANY_VALUE,
    "string_agg(s)": varying_rows.ANY_VALUE,
    "size(collect_list(id)) + 1": varying_rows.ANY_VALUE,
    "histogram_numeric(d, 3)": varying_rows.ANY_VALUE,
    "max_by(s, d)": varying_rows.TIES,
    "min_by(s, d)": varying_rows.TIES,
    "mode(s)": varying_rows.TIES,
    "percentile_approx(d, 0.5)": varying_rows.SKETCHES,
    "approx_top_k(k)": varying_rows.SKETCHES,
    "hll_sketch_agg(id)": varying_rows.SKETCHES,
    "sum(d)": varying_rows.LAST_DIGITS,
    "avg(d)": varying_rows.LAST_DIGITS,
    "stddev(d)": varying_rows.LAST_DIGITS,
    "corr(d, id)": varying_rows.LAST_DIGITS,
    "max(s COLLATE UTF8_LCASE)": varying_rows.EQUAL_TEXTS,
    "min(named_struct('s', s COLLATE UTF8_LCASE))": varying_rows.EQUAL_TEXTS,
    "count(s COLLATE UTF8_LCASE)": None,
    "sort_array(collect_list(id))": None,
    "array_sort(collect_list(named_struct('d', d, 's', s)))": None,
    "array_sort(collect_list(id), (one, other) -> CAST(one % 3 - other % 3 AS INT))": varying_rows.ANY_VALUE,
    "sort_array(collect_list(s COLLATE UTF8_LCASE))": varying_rows.ANY_VALUE,
    "listagg(s, ',') WITHIN GROUP (ORDER BY s)": None,
    "listagg(id, ',') WITHIN GROUP (ORDER BY id)": None,
    "listagg(d, ',') WITHIN GROUP (ORDER BY d)": varying_rows.ANY_VALUE,
    "listagg(s, ',') WITHIN GROUP (ORDER BY d)": varying_rows.ANY_VALUE,
    "mode() WITHIN GROUP (ORDER BY s)": None,
    "count(*)": None,
    "count_if(k > 1)": None,
    "min(d)": None,
    "max(s)": None,
    "sum(id)": None,
    "sum(CAST(d AS DECIMAL(10, 2)))": None,
    "bool_or(k > 1)": None,
    "bit_xor(id)": None,
    "percentile(d, 0.5)": None,
    "median(d)": None,
    "approx_count_distinct(id)": None,
}
COLUMNS: dict[str, VaryingRows | None] = {
    **dict.fromkeys(
        (
            *("rand()", "rand(5)", "randn(5)", "uuid()", "shuffle(array(1, 2))", "randstr(3)"),
            *("uniform(1, 3)", "reflect('java.util.UUID', 'randomUUID')"),
            *("java_method('java.lang.System', 'nanoTime')", "monotonically_increasing_id()"),
            *("spark_partition_id()", "input_file_name()", "input_file_block_start()"),
        ),
        varying_rows.RANDOM,
    ),
    **{
        f"{call} OVER (PARTITION BY k ORDER BY d)": varying_rows.WINDOWS
        for call in ("row_number()", "ntile(3)", "lag(id)", "lead(id)", "nth_value(id, 2)")
    },
    "sum(id) OVER (ORDER BY k ROWS 1 PRECEDING)": varying_rows.WINDOWS,
    "first_value(id) OVER (ORDER BY k)": varying_rows.ANY_VALUE,
    "sum(d) OVER (ORDER BY k)": varying_rows.LAST_DIGITS,
    "(SELECT first(id) FROM varying)": varying_rows.ANY_VALUE,
    "id IN (SELECT id FROM varying LIMIT 3)": varying_rows.ANY_ROWS,
    "row_number() OVER (PARTITION BY k ORDER BY id, d, s)": None,
    "rank() OVER (ORDER BY k)": None,
    "dense_rank() OVER (ORDER BY k)": None,
    "sum(id) OVER (PARTITION BY k)": None,
    "max(id) OVER (ORDER BY k ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)": None,
    "id + 1": None,
    "current_user()": None,
    "version()": None,
    "current_timestamp()": None,  # a value by then: tests/spark/repeatability/test_one_now.py
}


def equal_texts(rows: DataFrame) -> DataFrame:
    return rows.selectExpr("s COLLATE UTF8_LCASE AS t")


PLANS: dict[str, tuple[Callable[[DataFrame], DataFrame], VaryingRows | None]] = {
    "limit": (lambda rows: rows.limit(3), varying_rows.ANY_ROWS),
    "limit of an order": (lambda rows: rows.orderBy("k").limit(3), varying_rows.ANY_ROWS),
    "offset": (lambda rows: rows.offset(3), varying_rows.ANY_ROWS),
    "one row of a key": (lambda rows: rows.dropDuplicates(["k"]), varying_rows.ANY_ROWS),
    "sample": (lambda rows: rows.sample(0.5), varying_rows.ANY_ROWS),
    "sample with a seed": (lambda rows: rows.sample(0.5, 3), varying_rows.ANY_ROWS),
    "random split": (lambda rows: rows.randomSplit([0.5, 0.5])[0], varying_rows.ANY_ROWS),
    "pivot of first": (lambda rows: rows.groupBy("k").pivot("s", ["1"]).agg({"d": "first"}), varying_rows.ANY_VALUE),
    **{
        f"{name} of equal texts": (make, varying_rows.EQUAL_TEXTS)
        for name, make in {
            "group": lambda rows: equal_texts(rows).groupBy("t").count(),
            "group of a struct": lambda rows: equal_texts(rows).groupBy(struct("t")).count(),
            "distinct": lambda rows: equal_texts(rows).distinct(),
            "union": lambda rows: equal_texts(rows).union(equal_texts(rows)).distinct(),
            "intersect": lambda rows: equal_texts(rows).intersect(equal_texts(rows)),
            "except": lambda rows: equal_texts(rows).subtract(equal_texts(rows).where("t = '1'")),
        }.items()
    },
    "order of equal texts": (
        lambda rows: equal_texts(rows).selectExpr("row_number() OVER (ORDER BY t)"),
        varying_rows.WINDOWS,
    ),
    "join of equal texts": (lambda rows: equal_texts(rows).join(equal_texts(rows), "t"), None),
    "distinct": (lambda rows: rows.distinct(), None),
    "order": (lambda rows: rows.orderBy("k"), None),
    "repartition": (lambda rows: rows.repartition(3), None),
    "union": (lambda rows: rows.union(rows), None),
    "except": (lambda rows: rows.exceptAll(rows), None),
}


if hasattr(DataFrame, "zipWithIndex"):  # from Spark 4.2 on
    PLANS["places of rows"] = (lambda rows: rows.zipWithIndex("i"), varying_rows.PLACES)


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    found = spark.range(30).selectExpr("id", "id % 3 AS k", "CAST(id AS DOUBLE) AS d", "CAST(id AS STRING) AS s")
    found.createOrReplaceTempView("varying")
    return found


@pytest.mark.parametrize(("expression", "row"), AGGREGATES.items())
def test_nondeterministic_aggregates_are_found(expression: str, row: VaryingRows | None, rows: DataFrame) -> None:
    made = rows.sparkSession.sql(f"SELECT k, {expression} AS x FROM varying GROUP BY k")
    found = why_rows_vary(made)
    assert (found and found.row) == row


@pytest.mark.parametrize(("expression", "row"), COLUMNS.items())
def test_nondeterministic_columns_are_found(expression: str, row: VaryingRows | None, rows: DataFrame) -> None:
    found = why_rows_vary(rows.selectExpr("*", f"{expression} AS x"))
    assert (found and found.row) == row


@pytest.mark.parametrize("name", PLANS)
def test_nondeterministic_plans_are_found(name: str, rows: DataFrame) -> None:
    make, row = PLANS[name]
    found = why_rows_vary(make(rows))
    assert (found and found.row) == row


def first_of_key(rows: DataFrame) -> DataFrame:
    return rows.dropDuplicates(["k"])


SHARED: dict[str, Callable[[DataStream], DataStream]] = {
    "first": lambda s: s.key_by("k").aggregate(x="first(id)"),
    "collect_list": lambda s: s.key_by("k").aggregate(x="xxhash64(collect_list(id))"),
    "max_by": lambda s: s.key_by("k").aggregate(x="max_by(id, k)"),
    "percentile_approx": lambda s: s.key_by("k").aggregate(x="percentile_approx(id, 0.3, 10)"),
    "row_number": lambda s: s.with_columns(x="row_number() OVER (PARTITION BY k ORDER BY k)").filter("x = 1"),
    "limit in SQL text": lambda s: s.sql("SELECT * FROM {input} LIMIT 500"),
    "deduplicate in a function": lambda s: s.transform(first_of_key),
    "a place": lambda s: s.with_columns(x="monotonically_increasing_id()").filter("x % 7 = 0"),
}


@pytest.fixture(scope="module")
def data(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("data")
    spark.range(0, 20_000, 1, 3).selectExpr("id", "id % 500 AS k").write.parquet(f"{folder}/in")
    return f"{folder}/in"


def two_sinks(stream: DataStream, folder: Path) -> StreamExecutionEnvironment:
    for name in ("one", "two"):
        stream.sink_to(Parquet(f"{folder}/{name}")).name(name)
    return stream.environment


@pytest.mark.parametrize("declare", SHARED.values(), ids=SHARED.keys())
def test_two_sinks_see_the_same_rows(
    declare: Callable[[DataStream], DataStream],
    data: str,
    run_pipeline: RunPipeline,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = StreamExecutionEnvironment("p").from_source(Parquet(data), "in")
    env = two_sinks(declare(source.shuffle()).name("shared"), tmp_path)
    assert run_pipeline(env.pipeline())[-1].failure is None
    one, two = (sorted(published(tmp_path / name)[1]) for name in ("one", "two"))
    assert one == two
    assert "shared: staged once for its 2 readers, because" in capsys.readouterr().out


@pytest.mark.parametrize("mode", ["DROPMALFORMED", "dropMalformed"])
def test_sinks_of_other_columns_have_the_same_records_of_a_lenient_reader(
    mode: str, spark: SparkSession, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("1,2\nx,3\n4,y\n")
    spark.sql("DROP TABLE IF EXISTS lenient")
    spark.sql(f"CREATE TABLE lenient (a INT, b INT) USING csv OPTIONS (Mode '{mode}') LOCATION '{tmp_path}/in'")
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Table("lenient"), "lenient")
    for name in ("a", "b"):
        rows.select(name).sink_to(Parquet(f"{tmp_path}/{name}")).name(name)
    kept = rows.select("a").filter("a > 1", rejects="rest")
    for name, side in (("kept", kept), ("rest", kept.get_side_output("rest"))):
        side.sink_to(Parquet(f"{tmp_path}/{name}")).name(name)
    assert run_pipeline(env.pipeline())[-1].failure is None
    spark.sql("DROP TABLE lenient")
    found = {name: published(tmp_path / name)[1] for name in ("a", "b", "kept", "rest")}
    assert found == {"a": [(1,)], "b": [(2,)], "kept": [], "rest": [(1,)]}


@pytest.mark.parametrize(
    "declare",
    [
        lambda s: s.key_by("k").aggregate(x="avg(id / 3D)"),
        lambda s: s.key_by("k").aggregate(x="first(id)").deterministic(),
        lambda s: s.with_columns(x="row_number() OVER (PARTITION BY k ORDER BY id)"),
        lambda s: s.deduplicate("k", order_by="id"),
    ],
    ids=["last digits", "declared deterministic", "a total order", "deduplicate by an order"],
)
def test_deterministic_rows_are_not_staged_for_two_readers(
    declare: Callable[[DataStream], DataStream], data: str, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    source = StreamExecutionEnvironment("p").from_source(Parquet(data), "in")
    assert run_pipeline(two_sinks(declare(source), tmp_path).pipeline())[-1].failure is None
    assert not (tmp_path / "staging" / "p" / "run" / "data").exists()


def test_the_last_digits_of_a_sum_are_fixed_before_a_split(
    data: str, run_pipeline: RunPipeline, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    env = StreamExecutionEnvironment("p")
    sums = env.from_source(Parquet(data), "in").shuffle().key_by("k").aggregate(x="sum(id / 3D)")
    large = sums.filter("x > 133100.1", rejects="small").name("split")
    sides = {"large": large, "small": large.get_side_output("small")}
    for name, side in sides.items():
        side.sink_to(Parquet(f"{tmp_path}/{name}")).name(f"{name}_out")
    assert run_pipeline(env.pipeline())[-1].failure is None
    found = [{row[0] for row in published(tmp_path / name)[1]} for name in sides]
    assert sum(map(len, found)) == len(found[0] | found[1]) == 500
    assert "split: its inputs are staged once, since it reads them several times" in capsys.readouterr().out


def with_its_largest(rows: DataFrame) -> DataFrame:
    return rows.crossJoin(rows.selectExpr("max(id) AS most"))


def with_its_largest_again(rows: DataFrame) -> DataFrame:
    return with_its_largest(rows.drop("most"))


AGAIN: dict[str, Callable[[DataStream], DataStream]] = {
    "SQL text": lambda s: s.sql("SELECT *, (SELECT max(id) FROM {input}) AS most FROM {input}"),
    "an expression of a query": lambda s: s.sql(
        "WITH t AS (SELECT id, k FROM {input}) SELECT t.*, most FROM t CROSS JOIN (SELECT max(id) AS most FROM t)"
    ),
    "a function": lambda s: s.transform(with_its_largest),
    "an iteration": lambda s: s.iterate(with_its_largest_again, max_iterations=2),
}


@pytest.mark.parametrize("declare", AGAIN.values(), ids=AGAIN.keys())
def test_an_operator_that_reads_its_input_several_times_sees_the_same_rows(
    declare: Callable[[DataStream], DataStream],
    data: str,
    run_pipeline: RunPipeline,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = StreamExecutionEnvironment("p").from_source(Parquet(data), "in")
    found = declare(source.shuffle().limit(500)).name("again")
    found.sink_to(Parquet(f"{tmp_path}/out"))
    assert run_pipeline(found.environment.pipeline())[-1].failure is None
    rows = [(int(str(id)), int(str(most))) for id, _, most in published(tmp_path / "out")[1]]
    assert len(rows) == 500
    assert {most for _, most in rows} == {max(id for id, _ in rows)}
    assert "again: its inputs are staged once, since it reads them several times" in capsys.readouterr().out


ONCE: dict[str, Callable[[DataStream], DataStream]] = {
    "a query of rows that do not vary": lambda s: s.sql("SELECT *, (SELECT max(id) FROM {input}) AS most FROM {input}"),
    "a function of such": lambda s: s.filter("id > 3").transform(with_its_largest),
    "a query that qualifies its names": lambda s: s.limit(9).sql("SELECT {input}.id, {input}.k FROM {input}"),
    "a hint in a query": lambda s: s.limit(9).sql("SELECT /*+ COALESCE(1) */ * FROM {input} WHERE {input}.k > 0"),
}


@pytest.mark.parametrize("declare", ONCE.values(), ids=ONCE.keys())
def test_an_input_that_does_not_vary_or_is_read_once_is_not_staged_for_them(
    declare: Callable[[DataStream], DataStream], data: str, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    source = StreamExecutionEnvironment("p").from_source(Parquet(data), "in")
    declare(source).sink_to(Parquet(f"{tmp_path}/out"))
    assert run_pipeline(source.environment.pipeline())[-1].failure is None
    assert not (tmp_path / "staging" / "p" / "run" / "data").exists()


def test_the_documentation_has_the_table() -> None:
    text = (ROOT / "docs" / "repeatability.md").read_text()
    said = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \|$", text, re.MULTILINE)
    table = [(row.what, row.treatment.value, row.reason) for row in VARYING_ROWS]
    assert [row for row in said if row[1] in {each[1] for each in table}] == table
