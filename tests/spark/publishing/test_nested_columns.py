"""Structs that are appended, merged, inserted and united: their fields are found by name, as columns are."""

from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from graph_compiler import Orc, Parquet, Range, StreamExecutionEnvironment, Table
from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.errors import PublicationError, SchemaChangedError
from graph_compiler.spark_runtime.columns.declared_schema import ddl
from tests.harness.sinks import Sinks
from tests.spark.conftest import RunPipeline

pytestmark = [pytest.mark.spark, pytest.mark.ci]

KINDS = (Parquet, Orc)
IN = {"struct": ("{}", "s"), "array": ("array({})", "s[0]"), "value": ("map('k', {})", "s['k']")}
OLD = "named_struct('a', 1, 'b', 2)"
SWAPPED = "named_struct('b', 20, 'a', 10)"


def query(struct: str, where: str, number: int) -> str:
    return f"SELECT {number}L AS id, {IN[where][0].format(struct)} AS s"


def fields_of(target: FileConnector, spark: SparkSession, where: str, *names: str) -> list[Any]:
    rows = spark.read.option("mergeSchema", "true").format(target.spark_format).load(target.one_path)
    found = rows.selectExpr("id", *(f"{IN[where][1]}.{name} AS {name}" for name in names))
    return sorted(map(tuple, found.collect()))


@pytest.mark.parametrize("where", IN)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["append", "merge"])
@pytest.mark.parametrize("policy", [None, "ignore", "evolve"])
def test_swapped_fields_are_written_by_name(
    policy: str | None, mode: str, kind: type[FileConnector], where: str, sinks: Sinks, tmp_path: Path
) -> None:
    target = kind(f"{tmp_path}/out", on_schema_change=policy)
    keys: dict[str, Any] = {"mode": mode} | ({"keys": ("id",)} if mode == "merge" else {})
    sinks.write(target, query(OLD, where, 1), run="r1", **keys)
    sinks.write(target, query(SWAPPED, where, 2), run="r2", **keys)
    assert fields_of(target, sinks.spark, where, "a", "b") == [(1, 1, 2), (2, 10, 20)]


@pytest.mark.parametrize("where", IN)
@pytest.mark.parametrize("kind", KINDS)
def test_a_field_is_added_left_out_or_refused(
    kind: type[FileConnector], where: str, sinks: Sinks, tmp_path: Path
) -> None:
    more = "named_struct('c', 30, 'b', 20, 'a', 10)"
    path = f"{tmp_path}/out"
    sinks.write(kind(path), query(OLD, where, 1), run="r1", mode="append")
    inner = {"struct": "s.c", "array": "s.element.c", "value": "s.value.c"}[where]
    with pytest.raises(SchemaChangedError) as refusal:
        sinks.write(kind(path), query(more, where, 2), run="r2", mode="append")
    assert f"column '{inner}' was added: found INT" in str(refusal.value)
    assert "hint: on_schema_change='evolve' accepts these changes" in str(refusal.value)
    assert f"hint: on_schema_change='ignore' leaves out {inner}" in str(refusal.value)
    ignoring = kind(path, on_schema_change="ignore")
    sinks.write(ignoring, query(more, where, 2), run="r2", mode="append")
    assert fields_of(ignoring, sinks.spark, where, "a", "b") == [(1, 1, 2), (2, 10, 20)]
    evolving = kind(path, on_schema_change="evolve")
    sinks.write(evolving, query(more, where, 3), run="r3", mode="append")
    assert fields_of(evolving, sinks.spark, where, "a", "b", "c") == [
        (1, 1, 2, None),
        (2, 10, 20, None),
        (3, 10, 20, 30),
    ]
    sinks.write(kind(path), query(more, where, 4), run="r4", mode="append")
    if kind is Parquet:  # a REQUIRED field that older files lack stops pyarrow
        names = [file.name for file in Path(path).glob("*.parquet")]
        schemas = [parquet.read_schema(f"{path}/{name}") for name in names]
        wide = next(schema for schema in schemas if "c" in str(schema))
        assert len(parquet.read_table(path, schema=wide)) == 4


def test_a_merge_gives_old_rows_the_added_fields(sinks: Sinks, tmp_path: Path) -> None:
    target = Parquet(f"{tmp_path}/out", on_schema_change="evolve")
    keys: dict[str, Any] = {"mode": "merge", "keys": ("id",)}
    sinks.write(target, query(OLD, "array", 1), run="r1", **keys)
    more = "named_struct('c', 30, 'b', 20, 'a', 10L)"
    sinks.write(target, query(more, "array", 2), run="r2", **keys)
    assert fields_of(target, sinks.spark, "array", "a", "b", "c") == [(1, 1, 2, None), (2, 10, 20, 30)]
    rows = sinks.spark.read.parquet(target.one_path)
    assert "a: BIGINT" in ddl(rows.schema)


