"""Every type of Spark through every format, at the borders of its values: as docs/formats.md has it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import duckdb
import pyarrow as pa
import pytest
from pyarrow import csv, orc, parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import IntegerType, StructField, StructType

from graph_compiler import Csv, Files, Json, Orc, Parquet, Text
from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.errors import PublicationError, SchemaChangedError
from graph_compiler.identifiers import quoted
from graph_compiler.spark_runtime.columns.column_types import check_columns
from graph_compiler.spark_runtime.connectors import read_source
from tests.harness.border_values import VALUES, as_texts, border_values, name_of
from tests.harness.sinks import Sinks
from tests.spark.results.test_damaged_data import RESULT, STAGED, area_of

pytestmark = [pytest.mark.spark, pytest.mark.ci]

DOCS = Path(__file__).parents[3] / "docs" / "formats.md"
XML = {"rowTag": "ROW", "ignoreSurroundingSpaces": "false"}


def xml(path: str, *, options: Mapping[str, str] = XML, **more: str) -> Files:
    """Return XML files, whose readers keep blanks unless told otherwise."""
    return Files(format="xml", path=path, options=options, **more)


def bare_xml(path: str) -> Files:
    """Return XML files whose readers take blanks away, as they do unless they are told otherwise."""
    return xml(path, options={"rowTag": "ROW"})


FORMATS: dict[str, Callable[..., FileConnector]] = {
    "parquet": Parquet,
    "orc": Orc,
    "csv": lambda path, **more: Csv(path, options={"multiLine": "true"}, **more),
    "json": Json,
    "xml": xml,
}
NO_STRING = {"string", "varchar(3)", "string collate utf8_lcase"}
# What a format gives back as something else, as the table says: `''` in CSV, and the type of a collated text in ORC.
DIFFERS = {"csv": NO_STRING, "orc": set[str](), "json": set[str](), "parquet": set[str](), "xml": set[str]()}
# What is refused as the value that it is.
REFUSED_VALUES = {
    "orc": {"date", "timestamp", "array<struct<t:timestamp,m:map<string,array<double>>>>"},
    "xml": {"int", "bigint", "string", "array<int>", "array<string>"},
}
# Every value is held, and the type is another.
OTHER_TYPE = {"orc": {"string collate utf8_lcase"}}


def held_types(spark: SparkSession, format: str) -> list[str]:
    """Return the types that a format takes."""
    columns = border_values(spark, list(VALUES)).schema.fields[1:]

    def is_held(column: StructField) -> bool:
        try:
            check_columns(StructType([column]), format, ())
        except PublicationError:
            return False
        return True

    return [kind for kind, column in zip(VALUES, columns, strict=True) if is_held(column)]


def ddl(rows: DataFrame) -> str:
    return ", ".join(f"{quoted(f.name)} {f.dataType.simpleString()}" for f in rows.schema)


def rows_of_the_docs(heading: str) -> Iterator[list[str]]:
    """Return the cells of the table below a heading of docs/formats.md, without its head."""
    section = DOCS.read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    for line in lines:
        yield [cell.strip() for cell in line.strip("|").split("|")]


def test_every_value_of_every_type_is_staged_and_read_back(spark: SparkSession, tmp_path: Path) -> None:
    rows = border_values(spark, held_types(spark, "parquet"))
    area = area_of(spark, tmp_path)
    area.stage(RESULT, rows)
    back = area.read(area.find(STAGED))
    assert back.schema == rows.schema
    assert as_texts(back) == as_texts(rows)


@pytest.mark.parametrize("format", FORMATS)
def test_a_format_gives_back_every_value_that_it_takes(
    format: str, spark: SparkSession, sinks: Sinks, tmp_path: Path
) -> None:
    odd = OTHER_TYPE.get(format, set()) | REFUSED_VALUES.get(format, set())
    kinds = [kind for kind in held_types(spark, format) if kind not in odd]
    rows = border_values(spark, kinds)
    connector = FORMATS[format]
    sinks.write(connector(f"{tmp_path}/out"), rows)
    found = as_texts(read_source(connector(f"{tmp_path}/out", schema=ddl(rows)), spark))
    wanted = as_texts(rows)
    different = {kind for kind in kinds if found[name_of(kind)] != wanted[name_of(kind)]}
    assert different == DIFFERS[format]
    for kind in different:  # an empty text, and nothing else
        found_is = ["" if text is None else text for text in found[name_of(kind)]]
        assert found_is == ["" if text is None else text for text in wanted[name_of(kind)]]


def test_the_docs_name_every_type_that_a_format_does_not_take(spark: SparkSession) -> None:
    said = {cells[0]: cells[1:] for cells in rows_of_the_docs("Types")}
    names = {kind: f"`{kind.upper()}`" for kind in VALUES}
    for number, format in enumerate(["parquet", "orc", "json", "csv", "xml"]):
        refused = {names[kind] for kind in set(VALUES) - set(held_types(spark, format))}
        assert {name for name in names.values() if said[name][number] == "refused"} == refused, format


@pytest.mark.parametrize(
    ("connector", "query", "words"),
    [
        (Orc, "SELECT DATE '1582-10-10' AS c", "dates from 1582-10-05 to 1582-10-14 in 1 row"),
        (Orc, "SELECT TIMESTAMP '1582-10-14 23:59:59' AS c", "times from 1582-10-05"),
        (Orc, "SELECT TIMESTAMP '1969-12-31 23:59:59.5' AS c", "the last second before 1970"),
        (Orc, "SELECT map('k', array(named_struct('a b', DATE '1582-10-05'))) AS c", "dates from 1582-10-05"),
        (Csv, "SELECT 'a\\nb' AS c, 1 AS n", "line breaks in 1 row"),
        (Csv, "SELECT 'a\\rb' AS c, 1 AS n", "line breaks in 1 row"),
        (Csv, "SELECT CAST(NULL AS INT) AS c", "NULL in 1 row"),
        (Text, "SELECT 'a\\nb' AS c", "line breaks in 1 row"),
        (Text, "SELECT CAST(NULL AS STRING) AS c", "NULL in 1 row"),
        (xml, "SELECT CAST(-2147483648 AS INT) AS c", "the smallest INT in 1 row"),
        (xml, "SELECT array(-9223372036854775808L) AS c", "the smallest BIGINT in 1 row"),
        (xml, "SELECT 'a\\uffffb' AS c", "U\\+FFFE or U\\+FFFF in 1 row"),
        (xml, "SELECT array(1, NULL) AS c", "empty arrays, or NULL in them in 1 row"),
        (xml, "SELECT array(named_struct('a', array())) AS c", "empty arrays, or NULL in them"),
        (bare_xml, "SELECT ' a' AS c", "leading or trailing blanks in 1 row"),
        (bare_xml, "SELECT named_struct('a', 'a\\n') AS c", "leading or trailing blanks in 1 row"),
    ],
)
def test_a_value_that_a_format_would_change_is_refused_before_publishing(
    connector: Callable[[str], FileConnector], query: str, words: str, sinks: Sinks, tmp_path: Path
) -> None:
    with pytest.raises(PublicationError, match=words):
        sinks.write(connector(f"{tmp_path}/out"), query)
    assert not (tmp_path / "out").exists()


def test_values_near_the_limits_of_orc_are_kept(spark: SparkSession, sinks: Sinks, tmp_path: Path) -> None:
    days = ["0001-01-01", "1582-10-04", "1582-10-15", "9999-12-31"]
    times = [
        "1582-10-04 23:59:59.999999", "1582-10-15 00:00:00", "1969-12-31 23:59:58.999999",
        "1969-12-31 23:59:59", "1970-01-01 00:00:00.000001",
    ]  # fmt: skip
    query = " UNION ALL ".join(
        f"SELECT {n} AS id, CAST('{day}' AS DATE) AS d, TIMESTAMP '{time}' AS t"
        for n, (day, time) in enumerate(zip([*days, days[0]], times, strict=True))
    )
    sinks.write(Orc(f"{tmp_path}/out"), query)
    assert as_texts(read_source(Orc(f"{tmp_path}/out"), spark)) == as_texts(spark.sql(query))


def test_merged_rows_are_checked_before_they_are_prepared(sinks: Sinks, tmp_path: Path) -> None:
    rows = "SELECT 1 AS id, DATE '1582-10-10' AS d"
    with pytest.raises(PublicationError, match="dates from 1582-10-05"):
        sinks.write(Orc(f"{tmp_path}/out"), rows, mode="merge", keys=("id",))
    assert not (tmp_path / "out").exists()


def test_values_near_the_limits_of_xml_are_kept(spark: SparkSession, sinks: Sinks, tmp_path: Path) -> None:
    texts = border_values(spark, ["string"]).filter(r"string IS NULL OR NOT string RLIKE '[\u0000\u000b]'")
    numbers = (
        "SELECT 1 AS id, -2147483647 AS i, -9223372036854775807L AS b, array(0, -2147483647) AS a, "
        "named_struct('_a', -1.50, '_VALUE', ' x ') AS s UNION ALL SELECT 2, NULL, NULL, NULL, NULL"
    )
    for number, rows in enumerate((texts, spark.sql(numbers))):
        path = f"{tmp_path}/{number}"
        sinks.write(xml(path), rows)
        back = read_source(xml(path, schema=ddl(rows)), spark)
        assert as_texts(back) == as_texts(rows)
        parsed = [row for file in Path(path).glob("part-*") for row in ElementTree.parse(file).getroot()]
        assert len(parsed) == rows.count()
        if rows is texts:  # another reader of XML has the same texts
            found = {row.findtext("id"): row.findtext("string") for row in parsed}
            assert found == {str(row["id"]): row["string"] for row in rows.collect()}


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("DATE '2013-01-01' AS _a", "'_a' is DATE, which an attribute cannot hold"),
        ("X'00' AS _a", "'_a' is BINARY, which an attribute cannot hold"),
        ("array(1) AS _a", "'_a' is ARRAY<INT>, which an attribute cannot hold"),
        ("array(named_struct('b', 1, '_VALUE', 'x')) AS a", "'_VALUE' is the text of an element, so 'b'"),
        ("named_struct('_a', 1, '_VALUE', X'00') AS a", "'_VALUE' is BINARY, which the text of"),
        ("array(array(1)) AS a", "'a' is ARRAY<ARRAY<INT>>"),
        ("array(named_struct('a b', 1)) AS a", "'a b': its name is not valid in XML"),
        ("1 AS `_`", "'_': its name is not valid in XML"),
    ],
)  # fmt: skip
def test_columns_that_xml_would_write_as_something_else_are_refused(
    expression: str, words: str, sinks: Sinks, tmp_path: Path
) -> None:
    with pytest.raises(PublicationError) as raised:
        sinks.write(xml(f"{tmp_path}/out"), f"SELECT {expression}, 1 AS n")
    assert words in str(raised.value)
    assert not (tmp_path / "out").exists()


def test_other_marks_of_xml_make_other_columns_attributes(spark: SparkSession, sinks: Sinks, tmp_path: Path) -> None:
    options = XML | {"attributePrefix": "a_", "valueTag": "text"}
    rows = "SELECT 1 AS id, DATE '2013-01-01' AS _a, 'x' AS _VALUE, 7 AS a_b"
    sinks.write(xml(f"{tmp_path}/out", options=options), rows)
    back = read_source(xml(f"{tmp_path}/out", options=options, schema=ddl(spark.sql(rows))), spark)
    assert as_texts(back) == as_texts(spark.sql(rows))
    with pytest.raises(PublicationError, match="'a_b' is DATE, which an attribute"):
        sinks.write(xml(f"{tmp_path}/no", options=options), "SELECT DATE '2013-01-01' AS a_b")


def test_format_names_ignore_case(sinks: Sinks, tmp_path: Path) -> None:
    def capitals(kind: str) -> Files:
        return Files(format=kind, path=f"{tmp_path}/out")

    with pytest.raises(PublicationError, match="dates from 1582-10-05"):
        sinks.write(capitals("ORC"), "SELECT DATE '1582-10-10' AS c")
    with pytest.raises(PublicationError, match="'c' is BINARY"):
        sinks.write(capitals("CSV"), "SELECT X'00' AS c")


BY_NAME = {
    "csv": ({}, "SELECT 1 AS id, 'x' AS word"),
    "csv with a header": ({"header": "true"}, "SELECT 1 AS id, DATE '2013-01-01' AS day"),
    "json": ({}, "SELECT 1 AS id, CAST(NULL AS DATE) AS day"),
    "text": ({}, "SELECT 'a line' AS line"),
}


@pytest.mark.parametrize("case", BY_NAME)
def test_a_format_by_its_name_appends_to_what_it_has_written(
    case: str, spark: SparkSession, sinks: Sinks, tmp_path: Path
) -> None:
    options, rows = BY_NAME[case]
    target = Files(format=case.partition(" ")[0].upper(), path=f"{tmp_path}/out", options=options)
    for run in ("r1", "r2"):
        sinks.write(target, rows, mode="append", run=run)
    if case == "text":
        return
    back = read_source(replace(target, schema=ddl(spark.sql(rows))), spark)
    assert as_texts(back) == as_texts(spark.sql(f"{rows} UNION ALL {rows}"))


def test_header_columns_are_compared_and_unparsable_text_fails(
    spark: SparkSession, sinks: Sinks, tmp_path: Path
) -> None:
    target = Files(format="csv", path=f"{tmp_path}/out", options={"header": "true"})
    sinks.write(target, "SELECT 'x' AS id", mode="append", run="r1")
    with pytest.raises(SchemaChangedError, match="other"):
        sinks.write(target, "SELECT 'x' AS other", mode="append", run="r2")
    for kind in ("csv", "json"):
        odd = Files(format=kind, path=f"{tmp_path}/{kind}", schema="id INT", options=target.options)
        sinks.write(replace(odd, schema=None), "SELECT 'x' AS id", run=kind)
        with pytest.raises(Exception, match="does not fit INT|as many fields as there are columns"):
            read_source(odd, spark).collect()


NAMES = [
    "a b", "a.b", "a`b", "a:b", "a,b", "a;b", 'a"b', "a'b", "a<b", "a{b}", "a=b", "a(b)", "ä", "\U0001f600",
    "a\\b", "a/b", "a\nb", "a\rb", "a\tb", " a", "a ", " ", "1a", "_a", ".a", "#a", "select", "x" * 300,
    "a%b", "a[0]", "$a", '"a"',
]  # fmt: skip


@pytest.mark.parametrize("format", FORMATS)
def test_a_column_keeps_its_name_or_is_refused(format: str, spark: SparkSession, sinks: Sinks, tmp_path: Path) -> None:
    no_xml = {name for name in NAMES if set(name) & set(" `:,;\"'<{=(\\/\n\r\t#%[$") or name in ("1a", ".a")}
    refused = {"orc": {"a`b"}, "csv": {"a\nb", "a\rb"}, "xml": no_xml}.get(format, set())
    for name in refused:
        schema = StructType([StructField(name, IntegerType()), StructField("other", IntegerType())])
        with pytest.raises(PublicationError, match="its name (has|is not valid)"):
            check_columns(schema, format, ())
    names = [name for name in NAMES if name not in refused]
    rows = spark.createDataFrame(
        [tuple(range(len(names)))], StructType([StructField(name, IntegerType()) for name in names])
    )
    sinks.write(FORMATS[format](f"{tmp_path}/out"), rows)
    declared = {"schema": ddl(rows)} if format == "xml" else {}
    back = read_source(FORMATS[format](f"{tmp_path}/out", **declared), spark)
    assert sorted(back.columns) == sorted(names)
    (row,) = back.collect()
    assert {name: row[name] for name in names} == {name: n for n, name in enumerate(names)}


@pytest.mark.parametrize("options", [{"timestampFormat": "yyyy"}, {"TIMESTAMPFORMAT": "yyyy"}])
def test_user_options_take_precedence(options: dict[str, str], sinks: Sinks, tmp_path: Path) -> None:
    sinks.write(Csv(f"{tmp_path}/out", options=options), "SELECT TIMESTAMP '2013-01-01 00:00:00' c")
    (file,) = (tmp_path / "out").glob("part-*")
    assert file.read_text() == "c\n2013\n"


def test_csv_and_json_lines_keep_null_and_blanks(sinks: Sinks, tmp_path: Path) -> None:
    query = "SELECT ' a ' AS c, CAST(NULL AS STRING) AS n, '' AS e, TIMESTAMP '2013-01-01 00:00:00.000001' AS t"
    sinks.write(Csv(f"{tmp_path}/csv"), query)
    sinks.write(Json(f"{tmp_path}/json"), query)
    (as_csv,), (as_json,) = ((tmp_path / kind).glob("part-*") for kind in ("csv", "json"))
    assert as_csv.read_text() == 'c,n,e,t\n a ,,"",2013-01-01T00:00:00.000001Z\n'
    assert as_json.read_text() == ('{"c":" a ","n":null,"e":"","t":"2013-01-01T00:00:00.000001Z"}\n')


SHARED = [
    "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(38,0)", "decimal(38,18)",
    "string", "binary", "date", "timestamp", "timestamp_ntz", "array<int>", "map<string,int>",
]  # fmt: skip
"""Types that other engines have as well."""


def test_other_engines_read_parquet_as_it_was_written(spark: SparkSession, sinks: Sinks, tmp_path: Path) -> None:
    sinks.write(Parquet(f"{tmp_path}/out"), border_values(spark, SHARED))
    wanted = border_values(spark, SHARED).toArrow().sort_by("id")
    found = parquet.read_table(f"{tmp_path}/out").sort_by("id")
    assert _plain(found) == _plain(wanted)
    by_duckdb = _by_duckdb(f"FROM '{tmp_path}/out/*.parquet' ORDER BY id")
    assert by_duckdb.num_rows == wanted.num_rows
    for kind in ("bigint", "string", "binary", "date", "decimal(38,18)"):
        name = name_of(kind)
        assert by_duckdb[name].cast(wanted[name].type).to_pylist() == wanted[name].to_pylist()


def test_other_engines_read_orc_from_1583_on_as_it_was_written(
    spark: SparkSession, sinks: Sinks, tmp_path: Path
) -> None:
    kinds = [kind for kind in SHARED if kind not in ("date", "timestamp", "timestamp_ntz")]
    rows = border_values(spark, kinds).selectExpr("*", "DATE '1582-10-15' AS d")
    sinks.write(Orc(f"{tmp_path}/out"), rows)
    (file,) = (tmp_path / "out").glob("part-*")
    wanted = rows.toArrow().sort_by("id")
    assert _plain(orc.read_table(file).sort_by("id")) == _plain(wanted)


CSV_TYPES = {
    "boolean": "BOOLEAN", "tinyint": "TINYINT", "smallint": "SMALLINT", "int": "INT", "bigint": "BIGINT",
    "float": "FLOAT", "double": "DOUBLE", "decimal(38,0)": "DECIMAL(38,0)", "decimal(38,38)": "DECIMAL(38,38)",
    "decimal(38,18)": "DECIMAL(38,18)", "decimal(9,2)": "DECIMAL(9,2)", "string": "VARCHAR", "char(3)": "VARCHAR",
    "varchar(3)": "VARCHAR", "date": "DATE", "timestamp": "TIMESTAMPTZ", "timestamp_ntz": "TIMESTAMP",
}  # fmt: skip
"""Types that CSV takes, and DuckDB's names of them."""


