"""Rows of CSV, JSON and text files are those of independent readers, or a failure names the file and the record."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession
from pyspark.sql.types import VariantVal

from graph_compiler import Csv, Json
from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.errors import SchemaChangedError
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.connectors.source import MISFIT
from graph_compiler.spark_runtime.connectors.text_records import MARK
from tests.harness.text_values import KINDS, MISFITS, convert

pytestmark = [pytest.mark.spark, pytest.mark.ci]


def rows_of(connector: FileConnector, spark: SparkSession) -> list[tuple[object, ...]] | str:
    """Return the sorted rows of a source, or the message with which it fails."""
    try:
        return in_order(read_source(connector, spark).collect())
    except (SchemaChangedError, PySparkException) as failure:
        return str(failure)


def in_order(rows: Sequence[Sequence[object]]) -> list[tuple[object, ...]]:
    """Return rows in an order; NaN and variants differ from themselves, so they are text."""
    odd = (float, VariantVal)
    values = [tuple(str(v) if isinstance(v, odd) else v for v in row) for row in rows]
    return sorted(values, key=repr)


@dataclass(frozen=True, kw_only=True)
class Read:
    """A well-formed file, and the options with which Spark's own reader reads it."""

    schema: str | None = "id INT, name STRING"
    options: Mapping[str, str]
    content: str | bytes
    file: str = "part"


