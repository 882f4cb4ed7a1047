"""Values in names of folders: each is read as its text says, or the source is refused with the folder and a way on."""

import io
import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow
import pyarrow.orc
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import DataType, DecimalType, DoubleType, IntegerType, LongType

from graph_compiler import Csv, Files, Json, Orc, Parquet, Text
from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.deployment.documents.report import ThrowableType
from graph_compiler.errors import SchemaChangedError
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.connectors.folder_values import fits_folder
from graph_compiler.spark_runtime.failures.failures import explain_failure

pytestmark = [pytest.mark.spark, pytest.mark.ci]


def of_orc(table: pyarrow.Table) -> bytes:
    file = io.BytesIO()
    pyarrow.orc.write_table(table, file)
    return file.getvalue()


def of_parquet(table: pyarrow.Table) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(table, file)
    return file.getvalue()


def of_csv(table: pyarrow.Table) -> bytes:
    rows = [",".join(table.column_names), *(",".join(map(str, row.values())) for row in table.to_pylist())]
    return ("\n".join(rows) + "\n").encode()


def of_json(table: pyarrow.Table) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in table.to_pylist()).encode()


FORMATS: dict[type[FileConnector], Callable[[pyarrow.Table], bytes]] = {
    Parquet: of_parquet,
    Orc: of_orc,
    Csv: of_csv,
    Json: of_json,
}


def put(folder: Path, kind: type[FileConnector], **columns: object) -> None:
    """Write a file with the column `id`, and others."""
    folder.mkdir(parents=True)
    table = pyarrow.table({"id": [1], **{name: [value] for name, value in columns.items()}})
    (folder / "file").write_bytes(FORMATS[kind](table))


DECLARED = [
    ("INT", "2013", 2013),
    ("INT", "00123", 123),
    ("STRING", "00123", "00123"),
    ("BIGINT", "-9223372036854775808", -(2**63)),
    ("SMALLINT", "40000", None),
    ("TINYINT", "300", None),
    ("INT", "abc", None),
    ("INT", "99999999999", None),
    ("INT", "1.0", None),
    ("DATE", "2024-01-05", date(2024, 1, 5)),
    ("DATE", "2024-01-05 banana", None),
    ("DATE", "2024", None),
    ("TIMESTAMP", "2024-01-05 10:11:12.123456", datetime(2024, 1, 5, 10, 11, 12, 123_456)),
    ("TIMESTAMP", "2024-01-05 10:11:12.1234567", None),
    ("TIMESTAMP", "2024-01", None),
    ("DECIMAL(9, 2)", "1.05", Decimal("1.05")),
    ("DECIMAL(9, 2)", "1.005", None),
    ("DECIMAL(9, 2)", "1.5", None),
    ("DECIMAL(9, 2)", "2", None),
    ("DECIMAL(3, 2)", "12.50", None),
    ("DOUBLE", "1.5", 1.5),
    ("BOOLEAN", "true", True),
    ("BOOLEAN", "yes", None),
    ("INT", "__HIVE_DEFAULT_PARTITION__", "NULL"),
]
INFERRED = [
    ("2013", 2013),
    ("00123", None),
    ("+5", None),
    ("-0", None),
    ("1.5", 1.5),
    ("1.10", None),
    (".5", None),
    ("12345678901234567890", Decimal(12345678901234567890)),
    ("2024-01-05", date(2024, 1, 5)),
    ("2024-01-05 10:11:12", datetime(2024, 1, 5, 10, 11, 12)),
    ("2024-01", "2024-01"),
    ("a b/ö", "a b/ö"),
]


@pytest.mark.parametrize("kind", FORMATS)
def test_a_declared_type_has_the_text_of_the_folder_or_the_source_is_refused(
    kind: type[FileConnector], spark: SparkSession, tmp_path: Path
) -> None:
    for number, (type, text, value) in enumerate(DECLARED):
        folder = tmp_path / str(number)
        put(folder / f"v={text}", kind)
        source = kind(str(folder), schema=f"id BIGINT, v {type}")
        if value is not None:
            (row,) = read_source(source, spark).collect()
            assert row["v"] == (None if value == "NULL" else value), (type, text)
            continue
        with pytest.raises(SchemaChangedError) as refused:
            read_source(source, spark)
        message = str(refused.value)
        assert f"the value '{text}' in the name of a folder does not fit column 'v', {type.replace(' ', '')}" in message
        assert "hint: declare STRING for this column, and cast what you need" in message
        assert explain_failure(refused.value).throwable_type is ThrowableType.NON_RECOVERABLE_ERROR
        (row,) = read_source(kind(str(folder), schema="id BIGINT, v STRING"), spark).collect()
        assert row["v"] == text


