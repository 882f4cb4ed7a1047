"""The columns that an expression names, where that is certain without Spark."""

from __future__ import annotations

import pytest

from graph_compiler.compiler.checks.named_columns import columns_in

CERTAIN = {
    "amount > :least": "amount",
    "amount * 2 AS twice": "amount",
    "CAST(a AS DECIMAL(9, 2)) + b": "a b",
    "try_cast(a.b.c AS ARRAY<STRING>)[0].x": "a",
    "date_diff(DAY, a, b) < 3": "a b",
    "left.a = right.`b c` AND z": "left.a right.b c z",
    "count(*)": "",
    "count(DISTINCT a)": "a",
    "sum(x1) FILTER (WHERE y1 > 1)": "x1 y1",
    "row_number() OVER (PARTITION BY k ORDER BY t DESC NULLS LAST ROWS UNBOUNDED PRECEDING)": "k t",
    "INTERVAL 5 DAYS + t": "t",
    "d - INTERVAL '1' DAY": "d",
    "DATE '2013-01-01' <= d": "d",
    "EXTRACT(YEAR FROM d)": "d",
    "m['k'] = v1": "m v1",
    "named_struct('a', b, 'c', d)": "b d",
    "CASE WHEN a THEN b ELSE c END": "a b c",
    "struct(a AS q, b).q": "a b",
    "1e3 + n": "n",
    "X'1F' = b": "b",
    "a IS NOT DISTINCT FROM b": "a b",
    "c COLLATE UTF8_LCASE = 'x'": "c",
    "c COLLATE system.builtin.DE": "c",
    "trim(BOTH 'x' FROM c)": "c",
    "percentile_cont(0.5) WITHIN GROUP (ORDER BY a)": "a",
    "timestampdiff(MINUTE, seen, gone)": "seen gone",
    "arr[i + 1].d": "arr i",
    "a.b.c[0].d": "a",
    "a NOT LIKE 'x%' ESCAPE '/'": "a",
    "`ein Name` -- comment\n + /* b */ c": "ein Name c",
    "current_date": "",
    "t.*": "",
}
ONLY_SPARK_KNOWS = (
    "exists(tags, t -> t = 'x')",
    "a IN (SELECT 1)",
    "EXISTS (TABLE b)",
    "v:field",
    "CAST(a AS STRUCT<x: INT>)",
    "parse_json(v):field",
    "x::int",
    "a b",
    "'a' b",
    "system.builtin.abs(a)",
    "a.b(c)",
    "f(x => 1)",
    "${name}",
    "a ?",
    "struct(a AS (b, c))",
)


@pytest.mark.parametrize("expression", CERTAIN)
def test_names_that_are_certain(expression: str) -> None:
    found = columns_in(expression)
    assert found is not None
    assert " ".join(f"{each.side}.{each.name}" if each.side else each.name for each in found) == CERTAIN[expression]


@pytest.mark.parametrize("expression", ONLY_SPARK_KNOWS)
def test_what_only_spark_knows(expression: str) -> None:
    assert columns_in(expression) is None
