"""Find all problems of a declaration before anything is translated: a pure function from Pipeline to Problems.

Each check is a function in `CHECKS`, or in `OPTION_CHECKS` if it depends on an option. To add one, write it and list it
there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from graph_compiler.compiler.checks import (
    connector_checks,
    expression_checks,
    name_checks,
    operator_checks,
    previous_version_checks,
    resource_checks,
    run_checks,
    sink_checks,
    structure_checks,
    time_checks,
)
from graph_compiler.compiler.checks.column_checks import judge_columns, misspelled_functions
from graph_compiler.compiler.checks.operator_checks import wrong_types
from graph_compiler.declaration.pipeline import IncompletePipelineError, Pipeline
from graph_compiler.errors import InvalidPipelineError, Problem
from graph_compiler.options.model import PipelineOptions
from graph_compiler.options.modes import NO_DEPLOYMENT_OPTIONS, DeploymentOptions
from graph_compiler.options.reader import read_options

NO_OPERATORS = "No operators defined in streaming topology. Cannot execute."

Checks = tuple[Callable[[Pipeline], Iterator[Problem]], ...]

CHECKS: Checks = (
    run_checks.defaults,
    run_checks.airflow,
    run_checks.schedule,
    run_checks.artifacts,
    structure_checks.unknown_partitioners,
    structure_checks.cycles,
    name_checks.unprintable_names,
    operator_checks.duplicate_uids,
    operator_checks.uid_hashes,
    operator_checks.parallelism,
    operator_checks.never_parallel,
    resource_checks.invalid_groups,
    resource_checks.differing_groups,
    resource_checks.resources,
    operator_checks.incomplete_operators,
    expression_checks.templates_in_expressions,
    expression_checks.clocks_in_literals,
    expression_checks.patterns_of_times,
    expression_checks.more_than_one_expression,
    expression_checks.unknown_parameters,
    structure_checks.side_outputs,
    connector_checks.unregistered_kinds,
    connector_checks.not_connectors,
    connector_checks.connectors,
    connector_checks.positions,
    sink_checks.sinks,
    sink_checks.targets_that_meet,
    previous_version_checks.previous_versions,
    sink_checks.orders,
    operator_checks.task_ids,
)
STREAM_GRAPH_CHECKS: Checks = tuple(check for check in CHECKS if check is not operator_checks.duplicate_uids)
"""The checks that a stream graph alone needs: Flink refuses duplicate uids when it makes the job graph."""
OPTION_CHECKS: tuple[Callable[[Pipeline, PipelineOptions], Iterator[Problem]], ...] = (
    operator_checks.unbounded_in_batch,
    structure_checks.iterations,
    structure_checks.feedback,
    operator_checks.missing_uids,
)

WARNINGS: Checks = (
    name_checks.operators_of_one_name,
    sink_checks.relative_sources,
    sink_checks.tables_of_one_writer,
    structure_checks.unread_streams,
    connector_checks.overwritten_increments,
    time_checks.weeks,
    misspelled_functions,
)
"""What a pipeline may do, but its author may not have intended; it is never refused for it."""
OPTION_WARNINGS: tuple[Callable[[Pipeline, PipelineOptions], Iterator[Problem]], ...] = (
    time_checks.days_of_runs,
    time_checks.days_that_begin,
)


def find_warnings(pipeline: Pipeline, options: PipelineOptions) -> tuple[Problem, ...]:
    """Return possible mistakes in a pipeline that has no problems."""
    found = [warning for check in WARNINGS for warning in check(pipeline)]
    return (*found, *(warning for check in OPTION_WARNINGS for warning in check(pipeline, options)))


def all_problems(error: InvalidPipelineError) -> tuple[Problem, ...]:
    """Return the problems of a refused call, and those of the rest of the declaration."""
    declared = error.declared if isinstance(error, IncompletePipelineError) else None
    if declared is None or not _has_roots(declared):
        return error.problems
    options, wrong = read_options(declared.config)
    return by_place((*error.problems, *find_problems(declared, None if wrong else options)))


def column_problems(error: InvalidPipelineError, declared: Pipeline | None) -> tuple[Problem, ...]:
    """Return the missing columns of a refused pipeline, as far as it is declared rightly."""
    declared = error.declared if isinstance(error, IncompletePipelineError) else declared
    if declared is None:
        return ()
    wrong = wrong_types(declared)
    rest = tuple(one for one in declared.transformations if one.id not in wrong)
    return judge_columns(replace(declared, transformations=rest)).problems


def by_place(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return problems by their place in the declaration, each once."""
    return tuple(sorted(dict.fromkeys(problems), key=_position))


def _position(problem: Problem) -> tuple[str, int, int, str]:
    where = problem.declared_at
    place = (where.file, where.line) if where else ("", 0)
    return (*place, problem.column or 0, problem.message)


def _has_roots(pipeline: Pipeline) -> bool:
    return any(transformation.is_root for transformation in pipeline.transformations)


def validated_options(
    pipeline: Pipeline, deployment: DeploymentOptions = NO_DEPLOYMENT_OPTIONS, *, checks: Checks = CHECKS
) -> PipelineOptions:
    """Return the options of a valid pipeline; raises InvalidPipelineError with every problem found."""
    options, wrong = read_options(pipeline.config, deployment)
    problems = [*wrong, *find_problems(pipeline, None if wrong else options, checks)]
    if problems:
        raise InvalidPipelineError(pipeline.name, problems)
    return options


def find_problems(pipeline: Pipeline, options: PipelineOptions | None, checks: Checks = CHECKS) -> tuple[Problem, ...]:
    """Return every problem, in the order of the checks and then of the declaration.

    `options` is None if they are invalid; checks that depend on them are then skipped.
    """
    if not _has_roots(pipeline):
        return (Problem(message=NO_OPERATORS, hint="end a stream with sink_to(…), or apply an operator to a source"),)
    wrong = wrong_types(pipeline)
    kept = tuple(one for one in pipeline.transformations if one.id not in wrong)
    rest = replace(pipeline, transformations=kept)
    found = [*structure_checks.unknown_inputs(pipeline), *wrong.values()]
    found += [problem for check in checks for problem in check(rest)]
    if options is not None:
        found += [problem for check in OPTION_CHECKS for problem in check(rest, options)]
    return tuple(found)