CSV_OPTIONS = {
    "nullValue": Read(options={"nullValue": "NA"}, content='id,name\n1,NA\nNA,"NA"\n'),
    "emptyValue": Read(options={"emptyValue": "none", "nullValue": "NA"}, content='id,name\n1,""\n2,\n3,NA\n'),
    "comment": Read(options={"comment": "#"}, content="# c\nid,name\n1,a\n#2,b\n3,#c\n"),
    "ignoreLeadingWhiteSpace": Read(options={"ignoreLeadingWhiteSpace": "true"}, content='id,name\n 1, a \n2," b"\n'),
    "ignoreTrailingWhiteSpace": Read(options={"ignoreTrailingWhiteSpace": "true"}, content='id,name\n1 , a \n2,"b "\n'),
    "both blanks": Read(
        options={"ignoreTrailingWhiteSpace": "true", "ignoreLeadingWhiteSpace": "true"},
        content='id, name \n1 , a \n2, "b " \n',
    ),
    "lineSep": Read(options={"lineSep": "|"}, content="id,name|1,a|2,b\nc|"),
    "sep of two": Read(options={"sep": "||"}, content='id||name\n1||a|b\n2||"c||d"\n'),
    "sep tab": Read(options={"sep": "\\t"}, content='id\tname\n1\ta b\n2\t"c\td"\n'),
    "delimiter": Read(options={"delimiter": ";"}, content='id;name\n1;a,b\n2;"c;d"\n'),
    "sep dot": Read(options={"sep": "."}, content='id.name\n1.a\n2."c.d"\n'),
    "sep blank": Read(options={"sep": " "}, content='id name\n1 a\n2 "c d"\n'),
    "sep and blanks": Read(options={"sep": " | "}, content='id | name\n1 | a\n2 | "c | d"\n'),
    "sep control": Read(options={"sep": "\x01"}, content="id\x01name\n1\x01a\n"),
    "sep bs": Read(options={"sep": "\\\\"}, content="id\\name\n1\\a\n"),
    "quote none": Read(options={"quote": ""}, content='id,name\n1,"a\n2,b"c\n'),
    "quote 0": Read(options={"quote": "\x00"}, content='id,name\n1,"a\n2,b"c\n'),
    "quote single": Read(options={"quote": "'"}, content="id,name\n1,'a,b'\n2,\"c\"\n"),
    "quote and escape same single": Read(
        options={"quote": "'", "escape": "'"}, content="id,name\n1,'a,''b'\n2,\"c\"\n"
    ),
    "escape quote": Read(options={"escape": '"'}, content='id,name\n1,"a ""b"" c"\n2,"""x"""\n'),
    "escape default": Read(options={}, content='id,name\n1,"a \\"b\\" c"\n2,"x\\\\y"\n3,x\\\\y\n4,x\\"y\n'),
    "escape ^": Read(options={"escape": "^"}, content='id,name\n1,"a ^"b^" c"\n2,"x^^y"\n3,x^^y\n'),
    "escape none": Read(options={"escape": ""}, content='id,name\n1,"a"\n2,x\\y\n'),
    "charToEscape": Read(
        options={"escape": "^", "charToEscapeQuoteEscaping": "\\"}, content='id,name\n1,"a ^"b\\^"\n2,"x"\n'
    ),
    "header false": Read(options={"header": "false"}, content="1,a\n2,b\n"),
    "dateFormat": Read(
        schema="id INT, day DATE", options={"dateFormat": "dd/MM/yyyy"}, content="id,day\n1,31/12/2024\n"
    ),
    "dateFormat locale": Read(
        schema="id INT, day DATE",
        options={"dateFormat": "d MMMM yyyy", "locale": "de-DE"},
        content="id,day\n1,31 Dezember 2024\n",
    ),
    "dateFormat name": Read(
        schema="id INT, day DATE", options={"dateFormat": "d MMM yyyy"}, content="id,day\n1,31 Dec 2024\n"
    ),
    "timestampFormat": Read(
        schema="id INT, at TIMESTAMP",
        options={"timestampFormat": "dd/MM/yyyy HH:mm"},
        content="id,at\n1,31/12/2024 23:45\n",
    ),
    "timestampFormat and zone": Read(
        schema="id INT, at TIMESTAMP",
        options={"timestampFormat": "dd/MM/yyyy HH:mm", "timeZone": "Asia/Tokyo"},
        content="id,at\n1,31/12/2024 23:45\n",
    ),
    "timeZone": Read(
        schema="id INT, at TIMESTAMP",
        options={"timeZone": "Asia/Tokyo"},
        content="id,at\n1,2024-12-31 23:45:00\n2,2024-12-31T23:45:00Z\n3,2024-12-31\n",
    ),
    "timestampNTZFormat": Read(
        schema="id INT, at TIMESTAMP_NTZ",
        options={"timestampNTZFormat": "dd/MM/yyyy HH:mm"},
        content="id,at\n1,31/12/2024 23:45\n",
    ),
    "locale": Read(
        schema="id INT, price DECIMAL(9,2)",
        options={"locale": "de-DE", "sep": ";"},
        content="id;price\n1;1.234,50\n2;3,5\n3;-1\n",
    ),
    "locale US": Read(
        schema="id INT, price DECIMAL(9,2)",
        options={"locale": "en-US", "sep": ";"},
        content="id;price\n1;1,234.50\n2;3.5\n3;-1\n",
    ),
    "locale FR": Read(
        schema="id INT, price DECIMAL(9,2)", options={"locale": "fr-FR", "sep": ";"}, content="id;price\n1;3,5\n2;7\n"
    ),
    "encoding": Read(options={"encoding": "ISO-8859-1"}, content="id,name\n1,Zoë\n".encode("latin-1")),
    "UTF-16": Read(options={"encoding": "UTF-16", "multiLine": "true"}, content="id,name\n1,Zoë\n".encode("utf-16")),
    "BOM": Read(options={}, content="\ufeffid,name\n1,Zoë\n"),
    "BOM multi": Read(options={"multiLine": "true"}, content="\ufeffid,name\n1,Zoë\n"),
    "BOM, no header": Read(options={"header": "false"}, content="\ufeff1,Zoë\n"),
    "multiLine": Read(options={"multiLine": "true"}, content='id,name\n1,"a\nb"\n2,c\n'),
    "multiLine crlf": Read(options={"multiLine": "true"}, content='id,name\r\n1,"a\nb"\r\n2,c\r\n'),
    "crlf": Read(options={}, content='id,name\r\n1,"a"\r\n2,c\r\n'),
    "cr": Read(options={}, content='id,name\r1,"a"\r2,c\r'),
    "gzip": Read(options={}, content=gzip.compress(b"id,name\n1,a\n"), file="part.csv.gz"),
    "compression is by name": Read(options={"compression": "gzip"}, content="id,name\n1,a\n"),
    "glob": Read(options={"pathGlobFilter": "*.nothing"}, content="id,name\n1,a\n"),
    "glob 2": Read(options={"pathGlobFilter": "part*"}, content="id,name\n1,a\n"),
    "recursive": Read(options={"recursiveFileLookup": "true"}, content="id,name\n1,a\n", file="day=2024-01-01/part"),
    "nan": Read(
        schema="id INT, x DOUBLE",
        options={"nanValue": "nil", "positiveInf": "big", "negativeInf": "small"},
        content="id,x\n1,nil\n2,big\n3,small\n4,1.5\n",
    ),
    "nan usual": Read(
        schema="id INT, x FLOAT", options={}, content="id,x\n1,NaN\n2,Inf\n3,-Inf\n4,1.5\n5,Infinity\n6,1e5\n"
    ),
    "STOP_AT_CLOSING": Read(
        options={"unescapedQuoteHandling": "STOP_AT_CLOSING_QUOTE"}, content='id,name\n1,a"b\n2,"c"\n'
    ),
    "quote in the middle": Read(options={}, content='id,name\n1,a"b\n2,c""\n'),
    "blank lines": Read(options={}, content="\n\nid,name\n1,a\n\n  \n2,b\n\n"),
    "blank lines multi": Read(options={"multiLine": "true"}, content="id,name\n1,a\n\n2,b\n\n"),
    "maxColumns": Read(options={"maxColumns": "2"}, content="id,name\n1,a\n"),
    "maxChars": Read(options={"maxCharsPerColumn": "10"}, content="id,name\n1,abc\n"),
    "quoted header": Read(options={}, content='"id","name"\n1,a\n'),
    "quoted empty": Read(options={"nullValue": "NA"}, content='id,name\n1,""\n2,\n'),
    "enforceSchema": Read(options={"enforceSchema": "true"}, content="id,name\n1,a\n"),
    "one column": Read(schema="name STRING", options={}, content='name\na\n\nb\n""\n'),
    "boolean": Read(schema="id INT, b BOOLEAN", options={}, content="id,b\n1,true\n2,FALSE\n"),
    "binary": Read(schema="id INT, b BINARY", options={}, content="id,b\n1,true\n"),
    "interval": Read(
        schema="id INT, b INTERVAL DAY TO SECOND", options={}, content="id,b\n1,INTERVAL '1 02:03:04' DAY TO SECOND\n"
    ),
    "inferred": Read(schema=None, options={}, content="id,x,d,t,b,s\n1,1.5,2024-01-01,2024-01-01 00:00:00,true,a\n"),
    "samplingRatio": Read(schema=None, options={"samplingRatio": "0.5"}, content="id,x\n" + "1,a\n" * 50),
    "preferDate": Read(schema=None, options={"preferDate": "false"}, content="id,x\n1,2024-01-01\n"),
    "duplicate names": Read(schema=None, options={}, content="id,id,name\n1,2,a\n"),
    "empty name": Read(schema=None, options={}, content="id,,name\n1,2,a\n"),
    "strange names": Read(schema=None, options={}, content='a.b,c`d,e f,it\'s,"q\\"x"\n1,2,3,4,5\n'),
    "graph_compiler names": Read(
        schema=None, options={}, content="graph_compiler_0,graph_compiler_1,graph_compiler_misfit,c0\n1,2,3,4\n"
    ),
    "tab null": Read(options={"nullValue": "\\N"}, content="id,name\n1,\\N\n\\N,b\n"),
    "timestamp usual": Read(
        schema="id INT, at TIMESTAMP",
        options={},
        content="id,at\n1,2024-12-31 23:45:00.123456\n3,2024-12-31\n4,2024-12-31 23:45:00 Europe/Berlin\n",
    ),
    "big": Read(
        schema="id BIGINT, p DECIMAL(38,10)",
        options={},
        content="id,p\n9223372036854775807,1234567890123456789012345678.0123456789\n-9223372036854775808,1E5\n",
    ),
    "vertical": Read(options={}, content="id,name\n1,a\x0bb\x85c\u2028d\n"),
    "NUL": Read(options={}, content="id,name\n1,a\x00b\n"),
}
JSON_OPTIONS = {
    "plain": Read(options={}, content='{"id": 1, "name": "a"}\n{"name": "b"}\n{}\n'),
    "allowSingleQuotes": Read(options={}, content="{'id': 1, 'name': 'a'}\n"),
    "allowSingleQuotes nested": Read(
        schema="id INT, name STRUCT<a: STRING>", options={}, content="{'id': 1, 'name': {'a': 'x}'}}\n"
    ),
    "not allowSingleQuotes": Read(options={"allowSingleQuotes": "false"}, content='{"id": 1, "name": "it\'s"}\n'),
    "allowUnquotedFieldNames": Read(options={"allowUnquotedFieldNames": "true"}, content='{id: 1, name: "a"}\n'),
    "allowUnquotedFieldNames nested": Read(
        schema="id INT, name STRUCT<a: STRING>",
        options={"allowUnquotedFieldNames": "true"},
        content='{id: 1, name: {a: "x}"}}\n',
    ),
    "allowComments": Read(options={"allowComments": "true"}, content='{"id": 1, /* } */ "name": "a"} // x\n'),
    "allowNonNumericNumbers": Read(
        schema="id INT, x DOUBLE",
        options={},
        content='{"id": 1, "x": NaN}\n{"id": 2, "x": "NaN"}\n{"id":3,"x":-Infinity}\n{"id":4,"x":"-INF"}\n'
        '{"id":5,"x":+INF}\n{"id":6,"x":-INF}\n',
    ),
    "allowNumericLeadingZeros": Read(options={"allowNumericLeadingZeros": "true"}, content='{"id": 01, "name": "a"}\n'),
    "allowBackslash": Read(
        options={"allowBackslashEscapingAnyCharacter": "true"}, content='{"id": 1, "name": "a\\$}"}\n'
    ),
    "allowControl": Read(options={"allowUnquotedControlChars": "true"}, content='{"id": 1, "name": "a\tb}"}\n'),
    "primitivesAsString": Read(
        schema=None,
        options={"primitivesAsString": "true"},
        content='{"id": 1, "name": true, "x": {"y": 1.50}, "l": [1, 2]}\n',
    ),
    "prefersDecimal": Read(schema=None, options={"prefersDecimal": "true"}, content='{"id": 1.25, "name": true}\n'),
    "dropFieldIfAllNull": Read(
        schema=None, options={"dropFieldIfAllNull": "true"}, content='{"id": 1.25, "name": null, "l": []}\n'
    ),
    "inferTimestamp": Read(
        schema=None, options={"inferTimestamp": "true"}, content='{"id": 1, "at": "2024-01-01T00:00:00Z"}\n'
    ),
    "inferred nested": Read(
        schema=None, options={}, content='{"id": 1, "a": {"b": [{"c": 1.5}]}, "l": [[1], []], "s": ["x"], "n": null}\n'
    ),
    "dateFormat": Read(
        schema="day DATE, days ARRAY<DATE>",
        options={"dateFormat": "dd/MM/yyyy"},
        content='{"day": "31/12/2024", "days": ["01/12/2024"]}\n',
    ),
    "dateFormat locale": Read(
        schema="day DATE",
        options={"dateFormat": "d MMMM yyyy", "locale": "de-DE"},
        content='{"day": "31 Dezember 2024"}\n',
    ),
    "timestampFormat": Read(
        schema="at TIMESTAMP",
        options={"timestampFormat": "dd/MM/yyyy HH:mm", "timeZone": "Asia/Tokyo"},
        content='{"at": "31/12/2024 23:45"}\n',
    ),
    "timeZone": Read(
        schema="at TIMESTAMP",
        options={"timeZone": "Asia/Tokyo"},
        content='{"at": "2024-12-31 23:45:00"}\n{"at": "2024-12-31 23:45:00Z"}\n',
    ),
    "UTF-16LE": Read(
        options={"encoding": "UTF-16LE", "lineSep": "\n"}, content='{"id": 1, "name": "Zoë"}\n'.encode("utf-16-le")
    ),
    "latin": Read(
        options={"encoding": "ISO-8859-1", "lineSep": "\n"},
        content='{"id": 1, "name": "Zoë"}\n{"id": 2, "name": "Zoë"}\n'.encode("latin-1"),
    ),
    "UTF-16 multi": Read(
        options={"encoding": "UTF-16", "multiLine": "true"}, content='[{"id": 1, "name": "Zoë"}\n]'.encode("utf-16")
    ),
    "lineSep": Read(options={"lineSep": "|"}, content='{"id": 1, "name": "a"}|{"id": 2,\n "name": "a"}|'),
    "multiLine list": Read(options={"multiLine": "true"}, content='[{"id": 1,\n "name": "a"},\n{"id": 2}]\n'),
    "multiLine object": Read(options={"multiLine": "true"}, content='{"id": 1,\n "name": "a"}\n'),
    "list in a line": Read(options={}, content='[{"id": 1, "name": "a"}, {"id": 2}]\n'),
    "list in a line, single quotes": Read(options={}, content="[{'id': 1, 'name': 'a'}, {'id': 2}]\n"),
    "list in a line, unquoted": Read(
        options={"allowUnquotedFieldNames": "true"}, content='[{id: 1, name: "a"}, {id: 2}]\n'
    ),
    "list in a line, zeros": Read(
        schema="id INT, d DECIMAL(30,20), x DOUBLE, s STRING",
        options={},
        content='[{"id": 1, "d": 1.50000000000000000001, "x": 1e300, "s": {"b":1.1}}]\n',
    ),
    "empty list": Read(options={}, content='[]\n{"id": 1}\n'),
    "blank multi": Read(options={"multiLine": "true"}, content='\n\n{"id": 1}\n\n'),
    "BOM": Read(options={}, content='\ufeff{"id": 1, "name": "Zoë"}\n'),
    "BOM multi": Read(options={"multiLine": "true"}, content='\ufeff{"id": 1, "name": "Zoë"}\n'),
    "numbers as text": Read(
        options={},
        content='{"id": 1, "name": 1.50}\n{"id": 2, "name": {"a":[1,2.0]}}\n{"id":3,"name":[1e30]}\n'
        '{"id":4,"name":true}\n',
    ),
    "empty texts": Read(options={}, content='{"id": 1, "name": ""}\n'),
    "escapes": Read(options={}, content='{"id": 1, "name": "a\\u0000b\\n\\"}{\\ud83d\\ude00"}\n'),
    "map": Read(
        schema="m MAP<STRING, INT>, d MAP<STRING, DECIMAL(9,2)>",
        options={},
        content='{"m": {"a": 1, "b": null}, "d": {"x": 1.5}}\n',
    ),
    "variant": Read(schema="v VARIANT", options={}, content='{"v": {"a": 1}}\n'),
    "single variant": Read(schema=None, options={"singleVariantColumn": "v"}, content='{"v": {"a": 1}}\n'),
    "crlf": Read(options={}, content='{"id": 1, "name": "a"}\r\n{"id": 2, "name": "b"}\r\n'),
    "gzip": Read(options={}, content=gzip.compress(b'{"id": 1, "name": "a"}\n'), file="part.json.gz"),
    "case": Read(schema="id INT, ID2 STRING", options={}, content='{"id": 1, "ID2": "a", "other": {"ID": 3}}\n'),
    "duplicate key": Read(options={}, content='{"id": 1, "id": 2, "name": "a"}\n'),
    "boolean": Read(schema="b BOOLEAN", options={}, content='{"b": true}\n{"b": false}\n'),
    "binary": Read(schema="b BINARY", options={}, content='{"b": "YWJj"}\n'),
    "big": Read(
        schema="a BIGINT, d DECIMAL(38,18), f FLOAT",
        options={},
        content='{"a": 9223372036854775807, "d": 1.123456789012345678, "f": 1.1}\n',
    ),
}