def test_a_table_is_filled_by_name(spark: SparkSession, sinks: Sinks, tmp_path: Path) -> None:
    columns = "id BIGINT, s STRUCT<a: INT, b: INT>, m MAP<STRING, STRUCT<a: INT, b: INT>>"
    spark.sql("DROP TABLE IF EXISTS nested")
    spark.sql(f"CREATE TABLE nested ({columns}) USING parquet LOCATION '{tmp_path}/nested'")
    try:
        rows = f"SELECT map('k', {SWAPPED}) AS m, {SWAPPED} AS s, 1L AS id"
        sinks.write(Table("nested"), rows, mode="append")
        found = spark.table("nested").selectExpr("s.a", "s.b", "m['k'].a", "m['k'].b").collect()
        assert [tuple(row) for row in found] == [(10, 20, 10, 20)]
    finally:
        spark.sql("DROP TABLE nested")


def test_a_table_whose_structs_were_altered_before_the_insert_takes_no_rows(
    spark: SparkSession, sinks: Sinks, tmp_path: Path
) -> None:
    def create(fields: str) -> None:
        spark.sql("DROP TABLE IF EXISTS altered")
        spark.sql(f"CREATE TABLE altered (s STRUCT<{fields}>) USING parquet LOCATION '{tmp_path}/{len(fields)}'")

    try:
        create("a: INT, b: INT")
        prepared = sinks.prepare(Table("altered"), spark.sql(f"SELECT {OLD} AS s"), mode="append")
        create("a: INT, renamed: INT")
        with pytest.raises(SchemaChangedError, match="column 's.renamed'"):
            prepared.publish()
        assert spark.table("altered").count() == 0
        create("a: INT, b: INT")  # it was given up: later runs do not wait
        sinks.write(Table("altered"), f"SELECT {SWAPPED} AS s", run="r2", mode="append")
        assert spark.table("altered").select("s.b").collect()[0][0] == 20
    finally:
        spark.sql("DROP TABLE altered")


def test_fields_of_a_struct_whose_names_differ_only_in_case_are_refused(sinks: Sinks, tmp_path: Path) -> None:
    with pytest.raises(PublicationError, match="it would write s.element.a more than once"):
        sinks.write(Parquet(f"{tmp_path}/out"), "SELECT array(named_struct('a', 1, 'A', 2)) AS s")


@pytest.mark.parametrize("where", [*IN, "nested value"])
@pytest.mark.parametrize("by", ["union", "union_by_name"])
def test_unions_find_fields_by_name(
    by: str, where: str, run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path
) -> None:
    value = {"nested value": "map('k', array({}))"}.get(where) or IN[where][0]
    found = {"nested value": "s['k'][0]"}.get(where) or IN[where][1]
    env = StreamExecutionEnvironment("p")
    one = env.from_source(Range(0, 1), "one").select(id="id", s=value.format(OLD))
    two = env.from_source(Range(1, 2), "two").select(id="id", s=value.format(SWAPPED))
    both = one.union(two) if by == "union" else one.union_by_name(two)
    both.sink_to(Parquet(f"{tmp_path}/out")).name("out")
    assert run_pipeline(env.pipeline())[-1].failure is None
    rows = spark.read.parquet(f"{tmp_path}/out").selectExpr("id", f"{found}.a", f"{found}.b")
    assert sorted(map(tuple, rows.collect())) == [(0, 1, 2), (1, 10, 20)]


def test_a_union_of_structs_with_other_fields_names_them_or_fills_them(
    run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path
) -> None:
    def pipeline(*, fills: bool) -> StreamExecutionEnvironment:
        env = StreamExecutionEnvironment("p")
        more = "map('k', named_struct('c', 30L, 'a', 10))"
        one = env.from_source(Range(0, 1), "one").select(id="id", s=f"map('k', {OLD})")
        two = env.from_source(Range(1, 2), "two").select(id="id", s=more)
        both = one.union_by_name(two, allow_missing_columns=fills)
        both.sink_to(Parquet(f"{tmp_path}/out")).name("out")
        return env

    failure = run_pipeline(pipeline(fills=False).pipeline())[-1].failure
    assert failure is not None
    assert failure.throwable_type == "NON_RECOVERABLE_ERROR"
    assert "only some have s.value.b and s.value.c" in failure.words("p", "out")  # type: ignore[arg-type]
    assert run_pipeline(pipeline(fills=True).pipeline())[-1].failure is None
    found = spark.read.parquet(f"{tmp_path}/out").selectExpr("id", "s['k'].a", "s['k'].b", "s['k'].c")
    assert sorted(map(tuple, found.collect()), key=str) == [(0, 1, 2, None), (1, 10, None, 30)]


@pytest.mark.parametrize(("method", "count"), [("intersect", 1), ("except_", 0)])
def test_set_operations_compare_fields_by_name(
    method: str, count: int, run_pipeline: RunPipeline, spark: SparkSession, tmp_path: Path
) -> None:
    env = StreamExecutionEnvironment("p")
    one = env.from_source(Range(0, 1), "one").select(s="array(named_struct('a', 10, 'b', 20))")
    two = env.from_source(Range(0, 1), "two").select(s=f"array({SWAPPED})")
    getattr(one, method)(two).sink_to(Parquet(f"{tmp_path}/out")).name("out")
    assert run_pipeline(env.pipeline())[-1].failure is None
    assert spark.read.parquet(f"{tmp_path}/out").count() == count
