"""Problems of expressions and templates, and of the parameters in them (decision 24)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.connectors.time_patterns import mistake_in, patterns_in
from graph_compiler.declaration.operators import Operator, Sink, Source, Sql
from graph_compiler.declaration.parameters.parameter import RUN_DATE
from graph_compiler.declaration.partitioners import Partitioner
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.sql_text import bound_names, has_several_statements, unclosed_in
from graph_compiler.declaration.transformations import (
    PartitionTransformation,
    PhysicalTransformation,
    Transformation,
    problem_at,
)
from graph_compiler.errors import Problem
from graph_compiler.identifiers import did_you_mean, listing, shown

_PARAM = re.compile(r"\bparams\.([A-Za-z_]\w*)")
_CLOCK_LITERAL = re.compile(
    r"\b(TIMESTAMP|TIMESTAMP_NTZ|TIMESTAMP_LTZ|DATE)\s*['\"]\s*(now|today|tomorrow|yesterday)\b", re.IGNORECASE
)
_TEMPLATE = re.compile(r"\{\{\s*(.*?)\s*\}\}|\{%.*?%\}")


def templates_in_expressions(pipeline: Pipeline) -> Iterator[Problem]:
    """Find Jinja where only bound parameters are allowed."""
    for place, expression in expressions_in(pipeline):
        if found := _TEMPLATE.search(expression):
            name = (found[1] or "").rpartition(".")[2]
            bound = f":{name}" if name.isidentifier() else ":name"
            yield problem_at(
                place,
                f"the expression '{expression}' contains the template {found[0]}",
                allowed="templates in paths and connector options; parameters in expressions",
                hint=f"declare it in the pipeline's params and write {bound}, which is bound as a value",
            )


def clocks_in_literals(pipeline: Pipeline) -> Iterator[Problem]:
    """Find literals for the time at which Spark parses them, which differs between tasks and attempts."""
    for place, expression in expressions_in(pipeline):
        if found := _CLOCK_LITERAL.search(expression):
            yield problem_at(
                place,
                f"the literal {found[0]}' gets its value when Spark parses it",
                allowed="current_timestamp(), current_date(): one value for the whole run",
                hint="for the date of the run, use :run_date",
            )


def patterns_of_times(pipeline: Pipeline) -> Iterator[Problem]:
    """Find patterns in which Spark would read a letter as another part of a time: `dd-mm-yyyy`."""
    for place, expression in expressions_in(pipeline):
        for mistake in filter(None, map(mistake_in, dict.fromkeys(patterns_in(expression)))):
            yield problem_at(place, mistake.message, hint=mistake.hint)


def more_than_one_expression(pipeline: Pipeline) -> Iterator[Problem]:
    """Find expressions that would change the query that they are put into; queries are checked by their operator."""
    for place, expression in expressions_in(pipeline):
        if isinstance(place, PhysicalTransformation) and isinstance(place.operator, Sql):
            continue
        if has_several_statements(expression):
            message = f"the expression {shown(expression)} has several statements"
            yield problem_at(place, message, allowed="one expression")
        elif unclosed := unclosed_in(expression):
            yield problem_at(place, f"the expression {shown(expression)} has {unclosed}", allowed="one expression")


def unknown_parameters(pipeline: Pipeline) -> Iterator[Problem]:
    """Find undeclared parameters."""
    known = [*(name for name, _ in pipeline.params), RUN_DATE]
    used = [(operator, name) for operator in pipeline.operators for name in parameters_of(operator.operator)]
    bound = [(place, name) for place, text in expressions_in(pipeline) for name in bound_names(text)]
    for place, name in dict.fromkeys([*used, *bound]):
        if name not in known:
            yield problem_at(
                place,
                f"parameter '{name}' is not declared",
                allowed=listing(known),
                hint=did_you_mean(name, known) or "declare it in the pipeline's params",
            )


def expressions_in(pipeline: Pipeline) -> Iterator[tuple[Transformation, str]]:
    """Yield all SQL texts of a pipeline: those of its operators, and of the partitions between them."""
    for place in pipeline.transformations:
        if isinstance(place, PhysicalTransformation):
            yield from ((place, expression) for expression in place.operator.expressions())
        elif isinstance(place, PartitionTransformation) and isinstance(place.partitioner, Partitioner):
            yield from ((place, expression) for expression in place.partitioner.expressions())


def parameters_of(operator: Operator) -> Iterator[str]:
    """Yield the parameters of an operator: in its templates, its expressions, and as arguments of its function."""
    yield from operator.bound_parameters()
    if isinstance(operator, Source | Sink):
        connector: object = operator.connector
        texts = operator.texts().values() if isinstance(connector, Connector) else ()
        for template in (template for text in texts for template in _TEMPLATE.findall(text)):
            yield from _PARAM.findall(template)
    for expression in operator.expressions():
        yield from bound_names(expression)