@pytest.mark.parametrize(
    ("kind", "case"),
    [
        *(pytest.param(Csv, case, id=f"csv, {name}") for name, case in CSV_OPTIONS.items()),
        *(pytest.param(Json, case, id=f"json, {name}") for name, case in JSON_OPTIONS.items()),
    ],
)
def test_an_option_is_read_as_spark_reads_it(
    kind: type[Csv | Json], case: Read, spark: SparkSession, tmp_path: Path
) -> None:
    file = tmp_path / "in" / case.file
    file.parent.mkdir(parents=True)
    file.write_bytes(case.content if isinstance(case.content, bytes) else case.content.encode())
    options = dict(case.options)
    connector = kind(str(tmp_path / "in"), schema=case.schema, options=options)
    if kind is Csv:
        options = {"header": "true", "nullValue": "", "inferSchema": "true"} | options
    reader = spark.read.format(connector.spark_format).options(**options)
    theirs = (reader.schema(case.schema) if case.schema else reader).load(connector.one_path)
    assert rows_of(connector, spark) == in_order(theirs.collect())


TEXTS = (
    *("0", "-0", "7", "+5", "007", " 5", "5 ", "\t5", "5\x00", "1_000", "1,5", "3,50", "1.", ".5", ".", "1.0", "1.005"),
    *("1.000", "1.010", "9999999.99", "9999999.999", "9999999.990", "10000000", "99999999.5", "1e3", "1E-3", "1e400"),
    *("1e-400", "0.00", "1d", "1f", "0x10", "NaN", "nan", "Inf", "-Inf", "Infinity", "inf", "2147483647", "2147483648"),
    *("-2147483648", "-2147483649", "9223372036854775807", "9223372036854775808", "12345678901234567890123", "1e5000"),
    *("1.7976931348623157e308", "1.8e308", "5e-324", "0.1", "0.30000000000000004", "1.005e0", "1e0", "1.5e1", "100e-2"),
    *("1e", "true", "TRUE", "t", "yes", "1b", "2024", "2024-01", "2024-01-05", "2024-1-5", "2024-01-05 banana"),
    *("-", "+"),
    *("2024-01-05T", "2024-02-30", "2023-02-29", "20240105", "05/01/2024", "2024-01-05 12:34", "2024-01-05 12:34:56"),
    *("2024-01-05T12:34:56", "2024-01-05T12:34:56Z", "2024-01-05T12:34:56+02:00", "2024-01-05 12:34:56.123456", "--5"),
    *("2024-01-05 12:34:56.1234567", "2024-01-05 12:34:56.1234560", "2024-01-05 25:00:00", "2024-01-05 12", "12:34:56"),
    *("2024-01-05 12:60:00", "2024-01-05 12:34:60", "1704067200000", "now", "today", "epoch", "\u2212" + "5", "1.5.5"),
    *("2024-01-05 12:34:56 Europe/Berlin", "2024-01-05 12:34:56 XX", "2024-01-05T12:34:56.5", "null", "NULL"),
    *("1L", "e5", "1.e5", "1.e-5", "5\x7f", "2024-01" + " " * 9, "12:34:56.000 Europe/Vienna"),
    *("0." + "0" * 50 + "1", "1.5" + "0" * 48 + "1", "1.5" + "0" * 48, "0" * 30 + "1", "1.123456789012345678"),
)  # fmt: skip


