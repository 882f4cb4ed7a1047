"""Compare what is said of columns without Spark with what Spark made of the same operators."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pytest
from pyspark.sql import DataFrame

from graph_compiler.compiler.checks.column_checks import unknown_columns
from graph_compiler.declaration.operators import Sink
from graph_compiler.declaration.operators.known_columns import Columns, Known, KnownColumn, common
from graph_compiler.declaration.sql_types.spark_types import type_of_text
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor
from graph_compiler.extensions import is_foreign
from graph_compiler.spark_runtime.columns.declared_schema import parse_schema, type_words
from graph_compiler.spark_runtime.connectors.source import MISFIT
from graph_compiler.spark_runtime.region.region_evaluation import RegionEvaluation


@pytest.fixture(autouse=True)
def columns_are_judged_rightly() -> Iterator[None]:
    """Check in all tests of a folder that Spark accepts what is accepted, and that known types are Spark's."""
    with judging_columns() as wrong:
        yield
    assert not wrong, "\n".join(wrong)


@contextmanager
def judging_columns() -> Iterator[list[str]]:
    """Yield what was said wrongly of each operator that Spark analyzes inside the block."""
    wrong: list[str] = []
    run, rows_into = RegionEvaluation.run, RegionEvaluation.rows_into

    def judge(self: RegionEvaluation, operator: OperatorDescriptor) -> None:
        run(self, operator)
        rows = self.all_columns((operator.node_id, None))
        assert rows is not None
        wrong.extend(_wrong(self, operator, rows))

    def judge_sink(self: RegionEvaluation, sink: OperatorDescriptor) -> DataFrame:
        rows = rows_into(self, sink)
        wrong.extend(_wrong(self, sink, rows))
        return rows

    with patch.object(RegionEvaluation, "run", judge), patch.object(RegionEvaluation, "rows_into", judge_sink):
        yield wrong


def _wrong(evaluation: RegionEvaluation, operator: OperatorDescriptor, rows: DataFrame) -> Iterator[str]:
    kind = operator.operator
    if is_foreign(type(kind)):
        return
    inputs = _inputs(evaluation, operator)
    looks = [] if isinstance(kind, Sink) else unknown_columns(kind, inputs)
    for problem in (problem for found in looks for problem in found or ()):
        yield f"{operator.name}: {problem.message}; Spark accepts it"
    known = None if isinstance(kind, Sink) else kind.columns_after(inputs)
    if known is None:
        return
    found = {each.name.lower(): each.type for each in _columns(rows)}
    if {each.name.lower() for each in known} != set(found):
        yield f"{operator.name}: it is said to have {known}, and has {rows.schema.simpleString()}"
    for each in known:
        its = found.get(each.name.lower())
        if each.type and its and each.type != its and _as_spark_writes(each.type) != its:
            yield f"{operator.name}: its column {each} is said to be {each.type}, and is {found[each.name.lower()]}"


def _inputs(evaluation: RegionEvaluation, operator: OperatorDescriptor) -> list[Known]:
    found: dict[int, list[Known]] = {}
    for edge in sorted(operator.inputs, key=lambda edge: edge.type_number):
        here = evaluation.all_columns((edge.node_id, edge.output_tag)) if edge.staged is None else None
        rows = evaluation._rows(edge, None) if here is None else here
        found.setdefault(edge.type_number, []).append(_columns(rows))
    return [common(each) for each in found.values()]


def _as_spark_writes(kind: str) -> str:
    (field,) = parse_schema(f"it {kind}")
    return type_of_text(type_words(field.dataType))


def _columns(rows: DataFrame) -> Columns:
    fields = (field for field in rows.schema if field.name != MISFIT)
    return tuple(KnownColumn(field.name, type_of_text(type_words(field.dataType))) for field in fields)
