"""JSON files of a nasty alphabet: their records are what Python's reader finds in them, or are set aside, or fail.

Many files are drawn, and read in one job: each is in a folder `n=…`, so that each row says of which file it is.
"""

from __future__ import annotations

import codecs
import gzip
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructType

from graph_compiler import Json
from graph_compiler.spark_runtime.columns.declared_schema import parse_schema, type_words
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.connectors.source import MISFIT
from graph_compiler.spark_runtime.connectors.text_records import MARK, ODD_KEY
from graph_compiler.spark_runtime.results.pinned_settings import pinned
from tests.harness.text_values import MISFITS, typed

pytestmark = [pytest.mark.spark, pytest.mark.ci]

SCHEMA = (
    "id INT, name STRING, price DECIMAL(30,20), x DOUBLE, big BIGINT, b BOOLEAN, day DATE, "
    "pos STRUCT<lat: DOUBLE, Code: STRING, at: STRUCT<day: DATE>>, tags ARRAY<STRING>, "
    "nums ARRAY<DECIMAL(9,2)>, counts ARRAY<INT>, m MAP<STRING, INT>, xs ARRAY<DOUBLE>, "
    "items ARRAY<STRUCT<price: DECIMAL(30,20), name: STRING, n: INT>>, notes ARRAY<STRUCT<n: INT, text: STRING>>"
)
WHOLE = ("0", "-0", "7", "-2147483648", "2147483648", "9223372036854775807", "9223372036854775808", "1" * 40)
FRACTIONS: tuple[str, ...] = (
    "1.50",
    "1.123456789012345678",
    "1.12345678901234567890123",
    "0.1",
    "1e3",
    "1E400",
    "1e-400",
)
FRACTIONS += ("5e-324", "1.0", "100e-2", "0.30000000000000004", "3.50e0", "-1.005", "123456789.99999999999999999999")
NO_NUMBERS = ("NaN", "Infinity", "-Infinity", "007", "+5", ".5", "5.", "-", "0x10", "1_0", "1,5", "1e", "tru", "nul")
TEXTS: tuple[str, ...] = (
    '"a"',
    '""',
    '"5"',
    '"1.50"',
    '"3,50"',
    '"2024-01-05"',
    '"2024-1-5"',
    '"2024"',
    '"2024-01-05 banana"',
    '"null"',
)
TEXTS += (
    r'"a\"b"',
    r'"\\"',
    r'"}{][,:"',
    r'"\u00e9\ud83d\ude00"',
    r'"\ud83d"',
    r'"\udE00x"',
    r'"\u0000"',
    '"Zoë🙂\u2028"',
)
TEXTS += (
    '"NaN"',
    '"Infinity"',
    '"1e400"',
    '"true"',
    '"TRUE"',
    r'"a\nb"',
    r'"\ud83d\u0041"',
    r'"\\ud83d"',
    '"it\'s"',
    '" 5"',
)
TEXTS += ('"1.5E7"', '"12.0"', '"\x7f"', r'"\/"', r'"\x"', '"a\tb"', '"a', 'a"', r'"\u12"', '"/* c */"', '"\ufeff"')
NESTED: tuple[str, ...] = (
    "[]",
    "{}",
    "[1.50, 1e30]",
    '{"a": 1.123456789012345678901}',
    '{"lat": 1.5, "Code": "x"}',
    '{"CODE": "x"}',
)
NESTED += (
    '["a", null, 1.50]',
    "[1, 2]",
    '{"k": 1, "l": null}',
    '{"at": {"day": "2024-01-05"}}',
    '{"at": {"DAY": null}}',
)
NESTED += (
    "[1.5, 2.005]",
    '[1.5, "2.25"]',
    "[[1]]",
    '{"k": 1.5}',
    "[1e400, 1]",
    '{"at": []}',
    '{"lat": "NaN", "lat": 2}',
)
NESTED += ("[1, 2", '{"a"}', "[,]", "{1: 2}", "[true]", '{"at": {"day": "2024"}}')
VALUES = (*WHOLE, *FRACTIONS, *NO_NUMBERS, *TEXTS, *NESTED, "true", "false", "null")
FITTING = {
    "id": ("1", "-2", "2147483647", '"5"', "null"),
    "name": ('"a"', '"Zoë"', '""', r'"a\nb"', "1.50", "true", "1E5", "null", r'"\ud83d\ude00"', "[1.50, 1e30]"),
    "price": ("1.50", "3", '"2.5"', "1e3", "1.12345678901234567890", "null"),
    "x": ("1.5", "NaN", '"NaN"', "-Infinity", "5e-324", "3", "null", "0.30000000000000004"),
    "big": ("9223372036854775807", "-1", "null"),
    "b": ("true", "false", '"true"', "null"),
    "day": ('"2024-02-29"', "null"),
    "pos": ('{"lat": 1.5, "Code": "x"}', '{"lat": null, "other": [1]}', "null", '{"at": {"day": "2024-01-05"}}', "{}"),
    "tags": ('["a", null, 1.50]', "[]", "null"),
    "nums": ("[1.5, 2]", "[]", '["1.25", null]'),
    "counts": ("[1, 2]", "[null]"),
    "m": ('{"k": 1, "l": null}', "{}"),
    "xs": ("[1.5, 0.1]", "[1]"),
    "items": ('[{"price": 1.12345678901234567890, "name": 1.5, "n": 1}, null]', '[{"price": 1, "name": -0}, {}]'),
    "notes": ('[{"n": 1, "text": "a"}]', '[{"text": 1.50}, {"n": 7, "text": 1e30}]', '[{"n": null, "text": [1.50]}]'),
}  # fmt: skip
KEYS = (*FITTING, "ID", "Name", "PRICE", "other", r"\u0069d", "", "a.b", "it's", "Pos")