@pytest.mark.parametrize("kind", FORMATS)
def test_an_inferred_type_keeps_the_text_of_the_folder_or_the_source_is_refused(
    kind: type[FileConnector], spark: SparkSession, tmp_path: Path
) -> None:
    for number, (text, value) in enumerate(INFERRED):
        folder = tmp_path / str(number)
        put(folder / "v={}".format(text.replace("/", "%2F")), kind)
        if value is not None:
            (row,) = read_source(kind(str(folder)), spark).collect()
            assert row["v"] == value, text
            continue
        with pytest.raises(SchemaChangedError, match="Spark has inferred this type") as refused:
            read_source(kind(str(folder)), spark)
        (hint,) = [line for line in str(refused.value).splitlines() if "to keep the text" in line]
        declared = hint.partition('schema="')[2].rstrip('"')
        (row,) = read_source(kind(str(folder), schema=declared), spark).collect()
        assert row["v"] == text


def test_lines_of_text_are_below_folders_too(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "v=007").mkdir()
    (tmp_path / "v=007" / "file").write_text("a\n")
    with pytest.raises(
        SchemaChangedError, match="the value '007' in the name of a folder does not fit column 'v', INT"
    ):
        read_source(Text(str(tmp_path)), spark)
    assert [
        tuple(row) for row in read_source(Text(str(tmp_path), schema="value STRING, v STRING"), spark).collect()
    ] == [("a", "007")]


def test_each_level_of_folders_is_checked_with_its_own_column(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "y=2024" / "c%3Dd=01", Parquet)
    with pytest.raises(SchemaChangedError, match=r"the value '01' .* column 'c=d', INT"):
        read_source(Parquet(str(tmp_path)), spark)
    (row,) = read_source(Parquet(str(tmp_path), schema="id BIGINT, y INT, `c=d` STRING"), spark).collect()
    assert tuple(row) == (1, 2024, "01")


def test_folders_at_different_depths_are_refused_with_their_names(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "y=2024" / "m=1", Parquet)
    put(tmp_path / "y=2023", Parquet)
    with pytest.raises(SchemaChangedError, match="at different depths") as refused:
        read_source(Parquet(str(tmp_path)), spark)
    assert f"folder: file:{tmp_path}/y=2024/m=1\n" in str(refused.value)
    assert f"folder: file:{tmp_path}/y=2023\n" in str(refused.value)


@pytest.mark.parametrize("kind", [Parquet, Orc, Csv])
@pytest.mark.parametrize("schema", [None, "id BIGINT, v BIGINT"])
def test_a_column_that_is_in_files_and_in_names_of_folders_is_refused_and_read_by_the_hint(
    kind: type[FileConnector], schema: str | None, spark: SparkSession, tmp_path: Path
) -> None:
    put(tmp_path / "v=1", kind, v=7)
    with pytest.raises(SchemaChangedError, match=r"also in the names of their folders: v\n") as refused:
        read_source(kind(str(tmp_path), schema=schema), spark)
    assert 'hint: options={"recursiveFileLookup": "true"}' in str(refused.value)
    rows = read_source(kind(str(tmp_path), schema=schema, options={"recursiveFileLookup": "true"}), spark)
    assert [tuple(row) for row in rows.collect()] == [(1, 7)]


def test_a_column_in_files_of_different_types_is_refused_too(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "v=1", Parquet, v=7, w=1)
    put(tmp_path / "v=2", Parquet, v=7, w=1.5)
    source = Parquet(str(tmp_path), schema="id BIGINT, v INT, w DOUBLE", on_schema_change="ignore")
    with pytest.raises(SchemaChangedError, match=r"also in the names of their folders: v\n"):
        read_source(source, spark)


@given(st.integers(-(2**63), 2**63 - 1))
def test_whole_numbers_as_spark_writes_them_fit(number: int) -> None:
    assert fits_folder(str(number), LongType(), is_declared=False)
    assert fits_folder(str(number), IntegerType(), is_declared=True) == (-(2**31) <= number < 2**31)
    assert not fits_folder(f"0{number}", LongType(), is_declared=False)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-9_999_999, max_value=9_999_999))
def test_decimals_fit_with_their_own_places_only(number: Decimal) -> None:
    assert fits_folder(f"{number:f}", DecimalType(9, 2), is_declared=True)
    assert not fits_folder(f"{number:f}0", DecimalType(10, 2), is_declared=True)


