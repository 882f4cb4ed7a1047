"""JSON as people write it: no key is left out and no number is written in another way without a word."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import Row, SparkSession

from graph_compiler import Json
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.connectors.text_records import HALF_A_PAIR, ODD_KEY

pytestmark = [pytest.mark.spark, pytest.mark.ci]
PLAIN = "id INT, name STRING"
NESTED = "id INT, l ARRAY<STRUCT<a: INT>>, m MAP<STRING, STRUCT<a: STRUCT<b: INT>>>, s STRUCT<a: INT>"
ODD = {
    "single quotes": (PLAIN, {}, "{'ID': 1, 'name': 'a'}"),
    "names without quotes": (PLAIN, {"allowUnquotedFieldNames": "true"}, '{ID: 1, name: "a"}'),
    "comments": (PLAIN, {"allowComments": "true"}, '{/* "id": */ "ID": 1, "name": "a"}'),
    "control characters": (PLAIN, {"allowUnquotedControlChars": "true"}, '{"ID": 1, "name": "\t"}'),
    "leading zeros": (PLAIN, {"allowNumericLeadingZeros": "true"}, '{"ID": 01, "name": "a"}'),
    "both keys": (PLAIN, {}, '{"ID": 1, "id": null, "name": "a"}'),
    "in a struct": (NESTED, {}, "{'id': 1, 's': {'A': 1}, 'l': [], 'm': {}}"),
    "in a list": (NESTED, {}, '{"id": 1, "s": {"a": 1}, "l": [{"a": 1}, {"A": 2}], "m": {}}'),
    "in a map": (NESTED, {}, '{"id": 1, "s": {"a": 1}, "l": [], "m": {"k": {"a": {"B": 2}}}}'),
    "in a list of records": (PLAIN, {}, '[{"id": 1, "name": "a"}, {"ID": 2, "name": "b"}]'),
}
ENCODINGS = {
    "UTF-16LE": {"encoding": "UTF-16LE", "lineSep": "\n"},
    "ISO-8859-1": {"encoding": "ISO-8859-1"},
    "windows-1252": {"charset": "windows-1252"},
    "UTF-16": {"encoding": "UTF-16", "multiLine": "true"},
}


def rows(folder: Path, content: bytes, schema: str, options: dict[str, str], spark: SparkSession) -> list[Row]:
    (folder / "a.json").write_bytes(content)
    source = Json(f"{folder}/a.json", schema=schema, options=options, rejects="bad")
    return read_source(source, spark).collect()


@pytest.mark.parametrize("kind", ODD)
def test_a_key_in_another_case_is_found(kind: str, spark: SparkSession, tmp_path: Path) -> None:
    schema, options, record = ODD[kind]
    found = rows(tmp_path, record.encode(), schema, options, spark)
    assert [row[-1].reason for row in found if row[-1] is not None] == [ODD_KEY]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_record_in_another_encoding_is_checked(encoding: str, spark: SparkSession, tmp_path: Path) -> None:
    lines = '[{"ID": 1, "name": "Zoë"},\n{"id": 2, "name": 1.50}]'
    if encoding != "UTF-16":
        lines = '{"ID": 1, "name": "Zoë"}\n{"id": 2, "name": 1.50}\n'
    found = rows(tmp_path, lines.encode(encoding), PLAIN, ENCODINGS[encoding], spark)
    assert [(row.id, row.name, row[-1] and row[-1].reason) for row in found] == [
        (None, "Zoë", ODD_KEY),
        (2, "1.50", None),
    ]


HALVES = (r"\ud800", r"\uDC00", r"\\\ud800", r"\\ud83d\ude00", r"\ude00\ud83d", r"\ud83d\ud83d\ude00")
WHOLES = (r"\ud83d\ude00", r"\\ud800", r"\u00e9\uD83D\uDE00", r"\\\\ud800", r"\ud83d\ude00x\ud83d\ude00")


def test_half_of_a_surrogate_pair_does_not_fit(spark: SparkSession, tmp_path: Path) -> None:
    lines = [f'{{"id": {n}, "name": "a{text}b"}}' for n, text in enumerate(HALVES + WHOLES)]
    content = "\n".join(lines).encode()
    found = {row.id: row for row in rows(tmp_path, content, PLAIN, {}, spark)}
    reasons = [found[n][-1] and found[n][-1].reason for n in range(len(lines))]
    assert reasons == [HALF_A_PAIR] * len(HALVES) + [None] * len(WHOLES)
    texts = [json.loads(f'"a{text}b"') for text in WHOLES]
    assert [found[n + len(HALVES)].name for n in range(len(WHOLES))] == texts


MARK = "\ufdd0"
MARKED = {
    "as itself": MARK,
    "escaped": r"\ufdd0",
    "in capitals": r"\uFDD0",
    "after a backslash": r"\\\ufdd0",
    "before a number": f"{MARK}1.5",
    "twice": rf"{MARK}{MARK}x\ufdd0",
    "an escaped backslash": r"\\ufdd0",
}


@pytest.mark.parametrize("is_listed", [False, True])
def test_text_with_the_mark_of_numbers_is_kept(is_listed: bool, spark: SparkSession, tmp_path: Path) -> None:
    schema = "id INT, name STRING, l ARRAY<STRING>, n STRING"
    records = [
        f'{{"id": {n}, "name": "{text}b", "l": ["{text}", 1.50, "c"], "n": ["{text}d", 2.50]}}'
        for n, text in enumerate(MARKED.values())
    ]
    content = f"[{', '.join(records)}]" if is_listed else "\n".join(records)
    found = {row.id: row for row in rows(tmp_path, content.encode(), schema, {}, spark)}
    assert [found[n][-1] for n in range(len(MARKED))] == [None] * len(MARKED)
    for n, text in enumerate(MARKED.values()):
        value = json.loads(f'"{text}"')
        assert (found[n].name, found[n].l) == (f"{value}b", [value, "1.50", "c"])
        assert found[n].n.endswith('d",2.50]'), found[n].n
        assert json.loads(found[n].n) == [f"{value}d", 2.5]


LARGE = "id INT, v VARIANT, s STRUCT<l: ARRAY<DOUBLE>>, m MAP<STRING, VARIANT>"


def test_a_number_that_becomes_infinite_does_not_fit(spark: SparkSession, tmp_path: Path) -> None:
    """Spark makes doubles of numbers in a list, and in a VARIANT. Text that says infinity is text."""
    records = [
        '{"id": 0, "v": {"k": 1e400}}',
        '{"id": 1, "v": ["Infinity", -1e400]}',
        '{"id": 2, "s": {"l": [1.5, -1e400]}}',
        '{"id": 3, "m": {"a": 1, "b": [1e400]}}',
        '{"id": 4, "v": {"Infinity": [1e40, "-Infinity"]}, "s": {"l": [1e300, "Infinity"]}, "m": {"b": 1e15}}',
        '{"id": 5, "v": 12345678901234567890123456789012345678}',
    ]
    content = "\n".join(records).encode()
    found = [row[-1] and (row[-1].column, row[-1].reason) for row in rows(tmp_path, content, LARGE, {}, spark)]
    kind = {"s": "struct<l:array<double>>", "m": "MAP<STRING,VARIANT>", "v": "VARIANT"}
    assert found == [*((column, f"it does not fit {kind[column]}") for column in "vvsm"), None, None]
    lenient = Json(f"{tmp_path}/a.json", schema=LARGE, on_misfit="null")
    kept = read_source(lenient, spark).selectExpr("id", "v IS NULL AND s IS NULL AND m IS NULL AS lost").collect()
    assert [row.lost for row in kept] == [True] * 4 + [False] * 2


NUMBERS = ("0", "-0", "7", "1.10", "1e400", "-1E-7", "1.123456789012345678", "12345678901234567890123", "1.0")
"""As they are in a file."""
TEXTS = ("", "1.50", "[1.50]", 'a"1.50', "x: 1.50, ", "\\", "NaN", "it's")


@st.composite
def written(draw: st.DrawFn, depth: int = 0) -> str:
    """Draw JSON without blanks."""
    kind = draw(st.sampled_from(("number", "number", "text", "word", "list", "object")))
    if kind == "number" or depth > 2:
        return draw(st.sampled_from(NUMBERS))
    if kind == "text":
        return json.dumps(draw(st.sampled_from(TEXTS)))
    if kind == "word":
        return draw(st.sampled_from(("true", "false", "null")))
    items = draw(st.lists(written(depth + 1), max_size=3))
    if kind == "list":
        return f"[{','.join(items)}]"
    return "{" + ",".join(f'"k{n}":{item}' for n, item in enumerate(items)) + "}"


def as_text(value: str) -> str | None:
    """Return what a STRING column has of it: the text of a string, all else as it is written."""
    if value == "null":
        return None
    return json.loads(value) if value.startswith('"') else value


@settings(
    max_examples=20, phases=[Phase.generate], deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(values=st.lists(st.tuples(*[written()] * 4), min_size=5, max_size=15), is_list=st.booleans())
def test_json_in_a_string_is_as_it_is_written(
    values: list[tuple[str, ...]], is_list: bool, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    schema = "n INT, s STRING, l ARRAY<STRING>, m MAP<STRING, STRING>, t STRUCT<l: ARRAY<STRUCT<s: STRING>>>"
    records = [
        f'{{"n": {n}, "s": {s}, "l": [{a}, "x"], "m": {{"k": {m}}}, "t": {{"l": [{{"s": {t}}}, null]}}}}'
        for n, (s, a, m, t) in enumerate(values)
    ]
    content = f"[{', '.join(records)}]" if is_list else "\n".join(records)
    found = rows(tmp_path_factory.mktemp("json"), content.encode(), schema, {}, spark)
    assert [row[-1] for row in found] == [None] * len(values)
    by_number = {row.n: (row.s, row.l, row.m, row.t) for row in found}
    for n, texts in enumerate(values):
        s, a, m, t = map(as_text, texts)
        assert by_number[n] == (s, [a, "x"], {"k": m}, Row(l=[Row(s=t), None]))


@pytest.mark.parametrize(
    ("options", "record", "name"),
    [
        ({"allowComments": "true"}, '{/* it\'s 1.5 " */ "id": 1, "name": [1.50]} // "', "[1.50]"),
        ({"allowNumericLeadingZeros": "true"}, '{"id": 1, "name": [007]}', "[007]"),
        ({"allowNumericLeadingZeros": "true"}, '{"id": 1, "name": 007}', "007"),
        ({}, "{'id': 1, 'name': ['it is 1.50', 1.50]}", '["it is 1.50",1.50]'),
        ({"allowUnquotedFieldNames": "true"}, "{id: 1, name: {e1: 1.50}}", '{"e1":1.50}'),
        ({}, '{"id": 1, "name": [NaN, -INF]}', "[NaN,-INF]"),
        ({}, '{"id": 1, "name": [1, {"a": "x\\u0041"}]}', '[1,{"a":"xA"}]'),
    ],
)
def test_numbers_are_found_in_lenient_json(
    options: dict[str, str], record: str, name: str, spark: SparkSession, tmp_path: Path
) -> None:
    assert [row.name for row in rows(tmp_path, record.encode(), PLAIN, options, spark)] == [name]