FILES = 240
"""Number of drawn files."""
ALONE = 6
"""Number of files that are read one by one."""


class Number(str):
    """The text of a number, of NaN, or of an infinity."""


class Pairs(tuple[tuple[str, object], ...]):
    """An object: its keys with their values, in order."""


@dataclass(frozen=True)
class Written:
    """A file as it was drawn."""

    content: bytes
    name: str = "part.json"


def draw_record(dice: Random, *, is_odd: bool) -> str:
    """Draw one record; most of its values fit, since several faults in one record hide each other."""
    names = dice.sample(tuple(FITTING), dice.randint(0, 6))
    pairs = [(name, dice.choice(FITTING[name])) for name in names]
    how = dice.choice(("value", "value", "value", "key", "again", "cut", "two", "no object", "tail")) if is_odd else ""
    if how == "value":
        pairs.append((dice.choice(tuple(FITTING)), dice.choice(VALUES)))
    elif how == "key":
        pairs.append((dice.choice(KEYS), dice.choice(VALUES)))
    elif how == "again" and pairs:
        pairs.append((pairs[0][0], dice.choice(FITTING[pairs[0][0]])))
    elif how == "no object":
        return dice.choice(VALUES)
    blank = dice.choice(("", " ", "  "))
    text = "{" + f",{blank}".join(f'"{key}":{blank}{value}' for key, value in pairs) + "}"
    if how == "cut":
        return text[: -dice.randint(1, min(12, len(text)))]
    if how == "two":
        return text + dice.choice(("", " ", ",")) + text
    if how == "tail":
        return text + dice.choice((" ", "x", ",", "}", "]", "\t", "//", " null", "]}", "],1", "],[{}"))
    return text


def draw_file(dice: Random) -> Written:
    """Draw a file of lines; one record in it at most is not ordinary."""
    count = dice.randint(1, 4)
    odd = dice.randint(-2, count - 1)
    lines = [draw_record(dice, is_odd=number == odd) for number in range(count)]
    end = dice.choice(("\n", "\n", "\r\n", "\r"))
    shape = dice.choice(("lines",) * 6 + ("list", "blank", "no end", "mark", "gz", "latin", "byte", "cut"))
    if shape == "list":
        lines = ["[" + ", ".join(lines) + "]"]
    if shape == "blank":
        lines.insert(dice.randint(0, len(lines)), dice.choice(("", "  ")))
    text = end.join(lines) + ("" if shape == "no end" else end)
    content = text.encode("latin-1", "replace") if shape == "latin" else text.encode()
    if shape == "mark":
        content = codecs.BOM_UTF8 + content
    if shape == "byte":
        place = dice.randint(0, len(content) - 1)
        content = content[:place] + dice.choice((b"\xff", b"\xc3", b"\x00")) + content[place:]
    if shape == "cut":
        content = content[: dice.randint(0, len(content))]
    if shape == "gz":
        return Written(gzip.compress(content, mtime=0), "part.json.gz")
    return Written(content)


def lines_of(file: Written) -> Iterator[bytes]:
    """Yield the lines of a file that are not blank."""
    content = gzip.decompress(file.content) if file.name.endswith(".gz") else file.content
    for line in re.split(rb"\r\n|\n|\r", content.removeprefix(codecs.BOM_UTF8)):
        if line.strip(b" "):
            yield line


