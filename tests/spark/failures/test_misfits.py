"""The hints for a record that does not fit: the option that would read it, with its value."""

import gzip
import re

import pytest

from graph_compiler import Csv, Json, Text
from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.spark_runtime.connectors import text_records as reasons
from graph_compiler.spark_runtime.failures.misfits import Misfit, misfit_lines

pytestmark = [pytest.mark.spark, pytest.mark.ci]
CSV, JSON = Csv("/in", schema="a INT"), Json("/in", schema="a INT")


def hints(misfit: Misfit, connector: FileConnector, head: bytes = b"") -> list[str]:
    lines = misfit_lines(misfit, connector, first_bytes=lambda _uri: head)
    found = [line.removeprefix("hint: ") for line in lines if line.startswith("hint: ")]
    return [hint for hint in found if not hint.startswith('rejects="bad"')]


def of_record(record: str, reason: str) -> Misfit:
    return Misfit(file="file:/in/a.csv", record=record, reason=reason)


USES_COMMAS = 'if the comma is between thousands, declare options={"locale": "en-US"}'
INFERRED = "Spark inferred this type from the files: declare schema= with STRING for this column"
HAS_COMMA = 'if the comma is the decimal point, declare options={"locale": "de-DE"}'


def of_value(text: str, type: str) -> Misfit:
    return Misfit(file="file:/in/a.csv", record=text, reason=f"it does not fit {type}", column="a", text=text)


@pytest.mark.parametrize(
    ("record", "reason", "connector", "expected"),
    [
        ('1,"say ""hi"""', reasons.OPEN_QUOTE, CSV, 'options={"escape": "\\""}'),
        ('1,"Main St', reasons.OPEN_QUOTE, CSV, 'options={"multiLine": "true"}'),
        ('1,"5 feet" tall', reasons.OPEN_QUOTE, CSV, 'options={"quote": ""}'),
        ("1;2;3", reasons.WRONG_NUMBER, CSV, 'options={"sep": ";"}'),
        ("1\t2", reasons.WRONG_NUMBER, CSV, 'options={"sep": "\\\\t"}'),
        ("[", reasons.NOT_JSON, JSON, 'options={"multiLine": "true"}'),
        ('{"a": 1}{"a": 2}', reasons.NOT_JSON, JSON, "write each in a line of its own"),
        ('{"A": 1}', reasons.ODD_KEY, JSON, "write this key as the column is declared"),
        ("1,", reasons.IS_NULL, CSV, "leave out NOT NULL"),
        ("1\r", reasons.LINE_BREAK, CSV, 'options={"lineSep": "\\\\n"}'),
    ],
)
def test_a_record_has_the_option_that_reads_it(
    record: str, reason: str, connector: FileConnector, expected: str
) -> None:
    assert any(expected in hint for hint in hints(of_record(record, reason), connector))