@pytest.mark.parametrize("escape", ["\\", '"'])
@pytest.mark.parametrize("reader", ["DuckDB", "pyarrow"])
def test_other_engines_read_csv_as_the_docs_say(
    escape: str, reader: str, spark: SparkSession, sinks: Sinks, tmp_path: Path
) -> None:
    differing = set()
    for kind in CSV_TYPES:
        path = f"{tmp_path}/{name_of(kind)}"
        rows = border_values(spark, [kind]).coalesce(1).withColumnRenamed(name_of(kind), "c")
        options = {"multiLine": "true", "escape": escape}
        sinks.write(Csv(path, options=options), rows)
        (file,) = Path(path).glob("part-*")
        wanted = rows.toArrow().sort_by("id")
        read = _csv_by_duckdb if reader == "DuckDB" else _csv_by_pyarrow
        try:
            found = read(file, escape, kind, wanted["c"].type)
        except (duckdb.Error, pa.ArrowInvalid):
            differing.add(kind)
            continue
        if _plain(found) != _plain(wanted):
            differing.add(kind)
    said = {(who, sign): cell for who, sign, cell in rows_of_the_docs("CSV in other readers")}
    names = ", ".join(f"`{kind.upper()}`" for kind in CSV_TYPES if kind in differing) or "none"
    assert said[reader, f"`{escape}`"].partition(":")[0] == names


