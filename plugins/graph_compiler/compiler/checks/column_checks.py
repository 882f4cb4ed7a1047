"""Columns that an operator reads and its inputs do not have, as far as declarations show them without Spark.

Sources with a declared schema begin what is known; what a function, a query, or an expression in another grammar gives
is unknown, and no message is about it. What is found here, Spark refuses, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from graph_compiler.compiler.checks.named_columns import LEFT, RIGHT, NamedColumn, columns_in
from graph_compiler.declaration.call_checks import located
from graph_compiler.declaration.operators import Operator, Sink
from graph_compiler.declaration.operators.column_uses import ColumnUse
from graph_compiler.declaration.operators.known_columns import Known, common, type_of_expression
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.transformations import (
    PartitionTransformation,
    PhysicalTransformation,
    SideOutputTransformation,
    Transformation,
    UnionTransformation,
)
from graph_compiler.errors import Problem
from graph_compiler.identifiers import did_you_mean, listing, shown

_MOST_COLUMNS = 20
_SIDES = {LEFT: 0, RIGHT: 1}


@dataclass(frozen=True, slots=True)
class ColumnFlow:
    """The columns of each transformation by its id: those of its inputs, and of its main output.

    `found` has of a sink what it is given.
    """

    given: Mapping[int, Sequence[Known]]
    found: Mapping[int, Known]


def column_flow(pipeline: Pipeline) -> ColumnFlow:
    """Return what is known of the columns of all transformations; None where it is not certain."""
    given: dict[int, Sequence[Known]] = {}
    found: dict[int, Known] = {}
    by_id = {each.id: each for each in pipeline.transformations}
    for each in pipeline.transformations:
        given[each.id] = [found.get(id) for id in each.inputs]
        found[each.id] = _output(each, given, by_id)
    return ColumnFlow(given, found)


def _output(
    transformation: Transformation, given: Mapping[int, Sequence[Known]], by_id: Mapping[int, Transformation]
) -> Known:
    inputs = given[transformation.id]
    match transformation:
        case PhysicalTransformation(operator=Sink()):
            return inputs[0] if inputs else None
        case PhysicalTransformation(operator=operator):
            return operator.columns_after(inputs or [None])
        case SideOutputTransformation(inputs=(id,)):
            producer, before = by_id.get(id), given.get(id)
            return (
                producer.operator.columns_aside(before)
                if isinstance(producer, PhysicalTransformation) and before
                else None
            )
        case UnionTransformation():
            return common(inputs)
        case PartitionTransformation():
            return inputs[0] if inputs else None
    return None


@dataclass(frozen=True, slots=True)
class ColumnVerdict:
    """What a look at all columns found; `checked` and `unknown` count names and expressions."""

    problems: tuple[Problem, ...] = ()
    checked: int = 0
    unknown: int = 0


NOTHING_KNOWN = ColumnVerdict()


def judge_columns(pipeline: Pipeline) -> ColumnVerdict:
    """Check each column that an operator reads."""
    given = column_flow(pipeline).given
    looks = [
        (operator, found)
        for operator in pipeline.operators
        for found in unknown_columns(operator.operator, given[operator.id])
    ]
    return ColumnVerdict(
        problems=tuple(located(operator, problem) for operator, found in looks for problem in found or ()),
        checked=sum(found is not None for _, found in looks),
        unknown=sum(found is None for _, found in looks),
    )


def unknown_columns(operator: Operator, inputs: Sequence[Known]) -> Iterator[Sequence[Problem] | None]:
    """Yield the problems of each name and expression that an operator reads; None if they are not certain."""
    for use in operator.columns_used():
        yield _problems(use, inputs)


def _problems(use: ColumnUse, inputs: Sequence[Known]) -> list[Problem] | None:
    """Return the problems of what is read, None if it is not certain what that is."""
    known = [inputs[number] if number < len(inputs) else None for number in use.inputs]
    named = (NamedColumn(use.text),) if use.is_name else columns_in(use.text)
    if named is None or None in known:
        return None
    if len(known) == 1 and any(column.side for column in named):  # fields of a column that is called left
        return None
    found = []
    for column in named:
        sides = known if column.side is None else [known[_SIDES[column.side]]]
        names = [each.name for one in sides for each in one or ()]
        taken = {name.lower() for name in (*names, *use.also)}
        if column.name.lower() not in taken:
            found.append(_missing(use, column, names))
    if use.is_condition and not found and len(known) == 1:
        kind = type_of_expression(use.text, known[0] or ())
        if kind not in (None, "BOOLEAN"):
            message = f"its condition {shown(use.text)} is {kind}"
            found.append(Problem(message=message, allowed="a condition, which is BOOLEAN"))
    return found


def _missing(use: ColumnUse, column: NamedColumn, names: Sequence[str]) -> Problem:
    of = "" if column.side is None else f" on its {column.side}"
    where = "" if use.is_name else f", which {shown(use.text)} reads"
    more = f" and {len(names) - _MOST_COLUMNS} more" if len(names) > _MOST_COLUMNS else ""
    return Problem(
        message=f"there is no column {shown(column.name)}{of}{where}",
        allowed=f"{listing(names[:_MOST_COLUMNS])}{more}" if names else None,
        hint=did_you_mean(column.name, names),
    )