@pytest.mark.parametrize(
    ("record", "options", "expected"),
    [
        ('1,"Main St', {}, ["multiLine"]),
        (r'1,"C:\dir\",x', {}, ["escape"]),
        (r'1,"C:\dir\"', {}, ["escape"]),
        (r'1,"C:\dir\"', {"escape": '"'}, ["multiLine"]),
        ('1,"say ""hi""",Rome', {}, ["escape", "multiLine"]),
        ('1,"a","Main St', {}, ["multiLine"]),
        ('1,"5 feet" tall', {}, ["quote"]),
        ('"5 feet" tall', {}, ["quote"]),
        ('say "', {"multiLine": "true"}, ["escape"]),
        ('say "', {"multiLine": "true", "escape": '"'}, ["quote"]),
    ],
)
def test_quotes_are_taken_as_text_only_if_nothing_else_is_likely(
    record: str, options: dict[str, str], expected: list[str]
) -> None:
    """A value over two lines would become two records."""
    connector = Csv("/in", schema="a INT", options=options)
    found = hints(of_record(record, reasons.OPEN_QUOTE), connector)
    assert [re.findall(r'options=\{"(\w+)"', hint) for hint in found] == [[it] for it in expected]


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("Müller\n".encode("latin-1"), '"encoding": "ISO-8859-1"'),
        ("10 €\n".encode("windows-1252"), '"encoding": "windows-1252"'),
        ("a,b\n".encode("utf-16"), '"encoding": "UTF-16"'),
        ("a,b\n".encode("utf-16-le"), '"encoding": "UTF-16LE"'),
        (gzip.compress(b"a", mtime=0), "compressed with gzip"),
        (gzip.compress(b"PAR1\x15\xff", mtime=0), "compressed with gzip"),
        (b"PK\x03\x04", "a zip archive or a workbook, which Spark cannot read"),
        (b"\xfd7zXZ\x00", "compressed with xz, which Spark cannot read"),
        (b"7z\xbc\xaf\x27", "a 7z archive, which Spark cannot read"),
        (b"PAR1\x15\x04\xff", "the file is Parquet: read it with Parquet(path)"),
        (b"ORC\x08\xff", "the file is ORC: read it with Orc(path)"),
        (b"Obj\x01\xff", "the file is Avro: read it with format='avro'"),
        (b"a.csv".ljust(257, b"\0") + b"ustar\xff", "a tar archive, which Spark cannot read"),
    ],
)
def test_the_first_bytes_of_a_file_show_its_encoding(head: bytes, expected: str) -> None:
    (hint,) = hints(of_record("x", reasons.WRONG_ENCODING), CSV, head)
    assert expected in hint


@pytest.mark.parametrize(
    ("text", "type", "expected"),
    [
        ("3,50", "DECIMAL(9,2)", ['decimal point, declare options={"locale": "de-DE"}']),
        ("3,50", "INT", ["declare the column as DECIMAL, and options="]),
        ("1,234", "DECIMAL(9,2)", ['"locale": "de-DE"', '"locale": "en-US"']),
        ("1,234,567.5", "DECIMAL(9,2)", ['"locale": "en-US"']),
        ("1.005", "DECIMAL(9,2)", ["to keep all digits, declare DECIMAL(10, 3)"]),
        ("NA", "INT", ['null_value="NA"']),
        (" 5", "INT", ['"ignoreLeadingWhiteSpace": "true"']),
        ("01/02/2020", "DATE", ['"dateFormat": "dd/MM/yyyy"']),
        ("noon", "TIMESTAMP", ['"timestampFormat": "dd/MM/yyyy HH:mm"']),
        ("1711849800000", "TIMESTAMP", ["milliseconds since 1970, declare BIGINT"]),
        ("1711849800", "TIMESTAMP", ["seconds since 1970, declare BIGINT"]),
        ("2024-01-05 10:00:00.1234567", "TIMESTAMP", ["six digits of a second"]),
        ("2024-01-05T10:00:00+02:00", "TIMESTAMP_NTZ", ["it has a time zone: declare TIMESTAMP"]),
        ("2024-01-05 10:00Z", "TIMESTAMP_NTZ", ["it has a time zone: declare TIMESTAMP"]),
        ("2024-01-05 noon", "TIMESTAMP_NTZ", ['"timestampNTZFormat": "dd/MM/yyyy HH:mm"']),
        ("007", "INT", ["declare schema= with STRING"]),
    ],
)
def test_a_value_has_the_declaration_that_reads_it(text: str, type: str, expected: list[str]) -> None:
    found = hints(of_value(text, type), CSV)
    assert len(found) == len(expected)
    assert all(part in hint for part, hint in zip(expected, found, strict=True))


@pytest.mark.parametrize(
    ("text", "type", "expected"),
    [
        (
            "2024-01",
            "TIMESTAMP",
            "Spark inferred this type from the files: declare schema= with STRING for this column",
        ),
        ("x", "INT", "Spark inferred this type from the files: declare schema= with STRING for this column"),
        ("007", "INT", "a number loses the zeros in front: declare schema= with STRING for this column"),
        ("+49", "INT", "a number loses the plus in front: declare schema= with STRING for this column"),
        ("10:00:00.1234567", "TIMESTAMP", "Spark keeps six digits of a second: declare STRING, and cast what you need"),
    ],
)
def test_a_value_of_an_inferred_column_has_a_schema_as_its_hint(text: str, type: str, expected: str) -> None:
    for connector in (Csv("/in"), Json("/in")):
        assert hints(of_value(text, type), connector) == [expected]