def changed(texts: Sequence[str], count: int) -> list[str]:
    """Return texts in which one to three characters are added, removed or replaced; the same ones each time."""
    chosen = random.Random(35)
    found = dict.fromkeys(texts)
    while len(found) < count:
        text = list(chosen.choice(texts))
        for _ in range(chosen.randint(1, 3)):
            at, new = chosen.randint(0, len(text)), chosen.choice("0123459+-.eE T:Z,/\t\x00\x7f")
            text[at : at + chosen.randint(0, 1)] = chosen.choice(["", new])
        new_text = "".join(text)
        # Python has no year 10000, and Spark refuses a decimal of 50 digits with an exponent.
        if new_text and not re.match(r"[+-]?[1-9]\d{4,}-|.{40,}[eE]", new_text):
            found[new_text] = None
    return list(found)


@pytest.mark.parametrize("written", ["csv", "json text", "json number"])
def test_a_text_has_the_value_that_python_finds_or_none(written: str, spark: SparkSession, tmp_path: Path) -> None:
    is_number = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?").fullmatch
    texts = [text for text in changed(TEXTS, 2_000) if written != "json number" or is_number(text)]
    names = [f"c{number}" for number in range(len(KINDS))]
    schema = ", ".join(["id INT", *(f"{n} {kind}" for n, kind in zip(names, KINDS, strict=True))])
    file, kind = tmp_path / "in", Csv if written == "csv" else Json
    if written == "csv":
        buffer = io.StringIO()
        lines = ([number, *([text] * len(KINDS))] for number, text in enumerate(texts))
        csv.writer(buffer, lineterminator="\n").writerows([["id", *names], *lines])
        file.write_text(buffer.getvalue())
    else:
        values = [text if written == "json number" else json.dumps(text) for text in texts]
        objects = (", ".join(f'"{name}": {value}' for name in names) for value in values)
        file.write_text("".join(f'{{"id": {n}, {o}}}\n' for n, o in enumerate(objects)))
    found = read_source(kind(str(file), schema=schema, on_misfit="null"), spark)
    shown = [
        f"CAST({name} AS {'DECIMAL(38,0)' if kind == 'DECIMAL(5,0)' else 'STRING'}) {name}"
        for name, kind in zip(names, KINDS, strict=True)
        if kind not in ("DOUBLE", "FLOAT", "DECIMAL(9,4)", "DECIMAL(38,18)")
    ]
    others = [f"c{n}" for n, kind in enumerate(KINDS) if kind in ("DOUBLE", "FLOAT", "DECIMAL(9,4)", "DECIMAL(38,18)")]
    wrong = []
    for row in found.selectExpr("id", *shown, *others).collect():
        for name, column in zip(names, KINDS, strict=True):
            text, value = texts[row.id], row[name]
            expected = convert(text, column)
            if column in ("DECIMAL(9,4)", "DECIMAL(38,18)") and value is not None:
                value = str(Fraction(value) * 10 ** (4 if column == "DECIMAL(9,4)" else 18))
            if text == "-0" and written == "json number" and value is not None:
                value = expected  # a whole number has no negative zero
            if (MISFITS if value is None else str(value)) != expected:
                wrong.append((column, text, value, expected))
    assert not wrong, "\n".join(map(str, wrong))


