"""Columns that differ from those that a source declares, or that a sink's target has."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Csv, Json, Orc, Parquet, StreamExecutionEnvironment, Table
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.errors import SchemaChangedError
from graph_compiler.explain.diff.sink_columns import sink_columns
from graph_compiler.explain.plan.plan import PlanSummary
from graph_compiler.spark_runtime.columns.declared_schema import ddl
from graph_compiler.spark_runtime.connectors import read_source
from tests.harness.compiled_graphs import summary_of
from tests.harness.sinks import Sinks
from tests.spark.conftest import RunPipeline

pytestmark = [pytest.mark.spark, pytest.mark.ci]

SCHEMA = "k STRING, delay INT"
# What the files hold, or the rows have, in place of k STRING, delay INT.
CHANGES = {
    "added": ("'a' AS k, 1 AS delay, 'g' AS gate", "column 'gate' was added: found STRING; expected no such column"),
    "dropped": ("'a' AS k", "column 'delay' is gone: found no such column; expected INT"),
    "renamed": ("'a' AS k, 1 AS late", "column 'delay' was renamed: found 'late' INT; expected INT"),
    "widened": ("'a' AS k, 1L AS delay", "column 'delay' was widened: found BIGINT; expected INT"),
    "narrowed": ("'a' AS k, 1S AS delay", "column 'delay' was narrowed: found SMALLINT; expected INT"),
    "retyped": ("'a' AS k, 'x' AS delay", "column 'delay' has another type: found STRING; expected INT"),
}
ALL = list(CHANGES)


@pytest.fixture
def holding(spark: SparkSession, tmp_path: Path) -> Callable[[str], str]:
    """Make Parquet files with these columns."""

    def make(columns: str) -> str:
        spark.sql(f"SELECT {columns}").coalesce(1).write.parquet(f"{tmp_path}/in")
        return f"{tmp_path}/in"

    return make


@pytest.mark.parametrize("change", ALL)
def test_a_source_refuses_columns_that_differ_from_its_schema(
    change: str, spark: SparkSession, holding: Callable[[str], str]
) -> None:
    columns, words = CHANGES[change]
    source = Parquet(holding(columns), schema=SCHEMA)
    with pytest.raises(SchemaChangedError) as refusal:
        read_source(source, spark)
    lines = str(refusal.value).splitlines()
    assert lines[:2] == ["its columns are not those that are declared", f"  {words}"]
    assert lines.pop(2).startswith(f"    file: file:{source.path}/part-00000-")
    assert lines[2] == "  allowed: k STRING, delay INT (on_schema_change='fail')"


def test_a_refusal_names_the_folder_where_it_knows_no_file(spark: SparkSession, tmp_path: Path) -> None:
    table = Table("graph_compiler_named")
    spark.sql(f"CREATE TABLE {table.name} USING parquet LOCATION '{tmp_path}/t' AS SELECT 'a' AS k")
    try:
        with pytest.raises(SchemaChangedError) as refusal:
            read_source(replace(table, schema=SCHEMA), spark)
    finally:
        spark.sql(f"DROP TABLE {table.name}")
    lines = str(refusal.value).splitlines()
    assert lines[2] == f"  read from: {table.place}"


EVOLVE = "on_schema_change='evolve' accepts these changes"
OTHERWISE = "change the rows before the sink (select, cast), or write them to another target"
HINTS: dict[str, tuple[str, str | None]] = {
    "added": (EVOLVE, "leaves out gate"),
    "dropped": ('to accept them, declare schema="k STRING"', "reads delay as NULL"),
    "renamed": ('to accept them, declare schema="k STRING, late INT"', None),
    "widened": (EVOLVE, "casts delay, and fails if a value does not fit"),
    "narrowed": (EVOLVE, "casts delay, and fails if a value does not fit"),
    "retyped": (
        'to accept them, declare schema="k STRING, delay STRING"',
        "casts delay, and fails if a value does not fit",
    ),
}


@pytest.mark.parametrize("change", ALL)
def test_a_refusal_says_how_to_accept_the_changes_and_what_ignore_does_to_the_rows(
    change: str, spark: SparkSession, holding: Callable[[str], str]
) -> None:
    source = Parquet(holding(CHANGES[change][0]), schema=SCHEMA)
    with pytest.raises(SchemaChangedError) as refusal:
        read_source(source, spark)
    lines = [line for line in str(refusal.value).splitlines() if "hint:" in line]
    accepts, loses = HINTS[change]
    ignoring = [] if loses is None else [f"  hint: on_schema_change='ignore' {loses}"]
    assert lines == [f"  hint: {accepts}", *ignoring]
    if accepts != EVOLVE:  # the text can be pasted
        declared = accepts.partition('"')[2].rstrip('"')
        assert read_source(Parquet(source.path, schema=declared), spark).count() == 1


HINTS_OF_A_SINK = {
    "added": [EVOLVE, "on_schema_change='ignore' leaves out gate, whose values are not written"],
    "dropped": [
        OTHERWISE,
        "on_schema_change='ignore' writes delay as NULL (mode merge: over the values that the target has)",
    ],
    "renamed": [
        'before the sink, give columns the names they have in the target: rename({"late": "delay"})',
        OTHERWISE,
    ],
    "widened": [OTHERWISE, "on_schema_change='ignore' casts delay, and fails if a value does not fit"],
    "narrowed": [EVOLVE, "on_schema_change='ignore' casts delay, and fails if a value does not fit"],
    "retyped": [OTHERWISE, "on_schema_change='ignore' casts delay, and fails if a value does not fit"],
}


@pytest.mark.parametrize("change", ALL)
def test_a_hint_of_a_sink_says_what_happens_to_the_rows(change: str, sinks: Sinks, tmp_path: Path) -> None:
    target = Parquet(f"{tmp_path}/out")
    sinks.write(target, HELD)
    with pytest.raises(SchemaChangedError) as refusal:
        sinks.write(target, f"SELECT {CHANGES[change][0]}", run="r2", mode="append")
    hints = [line for line in str(refusal.value).splitlines() if "hint:" in line]
    assert hints == [f"  hint: {hint}" for hint in HINTS_OF_A_SINK[change]]


def test_the_schema_of_a_hint_is_that_of_the_file_at_every_depth(
    spark: SparkSession, holding: Callable[[str], str]
) -> None:
    path = holding("array(named_struct('x y', 1L, 'b', named_struct('d', 'e'))) AS s, 2 AS n")
    source = Parquet(path, schema="s ARRAY<STRUCT<b: STRUCT<c: INT>, a: INT>>")
    with pytest.raises(SchemaChangedError) as refusal:
        read_source(source, spark)
    declared = "s ARRAY<STRUCT<b: STRUCT<d: STRING>, `x y`: BIGINT>>, n INT"
    message = str(refusal.value)
    assert f'declare schema="{declared}"' in message
    assert "leaves out s.element.b.d, s.element.x y and n" in message
    assert "reads s.element.b.c and s.element.a as NULL" in message
    assert read_source(Parquet(path, schema=declared), spark).count() == 1


def test_ignore_refuses_types_between_which_there_is_no_cast(
    spark: SparkSession, holding: Callable[[str], str]
) -> None:
    path = holding("named_struct('a', 1) AS s, 'x' AS k")
    source = Parquet(path, schema="s STRUCT<a: STRUCT<b: INT>>, k STRING", on_schema_change="ignore")
    with pytest.raises(SchemaChangedError) as refusal:
        read_source(source, spark)
    assert "column 's.a' has another type: found INT; expected struct<b:int>" in str(refusal.value)
    assert "Spark has no cast between these types" in str(refusal.value)


@pytest.mark.parametrize(
    ("change", "columns"),
    [
        ("added", "k STRING, delay INT, gate STRING"),
        ("widened", "k STRING, delay BIGINT"),
        ("narrowed", "k STRING, delay INT"),
        ("dropped", None),
        ("renamed", None),
        ("retyped", None),
    ],
)
def test_an_evolving_source_accepts_lossless_changes(
    change: str, columns: str | None, spark: SparkSession, holding: Callable[[str], str]
) -> None:
    source = Parquet(holding(CHANGES[change][0]), schema=SCHEMA, on_schema_change="evolve")
    if columns is None:
        with pytest.raises(SchemaChangedError, match="on_schema_change='evolve'"):
            read_source(source, spark)
        return
    rows = read_source(source, spark)
    assert ddl(rows.schema) == columns
    assert [tuple(row)[:2] for row in rows.collect()] == [("a", 1)]


@pytest.mark.parametrize(
    ("change", "row"),
    [
        ("added", ("a", 1)),
        ("dropped", ("a", None)),
        ("renamed", ("a", None)),
        ("widened", ("a", 1)),
        ("narrowed", ("a", 1)),
    ],
)
def test_an_ignoring_source_returns_exactly_the_declared_columns(
    change: str, row: tuple[object, ...], spark: SparkSession, holding: Callable[[str], str]
) -> None:
    source = Parquet(holding(CHANGES[change][0]), schema=SCHEMA, on_schema_change="ignore")
    rows = read_source(source, spark)
    assert ddl(rows.schema) == SCHEMA
    assert list(map(tuple, rows.collect())) == [row]


def test_a_value_that_does_not_fit_its_declared_type_fails_instead_of_becoming_null(
    spark: SparkSession, holding: Callable[[str], str]
) -> None:
    source = Parquet(holding("'a' AS k, 5000000000L AS delay"), schema=SCHEMA, on_schema_change="ignore")
    with pytest.raises(Exception, match="CAST_OVERFLOW"):
        read_source(source, spark).collect()


def test_a_source_that_may_be_null_is_refused_where_it_is_declared_not_null(
    spark: SparkSession, tmp_path: Path
) -> None:
    spark.sql("SELECT 1 AS id, CAST(NULL AS STRING) AS k").write.parquet(f"{tmp_path}/in")
    declared = "id INT NOT NULL, k STRING"
    assert read_source(Parquet(f"{tmp_path}/in", schema=declared), spark).count() == 1
    strict = Parquet(f"{tmp_path}/in", schema="id INT NOT NULL, k STRING NOT NULL")
    with pytest.raises(SchemaChangedError) as refusal:
        read_source(strict, spark)
    words = "  column 'k' may be NULL now: found STRING; expected STRING NOT NULL"
    assert str(refusal.value).splitlines()[1:2] == [words]
    evolving = Parquet(f"{tmp_path}/in", schema=strict.schema, on_schema_change="evolve")
    assert read_source(evolving, spark).count() == 1


def test_the_order_and_the_case_of_columns_do_not_matter(spark: SparkSession, holding: Callable[[str], str]) -> None:
    rows = read_source(Parquet(holding("1 AS DELAY, 'a' AS k"), schema=SCHEMA), spark)
    assert list(map(tuple, rows.select("k", "delay").collect())) == [("a", 1)]
    assert rows.columns == ["k", "delay"]


def test_folders_have_the_declared_type(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("SELECT 1 AS id, '01' AS month").write.partitionBy("month").parquet(f"{tmp_path}/in")
    rows = read_source(Parquet(f"{tmp_path}/in", schema="id INT, month STRING"), spark)
    assert list(map(tuple, rows.collect())) == [(1, "01")]


def test_a_csv_source_finds_columns_by_the_names_in_its_header(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("gate,delay,k\ng,1,a\n")
    path = f"{tmp_path}/in.csv"
    with pytest.raises(SchemaChangedError, match="column 'gate' was added: found STRING"):
        read_source(Csv(path, schema=SCHEMA), spark)
    evolved = read_source(Csv(path, schema=SCHEMA, on_schema_change="evolve"), spark)
    assert list(map(tuple, evolved.collect())) == [("a", 1, "g")]
    ignored = read_source(Csv(path, schema=SCHEMA, on_schema_change="ignore"), spark)
    assert list(map(tuple, ignored.collect())) == [("a", 1)]
    assert list(map(tuple, ignored.select("delay").collect())) == [(1,)]


def test_csv_files_with_another_header_fail(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text("k,delay\na,1\n")
    (tmp_path / "in" / "2.csv").write_text("delay,k\n2,b\n")
    for policy in ("fail", "ignore"):
        source = Csv(f"{tmp_path}/in", schema=SCHEMA, on_schema_change=policy, on_misfit="fail")
        with pytest.raises(Exception, match="does not fit INT"):
            read_source(source, spark).collect()


@pytest.mark.parametrize("kind", [Csv, Json])
def test_text_that_does_not_fit_its_type_fails_unless_it_is_read_as_null(
    kind: type[Csv | Json], spark: SparkSession, tmp_path: Path
) -> None:
    text = "k,delay\na,late\n" if kind is Csv else '{"k": "a", "delay": "late"}\n'
    (tmp_path / "in").write_text(text)
    for strict in (
        kind(f"{tmp_path}/in", schema=SCHEMA),
        kind(f"{tmp_path}/in", schema=SCHEMA, on_schema_change="ignore", on_misfit="fail"),
    ):
        with pytest.raises(Exception, match="does not fit INT"):
            read_source(strict, spark).collect()
    lenient = kind(f"{tmp_path}/in", schema=SCHEMA, on_misfit="null")
    assert list(map(tuple, read_source(lenient, spark).collect())) == [("a", None)]


def test_an_invalid_schema_ddl_is_refused(spark: SparkSession, holding: Callable[[str], str]) -> None:
    with pytest.raises(SchemaChangedError, match="its schema 'k STRNG' is not Spark DDL"):
        read_source(Parquet(holding("'a' AS k"), schema="k STRNG"), spark)


def test_the_pipeline_the_operator_and_the_column_are_named(
    run_pipeline: RunPipeline, tmp_path: Path, holding: Callable[[str], str]
) -> None:
    env = StreamExecutionEnvironment("p")
    source = Parquet(holding("'a' AS k, 1L AS delay"), schema=SCHEMA)
    env.from_source(source, "flights").sink_to(Parquet(f"{tmp_path}/out"))
    failure = run_pipeline(env.pipeline())[-1].failure
    assert failure is not None
    assert failure.throwable_type == "NON_RECOVERABLE_ERROR"
    words = failure.words("p", "out")  # type: ignore[arg-type]
    assert words.startswith("pipeline 'p', operator 'flights': its columns are not those that are declared")
    assert "column 'delay' was widened: found BIGINT; expected INT" in words


# ── sinks ──

HELD = "SELECT 'a' AS k, 1 AS delay"


@pytest.mark.parametrize("change", ALL)
@pytest.mark.parametrize("kind", [Parquet, Orc])
def test_an_append_refuses_columns_its_target_does_not_have(
    kind: type[Parquet | Orc], change: str, sinks: Sinks, tmp_path: Path, spark: SparkSession
) -> None:
    target = kind(f"{tmp_path}/out")
    columns, words = CHANGES[change]
    sinks.write(target, HELD)
    with pytest.raises(SchemaChangedError) as refusal:
        sinks.write(target, f"SELECT {columns}", run="r2", mode="append")
    lines = str(refusal.value).splitlines()
    assert lines[:2] == [f"its columns are not those that {tmp_path}/out has", f"  {words}"]
    assert rows_of(target, spark) == [("a", 1)]
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_folders_have_the_rows_type_where_the_first_file_is_in_none(sinks: Sinks, tmp_path: Path) -> None:
    """An empty target has one file in no folder; another writer added a partition without a value."""
    target, spark = tmp_path / "out", sinks.spark
    sales = spark.createDataFrame([(1, "a")], "id INT, day STRING")
    parquet = Parquet(str(target))
    empty = sinks.prepare(parquet, sales.limit(0), mode="overwrite", partition_by=("day",))
    empty.publish()
    others = target / "day=__HIVE_DEFAULT_PARTITION__"
    sales.drop("day").write.parquet(str(others))
    appended = sinks.prepare(parquet, sales, run="r2", mode="append", partition_by=("day",))
    appended.publish()
    found = spark.read.parquet(str(target)).sort("id", "day").collect()
    assert [tuple(row) for row in found] == [(1, None), (1, "a")]


def test_an_append_that_evolves_adds_columns_and_takes_narrower_types(
    spark: SparkSession, sinks: Sinks, tmp_path: Path
) -> None:
    target = evolving(tmp_path)
    sinks.write(target, HELD)
    query = "SELECT 'g' AS gate, 'b' AS k, 2S AS delay"
    sinks.write(target, query, run="r2", mode="append")
    rows = spark.read.option("mergeSchema", "true").parquet(target.one_path)
    assert ddl(rows.schema) == "k STRING, delay INT, gate STRING"
    assert sorted(map(tuple, rows.collect())) == [("a", 1, None), ("b", 2, "g")]


@pytest.mark.parametrize("change", ["dropped", "renamed", "retyped", "widened"])
def test_an_evolving_append_refuses_changes_that_break_old_files(change: str, sinks: Sinks, tmp_path: Path) -> None:
    sinks.write(evolving(tmp_path), HELD)
    with pytest.raises(SchemaChangedError, match=CHANGES[change][1]):
        sinks.write(evolving(tmp_path), f"SELECT {CHANGES[change][0]}", run="r2", mode="append")


def test_spark_cannot_read_files_of_both_types_where_one_was_widened(spark: SparkSession, tmp_path: Path) -> None:
    """This is why a wider type is refused if old files stay."""
    for part, type in (("0", "INT"), ("1", "BIGINT")):
        spark.sql(f"SELECT CAST(1 AS {type}) AS v").coalesce(1).write.parquet(f"{tmp_path}/{part}")
        (file,) = (tmp_path / part).glob("*.parquet")
        (tmp_path / "both").mkdir(exist_ok=True)
        file.rename(tmp_path / "both" / f"part-{part}.parquet")
    with pytest.raises(Exception, match="PARQUET_COLUMN_DATA_TYPE_MISMATCH"):
        spark.read.parquet(f"{tmp_path}/both").collect()


def test_an_overwrite_that_evolves_may_widen_since_no_old_file_stays(
    spark: SparkSession, sinks: Sinks, tmp_path: Path
) -> None:
    target = evolving(tmp_path)
    sinks.write(target, HELD)
    sinks.write(target, "SELECT 5000000000L AS delay, 'a' AS k", run="r2")
    assert ddl(spark.read.parquet(target.one_path).schema) == "k STRING, delay BIGINT"
    with pytest.raises(SchemaChangedError, match="column 'delay' is gone"):
        sinks.write(target, "SELECT 'a' AS k", run="r3")


def test_an_overwrite_compares_no_columns_by_default(spark: SparkSession, sinks: Sinks, tmp_path: Path) -> None:
    sinks.write(Parquet(f"{tmp_path}/out"), HELD)
    sinks.write(Parquet(f"{tmp_path}/out"), "SELECT 1 AS other", run="r2")
    assert spark.read.parquet(f"{tmp_path}/out").columns == ["other"]
    told = Parquet(f"{tmp_path}/out", on_schema_change="fail")
    with pytest.raises(SchemaChangedError, match="column 'other' was renamed"):
        sinks.write(told, HELD, run="r3")


@pytest.mark.parametrize(
    ("change", "row"),
    [
        ("added", ("a", 1)),
        ("dropped", ("a", None)),
        ("renamed", ("a", None)),
        ("widened", ("a", 1)),
        ("narrowed", ("a", 1)),
    ],
)
def test_an_ignoring_append_writes_exactly_the_targets_columns(
    change: str, row: tuple[object, ...], spark: SparkSession, sinks: Sinks, tmp_path: Path
) -> None:
    target = Parquet(f"{tmp_path}/out", on_schema_change="ignore")
    sinks.write(target, "SELECT 'z' AS k, 9 AS delay")
    sinks.write(target, f"SELECT {CHANGES[change][0]}", run="r2", mode="append")
    assert rows_of(target, spark) == [row, ("z", 9)]
    assert ddl(spark.read.parquet(target.one_path).schema) == SCHEMA


def test_a_sink_checks_rows_against_its_declared_schema(sinks: Sinks, tmp_path: Path) -> None:
    declared = Parquet(f"{tmp_path}/out", schema="k STRING NOT NULL, delay INT")
    assert sinks.write(declared, "SELECT 'a' AS k, 1 AS delay").rows == 1
    with pytest.raises(SchemaChangedError) as refusal:
        sinks.write(declared, "SELECT nullif('a', 'b') AS k, 1 AS delay", run="r2")
    words = "  column 'k' may be NULL now: found STRING; expected STRING NOT NULL"
    assert str(refusal.value).splitlines()[:2] == ["its columns are not those that are declared", words]
    evolved = Parquet(declared.path, schema=declared.schema, on_schema_change="evolve")
    assert sinks.write(evolved, "SELECT nullif('a', 'b') AS k, 1 AS delay", run="r2").rows == 1


def test_a_missing_column_that_may_not_be_null_is_refused_even_if_changes_are_ignored(
    sinks: Sinks, tmp_path: Path
) -> None:
    declared = Parquet(f"{tmp_path}/out", schema="k STRING NOT NULL, v INT", on_schema_change="ignore")
    with pytest.raises(SchemaChangedError, match="column 'k' is gone"):
        sinks.write(declared, "SELECT 1 AS v")


def test_an_append_to_csv_follows_the_order_of_its_header(spark: SparkSession, sinks: Sinks, tmp_path: Path) -> None:
    target = Csv(f"{tmp_path}/out")
    sinks.write(target, HELD)
    sinks.write(target, "SELECT 2 AS delay, 'b' AS k", run="r2", mode="append")
    rows = spark.read.option("header", True).csv(target.one_path)
    assert sorted(map(tuple, rows.collect())) == [("a", "1"), ("b", "2")]
    with pytest.raises(SchemaChangedError, match="column 'gate' was added"):
        sinks.write(target, "SELECT 'a' AS k, 1 AS delay, 'g' AS gate", run="r3", mode="append")


def test_a_rerun_is_compared_with_the_columns_before_its_first_attempt(
    spark: SparkSession, sinks: Sinks, tmp_path: Path
) -> None:
    target = evolving(tmp_path)
    sinks.write(target, HELD)
    sinks.write(target, "SELECT 'b' AS k, 1 AS delay, 'g' AS gate", run="r2", mode="append")
    # the pipeline was corrected, and the task cleared: what its first attempt added does not bind it
    sinks.write(target, "SELECT 'b' AS k, 1 AS delay", run="r2", mode="append")
    assert ddl(spark.read.option("mergeSchema", "true").parquet(target.one_path).schema) == SCHEMA


def evolving(tmp_path: Path) -> Parquet:
    return Parquet(f"{tmp_path}/out", on_schema_change="evolve")


def rows_of(target: FileConnector, spark: SparkSession) -> list[tuple[object, ...]]:
    rows = spark.read.format(target.spark_format).load(target.one_path).collect()
    return sorted((tuple(row) for row in rows), key=str)


@pytest.mark.parametrize("policy", [None, "fail", "evolve", "ignore"])
@pytest.mark.parametrize("mode", ["overwrite", "append", "merge"])
@pytest.mark.parametrize("schema", [None, SCHEMA])
def test_a_target_takes_a_new_column_as_a_comparison_of_versions_says(
    policy: str | None, mode: str, schema: str | None, spark: SparkSession, sinks: Sinks, tmp_path: Path
) -> None:
    target = Parquet(f"{tmp_path}/out", on_schema_change=policy, schema=schema)
    sinks.write(Parquet(target.path), HELD)

    def version(select: str) -> PlanSummary:
        env = StreamExecutionEnvironment("p")
        rows = env.from_source(Parquet("/in", schema=f"{SCHEMA}, gate STRING"), "in").select(select)
        keys = "k" if mode == "merge" else ()
        rows.sink_to(target, mode=mode, keys=keys).name("out")  # type: ignore[arg-type]  # one of the modes
        return summary_of(compile_pipeline(env.pipeline()))

    before, now = version("k"), version("gate")
    then = next(
        column.then for column in sink_columns(before.operators[-1], now.operators[-1]) if column.before is None
    )
    try:
        sinks.write(
            target, f"SELECT {CHANGES['added'][0]}", run="r2", mode=mode, keys=("k",) if mode == "merge" else ()
        )
    except SchemaChangedError:
        assert then.startswith("refused if")
        return
    columns = spark.read.parquet(target.one_path, mergeSchema=True).columns
    assert ("gate" in columns) is ("not written" not in then)
    assert not then.startswith("refused")