@pytest.mark.parametrize("text", ["1.0", "-1.5", "1.0E30", "1.234E-7", "NaN", "Infinity", "-Infinity", "0.1"])
def test_doubles_as_spark_writes_them_fit(text: str) -> None:
    for is_declared in (False, True):
        assert fits_folder(text, DoubleType(), is_declared=is_declared)


@pytest.mark.parametrize("kind", [IntegerType(), DoubleType(), DecimalType(9, 2), LongType()])
@pytest.mark.parametrize("text", ["", " 1", "1 ", "\u0661", "1d", "0x1", "1_000", "1,5", "1\n"])
def test_texts_that_only_some_parser_takes_for_a_number_do_not_fit(kind: DataType, text: str) -> None:
    assert not fits_folder(text, kind, is_declared=True)


NONE = "__HIVE_DEFAULT_PARTITION__"
REQUIRED = "id INT, v STRING NOT NULL"


@pytest.mark.parametrize("kind", FORMATS)
def test_a_folder_without_a_value_is_refused_for_a_column_that_is_not_null(
    kind: type[FileConnector], spark: SparkSession, tmp_path: Path
) -> None:
    put(tmp_path / "v=x", kind)
    put(tmp_path / "v=y", kind)
    type_of_id = "INT" if kind in (Csv, Json) else "BIGINT"
    required = f"id {type_of_id}, v STRING NOT NULL"
    rows = read_source(kind(f"{tmp_path}", schema=required), spark)
    assert sorted(row.v for row in rows.collect()) == ["x", "y"]
    put(tmp_path / f"v={NONE}", kind)
    with pytest.raises((SchemaChangedError, PySparkException)) as refused:  # Spark's, where records are checked
        read_source(kind(f"{tmp_path}", schema=required), spark).where("id = 1").collect()
    words = "it is NULL, and the column is NOT NULL" if kind in (Csv, Json) else "column 'v' may be NULL now"
    assert words in str(refused.value)
    rows = read_source(kind(f"{tmp_path}", schema=required, on_schema_change="ignore"), spark)
    assert {row.v for row in rows.collect()} == {None, "x", "y"}


@pytest.mark.parametrize("kind", [Parquet, Orc])
def test_files_of_different_types_have_folders_that_are_not_null_too(
    kind: type[FileConnector], spark: SparkSession, tmp_path: Path
) -> None:
    put(tmp_path / "v=x", kind, n=1)
    put(tmp_path / "v=y", kind, n=1.5)
    source = kind(f"{tmp_path}", schema="id BIGINT, n DOUBLE, v STRING NOT NULL")
    with pytest.raises(SchemaChangedError) as refused:
        read_source(source, spark)
    assert "'v'" not in str(refused.value)
    put(tmp_path / f"v={NONE}", kind, n=1.5)
    with pytest.raises(SchemaChangedError, match="column 'v' may be NULL now"):
        read_source(source, spark)


def test_records_below_a_folder_without_a_value_are_set_aside(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "v=x", Json)
    put(tmp_path / f"v={NONE}", Json)
    rows = read_source(Json(f"{tmp_path}", schema=REQUIRED, rejects="bad"), spark)
    found = {row.v: row.graph_compiler_misfit for row in rows.collect()}
    assert found["x"] is None
    assert (found[None].column, found[None].reason) == ("v", "it is NULL, and the column is NOT NULL")


def test_elements_below_a_folder_without_a_value_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / f"v={NONE}").mkdir()
    (tmp_path / f"v={NONE}" / "a.xml").write_text("<rows><row><id>1</id></row></rows>")
    rows = read_source(Files(format="xml", path=f"{tmp_path}", schema=REQUIRED, options={"rowTag": "row"}), spark)
    with pytest.raises(PySparkException, match="it is NULL, and the column is NOT NULL"):
        rows.collect()


def test_a_folder_with_nothing_behind_its_sign_is_refused_by_its_name(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "v=", Json)
    with pytest.raises(SchemaChangedError) as refused:
        read_source(Json(f"{tmp_path}", schema="id INT, v STRING"), spark)
    assert "the folder 'v=' has no value behind its =" in str(refused.value)
    assert f"for NULL, v={NONE}" in str(refused.value)


def test_times_are_in_the_zone_of_sessions(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "v=2024-01-05 10%3A11%3A12", Parquet)
    (row,) = read_source(Parquet(str(tmp_path)), spark).selectExpr("unix_seconds(v) AS at").collect()
    assert row["at"] == datetime(2024, 1, 5, 10, 11, 12, tzinfo=UTC).timestamp()
