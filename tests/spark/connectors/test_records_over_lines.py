"""CSV whose quotes may continue in the next line: each record that Spark's reader finds is checked as a line is."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from graph_compiler import Csv
from graph_compiler.errors import SchemaChangedError
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.connectors import text_records as reasons
from graph_compiler.spark_runtime.failures.causes import read_cause
from graph_compiler.spark_runtime.failures.misfits import misfit_of

pytestmark = [pytest.mark.spark, pytest.mark.ci]
SCHEMA = "id INT, name STRING"
DOUBLED, SINGLE, NO_QUOTE = {"escape": '"'}, {"quote": "'"}, {"quote": ""}
LONG = "x\n" * 300_000
NEVER_SET_ASIDE: dict[str, tuple[str | bytes, dict[str, str], str, str]] = {
    "open at the end": ('1,"a\nb"\n2,"c\n3,d\n', {}, '2,"c\n3,d', reasons.OPEN_TO_THE_END),
    "only the quote": ('1,"a\nb"\n2,"', {}, '2,"', reasons.OPEN_TO_THE_END),
    "the closing quote is escaped": ('1,"a\\"\n2,b\n', {}, '1,"a\\"\n2,b', reasons.OPEN_TO_THE_END),
    "the closing quote is doubled": ('1,"a""\n', DOUBLED, '1,"a""', reasons.OPEN_TO_THE_END),
    "open in the first field": ('"1,a\n2,b\n', {}, '"1,a\n2,b', reasons.OPEN_TO_THE_END),
    "another quote": ("1,'a\n2,b\n", SINGLE, "1,'a\n2,b", reasons.OPEN_TO_THE_END),
    "text behind it": ('1,"a"x\n2,"b\nc"\n', {}, '1,"a"x', reasons.OPEN_TO_THE_END),
    "text before the next line": ('1,"a\nb"x\n2,c\n', {}, '1,"a\nb"x', reasons.OPEN_TO_THE_END),
    "doubled, but escape is not": ('1,"a""\nb"\n', {}, '1,"a""', reasons.OPEN_TO_THE_END),
    "as in UTF-16": ('1,"a\n2,b\n'.encode("utf-16"), {"encoding": "UTF-16"}, '1,"a\n2,b', reasons.OPEN_TO_THE_END),
    "other line ends": ("1,a\r\n2,b\n3,c\r\n", {}, "2,b\n3,c", reasons.LINE_BREAK),
    "other line ends, no quotes": ("1,a\r\n2,b\n3,c\r\n", NO_QUOTE, "2,b\n3,c", reasons.LINE_BREAK),
    "far more fields": (",".join("1" * 102), {}, "1" + "," * 101, reasons.TOO_MANY),
}


@pytest.mark.parametrize("kind", NEVER_SET_ASIDE)
def test_a_record_whose_end_is_unknown_always_fails(kind: str, spark: SparkSession, tmp_path: Path) -> None:
    content, options, record, reason = NEVER_SET_ASIDE[kind]
    file = tmp_path / "a.csv"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    for then in ({}, {"rejects": "bad"}, {"on_misfit": "null"}):
        source = Csv(str(file), schema=SCHEMA, header=False, options={"multiLine": "true", **options}, **then)
        with pytest.raises(PySparkException) as failure:
            read_source(source, spark).collect()
        found = misfit_of(read_cause(failure.value))
        assert found is not None
        assert (found.path, found.record, found.reason) == (str(file), record, reason)


READ = {
    "line breaks in quotes": ('1,"a\nb\r\nc\rd"\n2,e\n', {}, ["a\nb\r\nc\rd", "e"]),
    "lines that end in another way": ('1,a\r\n2,"b\nc"\n3,d', {"lineSep": "\n"}, ["a", "b\nc", "d"]),
    "its own line ends": ('1,"a|b"|2,c\nd|', {"lineSep": "|"}, ["a|b", "c\nd"]),
    "comments": ('#\n1,"a\n#b"\n#c\n2,d\n', {"comment": "#"}, ["a\n#b", "d"]),
    "no quotes": ('1,"a\n2,b"\n', NO_QUOTE, ['"a', 'b"']),
    "escapes": ('1,"a\\"b\\\\"\n2,"c\n\\""\n', {}, ['a"b\\', 'c\n"']),
    "doubled quotes": ('1,"a ""\n""b"\n2,""""\n', DOUBLED, ['a "\n"b', '"']),
    "null characters": ('1,"a\0b"\n2,\0\n', {}, ["a\0b", "\0"]),
    "long ones": ('1,"' + LONG + '"\n2,b\n', {}, [LONG, "b"]),
}


@pytest.mark.parametrize("kind", READ)
def test_a_record_is_read_as_it_is(kind: str, spark: SparkSession, tmp_path: Path) -> None:
    content, options, names = READ[kind]
    (tmp_path / "a.csv").write_bytes(content.encode())
    source = Csv(f"{tmp_path}/a.csv", schema=SCHEMA, header=False, options={"multiLine": "true", **options})
    assert [row.name for row in read_source(source, spark).orderBy("id").collect()] == names


def test_a_record_that_is_set_aside_has_its_text(spark: SparkSession, tmp_path: Path) -> None:
    records = ['"1"', '1,"a\nb",', 'x,"a ""\nb"', '7,"c"  ']
    (tmp_path / "a.csv").write_text("\n".join(["id,name", *records, ""]))
    options = {"multiLine": "true", "escape": '"'}
    source = Csv(f"{tmp_path}/a.csv", schema=SCHEMA, rejects="bad", options=options)
    rows = read_source(source, spark).collect()
    assert [row[-1] and row[-1].record for row in rows] == [*records[:3], None]


def test_a_header_in_another_order_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text('a,b\nx,"y\nz"\n')
    (tmp_path / "2.csv").write_text("b,a\nx,y\n")
    source = Csv(str(tmp_path), schema="a STRING, b STRING", options={"multiLine": "true"})
    with pytest.raises(SchemaChangedError, match="does not have the header"):
        read_source(source, spark)


@pytest.mark.parametrize("options", [{"multiLine": "true"}, NO_QUOTE, {}])
def test_no_row_is_lost_where_misfits_are_null(options: dict[str, str], spark: SparkSession, tmp_path: Path) -> None:
    """Spark adds a column to the rows of a generator that has only fields of a struct, and none are collected."""
    (tmp_path / "a.csv").write_text("1,1.5\n2,x\n")
    schema = "id INT, price DECIMAL(9, 2)"
    source = Csv(f"{tmp_path}/a.csv", schema=schema, header=False, on_misfit="null", options=options)
    rows = read_source(source, spark)
    assert [tuple(map(str, row)) for row in rows.collect()] == [("1", "1.50"), ("2", "None")]
    assert rows.rdd.count() == 2