SCHEMA = "id INT, name STRING, price DECIMAL(9,2), day DATE"
COLUMNS = ("id", "name", "price", "day")
FITTING = {
    "id": ("1", "-2", "007", "+5", ""),
    "name": ("a", "Zoë", "", "it's", "x;y", "-", "NaN", " b "),
    "price": ("3.50", "3", "-0.5", "1e1", ""),
    "day": ("2024-01-05", "2024-02-29", ""),
}
MISFITTING = {
    "id": ("3,50", "2.0", " 5", "1e400", "99999999999", "NaN"),
    "name": ("\udcff", "\udce9t\udce9"),
    "price": ("3,50", "1.005", "1d", "NaN", "99999999.00"),
    "day": ("2024", "2024-01-05 banana", "2024-13-01"),
}
QUOTED = ('"{}"', '"{}""x"', '"{}\\"x"', '"{}\nx"', '"{}\r"', '"{}"x', '"{}', '{}"', '{}""', '"{},"', '""{}""')


@dataclass(frozen=True)
class Written:
    """A file as it was drawn, and whether everything in it is ordinary."""

    content: bytes
    name: str
    is_clean: bool


def rows_or_failure(source: Csv, spark: SparkSession) -> tuple[list[Row], Exception | None]:
    """Return the rows of a source, or why it has none."""
    try:
        return read_source(source, spark).collect(), None
    except (SchemaChangedError, PySparkException, Py4JJavaError) as failure:
        return [], failure


