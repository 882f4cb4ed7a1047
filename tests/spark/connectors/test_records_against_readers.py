"""Rows of CSV, JSON and text files are those of independent readers, or a failure names the file and the record."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import VariantVal

from graph_compiler import Csv, Json, Text
from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.errors import SchemaChangedError
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.connectors.text_records import MARK

pytestmark = pytest.mark.spark


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
    "emptyValue": Read(
        options={"emptyValue": "none", "nullValue": "NA"}, content='id,name\n1,""\n2,\n3,NA\n'
    ),
    "comment": Read(options={"comment": "#"}, content="# c\nid,name\n1,a\n#2,b\n3,#c\n"),
    "ignoreLeadingWhiteSpace": Read(
        options={"ignoreLeadingWhiteSpace": "true"}, content='id,name\n 1, a \n2," b"\n'
    ),
    "ignoreTrailingWhiteSpace": Read(
        options={"ignoreTrailingWhiteSpace": "true"}, content='id,name\n1 , a \n2,"b "\n'
    ),
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
    "escape default": Read(
        options={}, content='id,name\n1,"a \\"b\\" c"\n2,"x\\\\y"\n3,x\\\\y\n4,x\\"y\n'
    ),
    "escape ^": Read(options={"escape": "^"}, content='id,name\n1,"a ^"b^" c"\n2,"x^^y"\n3,x^^y\n'),
    "escape none": Read(options={"escape": ""}, content='id,name\n1,"a"\n2,x\\y\n'),
    "charToEscape": Read(
        options={"escape": "^", "charToEscapeQuoteEscaping": "\\"},
        content='id,name\n1,"a ^"b\\^"\n2,"x"\n',
    ),
    "header false": Read(options={"header": "false"}, content="1,a\n2,b\n"),
    "dateFormat": Read(
        schema="id INT, day DATE",
        options={"dateFormat": "dd/MM/yyyy"},
        content="id,day\n1,31/12/2024\n",
    ),
    "dateFormat locale": Read(
        schema="id INT, day DATE",
        options={"dateFormat": "d MMMM yyyy", "locale": "de-DE"},
        content="id,day\n1,31 Dezember 2024\n",
    ),
    "dateFormat name": Read(
        schema="id INT, day DATE",
        options={"dateFormat": "d MMM yyyy"},
        content="id,day\n1,31 Dec 2024\n",
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
        schema="id INT, price DECIMAL(9,2)",
        options={"locale": "fr-FR", "sep": ";"},
        content="id;price\n1;3,5\n2;7\n",
    ),
    "encoding": Read(
        options={"encoding": "ISO-8859-1"}, content="id,name\n1,Zoë\n".encode("latin-1")
    ),
    "UTF-16": Read(
        options={"encoding": "UTF-16", "multiLine": "true"},
        content="id,name\n1,Zoë\n".encode("utf-16"),
    ),
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
    "recursive": Read(
        options={"recursiveFileLookup": "true"},
        content="id,name\n1,a\n",
        file="day=2024-01-01/part",
    ),
    "nan": Read(
        schema="id INT, x DOUBLE",
        options={"nanValue": "nil", "positiveInf": "big", "negativeInf": "small"},
        content="id,x\n1,nil\n2,big\n3,small\n4,1.5\n",
    ),
    "nan usual": Read(
        schema="id INT, x FLOAT",
        options={},
        content="id,x\n1,NaN\n2,Inf\n3,-Inf\n4,1.5\n5,Infinity\n6,1e5\n",
    ),
    "STOP_AT_CLOSING": Read(
        options={"unescapedQuoteHandling": "STOP_AT_CLOSING_QUOTE"},
        content='id,name\n1,a"b\n2,"c"\n',
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
        schema="id INT, b INTERVAL DAY TO SECOND",
        options={},
        content="id,b\n1,INTERVAL '1 02:03:04' DAY TO SECOND\n",
    ),
    "inferred": Read(
        schema=None,
        options={},
        content="id,x,d,t,b,s\n1,1.5,2024-01-01,2024-01-01 00:00:00,true,a\n",
    ),
    "samplingRatio": Read(
        schema=None, options={"samplingRatio": "0.5"}, content="id,x\n" + "1,a\n" * 50
    ),
    "preferDate": Read(
        schema=None, options={"preferDate": "false"}, content="id,x\n1,2024-01-01\n"
    ),
    "duplicate names": Read(schema=None, options={}, content="id,id,name\n1,2,a\n"),
    "empty name": Read(schema=None, options={}, content="id,,name\n1,2,a\n"),
    "strange names": Read(
        schema=None, options={}, content='a.b,c`d,e f,it\'s,"q\\"x"\n1,2,3,4,5\n'
    ),
    "graph_compiler names": Read(
        schema=None,
        options={},
        content="graph_compiler_0,graph_compiler_1,graph_compiler_misfit,c0\n1,2,3,4\n",
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
        schema="id INT, name STRUCT<a: STRING>",
        options={},
        content="{'id': 1, 'name': {'a': 'x}'}}\n",
    ),
    "not allowSingleQuotes": Read(
        options={"allowSingleQuotes": "false"}, content='{"id": 1, "name": "it\'s"}\n'
    ),
    "allowUnquotedFieldNames": Read(
        options={"allowUnquotedFieldNames": "true"}, content='{id: 1, name: "a"}\n'
    ),
    "allowUnquotedFieldNames nested": Read(
        schema="id INT, name STRUCT<a: STRING>",
        options={"allowUnquotedFieldNames": "true"},
        content='{id: 1, name: {a: "x}"}}\n',
    ),
    "allowComments": Read(
        options={"allowComments": "true"}, content='{"id": 1, /* } */ "name": "a"} // x\n'
    ),
    "allowNonNumericNumbers": Read(
        schema="id INT, x DOUBLE",
        options={},
        content='{"id": 1, "x": NaN}\n{"id": 2, "x": "NaN"}\n{"id":3,"x":-Infinity}\n{"id":4,"x":"-INF"}\n{"id":5,"x":+INF}\n{"id":6,"x":-INF}\n',
    ),
    "allowNumericLeadingZeros": Read(
        options={"allowNumericLeadingZeros": "true"}, content='{"id": 01, "name": "a"}\n'
    ),
    "allowBackslash": Read(
        options={"allowBackslashEscapingAnyCharacter": "true"},
        content='{"id": 1, "name": "a\\$}"}\n',
    ),
    "allowControl": Read(
        options={"allowUnquotedControlChars": "true"}, content='{"id": 1, "name": "a\tb}"}\n'
    ),
    "primitivesAsString": Read(
        schema=None,
        options={"primitivesAsString": "true"},
        content='{"id": 1, "name": true, "x": {"y": 1.50}, "l": [1, 2]}\n',
    ),
    "prefersDecimal": Read(
        schema=None, options={"prefersDecimal": "true"}, content='{"id": 1.25, "name": true}\n'
    ),
    "dropFieldIfAllNull": Read(
        schema=None,
        options={"dropFieldIfAllNull": "true"},
        content='{"id": 1.25, "name": null, "l": []}\n',
    ),
    "inferTimestamp": Read(
        schema=None,
        options={"inferTimestamp": "true"},
        content='{"id": 1, "at": "2024-01-01T00:00:00Z"}\n',
    ),
    "inferred nested": Read(
        schema=None,
        options={},
        content='{"id": 1, "a": {"b": [{"c": 1.5}]}, "l": [[1], []], "s": ["x"], "n": null}\n',
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
        options={"encoding": "UTF-16LE", "lineSep": "\n"},
        content='{"id": 1, "name": "Zoë"}\n'.encode("utf-16-le"),
    ),
    "latin": Read(
        options={"encoding": "ISO-8859-1", "lineSep": "\n"},
        content='{"id": 1, "name": "Zoë"}\n{"id": 2, "name": "Zoë"}\n'.encode("latin-1"),
    ),
    "UTF-16 multi": Read(
        options={"encoding": "UTF-16", "multiLine": "true"},
        content='[{"id": 1, "name": "Zoë"}\n]'.encode("utf-16"),
    ),
    "lineSep": Read(
        options={"lineSep": "|"}, content='{"id": 1, "name": "a"}|{"id": 2,\n "name": "a"}|'
    ),
    "multiLine list": Read(
        options={"multiLine": "true"}, content='[{"id": 1,\n "name": "a"},\n{"id": 2}]\n'
    ),
    "multiLine object": Read(options={"multiLine": "true"}, content='{"id": 1,\n "name": "a"}\n'),
    "list in a line": Read(options={}, content='[{"id": 1, "name": "a"}, {"id": 2}]\n'),
    "list in a line, single quotes": Read(
        options={}, content="[{'id': 1, 'name': 'a'}, {'id': 2}]\n"
    ),
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
        content='{"id": 1, "name": 1.50}\n{"id": 2, "name": {"a":[1,2.0]}}\n{"id":3,"name":[1e400]}\n{"id":4,"name":true}\n',
    ),
    "empty texts": Read(options={}, content='{"id": 1, "name": ""}\n'),
    "escapes": Read(options={}, content='{"id": 1, "name": "a\\u0000b\\n\\"}{\\ud83d\\ude00"}\n'),
    "map": Read(
        schema="m MAP<STRING, INT>, d MAP<STRING, DECIMAL(9,2)>",
        options={},
        content='{"m": {"a": 1, "b": null}, "d": {"x": 1.5}}\n',
    ),
    "variant": Read(schema="v VARIANT", options={}, content='{"v": {"a": 1}}\n'),
    "single variant": Read(
        schema=None, options={"singleVariantColumn": "v"}, content='{"v": {"a": 1}}\n'
    ),
    "crlf": Read(options={}, content='{"id": 1, "name": "a"}\r\n{"id": 2, "name": "b"}\r\n'),
    "gzip": Read(
        options={}, content=gzip.compress(b'{"id": 1, "name": "a"}\n'), file="part.json.gz"
    ),
    "case": Read(
        schema="id INT, ID2 STRING",
        options={},
        content='{"id": 1, "ID2": "a", "other": {"ID": 3}}\n',
    ),
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
    theirs = (reader.schema(case.schema) if case.schema else reader).load(connector.path)
    assert rows_of(connector, spark) == in_order(theirs.collect())
