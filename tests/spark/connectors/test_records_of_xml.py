"""Records of XML are checked as those of CSV and JSON are: each value, also of columns that nothing reads."""

from __future__ import annotations

import gzip
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from graph_compiler import Files, Parquet, StreamExecutionEnvironment
from graph_compiler.errors import SchemaChangedError
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.testing import REAL, MiniCluster, PipelineFailedError

pytestmark = pytest.mark.spark
AMOUNT = "id INT, amount DECIMAL(9,2)"


def source(folder: Path, content: str | bytes, schema: str | None, **more: object) -> Files:
    """Return the source of one file; `content` is a document, or what is in its root."""
    if isinstance(content, str):
        content = f"<ROWS>{content}</ROWS>".encode()
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in/a.xml").write_bytes(content)
    options = {"rowTag": "ROW", **more.pop("options", {})}  # type: ignore[dict-item]
    return Files(f"{folder}/in", format="xml", schema=schema, options=options, **more)  # type: ignore[arg-type]


def rows(read: DataFrame) -> list[dict[str, object]]:
    return [row.asDict(recursive=True) for row in read.collect()]


def failure(spark: SparkSession, env: StreamExecutionEnvironment) -> str:
    with pytest.raises(PipelineFailedError) as raised:
        MiniCluster(spark).run(env, REAL)
    return str(raised.value)


@pytest.mark.parametrize(
    ("schema", "record", "words"),
    [
        (AMOUNT, "<id>1</id><amount>3,50</amount>", "the value '3,50' does not fit column 'amount', DECIMAL(9,2)"),
        (AMOUNT, "<id>1</id><amount>1.005</amount>", "the value '1.005' does not fit column 'amount', DECIMAL(9,2)"),
        (AMOUNT, "<id>1</id><id>2</id>", "column 'id': its element, or one in it, occurs more than once"),
        ("id INT, name STRING", "<id>x</id><name>a</name>", "the value 'x' does not fit column 'id', INT"),
        ("id INT, name STRING", "<id>1<a>2</a></id>", "does not fit column 'id', INT"),
        ("id INT, p STRUCT<n: INT>", "<p><n>1</n></p><p><n>2</n></p>", "column 'p': its element, or one in it"),
        ("id INT, p STRUCT<n: INT>", "<p><n>1</n><n>2</n></p>", "column 'p': its element, or one in it"),
        ("id INT, p ARRAY<STRUCT<n: INT>>", "<p/><p><n>1</n><n>2</n></p>", "column 'p': its element, or one in it"),
        ("id INT, p ARRAY<INT>", "<p>1</p><p>1.5</p>", "does not fit column 'p', ARRAY<INT>"),
        ("id INT, p MAP<STRING, DATE>", "<p><a>2024</a></p>", "does not fit column 'p', MAP<STRING,DATE>"),
        ("id INT, _at DATE", "</ROW><ROW at='2024-01-05 banana'>", "does not fit column '_at', DATE"),
        ("id INT, p STRUCT<_n: INT>", "<p n='1.5'/>", "does not fit column 'p', struct<_n:int>"),
        ("id INT NOT NULL", "<ID/>", "column 'id': it is NULL"),
        ("id INT", "<id>1</ID>", "it is not well-formed XML"),
    ],
)
def test_what_does_not_fit_fails_whatever_is_read(
    schema: str, record: str, words: str, spark: SparkSession, tmp_path: Path
) -> None:
    env = StreamExecutionEnvironment("t")
    read = env.from_source(source(tmp_path, f"<ROW>{record}</ROW>", schema), "x")
    read.aggregate(n="count(*)").sink_to(Parquet(f"{tmp_path}/out"))
    found = failure(spark, env)
    assert words in found
    assert "a.xml" in found


@pytest.mark.ci
def test_hints_name_what_reads_the_value(spark: SparkSession, tmp_path: Path) -> None:
    record = "<ROW><id>1</id><amount>3,50</amount></ROW>"
    env = StreamExecutionEnvironment("t")
    env.from_source(source(tmp_path, record, AMOUNT), "x").sink_to(Parquet(f"{tmp_path}/out"))
    found = failure(spark, env)
    assert 'if the comma is the decimal point, declare options={"locale": "de-DE"}' in found
    assert 'hint: on_misfit="null" reads NULL' in found
    assert "rejects" not in found
    read = read_source(source(tmp_path, record, AMOUNT, options={"locale": "de-DE"}), spark)
    assert rows(read) == [{"id": 1, "amount": Decimal("3.50")}]


def test_records_that_fit_are_read(spark: SparkSession, tmp_path: Path) -> None:
    schema = (
        "_a INT, id INT, b BOOLEAN, d DOUBLE, s STRING, x BINARY, n INT, p STRUCT<_u: STRING, _VALUE: DOUBLE>, "
        "l ARRAY<INT>, o ARRAY<STRUCT<n: INT>>, m MAP<STRING, INT>"
    )
    content = (
        "<ROW a='7'><ID>+1</ID><b>1</b><d>INF</d><s> a &amp; <!-- no -->b </s><x>[00 FF]</x><n/><p u='kg'>1.5</p>"
        "<l>1</l><l/><l> 3 </l><o><n>1</n></o><o/><m><k>1</k></m><other/></ROW><ROW a='8'/>"
    )
    first, second = rows(read_source(source(tmp_path, content, schema), spark))
    assert first == {
        "_a": 7, "id": 1, "b": True, "d": float("inf"), "s": "a & b", "x": b"\0\xff", "n": None,
        "p": {"_u": "kg", "_VALUE": 1.5}, "l": [1, None, 3], "o": [{"n": 1}, {"n": None}], "m": {"k": 1},
    }  # fmt: skip
    assert second == {"_a": 8} | dict.fromkeys(list(first)[1:])


