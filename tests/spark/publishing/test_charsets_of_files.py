"""Letters that an encoding does not have, and lineSeps that texts contain: refused before anything is published."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from graph_compiler import Csv, Files, Json
from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.errors import PublicationError
from graph_compiler.spark_runtime.connectors import read_source
from tests.harness.sinks import Sinks

pytestmark = pytest.mark.spark
LATIN, ASCII, BARS = {"encoding": "ISO-8859-1"}, {"CharSet": "us-ascii"}, {"lineSep": "|"}
TEXT = "SELECT 1 AS id, 'Łódź 5€' AS t"
NO_LETTERS = "column 't' has letters that ISO-8859-1 does not have in 1 row"
CHANGED = {
    "csv": (Csv, LATIN, TEXT, NO_LETTERS),
    "json": (Json, LATIN, TEXT, NO_LETTERS),
    "files": (Files, {**LATIN, "header": "true"}, TEXT, NO_LETTERS),
    "charset": (Csv, ASCII, "SELECT 1 AS id, 'é' AS t", "letters that US-ASCII does not have in 1 row"),
    "nested": (Json, LATIN, "SELECT array(map('ż', 1)) AS t", NO_LETTERS),
    "field": (Json, LATIN, "SELECT named_struct('ż', 1) AS t", "column 'ż': its name has letters that ISO-8859-1"),
    "variant": (Json, LATIN, "SELECT parse_json('[\"ż\"]') AS t", NO_LETTERS),
    "collated": (Csv, LATIN, "SELECT 1 AS id, 'ż' COLLATE UTF8_LCASE AS t", NO_LETTERS),
    "no letters": (Csv, LATIN, "SELECT 1 AS id, CAST(X'FF' AS STRING) AS t", NO_LETTERS),
    "name": (Csv, LATIN, "SELECT 1 AS id, 2 AS `ż`", "column 'ż': its name has letters that ISO-8859-1 does not have"),
    "month": (Csv, {**LATIN, "dateFormat": "d MMMM y", "locale": "pl"}, "SELECT DATE'2024-10-01' AS t", NO_LETTERS),
    "null": (Csv, {**LATIN, "nullValue": "–"}, "SELECT 1 AS id, CAST(NULL AS INT) AS t", NO_LETTERS),
    "separator": (Csv, {**ASCII, "sep": "§"}, "SELECT 1 AS id, 2 AS t", "option 'sep' is '§', which US-ASCII does not"),
    "bytes": (Csv, {}, "SELECT 1 AS id, CAST(X'41FF' AS STRING) AS t", "column 't' has bytes that are not UTF-8 in 1"),
    "bytes in json": (Json, {}, "SELECT array(map(CAST(X'C328' AS STRING), 1)) AS t", "bytes that are not UTF-8 in 1"),
    "bytes in xml": (
        Files,
        {"rowTag": "ROW"},
        "SELECT CAST(X'FF' AS STRING) AS t, 1 AS id",
        "bytes that are not UTF-8",
    ),
    "bars": (Csv, BARS, "SELECT 1 AS id, 'a|b' AS t", "column 't' has line breaks in 1 row"),
    "bars in json": (Json, BARS, "SELECT 1 AS id, array('a|b') AS t", "column 't' has '|', which is the lineSep, in 1"),
    "bar in name": (Csv, BARS, "SELECT 1 AS id, 2 AS `a|b`", "column 'a|b': its name has '|', which is the lineSep"),
    "two": (Csv, {"lineSep": "\r\n", "multiLine": "true"}, "SELECT 1 AS id, 'a\\nb' AS t", "has line breaks in 1 row"),
}
KEPT = {
    "csv": (Csv, LATIN, "SELECT 1 AS id, 'ó' AS `é`", "1,ó\n".encode("latin-1")),
    "json": (Json, LATIN, "SELECT 1 AS id, 'ó' AS `é`", '"é":"ó"}\n'.encode("latin-1")),
    "wide": (Csv, {"encoding": "UTF-16LE", "lineSep": "\n"}, TEXT, "1,Łódź 5€\n".encode("utf-16-le")),
    "escaped": (Json, {**LATIN, "writeNonAsciiCharacterAsCodePoint": "true"}, TEXT, b"\\u0141"),
    "bars": (Csv, BARS, "SELECT 1 AS id, 'a\\nb\\rc' AS t", b'1,"a\nb\rc"|'),
    "whole": (Csv, {**BARS, "multiLine": "true"}, "SELECT 1 AS id, 'a|b' AS t", b'1,"a|b"|'),
    "xml": (
        Files,
        {**LATIN, "rowTag": "ROW", "declaration": 'version="1.0" encoding="ISO-8859-1"'},
        "SELECT 1 AS id, 'Łó' AS `é`",
        "<é>&#x141;ó</é>".encode("latin-1"),
    ),
    "xml in ascii": (Files, {**ASCII, "rowTag": "ROW"}, TEXT, b"&#x141;"),
}


def connector_at(
    kind: Callable[..., FileConnector], path: Path, options: Mapping[str, str], schema: str | None
) -> FileConnector:
    if kind is Files:
        return Files(format="xml" if "rowTag" in options else "csv", path=f"{path}", options=options, schema=schema)
    return kind(f"{path}", options=options, schema=schema)


@pytest.mark.parametrize("case", CHANGED)
def test_what_an_encoding_or_a_line_end_would_change_is_not_published(case: str, sinks: Sinks, tmp_path: Path) -> None:
    kind, options, query, words = CHANGED[case]
    with pytest.raises(PublicationError) as refused:
        sinks.write(connector_at(kind, tmp_path / "out", options, None), query)
    assert words in str(refused.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("case", KEPT)
def test_what_a_file_has_is_read_back_as_it_was(case: str, spark: SparkSession, sinks: Sinks, tmp_path: Path) -> None:
    kind, options, query, written = KEPT[case]
    sinks.write(connector_at(kind, tmp_path / "out", options, None), query)
    (name,) = set(spark.sql(query).columns) - {"id"}
    read = connector_at(kind, tmp_path / "out", options, f"id INT, `{name}` STRING")
    assert read_source(read, spark).collect() == spark.sql(query).collect()
    assert written in b"".join(path.read_bytes() for path in (tmp_path / "out").glob("part-*"))


def test_one_file_is_checked_too_and_folders_are_not(spark: SparkSession, sinks: Sinks, tmp_path: Path) -> None:
    with pytest.raises(PublicationError, match="letters that US-ASCII does not have in 1 row"):
        sinks.write(Csv(f"{tmp_path}/one.csv", options=ASCII), "SELECT 'é' AS t", single_file=True)
    assert not (tmp_path / "one.csv").exists()
    sinks.write(Csv(f"{tmp_path}/out", options=LATIN), "SELECT 1 AS id, 'ż' AS `ł`", partition_by=("ł",))
    rows = read_source(Csv(f"{tmp_path}/out", options=LATIN, schema="id INT, `ł` STRING"), spark)
    assert [tuple(row) for row in rows.collect()] == [(1, "ż")]
