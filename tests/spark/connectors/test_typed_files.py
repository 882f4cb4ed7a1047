"""Parquet and ORC files that differ in columns and types, are empty, or are not there."""

import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import orc, parquet
from pyspark.sql import SparkSession

from graph_compiler import Csv, Json, Orc, Parquet, StreamExecutionEnvironment
from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.deployment.documents.report import ThrowableType
from graph_compiler.errors import SchemaChangedError
from graph_compiler.identifiers import RegionId
from graph_compiler.spark_runtime.columns.declared_schema import ddl
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.repeatability.source_files import OwnReads
from tests.harness.sinks import Sinks
from tests.spark.conftest import RunPipeline

pytestmark = pytest.mark.spark

KINDS = (Parquet, Orc)
Write = Callable[..., Path]


@pytest.fixture
def write(spark: SparkSession, tmp_path: Path) -> Write:
    """Write one file a query, named 1, 2, … or as given, into a folder."""

    def files(kind: type[FileConnector], **queries: str) -> Path:
        name = kind("x").spark_format
        for number, query in queries.items():
            below = tmp_path / "one"
            spark.sql(query).coalesce(1).write.format(name).save(str(below))
            (file,) = below.glob(f"*.{name}")
            target = tmp_path / "in" / f"{number.replace('__', '/').replace('_is_', '=')}.{name}"
            target.parent.mkdir(parents=True, exist_ok=True)
            file.rename(target)
            shutil.rmtree(below)
        return tmp_path / "in"

    return files


def read_rows(source: FileConnector, spark: SparkSession) -> list[tuple[object, ...]]:
    return sorted((tuple(row) for row in read_source(source, spark).collect()), key=str)


def refused(source: FileConnector, spark: SparkSession) -> str:
    with pytest.raises(SchemaChangedError) as refusal:
        read_source(source, spark)
    return str(refusal.value)