def _csv_by_duckdb(file: Path, escape: str, kind: str, type: pa.DataType) -> pa.Table:
    columns = f"{{'id': 'INT', 'c': '{CSV_TYPES[kind]}'}}"
    said = f"auto_detect = false, header = true, allow_quoted_nulls = false, new_line = '\\n', columns = {columns}"
    query = f"FROM read_csv('{file}', {said}, quote = '\"', escape = '{escape}') ORDER BY id"
    found = _by_duckdb(query)
    return found.set_column(1, "c", found["c"].cast(type)) if kind.startswith("time") else found


def _csv_by_pyarrow(file: Path, escape: str, kind: str, type: pa.DataType) -> pa.Table:
    assert kind in CSV_TYPES
    found = csv.read_csv(
        file,
        parse_options=csv.ParseOptions(newlines_in_values=True, escape_char=False if escape == '"' else escape),
        convert_options=csv.ConvertOptions(
            column_types={"id": pa.int32(), "c": type},
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    return found.sort_by("id")


def test_other_engines_read_the_lines_of_json_as_they_were_written(
    spark: SparkSession, sinks: Sinks, tmp_path: Path
) -> None:
    kinds = ["bigint", "double", "decimal(38,18)", "string", "date", "timestamp_ntz"]
    rows = border_values(spark, kinds)
    wanted = rows.toArrow().sort_by("id")
    sinks.write(Json(f"{tmp_path}/json"), rows)
    types = "{id: 'INT', string: 'VARCHAR', timestamp_ntz: 'TIMESTAMP', bigint: 'BIGINT', date: 'DATE'}"
    lines = f"read_json('{tmp_path}/json/*.json', columns = {types}, format = 'newline_delimited')"
    found = _by_duckdb(f"FROM {lines} ORDER BY id")
    for name in ("string", "timestamp_ntz", "bigint", "date"):
        assert found[name].cast(wanted[name].type).to_pylist() == wanted[name].to_pylist(), name


def _by_duckdb(query: str) -> pa.Table:
    found = duckdb.sql(query)
    assert found is not None
    return found.to_arrow_table()


def _plain(table: pa.Table) -> list[dict[str, object]]:
    """Return rows as Python's values in which NaN equals itself, -0.0 is not 0.0, and order of columns is nothing."""
    return [{name: repr(value) for name, value in sorted(row.items())} for row in table.to_pylist()]