def parsed(line: bytes) -> list[object]:
    """Return the records in a line, as Python reads them: one, or those of a list; MISFITS instead of what is none."""
    try:
        found = json.loads(
            line.decode(), object_pairs_hook=Pairs, parse_float=Number, parse_int=Number, parse_constant=Number
        )
    except ValueError:
        return [MISFITS]
    if has_half_pair(found) and isinstance(found, list):
        return [MISFITS]
    return found if isinstance(found, list) else [found]


def has_half_pair(found: object) -> bool:
    """Whether a text has half of a surrogate pair: no UTF-8 has it, so Spark would read something else."""
    if isinstance(found, str):
        return re.search("[\ud800-\udfff]", found) is not None
    return isinstance(found, list | tuple) and any(map(has_half_pair, found))


def is_plain(kind: DataType) -> bool:
    return not isinstance(kind, StructType | ArrayType | MapType)


def value_of(found: object, kind: DataType, *, is_checked: bool = True) -> object:
    """Return the value that a field has, MISFITS if it does not fit; text of JSON as what is in it."""
    if found is None:
        return None
    if isinstance(kind, StringType):
        return text_of(found)
    if not is_plain(kind):
        return nested_value(found, kind)
    if isinstance(found, list | Pairs):
        return MISFITS
    if not is_checked and type(found) is not Number:
        is_name = type_words(kind) == "DOUBLE" and found in ("NaN", "Infinity", "-Infinity")
        return typed(str(found), "DOUBLE") if is_name else MISFITS
    return typed(str(text_of(found)), type_words(kind))


def nested_value(found: object, kind: DataType) -> object:
    if not isinstance(found, list if isinstance(kind, ArrayType) else Pairs):
        return MISFITS
    values: object = MISFITS
    items: list[object] = []
    if isinstance(kind, StructType) and isinstance(found, Pairs):
        items = values = [value for _, value in fields_of(found, kind)]
    elif isinstance(kind, ArrayType) and isinstance(found, list):
        items = values = [value_of(one, kind.elementType, is_checked=is_leaf_checked(kind)) for one in found]
    elif isinstance(kind, MapType) and isinstance(found, Pairs):
        pairs = [(key, value_of(one, kind.valueType, is_checked=is_leaf_checked(kind))) for key, one in found]
        items, values = [value for _, value in pairs], dict(pairs)
    return MISFITS if MISFITS in items else values


def is_leaf_checked(kind: ArrayType | MapType) -> bool:
    """Whether texts in a list or map are read like those of columns: Spark's reader takes only numbers for others."""
    inner = kind.elementType if isinstance(kind, ArrayType) else kind.valueType
    return type_words(inner) not in ("INT", "DOUBLE")


def text_of(found: object) -> object:
    if isinstance(found, bool):
        return str(found).lower()
    if isinstance(found, str):
        return found
    return found


def fields_of(found: Pairs, columns: StructType) -> list[tuple[str, object]]:
    """Return the value of each column; MISFITS also if a key differs from its name in case only."""
    there = dict(found)
    odd = {key.lower() for key in there if key not in columns.names}
    return [
        (
            c.name,
            MISFITS if there.get(c.name) is None and c.name.lower() in odd else value_of(there.get(c.name), c.dataType),
        )
        for c in columns
    ]


def is_same(value: object, expected: object) -> bool:
    """Whether Spark's value is the expected one; text of JSON is compared by what is in it."""
    if isinstance(expected, list | Pairs) and isinstance(value, str):
        return parsed(b"[" + value.encode() + b"]") == [expected]
    if isinstance(expected, dict) and isinstance(value, dict):
        return value.keys() == expected.keys() and all(is_same(value[key], one) for key, one in expected.items())
    if isinstance(expected, list) and isinstance(value, list | Row):
        return len(value) == len(expected) and all(map(is_same, value, expected))
    if isinstance(expected, float) and isinstance(value, float):
        return repr(value + 0.0) == repr(expected + 0.0)
    return value == expected and isinstance(value, bool) == isinstance(expected, bool)


def write(folder: Path, drawn_files: Sequence[Written]) -> None:
    for number, file in enumerate(drawn_files):
        (folder / f"n={number}").mkdir(parents=True)
        (folder / f"n={number}" / file.name).write_bytes(file.content)


FEW_JOBS = {
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
    "spark.sql.files.openCostInBytes": "1000",
}


def rows_by_file(source: Json, spark: SparkSession, count: int) -> list[list[Row]]:
    """Return the rows of each file in their order."""
    with pinned(spark, FEW_JOBS):
        rows = read_source(source, spark).collect()
    found: list[list[Row]] = [[] for _ in range(count)]
    for row in rows:
        found[row.n].append(row)
    return found


