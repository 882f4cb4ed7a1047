"""Problems of the settings of operators."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from graph_compiler.compiler.checks.expression_checks import expressions_in
from graph_compiler.declaration.call_checks import problems_at
from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.operators import Operator, OperatorSettings, Sink, Source, WindowAggregate
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.transformations import (
    FeedbackTransformation,
    OneInputTransformation,
    PhysicalTransformation,
    Transformation,
    problem_at,
)
from graph_compiler.declaration.value_types import field_types, fits, value_words
from graph_compiler.declaration.windows import Window
from graph_compiler.errors import Problem, SourceLocation
from graph_compiler.extensions import is_foreign
from graph_compiler.graphs.stream_graph import JobType
from graph_compiler.identifiers import is_legal_name, listing, shown
from graph_compiler.options.model import MAX_PARALLELISM, PipelineOptions
from graph_compiler.options.modes import RuntimeMode


def duplicate_uids(pipeline: Pipeline) -> Iterator[Problem]:
    """Find duplicate uids."""
    return repeated_uids((one.settings.uid, one.name, one.declared_at) for one in pipeline.operators)


def repeated_uids(operators: Iterable[tuple[str | None, str, SourceLocation | None]]) -> Iterator[Problem]:
    """Find uids that an earlier operator already has; an operator is a tuple of uid, name and location."""
    first: dict[str, tuple[str, SourceLocation | None]] = {}
    for uid, name, declared_at in operators:
        if uid is None:
            continue
        if uid not in first:
            first[uid] = name, declared_at
            continue
        other, place = first[uid]
        yield Problem(
            operator=name,
            message=f"its uid '{uid}' is already used by '{other}'{f' ({place})' if place else ''}",
            hint="a uid identifies the results of one operator; give each its own",
            declared_at=declared_at,
        )


def missing_uids(pipeline: Pipeline, options: PipelineOptions) -> Iterator[Problem]:
    """Find operators without a uid, if every operator must have one."""
    if options.auto_generate_uids:
        return
    read = reached(pipeline)
    for operator in pipeline.operators:
        ids = (operator.settings.uid, operator.settings.uid_hash)
        if operator.id in read and ids == (None, None):
            yield problem_at(
                operator,
                "it has neither uid nor uid hash, but pipeline.auto-generate-uids is false",
                hint='set .uid("…"), or remove the option',
            )


def uid_hashes(pipeline: Pipeline) -> Iterator[Problem]:
    """Find uid hashes that are no hashes, or are set on a sink that becomes several operators."""
    for operator in pipeline.transformations:
        if not isinstance(operator, PhysicalTransformation | FeedbackTransformation):
            continue
        uid_hash = operator.settings.uid_hash
        if uid_hash is None:
            continue
        kind = operator.operator if isinstance(operator, PhysicalTransformation) else None
        if isinstance(kind, Sink) and kind.has_writer:
            hint = 'set .uid("…"): the uids of its operators begin with it'
            yield problem_at(operator, "it has a uid hash, but it becomes several operators", hint=hint)
        elif re.fullmatch("[0-9A-Fa-f]{32}", uid_hash) is None:
            yield problem_at(operator, f"its uid hash is {shown(uid_hash)}", allowed="32 hexadecimal digits")


def parallelism(pipeline: Pipeline) -> Iterator[Problem]:
    """Find a parallelism that is not a number, or is out of bounds."""
    allowed = f"a whole number from 1 to {MAX_PARALLELISM}, or unset"
    for iteration in pipeline.transformations:
        if isinstance(iteration, FeedbackTransformation) and (wrong := _out_of_bounds(iteration.settings)):
            yield problem_at(iteration, listing(wrong), allowed=allowed)
    for operator in pipeline.operators:
        parallelism, most = operator.settings.parallelism, operator.settings.max_parallelism
        if wrong := _out_of_bounds(operator.settings):
            yield problem_at(operator, listing(wrong), allowed=allowed)
        elif parallelism is not None and most is not None and parallelism > most:
            yield problem_at(
                operator,
                f"parallelism {parallelism} is higher than its maximum of {most}",
                hint="raise the maximum, or lower the parallelism",
            )


def never_parallel(pipeline: Pipeline) -> Iterator[Problem]:
    """Find operators with more than one subtask that may have only one."""
    for operator in pipeline.operators:
        parallelism, most = operator.settings.parallelism, operator.settings.max_parallelism
        if operator.operator.is_non_parallel and parallelism != 1:
            yield problem_at(
                operator,
                f"its parallelism is {parallelism}, but all its rows go through one partition",
                allowed="1, or unset",
            )
        if operator.operator.is_non_parallel and most not in (None, 1):
            yield problem_at(
                operator,
                f"its maximum parallelism is {most}, but all its rows go through one partition",
                allowed="1, or unset",
            )
        if parallelism not in (None, 1) and _is_non_parallel_source(operator):
            message = f"its parallelism is {parallelism}, but one subtask reads the whole source"
            yield problem_at(operator, message, allowed="1, or unset")


def _out_of_bounds(settings: OperatorSettings) -> list[str]:
    return [
        f"{setting} is {value!r}"
        for setting, value in (("parallelism", settings.parallelism), ("max_parallelism", settings.max_parallelism))
        if value is not None and not (isinstance(value, int) and 1 <= value <= MAX_PARALLELISM)
    ]


def incomplete_operators(pipeline: Pipeline) -> Iterator[Problem]:
    """Find operators with empty or contradictory settings, and empty expressions."""
    for place, expression in expressions_in(pipeline):
        if not isinstance(expression, str) or not expression.strip():
            yield problem_at(place, "it has an empty expression", allowed="Spark SQL")
    for operator in pipeline.operators:
        yield from problems_at(operator, operator.operator)


def task_ids(pipeline: Pipeline) -> Iterator[Problem]:
    """Find task ids that Airflow would refuse."""
    for operator in pipeline.operators:
        task_id = operator.settings.task_id
        if task_id is not None and not is_legal_name(task_id):
            yield problem_at(
                operator,
                f"its task_id is '{task_id}'",
                allowed="letters, digits, '_', '-' and '.', at most 250 of them",
            )


def unbounded_in_batch(pipeline: Pipeline, options: PipelineOptions) -> Iterator[Problem]:
    """Find unbounded sources in a batch job."""
    if options.runtime_mode is RuntimeMode.BATCH:
        for source in unbounded_sources(pipeline):
            yield problem_at(
                source, "it never ends, but execution.runtime-mode is BATCH", allowed="STREAMING or AUTOMATIC"
            )


def job_type(pipeline: Pipeline, options: PipelineOptions) -> JobType:
    """Return whether the job ends by itself; with AUTOMATIC, that depends on the sources."""
    if options.runtime_mode is RuntimeMode.AUTOMATIC:
        return JobType.STREAMING if unbounded_sources(pipeline) else JobType.BATCH
    return JobType.BATCH if options.runtime_mode is RuntimeMode.BATCH else JobType.STREAMING


def unbounded_sources(pipeline: Pipeline) -> list[PhysicalTransformation]:
    """Return the unbounded sources that something reads; what only flows back into an iteration does not count."""
    found = [t for t in pipeline.operators if isinstance(t.operator, Source) and not t.operator.is_bounded]
    if not found:
        return found
    read = reached(pipeline, by_feedback=False)
    return [source for source in found if source.id in read]


def reached(pipeline: Pipeline, *, by_feedback: bool = True) -> frozenset[int]:
    """Return the ids of what is translated: what is registered with the environment, and everything that it reads."""
    by_id = {transformation.id: transformation for transformation in pipeline.transformations}
    found: set[int] = set()
    pending = [transformation.id for transformation in pipeline.transformations if transformation.is_root]
    while pending:
        id = pending.pop()
        if id in found or id not in by_id:
            continue
        found.add(id)
        transformation = by_id[id]
        pending += transformation.inputs
        if by_feedback and isinstance(transformation, FeedbackTransformation):
            pending += transformation.feedback
    return frozenset(found)


def declared_parallelism(transformation: Transformation, by_id: Mapping[int, Transformation], default: int) -> int:
    """Return the parallelism at a place of the declaration; what is no operator has that of its first input."""
    for _ in by_id:  # so that a cycle, which another check finds, ends
        match transformation:
            case PhysicalTransformation() if _is_non_parallel_source(transformation):
                return 1
            case PhysicalTransformation(settings=settings) | FeedbackTransformation(settings=settings):
                if settings.parallelism is not None:
                    return settings.parallelism
        is_operator = isinstance(transformation, PhysicalTransformation)
        inherits = isinstance(transformation, OneInputTransformation) and transformation.inherits_parallelism
        input = by_id.get(transformation.inputs[0]) if inherits or not is_operator else None
        if input is None:
            break
        transformation = input
    return default


def _is_non_parallel_source(transformation: PhysicalTransformation) -> bool:
    return isinstance(transformation.operator, Source) and not transformation.operator.is_parallel


_ALLOWED = {
    "options": 'a mapping: {"sep": ";"}',
    **dict.fromkeys(("size", "slide", "gap"), "a length, as '10 minutes'"),
}

_LOOKED_AT = ("rows",)
"""The fields that a connector checks itself."""


def wrong_types(pipeline: Pipeline) -> dict[int, Problem]:
    """Find connectors, windows and packages' operators with values of wrong types, by the id of their operator."""
    return {operator.id: problem for operator in pipeline.operators for problem in _problems(operator)}


def _problems(operator: PhysicalTransformation) -> Iterator[Problem]:
    value: object = None
    match operator.operator:
        case Source(connector=connector) | Sink(connector=connector):
            value = connector
        case WindowAggregate(window=window):
            value = window
        case other if is_foreign(type(other)):  # no call of the fluent API has checked its fields
            value = other
    if not isinstance(value, Connector | Operator | Window):
        return
    kind: Any = type(value)
    types = field_types(kind)
    wrong = {
        field.name: getattr(value, field.name)
        for field in fields(value)
        if field.name not in _LOOKED_AT and not fits(getattr(value, field.name), types[field.name])
    }
    if wrong:
        found = listing(f"{name} is {shown(item)}" for name, item in wrong.items())
        allowed = dict.fromkeys(_ALLOWED.get(name) or value_words(types[name]) for name in wrong)
        yield problem_at(operator, found, allowed="; ".join(allowed))