@pytest.mark.ci
def test_values_that_do_not_fit_are_null_if_that_is_said(spark: SparkSession, tmp_path: Path) -> None:
    content = "<ROW><id>1</id><amount>3,50</amount></ROW><ROW><id>2</id><id>3</id><amount>1</amount></ROW>"
    read = read_source(source(tmp_path, content, AMOUNT, on_misfit="null"), spark)
    assert rows(read) == [{"id": 1, "amount": None}, {"id": None, "amount": Decimal(1)}]
    cut = source(tmp_path, "<ROW><id>1</id></ROW><ROW><id>2</ROW><ROW><id>3</id></ROW>", AMOUNT, on_misfit="null")
    with pytest.raises(Exception, match="it is not well-formed XML"):  # the records behind it would be lost
        read_source(cut, spark).collect()


@pytest.mark.ci
def test_inferred_types_are_checked_too(spark: SparkSession, tmp_path: Path) -> None:
    read = read_source(source(tmp_path, "<ROW><a>1.50</a><b>x</b></ROW><ROW><a>2</a></ROW>", None), spark)
    assert rows(read) == [{"a": 1.5, "b": "x"}, {"a": 2.0, "b": None}]
    with pytest.raises(Exception, match="007"):
        read_source(source(tmp_path, "<ROW><a>007</a></ROW><ROW><a>8</a></ROW>", None), spark).collect()
    variant = source(tmp_path, "<ROW><a>1</a></ROW>", None, options={"singleVariantColumn": "v"})
    assert read_source(variant, spark).count() == 1


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        ("<row><id>1</id></row>", {}, 'its element is row: declare options={"rowTag": "row"}'),
        ("<n:ROW xmlns:n='u'><id>1</id></n:ROW>", {}, 'its element is n:ROW: declare options={"rowTag": "n:ROW"}'),
        ("<order\nid='1'/>", {}, "declare the name of the element that is a record as rowTag"),
        ("", {}, None),
        ("<!-- <row/> -->", {}, 'its element is row: declare options={"rowTag": "row"}'),
        ("<n:ROW xmlns:n='u'><id>1</id></n:ROW>", {"ignoreNamespace": "true"}, None),
    ],
)
def test_a_file_without_records_is_refused_unless_it_is_empty(
    content: str, options: dict[str, str], words: str | None, spark: SparkSession, tmp_path: Path
) -> None:
    read = source(tmp_path, content, "id INT", options=options)
    if words is None:
        assert read_source(read, spark).count() == (1 if content else 0)
        return
    with pytest.raises(SchemaChangedError) as raised:
        read_source(read, spark)
    assert f"{tmp_path}/in/a.xml has no element ROW, which is its rowTag" in str(raised.value)
    assert words in str(raised.value)


@pytest.mark.ci
def test_tags_are_found_in_other_files_and_beyond_their_beginning(spark: SparkSession, tmp_path: Path) -> None:
    blank, record = " " * 100_000, "<ROW\tid='1'/>"
    read = source(tmp_path, f"<head>{blank}</head>{record}", "_id INT")
    (tmp_path / "in/b.xml.gz").write_bytes(gzip.compress(f"<ROWS><head>{blank}</head>{record}</ROWS>".encode()))
    (tmp_path / "in/c.xml").write_bytes(b"")
    assert read_source(read, spark).count() == 2
    utf16 = f"<ROWS>{record}</ROWS>".encode("utf-16")
    (tmp_path / "in/d.xml").write_bytes(utf16)
    assert read_source(read, spark).count() == 3
    (tmp_path / "in/e.xml").write_text("<ROWS><Row id='1'/></ROWS>")
    with pytest.raises(SchemaChangedError, match=r"e\.xml has no element ROW"):
        read_source(read, spark)


@pytest.mark.ci
def test_bytes_of_another_encoding_do_not_fit(spark: SparkSession, tmp_path: Path) -> None:
    record = "<ROWS><ROW><id>1</id><s>é</s></ROW></ROWS>".encode("latin-1")
    for options in ({}, {"useLegacyXMLParser": "true"}):
        with pytest.raises(Exception, match=r"(?i)encod|utf|malformed|FAILED_READ_FILE"):
            read_source(source(tmp_path, record, "id INT, s STRING", options=options), spark).collect()
    old = {"encoding": "ISO-8859-1", "useLegacyXMLParser": "true"}  # the new parser looks into the document for it
    read = read_source(source(tmp_path, record, "id INT, s STRING", options=old), spark)
    assert rows(read) == [{"id": 1, "s": "é"}]
    real = "<ROW><id>1</id><s>\ufffd</s></ROW>"
    assert rows(read_source(source(tmp_path, real, "id INT, s STRING"), spark)) == [{"id": 1, "s": "\ufffd"}]


@pytest.mark.ci
def test_folders_are_columns(spark: SparkSession, tmp_path: Path) -> None:
    for day in ("2024-01-05", "2024-01-06"):
        (tmp_path / f"in/day={day}").mkdir(parents=True)
        (tmp_path / f"in/day={day}/a.xml").write_text("<ROWS><ROW><id>1</id></ROW></ROWS>")
    read = Files(f"{tmp_path}/in", format="XML", schema="id INT, day DATE", options={"rowtag": "ROW"})
    assert [str(row.day) for row in read_source(read, spark).orderBy("day").collect()] == ["2024-01-05", "2024-01-06"]