@dataclass(frozen=True)
class Drawn:
    """Files in a folder, and their columns; `is_whole`: each file is one value over several lines."""

    folder: Path
    files: Sequence[Written]
    columns: StructType
    is_whole: bool = False

    @property
    def options(self) -> dict[str, str]:
        return {"multiLine": "true"} if self.is_whole else {}

    def records(self, file: Written) -> list[object]:
        """Return each record as the values of its columns by name, MISFITS for what is no object."""
        lines = [file.content] if self.is_whole else lines_of(file)
        return [
            dict(fields_of(one, self.columns)) if isinstance(one, Pairs) and not has_half_pair(one) else MISFITS
            for line in lines
            for one in parsed(line)
        ]

    def wrong(self, by_file: Sequence[Sequence[Row]], compare: Callable[[Row, object], Iterator[object]]) -> list[str]:
        """Return what differs, that of short files first: it is mostly the simplest."""
        found: list[tuple[bytes, object]] = []
        for file, rows in zip(self.files, by_file, strict=True):
            records = self.records(file)
            if len(rows) == len(records):
                pairs = zip(rows, records, strict=True)
                found += [(file.content, each) for row, record in pairs for each in compare(row, record)]
            elif not (records == [MISFITS] and any(MISFIT in row and row[MISFIT] for row in rows)):  # in a list
                found.append((file.content, f"{len(rows)} rows, {len(records)} records"))
        return [f"{each}\n   in {content[:300]!r}" for content, each in sorted(found, key=lambda one: len(one[0]))]


def columns_of(spark: SparkSession, schema: str) -> StructType:
    """Return declared columns; only Spark can parse them."""
    assert spark.version
    return parse_schema(schema)


