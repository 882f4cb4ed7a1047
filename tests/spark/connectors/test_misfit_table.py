"""The table of docs/connectors.md, each cell of which is tried with a file."""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from graph_compiler import Csv, Json
from graph_compiler.errors import SchemaChangedError
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.connectors.text_records import MARK
from tests.harness.tables import cells_below

pytestmark = [pytest.mark.spark, pytest.mark.ci]
PAGE = Path(__file__).parents[3] / "docs" / "connectors.md"
HEADING = "### What does not fit"
FORMATS = {"CSV": Csv, "JSON": Json}


@dataclass(frozen=True)
class Kind:
    """Files by name, for each format, and the columns that are declared."""

    schema: str
    csv: Mapping[str, bytes] | None = None
    json: Mapping[str, bytes] | None = None
    options: Mapping[str, str] = field(default_factory=dict)


def one(text: str, encoding: str = "utf-8") -> dict[str, bytes]:
    return {"a": text.encode(encoding)}


MULTI_LINE = {"multiLine": "true"}
KINDS = {
    "text in a column of numbers": Kind("n INT", one("n\nx\n"), one('{"n": "x"}')),
    "decimal comma: `3,50`": Kind("n DECIMAL(9, 2), k STRING", one('n,k\n"3,50",a\n'), one('{"n": "3,50", "k": "a"}')),
    "more digits than the declared DECIMAL has": Kind("n DECIMAL(9, 2)", one("n\n1.005\n"), one('{"n": 1.005}')),
    "a date with something behind it, or only a year": Kind(
        "d DATE", one("d\n2024-01-05 banana\n"), one('{"d": "2024-01-05 banana"}')
    ),
    "a number for a TIMESTAMP": Kind("t TIMESTAMP", one("t\n1711849800000\n"), one('{"t": 1711849800000}')),
    "zeros in front of a number: `007`": Kind("n INT", one("n\n007\n"), one('{"n": "007"}')),
    "a plus in front of a number: `+49`": Kind("n INT", one("n\n+49\n"), one('{"n": "+49"}')),
    "a code that could be a number: `12E4`": Kind("n DOUBLE", one("n\n12E4\n"), one('{"n": "12E4"}')),
    "an empty line": Kind("n INT", one("n\n1\n\n2\n"), one('{"n": 1}\n\n{"n": 2}\n')),
    "too few or too many fields": Kind("a INT, b INT", one("a,b\n1\n1,2,3\n"), None),
    "a quoted value that continues in the next line": Kind("a STRING, b STRING", one('a,b\n1,"x\ny"\n'), None),
    "quotes written twice, without `escape`": Kind("a STRING, b STRING", one('a,b\n1,"say ""hi"""\n'), None),
    "a quote that is never closed, with `multiLine`": Kind(
        "a STRING, b STRING", one('a,b\n1,"x\n2,y\n'), options=MULTI_LINE
    ),
    "text after a closing quote": Kind("a STRING, b STRING", one('a,b\n1,"x"y\n')),
    "line ends that differ, with `multiLine`": Kind("a INT, b STRING", one("a,b\r\n1,x\n2,y\r\n"), options=MULTI_LINE),
    "a header in another order": Kind("a STRING, b STRING", {"1": b"a,b\nx,y\n", "2": b"b,a\nx,y\n"}, None),
    "a file without the header, a column of numbers": Kind(
        "a INT, b STRING", {"1": b"a,b\n1,y\n", "2": b"2,y\n"}, None
    ),
    "letters that are not UTF-8": Kind("a STRING", one("a\nMüller\n", "latin-1"), one('{"a": "Müller"}', "latin-1")),
    "UTF-16": Kind("a INT, b INT", one("a,b\n1,2\n", "utf-16"), one('{"a": 1}', "utf-16")),
    "gzip in a file whose name does not say so": Kind(
        "a INT, b INT", {"a.csv": gzip.compress(b"a,b\n1,2\n")}, {"a.json": gzip.compress(b'{"a": 1, "b": 2}\n')}
    ),
    "a key whose case differs from the column's": Kind(
        "a INT, b INT", None, one('{"a": 1, "b": 2}\n{"A": 1, "b": 2}\n')
    ),
    "such a key in a list of objects": Kind(
        "l ARRAY<STRUCT<a: INT>>", None, one('{"l": [{"a": 1}]}\n{"l": [{"A": 1}]}\n')
    ),
    "a key that occurs twice": Kind("a INT", None, one('{"a": 1, "a": 2}\n')),
    "numbers in a list, in a STRING column: `[1.10]`": Kind("a STRING", None, one('{"a": [1.10]}\n')),
    "half of a surrogate pair: `\\ud800`": Kind("a STRING", None, one('{"a": "\\ud800"}\n')),
    "one list over several lines, without `multiLine`": Kind("a INT", None, one('[\n{"a": 1},\n{"a": 2}\n]\n')),
    "a line that is cut, or two objects in one line": Kind("a INT", None, one('{"a": 1}{"a": 2}\n{"a": 3\n')),
    "a text longer than its CHAR or VARCHAR": Kind("a VARCHAR(2)", one("a\nabc\n"), one('{"a": "abc"}\n')),
    "more than six digits of a second": Kind(
        "t TIMESTAMP", one("t\n2024-03-15 10:00:00.1234567\n"), one('{"t": "2024-03-15 10:00:00.1234567"}\n')
    ),
    "a part of a time: `2024-01`, `10:30`": Kind(
        "t TIMESTAMP", one("t\n2024-01\n10:30\n"), one('{"t": "2024-01"}\n{"t": "10:30"}\n')
    ),
    "a column that is in the file and in the name of its folder, with another value": Kind(
        "a INT, v INT", {"v=1/a": b"a,v\n1,7\n"}, {"v=1/a": b'{"a": 1, "v": 7}\n'}
    ),
    "a key that is missing": Kind("a INT, b INT", None, one('{"a": 1, "b": 2}\n{"a": 1}\n')),
}
CELLS = [
    (kind, format, is_declared)
    for kind, each in KINDS.items()
    for format, files in (("CSV", each.csv), ("JSON", each.json))
    if files is not None
    for is_declared in (True, False)
]


