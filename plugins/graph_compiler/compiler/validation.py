"""Find everything wrong with a declaration before anything is translated. Pure: Pipeline in, Problems out.

One function for each question, gathered in `CHECKS`; to add one, write it and name it there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from difflib import get_close_matches

from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.declaration.operators import Aggregate, Select, Sink, Source, WithColumns
from graph_compiler.declaration.options import MAX_PARALLELISM, RuntimeMode, read_options
from graph_compiler.declaration.partitioners import Partitioner
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.transformations import (
    PartitionTransformation,
    PhysicalTransformation,
    SideOutputTransformation,
    Transformation,
    label,
)
from graph_compiler.errors import Problem
from graph_compiler.graphs.topology import CycleError, post_order
from graph_compiler.identifiers import is_legal_name, listing

NO_OPERATORS = "No operators defined in streaming topology. Cannot execute."
RUN_DATE = "run_date"
"""The parameter every run has without being declared."""
_PARAM = re.compile(r"\bparams\.([A-Za-z_]\w*)")
_NOT_CODE = re.compile(
    r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|--[^\n]*|/\*.*?\*/", re.DOTALL
)
# Not `::int` (a cast) and not `v:field` (a path into a variant).
_BOUND = re.compile(r"(?<![\w:\])]):([A-Za-z_]\w*)")
_TEMPLATE = re.compile(r"\{\{\s*(.*?)\s*\}\}|\{%.*?%\}")


def find_problems(pipeline: Pipeline) -> tuple[Problem, ...]:
    """Give every problem, in the order of the checks and then of the declaration."""
    if not any(transformation.is_root for transformation in pipeline.transformations):
        return (
            Problem(
                message=NO_OPERATORS,
                hint="end a stream with sink_to(…), or apply an operator to a source",
            ),
        )
    return tuple(problem for check in CHECKS for problem in check(pipeline))


def _unknown_inputs(pipeline: Pipeline) -> Iterator[Problem]:
    known = {transformation.id for transformation in pipeline.transformations}
    for transformation in pipeline.transformations:
        for unknown in sorted(set(transformation.inputs) - known):
            yield _problem(
                transformation, f"its input {unknown} is not a transformation of this pipeline"
            )


def _unknown_partitioners(pipeline: Pipeline) -> Iterator[Problem]:
    for transformation in pipeline.transformations:
        if isinstance(transformation, PartitionTransformation):
            partitioner = transformation.partitioner
            if partitioner is not None and not isinstance(partitioner, Partitioner):
                yield _problem(
                    transformation,
                    f"{partitioner!r} is not a partitioner",
                    allowed="a value of declaration.partitioners",
                )


def _cycles(pipeline: Pipeline) -> Iterator[Problem]:
    by_id = {transformation.id: transformation for transformation in pipeline.transformations}
    try:
        post_order(by_id, lambda id: [input for input in by_id[id].inputs if input in by_id])
    except CycleError as error:
        cycle = [by_id[id] for id in reversed(error.cycle) if isinstance(id, int)]
        path = " → ".join(label(transformation) for transformation in cycle)
        hint = "a dataflow goes one way; take one of these inputs away"
        yield _problem(cycle[0], f"it reads its own output: {path}", hint=hint)


def _duplicate_uids(pipeline: Pipeline) -> Iterator[Problem]:
    first: dict[str, PhysicalTransformation] = {}
    for transformation in _operators(pipeline):
        if transformation.uid is None:
            continue
        other = first.setdefault(transformation.uid, transformation)
        if other is not transformation:
            yield _problem(
                transformation,
                f"its uid '{transformation.uid}' is already that of '{other.name}' ({other.declared_at})",
                hint="a uid is the identity of one operator's results; give each its own",
            )


def _parallelism(pipeline: Pipeline) -> Iterator[Problem]:
    for operator in _operators(pipeline):
        wrong = [
            f"{setting} is {value!r}"
            for setting, value in (
                ("parallelism", operator.parallelism),
                ("max_parallelism", operator.max_parallelism),
            )
            if value is not None and not (isinstance(value, int) and 1 <= value <= MAX_PARALLELISM)
        ]
        if wrong:
            yield _problem(
                operator,
                listing(wrong),
                allowed=f"a whole number from 1 to {MAX_PARALLELISM}, or unset",
            )
            continue


def _empty_operators(pipeline: Pipeline) -> Iterator[Problem]:
    for operator in _operators(pipeline):
        expressions = operator.operator.expressions()
        if not all(
            isinstance(expression, str) and expression.strip() for expression in expressions
        ):
            yield _problem(operator, "it has an empty expression", allowed="Spark SQL")
        if isinstance(operator.operator, Aggregate | Select | WithColumns) and not expressions:
            example = 'flights="count(*)"'
            yield _problem(operator, "it gives no columns", hint=f"name at least one: {example}")


def _templates_in_expressions(pipeline: Pipeline) -> Iterator[Problem]:
    for operator in _operators(pipeline):
        for expression in operator.operator.expressions():
            if found := _TEMPLATE.search(expression):
                name = (found[1] or "").rpartition(".")[2]
                bound = f":{name}" if name.isidentifier() else ":name"
                yield _problem(
                    operator,
                    f"the expression '{expression}' holds the template {found[0]}",
                    allowed="templates in paths and connector options; parameters in expressions",
                    hint=f"declare it in params= of the environment and write {bound}, which is bound as a value",
                )


def _unknown_parameters(pipeline: Pipeline) -> Iterator[Problem]:
    known = [*(name for name, _ in pipeline.params), RUN_DATE]
    for operator in _operators(pipeline):
        for name in dict.fromkeys(_parameters(operator)):
            if name not in known:
                close = get_close_matches(name, known, n=1)
                yield _problem(
                    operator,
                    f"it uses the parameter '{name}', which is not declared",
                    allowed=listing(known),
                    hint=f"did you mean '{close[0]}'?"
                    if close
                    else "declare it in params= of the environment",
                )


def _parameters(operator: PhysicalTransformation) -> Iterator[str]:
    """Give the parameters an operator uses: `params.x` in its templates, `:x` in its expressions."""
    if isinstance(operator.operator, Source | Sink):
        for template in _TEMPLATE.findall(operator.operator.connector.path):
            yield from _PARAM.findall(template)
    for expression in operator.operator.expressions():
        yield from _BOUND.findall(_NOT_CODE.sub(" ", expression))


def _side_outputs(pipeline: Pipeline) -> Iterator[Problem]:
    by_id = {transformation.id: transformation for transformation in pipeline.transformations}
    for transformation in pipeline.transformations:
        if not isinstance(transformation, SideOutputTransformation):
            continue
        producer = by_id.get(transformation.inputs[0])
        tags = (
            producer.operator.output_tags() if isinstance(producer, PhysicalTransformation) else ()
        )
        if transformation.tag not in tags:
            close = get_close_matches(transformation.tag, tags, n=1)
            yield Problem(
                operator=label(producer) if producer else None,
                message=f"it has no side output '{transformation.tag}'",
                allowed=listing(tags),
                hint=f"did you mean '{close[0]}'?"
                if close
                else 'filter(…, rejects="tag") makes one',
                declared_at=transformation.declared_at,
            )


def _sinks(pipeline: Pipeline) -> Iterator[Problem]:
    writer: dict[str, PhysicalTransformation] = {}
    reads = {
        _folder(t.operator.connector): t
        for t in _operators(pipeline)
        if isinstance(t.operator, Source)
    }
    for transformation in _operators(pipeline):
        if not isinstance(transformation.operator, Sink):
            continue
        connector = transformation.operator.connector
        folder = _folder(connector)
        if not connector.is_sink:
            yield _problem(
                transformation, f"{type(connector).__name__} cannot be written", allowed="Parquet"
            )
        other = writer.setdefault(folder, transformation)
        if other is not transformation:
            yield _problem(
                transformation, f"it writes {folder}, as '{other.name}' does ({other.declared_at})"
            )
        if folder in reads:
            hint = "write elsewhere: a retry would read what the first attempt wrote"
            yield _problem(
                transformation,
                f"it replaces {folder}, which '{reads[folder].name}' reads",
                hint=hint,
            )


def _folder(connector: FileConnector) -> str:
    """Write a path in one way; templates in it stay as they are."""
    return connector.path.removeprefix("file://").rstrip("/")


def _task_ids(pipeline: Pipeline) -> Iterator[Problem]:
    for operator in _operators(pipeline):
        if operator.task_id is not None and not is_legal_name(operator.task_id):
            yield _problem(
                operator,
                f"its task_id is '{operator.task_id}'",
                allowed="letters, digits, '_', '-' and '.', at most 250 of them",
            )


def _unbounded_in_batch(pipeline: Pipeline) -> Iterator[Problem]:
    options, _ = read_options(pipeline.config)
    if options.runtime_mode is RuntimeMode.BATCH:
        for source in unbounded_sources(pipeline):
            yield _problem(
                source,
                "it never ends, and execution.runtime-mode is BATCH",
                allowed="STREAMING or AUTOMATIC",
            )


def _missing_uids(pipeline: Pipeline) -> Iterator[Problem]:
    options, _ = read_options(pipeline.config)
    for operator in _operators(pipeline):
        if not options.auto_generate_uids and operator.uid is None and operator.uid_hash is None:
            yield _problem(
                operator,
                "it has neither uid nor uid hash, and pipeline.auto-generate-uids is false",
            )


def unbounded_sources(pipeline: Pipeline) -> list[PhysicalTransformation]:
    """Give the sources that never end."""
    return [
        t
        for t in _operators(pipeline)
        if isinstance(t.operator, Source) and not t.operator.is_bounded
    ]


CHECKS: tuple[Callable[[Pipeline], Iterator[Problem]], ...] = (
    _unknown_inputs,
    _unknown_partitioners,
    _cycles,
    _duplicate_uids,
    _parallelism,
    _empty_operators,
    _templates_in_expressions,
    _unknown_parameters,
    _side_outputs,
    _sinks,
    _task_ids,
    _unbounded_in_batch,
    _missing_uids,
)


def _operators(pipeline: Pipeline) -> list[PhysicalTransformation]:
    return [t for t in pipeline.transformations if isinstance(t, PhysicalTransformation)]


def _problem(
    transformation: Transformation,
    message: str,
    *,
    allowed: str | None = None,
    hint: str | None = None,
) -> Problem:
    return Problem(
        operator=label(transformation),
        message=message,
        allowed=allowed,
        hint=hint,
        declared_at=transformation.declared_at,
    )
