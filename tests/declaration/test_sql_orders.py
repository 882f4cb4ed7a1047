"""Which orders are refused without Spark; test_queries.py compares this with Spark's parser."""

import pytest

from graph_compiler.declaration.sql_text import order_problems

WRONG = [
    ("amount descending", "has 'descending' after amount", "did you mean 'DESC'?"),
    ("amount DSC", "has 'DSC' after amount", "did you mean 'DESC'?"),
    ("day, a.`b c` up", "has 'up' after `b c`", "did you mean 'ASC'?"),
    ("amount price", "has 'price' after amount", None),
    ("amount DESC, ", "has an empty item", None),
    (",day", "has an empty item", None),
    ("amount NULLS LAST DESC", "has DESC after NULLS LAST", "ASC or DESC is before NULLS"),
    ("amount LIMIT 5", "contains another clause (LIMIT)", "for the first rows of an order, use top_n(…)"),
    ("amount where true", "contains another clause (WHERE)", None),
    ("amount /* by */ descending -- x", "has 'descending' after amount", "did you mean 'DESC'?"),
]
RIGHT = [
    "amount",
    "amount DESC NULLS LAST",
    "day, amount desc",
    "-amount",
    "`a b` DESC",
    "desc desc",
    "limit",
    "coalesce(a, b) DESC, c",
    "NOT paid",
    "a IS NOT NULL DESC",
    "a AND b OR c DESC NULLS FIRST",
    "CASE WHEN a THEN b ELSE c END DESC",
    "at + INTERVAL 1 DAY",
    "DATE '2020-01-01'",
    "name COLLATE UTF8_LCASE DESC",
    "at AT TIME ZONE 'UTC'",
    "a BETWEEN b AND c",
    "a DIV b",
    "sum(a) OVER (PARTITION BY b ORDER BY c)",
    "first(a) IGNORE NULLS",
    "a NOT IN (1, 2)",
    "a LIKE b ESCAPE '/'",
    "struct(a b)",
    "a['b c'] DESC",
    "a:b.c DESC",
    "${order}",
    "a /* descending */ DESC -- descending",
    "1",
    "ALL DESC",
    "",
]


@pytest.mark.parametrize(("item", "found", "hint"), WRONG)
def test_a_mistake_in_an_order_is_named(item: str, found: str, hint: str | None) -> None:
    (problem,) = order_problems([item])
    assert problem.message == f"its order {item!r} {found}"
    assert problem.hint == hint


@pytest.mark.parametrize("item", RIGHT)
def test_what_spark_may_accept_is_left_to_it(item: str) -> None:
    assert list(order_problems([item])) == []