@pytest.mark.parametrize("kind", KINDS)
def test_files_with_a_narrower_type_are_read_as_declared(
    kind: type[FileConnector], spark: SparkSession, write: Write
) -> None:
    path = write(kind, old="SELECT 1 AS id", new="SELECT 1099511627776L AS id")
    for policy in ("evolve", "ignore"):
        source = kind(str(path), schema="id BIGINT", on_schema_change=policy)
        assert read_rows(source, spark) == [(1,), (1099511627776,)]
    name = kind("x").spark_format
    lines = refused(kind(str(path), schema="id BIGINT"), spark).splitlines()
    assert lines == [
        "its columns are not those that are declared",
        "  column 'id' was narrowed: found INT; expected BIGINT",
        f"    file: file:{path}/old.{name}",
        "  allowed: id BIGINT (on_schema_change='fail')",
        f"  files differ in column 'id': BIGINT in file:{path}/new.{name}, INT in file:{path}/old.{name}",
        "  hint: on_schema_change='evolve' accepts these changes",
        "  hint: on_schema_change='ignore' casts id, and fails if a value does not fit",
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_an_evolving_source_follows_the_widest_type(
    kind: type[FileConnector], spark: SparkSession, write: Write
) -> None:
    path = write(kind, a="SELECT 1S AS id", b="SELECT 2 AS id", c="SELECT 3L AS id")
    rows = read_source(kind(str(path), schema="id INT", on_schema_change="evolve"), spark)
    assert ddl(rows.schema) == "id BIGINT"
    assert sorted(row.id for row in rows.collect()) == [1, 2, 3]


@pytest.mark.parametrize("kind", KINDS)
def test_types_that_are_each_wider_than_the_declared_one_are_refused(
    kind: type[FileConnector], spark: SparkSession, write: Write
) -> None:
    path = write(kind, a="SELECT 1L AS id", b="SELECT 1.5D AS id")
    message = refused(kind(str(path), schema="id INT", on_schema_change="evolve"), spark)
    assert "files differ in column 'id': BIGINT in" in message
    assert "declare schema" not in message


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_that_pandas_wrote_with_and_without_null_are_read_exactly_or_fail(
    kind: type[FileConnector], spark: SparkSession, write: Write
) -> None:
    path = write(kind, whole="SELECT explode(array(5L, 6L)) AS n", nulls="SELECT explode(array(7.0D, NULL)) AS n")
    source = kind(str(path), schema="n DOUBLE", on_schema_change="ignore")
    assert read_rows(source, spark) == [(5.0,), (6.0,), (7.0,), (None,)]
    write(kind, large="SELECT 9007199254740993L AS n")
    with pytest.raises(Exception, match="a BIGINT does not fit DOUBLE: 9007199254740993"):
        read_source(source, spark).collect()


def test_a_value_that_does_not_fit_is_named_and_not_retried(
    run_pipeline: RunPipeline, write: Write, tmp_path: Path
) -> None:
    path = write(Parquet, large="SELECT 9007199254740993L AS n", other="SELECT 1D AS n")
    env = StreamExecutionEnvironment("p")
    source = Parquet(str(path), schema="n DOUBLE", on_schema_change="ignore")
    env.from_source(source, "numbers").sink_to(Parquet(f"{tmp_path}/out"))
    failure = run_pipeline(env.pipeline())[-1].failure
    assert failure is not None
    assert failure.throwable_type == ThrowableType.NON_RECOVERABLE_ERROR
    assert "a BIGINT does not fit DOUBLE: 9007199254740993" in failure.words("p", RegionId("out"))


@pytest.mark.parametrize("kind", KINDS)
def test_types_of_nested_fields_and_missing_columns_differ_between_files(
    kind: type[FileConnector], spark: SparkSession, write: Write
) -> None:
    path = write(
        kind,
        a="SELECT 1 AS id, array(named_struct('p', 1, 'q', 'x')) AS items",
        b="SELECT 2 AS id, array(named_struct('q', 'y', 'p', 5000000000L)) AS items, 'n' AS note",
    )
    declared = "id INT, items ARRAY<STRUCT<p: BIGINT, q: STRING>>, note STRING"
    rows = read_source(kind(str(path), schema=declared, on_schema_change="evolve"), spark)
    assert ddl(rows.schema) == declared
    assert sorted(row[0] for row in rows.selectExpr("to_json(struct(*))").collect()) == [
        '{"id":1,"items":[{"p":1,"q":"x"}]}',
        '{"id":2,"items":[{"p":5000000000,"q":"y"}],"note":"n"}',
    ]
    assert "column 'items.element.p' was narrowed" in refused(kind(str(path), schema=declared), spark)


def test_folders_are_columns_of_files_whose_types_differ(spark: SparkSession, write: Write) -> None:
    path = write(Parquet, day_is_01__a="SELECT 1 AS id", day_is_02__b="SELECT 2L AS id")
    source = Parquet(str(path), schema="id BIGINT, day STRING", on_schema_change="evolve")
    assert read_rows(source, spark) == [(1, "01"), (2, "02")]
    one = Parquet(f"{path}/day=01", schema="id BIGINT", on_schema_change="evolve")
    assert read_rows(one, spark) == [(1,)]


def test_every_file_is_listed_and_names_are_no_patterns(spark: SparkSession, write: Write) -> None:
    path = write(Parquet, **{"a[1]": "SELECT 1 AS id", "a1": "SELECT 2 AS id", "b": "SELECT 3L AS id"})
    rows = read_source(Parquet(str(path), schema="id BIGINT", on_schema_change="evolve"), spark)
    assert sorted(row.id for row in rows.collect()) == [1, 2, 3]
    held = OwnReads.of_source(rows, holds_given_rows=False)
    assert not held.changing
    files = sorted(Path(file.path).name for listing in held.listings for file in listing.files)
    assert files == ["a1.parquet", "a[1].parquet", "b.parquet"]


def test_a_folder_above_the_path_is_no_column(spark: SparkSession, write: Write) -> None:
    path = write(Parquet, id_is_3__a="SELECT 300 AS id")
    source = Parquet(f"{path}/id=3", schema="id TINYINT", on_schema_change="ignore")
    with pytest.raises(Exception, match="CAST_OVERFLOW"):
        read_source(source, spark).collect()


# ── without a schema ──


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_all_files_are_read(kind: type[FileConnector], spark: SparkSession, write: Write) -> None:
    path = write(kind, a="SELECT 1 AS id, 'x' AS a", b="SELECT 2 AS id, 'SAVE5' AS coupon")
    rows = read_source(kind(str(path)), spark).select("id", "a", "coupon")  # ORC files are in any order
    assert sorted(map(tuple, rows.collect())) == [(1, "x", None), (2, None, "SAVE5")]
    one_file = read_source(kind(str(path), options={"mergeSchema": "false"}), spark)
    assert one_file.columns in (["id", "a"], ["id", "coupon"])


@pytest.mark.parametrize("kind", KINDS)
def test_files_whose_types_differ_need_a_schema(kind: type[FileConnector], spark: SparkSession, write: Write) -> None:
    path, name = write(kind, a="SELECT 1 AS id", b="SELECT 2L AS id"), kind("x").spark_format
    assert refused(kind(str(path)), spark).splitlines() == [
        "a column has different types in its files",
        f"  files differ in column 'id': INT in file:{path}/a.{name}, BIGINT in file:{path}/b.{name}",
        "  allowed: one type for each column",
        '  hint: schema="id BIGINT" with on_schema_change="evolve" reads them all',
    ]
    hinted = kind(str(path), schema="id BIGINT", on_schema_change="evolve")
    assert read_rows(hinted, spark) == [(1,), (2,)]


def test_a_declared_source_compares_all_files_whatever_its_options(spark: SparkSession, write: Write) -> None:
    path = write(Orc, a="SELECT 1 AS id", b="SELECT 5000000000L AS id")
    source = Orc(str(path), schema="id INT", options={"mergeSchema": "false"})
    assert "was widened: found BIGINT" in refused(source, spark)


# ── NOT NULL ──


def test_not_null_of_nested_fields_is_read_from_the_footers(spark: SparkSession, write: Write) -> None:
    path = write(Parquet, a="SELECT array(named_struct('a', 1, 'b', nullif(1, 1))) AS s")
    known = Parquet(str(path), schema="s ARRAY<STRUCT<a: INT NOT NULL, b: INT>>")
    assert read_source(known, spark).count() == 1
    strict = Parquet(str(path), schema="s ARRAY<STRUCT<a: INT NOT NULL, b: INT NOT NULL>>")
    assert "column 's.element.b' may be NULL now" in refused(strict, spark)
    write(Parquet, b="SELECT array(named_struct('a', nullif(1, 1), 'b', 1)) AS s")
    assert "column 's.element.a' may be NULL now" in refused(known, spark)


# ── no files, and empty ones ──


@pytest.mark.parametrize("kind", [Parquet, Orc, Csv, Json])
@pytest.mark.parametrize("zero_bytes", [False, True])
def test_an_empty_folder_has_no_rows_if_columns_are_declared(
    kind: type[FileConnector], zero_bytes: bool, spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "today").mkdir()
    if zero_bytes:
        (tmp_path / "today" / "empty").touch()
    for policy in ("fail", "ignore"):
        declared = kind(f"{tmp_path}/today", schema="id INT NOT NULL", on_schema_change=policy)
        assert read_rows(declared, spark) == []
        assert read_source(declared, spark).columns == ["id"]
    assert refused(kind(f"{tmp_path}/today"), spark).splitlines() == [
        f"its input {tmp_path}/today has no files with columns",
        '  hint: declare schema="…"; then an empty folder has no rows',
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_files_of_0_bytes_are_passed_over(kind: type[FileConnector], spark: SparkSession, write: Write) -> None:
    path = write(kind, a="SELECT 1 AS id", b="SELECT 2L AS id")
    (path / "empty").touch()
    source = kind(str(path), schema="id BIGINT NOT NULL", on_schema_change="evolve")
    assert read_rows(source, spark) == [(1,), (2,)]


def test_an_empty_input_is_not_retried(run_pipeline: RunPipeline, tmp_path: Path) -> None:
    (tmp_path / "today").mkdir()
    env = StreamExecutionEnvironment("p")
    env.from_source(Parquet(f"{tmp_path}/today"), "in").sink_to(Parquet(f"{tmp_path}/out"))
    failure = run_pipeline(env.pipeline())[-1].failure
    assert failure is not None
    assert failure.throwable_type == ThrowableType.NON_RECOVERABLE_ERROR


# ── targets ──


def test_a_target_whose_files_differ_is_refused_with_two_files(sinks: Sinks, write: Write) -> None:
    path = write(Parquet, a="SELECT 1 AS id", b="SELECT 2L AS id")
    target = Parquet(str(path))
    for settings in ({"mode": "append"}, {"mode": "merge", "keys": ("id",)}):
        with pytest.raises(SchemaChangedError, match="INT in .*/a.parquet, BIGINT in .*/b.parquet"):
            sinks.write(target, "SELECT 3L AS id", **settings)
    sinks.write(target, "SELECT 3L AS id", run="r2", mode="overwrite")


def test_days_of_arrow_before_1582_10_15_are_other_days_in_orc(spark: SparkSession, tmp_path: Path) -> None:
    """As docs/connectors.md says: such a file does not say from which calendar its days are."""
    days = (date(1582, 10, 10), date(1582, 10, 15))
    orc.write_table(pa.table({"day": pa.array(days, pa.date32())}), tmp_path / "arrow.orc")
    spark.sql("SELECT DATE '1582-10-04' AS day").write.orc(f"{tmp_path}/own")
    found = read_rows(Orc(f"{tmp_path}/arrow.orc"), spark)
    assert found == [(date(1582, 10, 15),), (date(1582, 9, 30),)]
    assert read_rows(Orc(f"{tmp_path}/own"), spark) == [(date(1582, 10, 4),)]


@pytest.mark.parametrize("condition", ["v >= 0", "v = 0", "v IN (0, 7)", "s.v <= 0 AND s.v > -0.5D"])
@pytest.mark.parametrize("kind", ["parquet", "orc", "bloom", "arrow"])
def test_a_condition_that_files_are_asked_for_finds_zeros_of_both_signs(
    kind: str, condition: str, spark: SparkSession, tmp_path: Path
) -> None:
    rows = spark.sql("SELECT v, named_struct('v', v) AS s FROM VALUES (-0.0D), (-1.0D), (-0.0D) AS t(v)").coalesce(1)
    bloom = {"parquet.bloom.filter.enabled": "true", "parquet.enable.dictionary": "false"} if kind == "bloom" else {}
    if kind == "arrow":
        table = pa.table({"v": [-0.0, -1.0, -0.0], "s": [{"v": -0.0}, {"v": -1.0}, {"v": -0.0}]})
        parquet.write_table(table, tmp_path / "1.parquet", write_page_index=True)
    else:
        rows.write.mode("append").options(**bloom).format(kind.replace("bloom", "parquet")).save(str(tmp_path))
    source = Orc(str(tmp_path)) if kind == "orc" else Parquet(str(tmp_path))
    assert read_source(source, spark).where(condition).count() == 2


def test_spark_reads_the_first_of_equal_zeros_of_orc_for_all(spark: SparkSession, tmp_path: Path) -> None:
    """As docs/formats.md says: they are equal, and ORC's reader takes them for one repeated value."""
    orc.write_table(pa.table({"zero": pa.array([0.0, -0.0])}), tmp_path / "1.orc")
    rows = read_source(Orc(str(tmp_path)), spark).selectExpr("CAST(zero AS STRING)").collect()
    assert [row[0] for row in rows] == ["0.0", "0.0"]
