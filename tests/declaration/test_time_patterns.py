"""Patterns of times that surely do not mean what Spark reads; tests/cases reads files with them, and by the hints."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_compiler import Csv, Files, Json, Parquet
from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.declaration.connectors.time_patterns import mistake_in, patterns_in

WRONG = {
    "dd-mm-yyyy": ("dd-MM-yyyy", "m is the minute, and there is no month"),
    "yyyymmdd": ("yyyyMMdd", "m is the minute, and there is no month"),
    "yyyy-mm": ("yyyy-MM", "m is the minute, and there is no month"),
    "yyyy-mm-dd HH:mm:ss": ("yyyy-MM-dd HH:mm:ss", "m is the minute, and there is no month"),
    "HH:mm dd/mm/yyyy": ("HH:mm dd/MM/yyyy", "m is the minute, and there is no month"),
    "yyyy-MM-dd HH:MM:ss": ("yyyy-MM-dd HH:mm:ss", "M after the hour is the month"),
    "HH:MM": ("HH:mm", "M after the hour is the month"),
    "yyyy-MM-dd HH:mm:SS": ("yyyy-MM-dd HH:mm:ss", "S is a fraction of a second, and there is no second"),
    "yyyy-MM-dd hh:mm:ss": (
        "yyyy-MM-dd HH:mm:ss",
        "h and K are hours of a clock with AM and PM, and there is no a for these",
    ),
    "yyyy-MM-dd KK:mm": (
        "yyyy-MM-dd HH:mm",
        "h and K are hours of a clock with AM and PM, and there is no a for these",
    ),
    "yyyy-MM-DD": ("yyyy-MM-dd", "D is the day of the year"),
    "YYYY-MM-dd": ("yyyy-MM-dd", "Y is the year of a week"),
    "yyyy-mm-dd'T'HH:MM:SS": (
        "yyyy-MM-dd'T'HH:mm:ss",
        "M after the hour is the month; m is the minute, and there is no month; "
        "S is a fraction of a second, and there is no second",
    ),
    "YYYY-mm-DD hh:MM": (
        "yyyy-MM-dd HH:mm",
        "Y is the year of a week; M after the hour is the month; m is the minute, and there is no month; "
        "h and K are hours of a clock with AM and PM, and there is no a for these; D is the day of the year",
    ),
}
RIGHT = [
    "yyyy-MM-dd", "dd/MM/yy", "d.M.yyyy", "yyyyMMdd", "yyyyMMddHHmmss", "MMM d, yyyy", "yyyy-DDD", "yyyy-MM", "yyyy",
    "yyyy-MM-dd HH:mm:ss.SSS", "yyyy-MM-dd'T'HH:mm:ss[.SSSSSS][XXX]", "MM/dd/yyyy hh:mm:ss a", "a hh:mm yyyy-MM-dd",
    "HH:mm", "mm:ss", "ss.SS", "hh", "QQQ yyyy", "dd. MMMM yyyy 'um' HH 'Uhr'", "yyyy-MM-dd 'mm'", "'Y'yyyy", "", "'",
    "HHMMyyyy", "yyyy 'o''clock' MM",
]  # fmt: skip
_LETTERS = "GyYuMLdDqQEFahHkKmsSzZXxV"


@pytest.mark.parametrize("pattern", WRONG)
def test_a_letter_for_another_part_of_a_time_is_found_with_what_was_meant(pattern: str) -> None:
    mistake = mistake_in(pattern)
    assert mistake is not None
    assert (mistake.meant, mistake.reason) == WRONG[pattern]
    assert mistake_in(mistake.meant) is None


@pytest.mark.parametrize("pattern", RIGHT)
def test_other_patterns_are_left_to_spark(pattern: str) -> None:
    assert mistake_in(pattern) is None


@given(st.text(alphabet=f"{_LETTERS}'[]-/:. {_LETTERS.lower()}", max_size=20))
def test_a_proposed_pattern_has_no_mistake_and_keeps_everything_but_letters(pattern: str) -> None:
    mistake = mistake_in(pattern)
    if mistake is not None:
        assert mistake_in(mistake.meant) is None
        assert len(mistake.meant) == len(pattern)
        kept = [after for before, after in zip(pattern, mistake.meant, strict=True) if before != after]
        assert set(kept) <= set("yMmsHd")


@pytest.mark.parametrize(
    ("sql", "patterns"),
    [
        ("to_date(text, 'dd-mm-yyyy')", ["dd-mm-yyyy"]),
        ("TRY_TO_TIMESTAMP(concat(a, ',', b), \"hh\") > date_format(at, 'yyyy')", ["hh", "yyyy"]),
        ("to_date(a /* , 'no' */, -- 'no'\n 'mm/yyyy')", ["mm/yyyy"]),
        ("unix_timestamp(a, 'yyyy-MM-dd''T''hh')", ["yyyy-MM-dd'T'hh"]),
        ("from_csv(a, 'd DATE', map('sep', ';', 'dateFormat', 'mm/yyyy'))", ["mm/yyyy"]),
        ("to_date(to_date(a, 'mm/yyyy'))", ["mm/yyyy"]),
        ("to_date(a)", []),
        ("to_date(a, format)", []),
        ("to_date(a, 'mm' || format)", []),
        (r"to_date(a, 'mm\'yyyy')", []),
        ("to_date(a, `mm-yyyy`)", []),
        ("concat(a, 'dd-mm-yyyy')", []),
        ("`to_date`", []),
        ("to_date(a, 'mm-yyyy", []),
    ],
)
def test_patterns_in_sql_are_the_literals_that_functions_take_as_such(sql: str, patterns: list[str]) -> None:
    assert list(patterns_in(sql)) == patterns


@pytest.mark.parametrize(
    ("connector", "name"),
    [
        (Csv("/in", options={"dateFormat": "dd-mm-yyyy"}), "dateFormat"),
        (Json("/in", options={"TIMESTAMPFORMAT": "yyyy-MM-dd hh:mm"}), "TIMESTAMPFORMAT"),
        (Files(format="XML", path="/in", options={"timestampNTZFormat": "yyyy-MM-DD"}), "timestampNTZFormat"),
    ],
)
def test_options_of_readers_and_writers_are_checked(connector: FileConnector, name: str) -> None:
    (problem,) = connector.problems()
    assert problem.message.startswith(f"option '{name}': in the pattern '")
    assert problem.hint is not None


@pytest.mark.parametrize(
    "connector",
    [
        Csv("/in", options={"dateFormat": "dd-MM-yyyy", "nullValue": "dd-mm-yyyy"}),
        Files(format="other", path="/in", options={"dateFormat": "%Y-%m-%d"}),
        Parquet("/in", options={"a.dateFormat": "%Y-%m-%d"}),
    ],
)
def test_options_that_are_no_patterns_of_spark_are_not_checked(connector: FileConnector) -> None:
    assert list(connector.problems()) == []
