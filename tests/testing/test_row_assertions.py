"""Rows are compared as a test intends, and a difference is reported by row and column."""

import pytest

from graph_compiler.testing import assert_rows
from graph_compiler.testing.row_assertions import in_order_of_values

A, B = {"k": "a", "v": 1, "m": 0.1 + 0.2}, {"k": "b", "v": None, "m": None}


@pytest.mark.parametrize(
    "expected", [[A, B], [B, A], [{"k": "a"}, {"k": "b"}], [{"m": 0.3, "k": "a"}, {"m": None, "k": "b"}]]
)
def test_order_and_unnamed_columns_do_not_matter(expected: list[dict[str, object]]) -> None:
    assert_rows([A, B], expected)


def test_empty_rows_are_equal_and_nan_equals_nan() -> None:
    assert_rows([], [])
    assert_rows([{"v": float("nan")}], [{"v": float("nan")}])
    assert_rows([{"v": [{"x": 1.0}]}], [{"v": [{"x": 1}]}])


@pytest.mark.parametrize(
    ("found", "expected", "words"),
    [
        ([A], [A, B], "rows differ: 1 found, 2 expected\n  expected, and not found:\n    {'k': 'b'"),
        ([A, A], [A], "rows differ: 2 found, 1 expected\n  found, and not expected:\n    {'k': 'a'"),
        ([A], [A | {"v": 2}], "  v: found 1, expected 2"),
        ([A], [], "found, and not expected"),
        ([A], [{"w": 1}], "there is no column w\n  found: k, v, m"),
        ([A], [{"k": "a"}, {"v": 1}], "expected row 1 names v, and row 0 k: name the same in each"),
        ([{"v": True}], [{"v": 1}], "found True, expected 1"),
        ([{"v": 1.0}], [{"v": 1.001}], "found 1.0, expected 1.001"),
    ],
)
def test_differences_are_reported(
    found: list[dict[str, object]], expected: list[dict[str, object]], words: str
) -> None:
    with pytest.raises(AssertionError) as failed:
        assert_rows(found, expected)
    assert words in str(failed.value)


def test_order_matters_on_request() -> None:
    assert_rows([A, B], [A, B], ordered=True)
    with pytest.raises(AssertionError, match="from row 0 on: 2 found, 2 expected, in order"):
        assert_rows([A, B], [B, A], ordered=True)
    with pytest.raises(AssertionError, match="expected: no row"):
        assert_rows([A, B], [A], ordered=True)


def test_a_tolerance_can_be_given() -> None:
    assert_rows([{"v": 1.0}], [{"v": 1.001}], relative=0.01)


def test_rows_of_all_kinds_of_values_have_an_order() -> None:
    rows: list[dict[str, object]] = [{"v": value} for value in ("b", 10, None, 9.5, "a", True)]
    assert [row["v"] for row in in_order_of_values(rows)] == [None, True, 9.5, 10, "a", "b"]