@st.composite
def csv_files(draw: st.DrawFn) -> Written:  # noqa: C901  # one step for each kind of fault
    """Draw a file of the nasty alphabet; most of it is ordinary, so that few faults meet in one file."""
    odd = draw(
        st.sampled_from(("none", "none", "misfit", "quotes", "quotes", "number", "header", "bytes", "cut", "blank"))
    )
    end = draw(st.sampled_from(("\n", "\n", "\r\n")))
    header = {
        "same": "id,name,price,day",
        "order": "name,id,price,day",
        "case": "ID,Name,price,DAY",
        "quoted": '"id","name",price,day',
    }
    shape = draw(st.sampled_from((*header, "none", "again"))) if odd == "header" else "same"
    lines = [] if shape == "none" else [header.get(shape, header["same"])]
    for _ in range(draw(st.integers(1, 4))):
        fields = [draw(st.sampled_from(FITTING[name])) for name in COLUMNS]
        fields[0] = fields[0] or "4"
        if odd == "misfit":
            place = draw(st.integers(0, 3))
            fields[place] = draw(st.sampled_from(MISFITTING[COLUMNS[place]]))
            fields[place] = f'"{fields[place]}"' if "," in fields[place] else fields[place]
        if odd == "quotes":
            fields[1] = draw(st.sampled_from(QUOTED)).format(fields[1])
        if odd == "number":
            fields = draw(st.sampled_from((fields[:3], [*fields, "x"], fields[:1], [*fields, ""])))
        lines.append(",".join(fields))
        if odd == "blank":
            lines.append(draw(st.sampled_from(("", "  "))))
        if shape == "again":
            lines.append(lines[0])
    content = (end.join(lines) + end).encode("utf-8", "surrogateescape")
    name = "part.csv"
    if odd == "cut":
        content = content[: -draw(st.integers(1, min(30, len(content))))]
    if odd == "bytes":
        how = draw(st.sampled_from(("mark", "utf-16", "gz", "gz misnamed", "plain misnamed")))
        content = codecs.BOM_UTF8 + content if how == "mark" else content
        content = content.decode().encode("utf-16") if how == "utf-16" else content
        content = gzip.compress(content) if how.startswith("gz") else content
        name = "part.csv.gz" if how in ("gz", "plain misnamed") else name
        return Written(content, name, how in ("mark", "gz"))
    return Written(content, name, odd == "none" or (odd == "header" and shape in ("same", "case", "quoted")))


