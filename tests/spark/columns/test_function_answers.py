"""What the file says of functions, and which types expressions have, is what the Spark at hand says.

If a new Spark answers otherwise: `python -m tests.spark.columns.function_answers --keep`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random

import pytest
from py4j import java_gateway, protocol
from pyspark.sql import SparkSession

from graph_compiler.declaration.operators.known_columns import columns_of_schema, types_by_name
from graph_compiler.declaration.sql_types.inference import ColumnTypes, type_of_node, type_refusals
from graph_compiler.declaration.sql_types.spark_functions import FACTS, function_names, spark_function
from graph_compiler.declaration.sql_types.spark_types import type_of_text
from graph_compiler.declaration.sql_types.syntax import tree_of
from graph_compiler.spark_runtime.columns.declared_schema import parse_schema
from tests.declaration.test_sql_types import REFUSED, SCHEMA, TYPES
from tests.spark.columns.function_answers import MODES, OPERATORS, Claim, Spark, claims_of, packed, text_of

pytestmark = [pytest.mark.spark]
EACH = 61
"""Of the facts, one of so many is asked in each mode: all take minutes."""
EXPRESSIONS = 800
LEAVES = (
    *("id", "n", "d", "x", "name", "day", "at", "ok", "raw", "tags", "prices", "whole", "odd"),
    *("1", "2L", "1.5", "'a'", "'2026-01-01'", "true", "NULL", "DATE '2026-01-01'", "INTERVAL 1 DAY", "tags[0]"),
)


@pytest.fixture
def asked(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[Spark]:
    """Answers, without pyspark's own exceptions: to make one takes ten times as long as the answer."""
    spark.createDataFrame([], parse_schema(SCHEMA)).createOrReplaceTempView("typed")
    monkeypatch.setattr(java_gateway, "get_return_value", protocol.get_return_value)
    found = Spark(spark)
    yield found
    found.set({})


@pytest.mark.ci
@pytest.mark.parametrize("number", range(len(MODES)))
def test_facts_are_those_of_spark(number: int, asked: Spark) -> None:
    asked.set(MODES[number])
    there = {*asked.functions(), *(name for name, _ in OPERATORS)}
    claims = [claim for claim in claims_of(json.loads(FACTS.read_text())) if claim.name in there]
    some = claims[number::EACH]
    assert len(some) > 100
    assert [claim for claim in some if not asked.holds(claim)] == []


def test_a_wrong_fact_is_found(asked: Spark) -> None:
    wrong = [
        Claim("upper", 1),
        Claim("upper", 1, "I"),
        Claim("length", 1, "S", "STRING"),
        Claim("+", 2, "II", "DOUBLE"),
    ]
    assert [claim for claim in wrong if asked.holds(claim)] == []


def test_the_file_is_what_its_facts_make() -> None:
    facts = json.loads(FACTS.read_text())
    assert text_of(packed(function_names(), claims_of(facts))) == FACTS.read_text()


def test_each_function_of_spark_is_known(asked: Spark) -> None:
    assert set(asked.functions()) <= set(function_names())


@pytest.mark.ci
@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        *((text, "taken") for text in TYPES),
        *((text, "refused by both" if message else "taken") for text, message in REFUSED.items()),
    ],
)
def test_expressions_are_judged_as_by_spark(text: str, verdict: str, asked: Spark) -> None:
    assert judged(text.replace(":least", "1"), asked) == verdict


@pytest.mark.ci
@pytest.mark.parametrize("mode", [{}, {"spark.sql.ansi.enabled": "false"}])
def test_any_expression_is_judged_as_by_spark(mode: dict[str, str], asked: Spark) -> None:
    """What is refused here, Spark refuses, and a known type is Spark's; most of what Spark refuses is found."""
    asked.set(mode)
    random = Random(20261129)
    names = [name for name in function_names() if spark_function(name)]
    verdicts = [judged(text, asked) for text in (expression(random, names, 2) for _ in range(EXPRESSIONS))]
    assert verdicts.count("refused by both") > verdicts.count("refused by Spark only")
    assert verdicts.count("taken") > 20


def expression(random: Random, names: list[str], depth: int) -> str:
    """Return an expression of functions and operators."""
    if depth == 0 or random.random() < 0.1:
        return random.choice(LEAVES)
    inner = [expression(random, names, depth - 1) for _ in range(2)]
    if random.random() < 0.6:
        name, count = random.choice(list(OPERATORS))
        return f"({OPERATORS[name, count].format(*inner[:count])})"
    count = random.choice((1, 1, 2))
    return f"{random.choice(names)}({', '.join(inner[:count])})"


def judged(text: str, asked: Spark) -> str:
    """Return what Spark and this package say of an expression; an assertion fails where they contradict each other."""
    node = tree_of(text)
    columns = ColumnTypes(types_by_name(columns_of_schema(SCHEMA) or ()))
    found = [] if node is None else list(type_refusals(node, columns))
    answer = asked.ask(f"({text})", "typed")
    if answer.type is None:
        is_of_types = answer.is_refusal or answer.condition.startswith("WRONG_NUM_ARGS")
        return "refused by both" if found else "refused by Spark only" if is_of_types else "refused for another reason"
    assert not found, (text, found)
    kind = None if node is None else type_of_node(node, columns)
    assert kind is None or plain(kind) == plain(answer.type), text
    return "taken"


def plain(kind: str) -> str:
    return type_of_text(kind).lower().replace(" ", "")
