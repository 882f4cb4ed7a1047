"""Typed parameters: what is declared, what forms and command lines send, and what documents keep."""

import json
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_compiler import StreamExecutionEnvironment
from graph_compiler.declaration.parameters.parameter import read_parameters
from graph_compiler.declaration.parameters.typed_value import TypedValue, parse_typed_value, sql_type_of, typed_value
from graph_compiler.deployment.describe.run_parameters import parse_parameter
from graph_compiler.deployment.documents.wire import from_wire, to_wire
from graph_compiler.errors import InvalidPipelineError, ParameterError


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("bigint", "BIGINT"),
        (" Decimal ( 4 , 2 ) ", "DECIMAL(4,2)"),
        ("array< decimal(38,38) >", "ARRAY<DECIMAL(38,38)>"),
        ("ARRAY<DATE>", "ARRAY<DATE>"),
        ("ARRAY<ARRAY<INT>>", None),
        ("DECIMAL", None),
        ("DECIMAL(39, 0)", None),
        ("DECIMAL(2, 4)", None),
        ("TIMESTAMP", None),
        ("INT) AS x, (1", None),
        ("", None),
        (5, None),
    ],
)
def test_types_have_one_form(text: object, kind: str | None) -> None:
    assert sql_type_of(text) == kind


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("ARRAY<BIGINT>", "[1, 2]", (1, 2)),
        ("ARRAY<STRING>", '["a", "1"]', ("a", "1")),
        ("ARRAY<DECIMAL(4,2)>", '[0.10, "2"]', ("0.10", "2")),
        ("ARRAY<STRING>", "null", None),
        ("DATE", "2026-01-31", "2026-01-31"),
        ("DATE", '"2026-01-31"', "2026-01-31"),
        ("DATE", "null", None),
        ("DECIMAL(4,2)", "0.06", "0.06"),
        ("DECIMAL(4,2)", "-1e1", "-10"),
        ("DECIMAL(38,20)", "0.10000000000000000001", "0.10000000000000000001"),
        ("DECIMAL(38,0)", "9" * 38, "9" * 38),
        ("DECIMAL(4,2)", "0e9", "0"),
        ("DECIMAL(4,2)", "-12.3400", "-12.3400"),
        ("STRING", "null", None),
        ("STRING", '"null"', "null"),
        ("STRING", "5", "5"),
        ("STRING", "O'Hara", "O'Hara"),
        ("BOOLEAN", "true", True),
        ("DOUBLE", "5", 5.0),
        ("INT", "5.0", 5),  # an integer of JSON Schema
        ("ARRAY<BIGINT>", "[1, 2.0]", (1, 2)),
    ],
)
def test_text_is_read_as_the_parameters_type(kind: str, text: str, value: object) -> None:
    assert parse_typed_value(kind, text) == TypedValue(kind, value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "text", "allowed"),
    [
        ("ARRAY<BIGINT>", "1,2", "a list as JSON, such as [1, 2]"),
        ("ARRAY<STRING>", "a,b", 'a list as JSON, such as ["a", "b"]'),
        ("ARRAY<BIGINT>", "[1.5]", "a whole number"),
        ("ARRAY<BIGINT>", "[true]", "a whole number"),
        ("BIGINT", "9007199254740993.0", "a whole number"),
        ("ARRAY<BIGINT>", '{"a": 1}', "a list of BIGINT"),
        ("INT", "2147483648", "a whole number of 32 bits"),
        ("DATE", "2026-02-30", "a day, such as 2026-01-31"),
        ("DATE", "2026-1-1", "a day, such as 2026-01-31"),
        ("DATE", "20260101", "a day, such as 2026-01-31"),
        ("DECIMAL(4,2)", "0.006", "a number that DECIMAL(4,2) can hold"),
        ("DECIMAL(4,2)", "100", "a number that DECIMAL(4,2) can hold"),
        ("DECIMAL(38,0)", "1" * 39, "a number that DECIMAL(38,0) can hold"),
        ("DECIMAL(38,0)", "1e999999", "a number that DECIMAL(38,0) can hold"),
        ("DECIMAL(38,38)", "1e-999999", "a number that DECIMAL(38,38) can hold"),
        ("DECIMAL(4,2)", "NaN", "a number as text"),
        ("DECIMAL(4,2)", "0,06", "a number as text"),
        ("DOUBLE", "NaN", "a number"),
        ("BOOLEAN", "yes", "true or false"),
    ],
)
def test_other_text_is_refused_with_what_is_allowed(kind: str, text: str, allowed: str) -> None:
    default = {"x": TypedValue(kind, None)}
    with pytest.raises(ParameterError) as refused:
        parse_parameter("x", text, default)
    assert f"parameter 'x' is {text!r}\n  allowed: {allowed}" in str(refused.value)


@given(
    st.lists(st.text() | st.none()), st.lists(st.integers(-(2**63), 2**63 - 1)), st.dates(min_value=date(1000, 1, 1))
)
def test_values_survive_documents_and_rendered_templates(texts: list[Any], numbers: list[Any], day: date) -> None:
    for value in (
        typed_value("ARRAY<STRING>", texts),
        typed_value("ARRAY<BIGINT>", numbers),
        typed_value("DATE", day),
        typed_value("STRING", None),
    ):
        assert from_wire(TypedValue, json.loads(json.dumps(to_wire(value)))) == value
        assert parse_typed_value(value.kind, json.dumps(value.json)) == value


@given(st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-99, max_value=99))
def test_decimals_keep_their_digits(number: Decimal) -> None:
    assert typed_value("DECIMAL(4,2)", str(number)).python == number


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ([1, 2], "ARRAY<BIGINT>"),
        (["a"], "ARRAY<STRING>"),
        ([True], "ARRAY<BOOLEAN>"),
        ([date(2026, 1, 1)], "ARRAY<DATE>"),
        (date(2026, 1, 1), "DATE"),
        ({"default": [], "sql_type": "array<int>"}, "ARRAY<INT>"),
        ({"default": None, "sql_type": "STRING"}, "STRING"),
    ],
)
def test_a_default_shows_its_type_or_declares_it(written: object, kind: str) -> None:
    (parameter,), problems = read_parameters({"x": written})
    assert problems == ()
    assert isinstance(parameter.default, TypedValue)
    assert parameter.default.kind == kind


@pytest.mark.parametrize("written", [None, [], [1, "a"], Decimal("0.06"), [None], {"default": None}])
def test_a_default_without_a_type_is_refused_with_how_to_name_it(written: object) -> None:
    with pytest.raises(InvalidPipelineError, match='"sql_type": "DECIMAL'):
        StreamExecutionEnvironment("p", params={"x": written})


def test_plain_parameters_are_what_they_were() -> None:
    (parameter,), _ = read_parameters({"x": {"default": "2026-01-01", "format": "date"}})
    assert parameter.default == "2026-01-01"
    assert parameter.schema == '{"format": "date", "type": "string"}'