def reference(file: Written, *, doubled: bool) -> list[tuple[object, ...] | None] | None:
    """Return the records of a file by Python's reader, None instead of each misfit; None if it is malformed."""
    content = file.content
    try:
        content = gzip.decompress(content) if file.name.endswith(".gz") else content
    except OSError:
        return None
    text = content.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")
    if content.startswith((b"\xff\xfe", b"\x1f\x8b")):
        return None
    dialect = {"doublequote": True} if doubled else {"doublequote": False, "escapechar": "\\"}
    try:
        records = list(csv.reader(io.StringIO(text, newline=""), strict=True, **dialect))
    except csv.Error:
        return None
    records = [each for each in records if each and "".join(each).strip(" ")]
    if sorted(records[0] if records else ()) == sorted(COLUMNS):
        records = [
            records[0],
            *(
                [dict(zip(records[0], r, strict=False)).get(c, "") for c in COLUMNS] if len(r) == 4 else r
                for r in records[1:]
            ),
        ]
        records[0] = list(COLUMNS)
    return [_record(each) for each in records if [field.lower() for field in each] != list(COLUMNS)]


def _record(fields: Sequence[str]) -> tuple[object, ...] | None:
    kinds = ("INT", "STRING", "DECIMAL(9,2)", "DATE")
    if len(fields) != len(COLUMNS) or any("\udc80" <= c <= "\udcff" for f in fields for c in f):
        return None
    values = [
        None if field == "" else field if kind == "STRING" else convert(field, kind)
        for field, kind in zip(fields, kinds, strict=True)
    ]
    return None if MISFITS in values else tuple(values)