def documented(kind: str, format: str, *, is_declared: bool) -> str:
    column = f"{format}, {'declared' if is_declared else 'inferred'}"
    return {row["kind"]: row for row in cells_below(PAGE, HEADING)}[kind][column]


def outcome(source: Csv | Json, spark: SparkSession) -> str:
    try:
        rows = read_source(source, spark).collect()
    except SchemaChangedError:
        return "fails"
    except PySparkException as error:
        is_twice = error.getCondition() == "COLUMN_ALREADY_EXISTS"  # Spark infers no such schema
        return "fails" if MARK in str(error) or is_twice else str(error)
    return "NULL" if any(None in tuple(row) for row in rows) else "read"


@pytest.mark.parametrize(("kind", "format", "is_declared"), CELLS)
def test_a_misfit_is_treated_as_the_table_says(
    kind: str, format: str, is_declared: bool, spark: SparkSession, tmp_path: Path
) -> None:
    files = KINDS[kind].csv if format == "CSV" else KINDS[kind].json
    for name, content in (files or {}).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    schema = KINDS[kind].schema if is_declared else None
    options = dict(KINDS[kind].options)
    found = outcome(FORMATS[format](str(tmp_path), schema=schema, options=options), spark)
    cell = documented(kind, format, is_declared=is_declared)
    assert found == cell.partition(":")[0], f"{found}, and the table says {cell}"


def test_every_kind_is_in_the_table_and_every_row_is_tried() -> None:
    assert {row["kind"] for row in cells_below(PAGE, HEADING)} == set(KINDS)