def test_a_file_that_begins_with_a_comment_has_the_option_for_it() -> None:
    wrong = of_record("id,name", reasons.WRONG_NUMBER)
    assert hints(wrong, Csv("/in"), b"# by hand\n") == [
        'if lines that begin with # are comments, declare options={"comment": "#"}'
    ]
    assert hints(wrong, Csv("/in"), b"id\n") == []
    assert hints(wrong, Csv("/in", header=False), b"# by hand\n") == []
    assert hints(wrong, Csv("/in", options={"comment": "#"}), b"# by hand\n") == []


@pytest.mark.parametrize(
    ("text", "locale", "expected"),
    [
        ("1,234", "de-DE", ["to keep all digits, declare DECIMAL(10, 3)"]),
        ("1.234,567", "de-DE", ["to keep all digits, declare DECIMAL(10, 3)"]),
        ("1,234.567", "en-US", ["to keep all digits, declare DECIMAL(10, 3)"]),
        ("1.005", "de-CH", ["to keep all digits, declare DECIMAL(10, 3)"]),
        ("1,234,567.5", "de-DE", [USES_COMMAS]),
        ("3,50", "en-US", [HAS_COMMA]),
        ("3,5,0", "de-DE", []),
    ],
)
def test_a_declared_locale_is_not_proposed_again(text: str, locale: str, expected: list[str]) -> None:
    connector = Csv("/in", schema="a DECIMAL(9, 2)", options={"locale": locale})
    assert hints(of_value(text, "DECIMAL(9,2)"), connector) == expected


@pytest.mark.parametrize(
    ("misfit", "option"),
    [
        (of_value("01/02/2020", "DATE"), {"dateFormat": "dd/MM/yyyy"}),
        (of_record("1,x", reasons.WRONG_ENCODING), {"encoding": "ISO-8859-1"}),
        (of_record('1,"say', reasons.OPEN_QUOTE), {"multiLine": "true", "escape": '"', "quote": ""}),
    ],
)
def test_an_option_that_is_declared_is_not_proposed(misfit: Misfit, option: dict[str, str]) -> None:
    assert hints(misfit, Csv("/in", schema="a INT", options=option)) == []


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ' lineSep "\\n", and options={"encoding": "UTF-16LE"}'),
        ({"multiLine": "true"}, 'declare options={"encoding": "UTF-16"}'),
    ],
)
def test_lines_of_json_in_utf_16_have_an_order_and_an_end(options: dict[str, str], expected: str) -> None:
    source = Json("/in", schema="a INT", options=options)
    (hint,) = hints(of_record("x", reasons.WRONG_ENCODING), source, '{"a": 1}'.encode("utf-16"))
    assert hint.endswith(expected)


def test_lines_of_text_are_converted_since_they_have_no_option_for_an_encoding() -> None:
    (hint,) = hints(of_record("x", reasons.WRONG_ENCODING), Text("/in"), "Müller\n".encode("latin-1"))
    assert hint == (
        "if it was written in Western European letters, convert it to UTF-8: `iconv -f ISO-8859-1 -t UTF-8`"
    )


def test_the_first_bytes_are_decompressed_by_the_name() -> None:
    misfit = Misfit(file="file:/in/a.gz", record="x", reason=reasons.WRONG_ENCODING)
    (hint,) = hints(misfit, CSV, gzip.compress("Müller\n".encode("latin-1"), mtime=0))
    assert "ISO-8859-1" in hint


def test_a_value_of_json_has_no_options_of_csv() -> None:
    assert hints(of_value("3,50", "DECIMAL(9,2)"), JSON) == []