def as_texts(rows: Sequence[Sequence[object]]) -> list[str]:
    return sorted(repr(tuple(None if v is None else str(v) for v in row)) for row in rows)


FOLDERS = itertools.count()
OPTIONS: tuple[dict[str, str], ...] = ({}, {"escape": '"'}, {"escape": '"', "multiLine": "true"}, {"multiLine": "true"})


@settings(
    max_examples=25, phases=[Phase.generate], deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(
    files=st.lists(csv_files(), min_size=1, max_size=3),
    options=st.sampled_from(OPTIONS),
    then=st.sampled_from(("fail", "rejects", "rejects", "null")),
)
def test_csv_files_have_the_rows_that_python_finds_or_fail(
    files: list[Written],
    options: dict[str, str],
    then: str,
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp(f"csv{next(FOLDERS)}")
    for number, file in enumerate(files):
        (folder / f"{number}{file.name}").write_bytes(file.content)
    settings = {"fail": {}, "rejects": {"rejects": "bad"}, "null": {"on_misfit": "null"}}[then]
    connector = Csv(str(folder), schema=SCHEMA, options=options, **settings)  # type: ignore[arg-type]
    records = [reference(file, doubled=options.get("escape") == '"') for file in files]
    rows, failure = rows_or_failure(connector, spark)
    if failure is not None:
        assert str(folder) in str(failure) or not isinstance(failure, PySparkException)
        assert MARK not in str(failure) or '"record":' in str(failure)
        assert not all(file.is_clean for file in files), failure
        return
    found = [record for each in records for record in each or []]
    fitting = as_texts([record for record in found if record is not None])
    assert None not in records or then != "fail"
    if then == "fail":
        assert None not in found
        assert as_texts(rows) == fitting
    elif then == "rejects":
        kept = as_texts([row[:-1] for row in rows if row[MISFIT] is None])
        assert kept == fitting
        assert None in records or len(rows) == len(found)
    else:
        assert set(as_texts(rows)) >= set(fitting)
        assert None in records or len(rows) == len(found)


@pytest.mark.parametrize("kind", [Csv, Json])
def test_a_misfit_fails_whatever_is_read(kind: type[Csv | Json], spark: SparkSession, tmp_path: Path) -> None:
    lines = {Csv: "id,price\n1,1.50\n2,3,50\n", Json: '{"id": 1}\n{"id": 2, "price": "3,50"}\n'}
    (tmp_path / "in").write_text(lines[kind])
    rows = read_source(kind(str(tmp_path / "in"), schema="id INT, price DECIMAL(9,2)"), spark)
    for read in (
        rows.groupBy().count(),
        rows.select("id"),
        rows.where("id = 1"),
        rows.where("price > 0"),
        rows.where("price IS NULL"),
        rows.join(rows.select("price"), on="price"),
        rows.groupBy("id").count(),
    ):
        with pytest.raises(PySparkException, match=MARK):
            read.collect()


def test_long_and_wide_records_are_read(spark: SparkSession, tmp_path: Path) -> None:
    long, quotes = "x" * 1_000_000, '""' * 20_000
    (tmp_path / "long").write_text(f'name\n{long}\n"{quotes}"\n')
    (tmp_path / "long.json").write_text(json.dumps({"name": long + '"' * 20_000, "d": 1}) + "\n")
    csv_rows = rows_of(Csv(str(tmp_path / "long"), schema="name STRING", options={"escape": '"'}), spark)
    assert csv_rows == in_order([(long,), ('"' * 20_000,)])
    source = Json(str(tmp_path / "long.json"), schema="name STRING, d DECIMAL(9,2)")
    assert rows_of(source, spark) == [(long + '"' * 20_000, Decimal("1.00"))]