@pytest.fixture(scope="module")
def many(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    """Each value in each column, in a line and in a list; and drawn files."""
    dice, folder = Random(35), tmp_path_factory.mktemp("json")
    values = [(name, value) for name, fitting in FITTING.items() for value in (*VALUES, *fitting)]
    each = [f'{{"{name}": {value}}}' for name, value in values]
    each += ['{"x": NaN, "ID": 1}', '{"pos": {"lat": -Infinity, "CODE": "x"}}']
    tables = ["\n".join(each), "\n".join(f"[{record}]" for record in each)]
    drawn = [Written(table.encode()) for table in tables] + [draw_file(dice) for _ in range(FILES)]
    write(folder, drawn)
    return Drawn(folder, drawn, columns_of(spark, SCHEMA))


@pytest.fixture(scope="module")
def whole(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    """Files that are one object or one list over several lines."""
    dice, folder = Random(36), tmp_path_factory.mktemp("whole")
    drawn = []
    for _ in range(FILES // 2):
        count = dice.randint(0, 3)
        odd = dice.randint(-2, count)
        records = [draw_record(dice, is_odd=number == odd).replace(", ", ",\n ") for number in range(count)]
        text = "[\n" + ",\n".join(records) + dice.choice(("\n]\n", "]", "\r\n]"))
        alone = draw_record(dice, is_odd=odd == count).replace(":", ":\n")
        text = dice.choice((text, text, alone, f"\n\n{alone}\n", text + text, text[:-2]))
        drawn.append(Written(text.encode() if text.strip() else b"{}"))
    write(folder, drawn)
    return Drawn(folder, drawn, columns_of(spark, SCHEMA), is_whole=True)


@pytest.mark.parametrize("name", ["many", "whole"])
def test_each_record_has_the_values_that_python_finds_or_is_set_aside(
    name: str, spark: SparkSession, request: pytest.FixtureRequest
) -> None:
    drawn: Drawn = request.getfixturevalue(name)
    source = Json(str(drawn.folder), schema=f"{SCHEMA}, n INT", rejects="bad", options=drawn.options)
    wrong = drawn.wrong(rows_by_file(source, spark, len(drawn.files)), differences)
    assert not wrong, "\n".join(wrong)


def differences(row: Row, record: object) -> Iterator[object]:  # noqa: C901  # one step for each way to differ
    """Yield where a row, or what was set aside, is not the record."""
    misfit = row[MISFIT]
    if not isinstance(record, dict):
        if misfit is None or misfit.column is not None:
            yield f"this is no record: {row}"
        return
    at_fault = [name for name, value in record.items() if value is MISFITS]
    if misfit is not None and f"/n={row.n}/part" not in misfit.file:
        yield f"{misfit.file} is not the file"
    if at_fault and misfit is None:
        yield f"{at_fault} do not fit, in {row}"
    elif at_fault and misfit.column not in (None, at_fault[0]):
        yield f"{misfit.column} is named, and {at_fault} do not fit"
    elif misfit is not None and not at_fault:
        if misfit.reason != ODD_KEY or None not in record.values():
            yield f"a record that fits was set aside: {misfit}"
    elif misfit is None:
        yield from values_that_differ(row, record)


def values_that_differ(row: Row, record: dict[str, object]) -> Iterator[str]:
    for name, value in record.items():
        if value is not MISFITS and not is_same(row[name], value):
            yield f"{name} is {row[name]!r}, and should be {value!r}"


def test_a_value_that_does_not_fit_is_null_and_the_others_are_read(many: Drawn, spark: SparkSession) -> None:
    def lenient(row: Row, record: object) -> Iterator[object]:
        if not isinstance(record, dict):
            return
        at_fault = [name for name, value in record.items() if value is MISFITS]
        wrong = [name for name in at_fault if row[name] is not None and is_plain(many.columns[name].dataType)]
        if wrong:
            yield f"{wrong} should be NULL in {row}"
        if not at_fault:
            yield from values_that_differ(row, record)

    source = Json(str(many.folder), schema=f"{SCHEMA}, n INT", on_misfit="null")
    wrong = many.wrong(rows_by_file(source, spark, len(many.files)), lenient)
    assert not wrong, "\n".join(wrong)


def is_clean(records: Sequence[object]) -> bool:
    return all(isinstance(one, dict) and MISFITS not in one.values() for one in records)


def test_files_whose_records_fit_are_read_and_each_other_file_fails(
    many: Drawn, spark: SparkSession, tmp_path: Path
) -> None:
    clean = [file for file in many.files if is_clean(many.records(file))]
    assert len(many.files) * 0.9 > len(clean) > len(many.files) / 4
    write(tmp_path / "clean", clean)
    source = Json(str(tmp_path / "clean"), schema=f"{SCHEMA}, n INT", rejects="odd keys")
    found = rows_by_file(source, spark, len(clean))
    assert sum(row[MISFIT] is None for rows in found for row in rows) > len(clean)
    bad = [file for file in many.files[2:] if not is_clean(many.records(file))]
    for number, file in enumerate(bad[:ALONE]):
        path = tmp_path / f"{number}" / file.name
        path.parent.mkdir()
        path.write_bytes(file.content)
        with pytest.raises(PySparkException, match=MARK) as failure:
            read_source(Json(str(path.parent), schema=SCHEMA), spark).collect()
        assert f'"file":"file:{path}"' in str(failure.value)
        assert '"record":' in str(failure.value)


FAMILIES = {
    "whole": ("1", "-7", "2147483648", "9223372036854775808", "null", "0"),
    "fractions": ("1.5", "0.30000000000000004", "1", "1e30", "null", "1.12345678901234567", "123456789012345678"),
    "texts": ('"a"', '"1.50"', '"007"', "1.50", "true", "null", '"2024-01-05"', "-0", "1E5"),
    "structs": ('{"a": 1}', '{"a": 1.5, "b": "x"}', "{}", "null", '{"a": "x"}'),
    "lists": ("[1, 2]", "[]", "[1.5, null]", '["a", 1.50]', "null", "[[1]]"),
    "truth": ("true", "false", "null"),
}
"""Values of a column whose type is inferred."""


@pytest.mark.parametrize("seed", range(5))
def test_an_inferred_column_has_the_values_that_are_in_the_files(
    seed: int, spark: SparkSession, tmp_path: Path
) -> None:
    dice = Random(seed)
    drawn = []
    for _ in range(12):
        lines = []
        for _ in range(dice.randint(1, 4)):
            names = dice.sample(tuple(FAMILIES), dice.randint(1, len(FAMILIES)))
            pairs = [f'"{name}": {dice.choice(FAMILIES[name][: seed + 2])}' for name in names]
            lines.append("{" + ", ".join(pairs) + "}")
        drawn.append(Written("\n".join(lines).encode()))
    write(tmp_path, drawn)
    source = Json(str(tmp_path), rejects="bad")
    columns = StructType([field for field in read_source(source, spark).schema if field.name not in ("n", MISFIT)])
    found = rows_by_file(source, spark, len(drawn))
    wrong = Drawn(tmp_path, drawn, columns).wrong(found, differences)
    assert not wrong, f"{columns.simpleString()}\n" + "\n".join(wrong)
