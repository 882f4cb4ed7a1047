"""Columns that an operator reads and its inputs do not have, as far as declarations show them without Spark.

Sources with a declared schema begin what is known; what a function, a query, or an expression in another grammar gives
is unknown, and no message is about it. What is found here, Spark refuses, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from graph_compiler.compiler.checks.named_columns import LEFT, RIGHT, NamedColumn, columns_in
from graph_compiler.declaration.call_checks import located
from graph_compiler.declaration.operators import IntervalJoin, Join, Operator, Sink
from graph_compiler.declaration.operators.column_uses import HOW_TO_MAKE_TIMES, TIMES, ColumnUse
from graph_compiler.declaration.operators.known_columns import Known, common, only_in_one, types_by_name
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.sql_types.inference import ColumnTypes, type_of_node, type_refusals
from graph_compiler.declaration.sql_types.spark_functions import function_names, spark_function
from graph_compiler.declaration.sql_types.syntax import SqlCall, SqlName, SqlNode, calls_in, tree_of
from graph_compiler.declaration.transformations import (
    PartitionTransformation,
    PhysicalTransformation,
    SideOutputTransformation,
    Transformation,
    UnionTransformation,
    problem_at,
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
    """What a look at all columns found.

    `checked` and `unknown` count names and expressions, `typed` and `untyped` expressions whose type is (not) known.
    """

    problems: tuple[Problem, ...] = ()
    checked: int = 0
    unknown: int = 0
    typed: int = 0
    untyped: int = 0


NOTHING_KNOWN = ColumnVerdict()


def judge_columns(pipeline: Pipeline) -> ColumnVerdict:
    """Check each column that an operator reads."""
    given = column_flow(pipeline).given
    looks = [
        (operator, found)
        for operator in pipeline.operators
        for found in unknown_columns(operator.operator, given[operator.id])
    ]
    types = [
        _type(use, given[operator.id])
        for operator in pipeline.operators
        for use in operator.operator.columns_used()
        if not use.is_name
    ]
    return ColumnVerdict(
        problems=(
            *(located(operator, problem) for operator, found in looks for problem in found or ()),
            *_unions_of_others(pipeline, given),
        ),
        checked=sum(found is not None for _, found in looks),
        unknown=sum(found is None for _, found in looks),
        typed=sum(type is not None for type in types),
        untyped=types.count(None),
    )


def misspelled_functions(pipeline: Pipeline) -> Iterator[Problem]:
    """Find functions that Spark does not have, and whose names are close to one that it has."""
    for operator in pipeline.operators:
        for use in operator.operator.columns_used():
            node = None if use.is_name else tree_of(use.text)
            for name in dict.fromkeys(call.function for call in calls_in(node)) if node else ():
                is_other = name.islower() and spark_function(name) is None
                if is_other and (hint := did_you_mean(name, function_names())):
                    message = f"Spark has no function '{name}', which {shown(use.text)} calls"
                    yield problem_at(operator, message, hint=f"{hint} If you register it, leave it as it is")


def unknown_columns(operator: Operator, inputs: Sequence[Known]) -> Iterator[Sequence[Problem] | None]:
    """Yield the problems of each name and expression that an operator reads; None if they are not certain."""
    for use in operator.columns_used():
        yield _problems(use, inputs)
    if isinstance(operator, Join | IntervalJoin) and (found := list(_pairs_of_other_types(operator.on, inputs))):
        yield found
    known = [each for each in inputs if each is not None]
    if len(known) == len(inputs) and (wrong := list(operator.column_problems(known))):
        yield wrong


def _unions_of_others(pipeline: Pipeline, given: Mapping[int, Sequence[Known]]) -> Iterator[Problem]:
    """Yield unions that are read, and whose streams do not have the same columns."""
    read = {id for each in pipeline.transformations for id in each.inputs}
    for each in pipeline.transformations:
        if not isinstance(each, UnionTransformation) or each.id not in read:
            continue
        if None in given[each.id] or not given[each.id]:
            continue
        first, *others = ([column.name for column in known or ()] for known in given[each.id])
        odd = next((odd for other in others if (odd := only_in_one(first, other))), None)
        if odd:
            yield problem_at(
                each,
                f"it is a union of streams with different columns: only one has {listing(odd)}",
                hint="select the same columns from each, or union_by_name(…, allow_missing_columns=True)",
            )


def _pairs_of_other_types(on: Sequence[tuple[str, str]], inputs: Sequence[Known]) -> Iterator[Problem]:
    """Yield the paired columns of a join that Spark does not compare."""
    types = ColumnTypes({}, {side: types_by_name(inputs[number] or ()) for side, number in _SIDES.items()})
    for one, other in on:
        pair = (SqlName(one, LEFT), SqlName(other, RIGHT))
        yield from type_refusals(SqlCall("=", pair, f"{LEFT}.{one} = {RIGHT}.{other}"), types)


def _problems(use: ColumnUse, inputs: Sequence[Known]) -> list[Problem] | None:
    """Return the problems of what is read, None if it is not certain what that is."""
    known = _read_by(use, inputs)
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
    if not found and use.of_types:
        found += _of_other_types(use, known)
    if not found and not use.is_name and (node := tree_of(use.text)) is not None:
        found += _of_types(node, use, _types_for(use, known))
    return found


def _read_by(use: ColumnUse, inputs: Sequence[Known]) -> list[Known]:
    return [inputs[number] if number < len(inputs) else None for number in use.inputs]


def _types_for(use: ColumnUse, read: Sequence[Known]) -> ColumnTypes:
    """Return the types of what an expression may read; names of its operator's own columns may have each type."""
    known = [each or () for each in read]
    types = {**types_by_name(*known), **dict.fromkeys(name.lower() for name in use.also)}
    sides = {side: types_by_name(known[number]) for side, number in _SIDES.items() if number < len(known)}
    return ColumnTypes(types, sides)


def _type(use: ColumnUse, inputs: Sequence[Known]) -> str | None:
    node = tree_of(use.text)
    return None if node is None else type_of_node(node, _types_for(use, _read_by(use, inputs)))


def _of_types(node: SqlNode, use: ColumnUse, columns: ColumnTypes) -> Iterator[Problem]:
    """Yield what Spark refuses because of types."""
    found = list(type_refusals(node, columns))
    yield from found
    kind = type_of_node(node, columns)
    if use.is_condition and not found and kind not in (None, "BOOLEAN"):
        message = f"its condition {shown(use.text)} is {kind}"
        yield Problem(message=message, allowed="a condition, which is BOOLEAN")


def _of_other_types(use: ColumnUse, read: Sequence[Known]) -> Iterator[Problem]:
    """Yield a column that is known to have another type than it may have."""
    kind = types_by_name(*(each or () for each in read)).get(use.text.lower())
    if kind is not None and not kind.upper().startswith(use.of_types):
        yield Problem(message=f"its time {shown(use.text)} is {kind}", allowed=listing(TIMES), hint=HOW_TO_MAKE_TIMES)


def _missing(use: ColumnUse, column: NamedColumn, names: Sequence[str]) -> Problem:
    of = "" if column.side is None else f" on its {column.side}"
    where = "" if use.is_name else f", which {shown(use.text)} reads"
    more = f" and {len(names) - _MOST_COLUMNS} more" if len(names) > _MOST_COLUMNS else ""
    return Problem(
        message=f"there is no column {shown(column.name)}{of}{where}",
        allowed=f"{listing(names[:_MOST_COLUMNS])}{more}" if names else None,
        hint=did_you_mean(column.name, names),
    )
