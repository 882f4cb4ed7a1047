"""Find everything wrong with a declaration before anything is translated. Pure: Pipeline in, Problems out.

One function for each question, gathered in `CHECKS`; to add one, write it and name it there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from graph_compiler.compiler import (
    connector_checks,
    expression_checks,
    operator_checks,
    resource_checks,
    run_checks,
    sink_checks,
    structure_checks,
)
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.errors import Problem

NO_OPERATORS = "No operators defined in streaming topology. Cannot execute."

CHECKS: tuple[Callable[[Pipeline], Iterator[Problem]], ...] = (
    run_checks.defaults,
    run_checks.schedule,
    structure_checks.unknown_inputs,
    structure_checks.unknown_partitioners,
    structure_checks.cycles,
    operator_checks.duplicate_uids,
    operator_checks.parallelism,
    resource_checks.resource_profiles,
    resource_checks.differing_profiles,
    resource_checks.resources,
    operator_checks.incomplete_operators,
    expression_checks.templates_in_expressions,
    expression_checks.unknown_parameters,
    structure_checks.side_outputs,
    connector_checks.not_connectors,
    connector_checks.connectors,
    sink_checks.sinks,
    sink_checks.targets_that_meet,
    operator_checks.task_ids,
    operator_checks.unbounded_in_batch,
    operator_checks.missing_uids,
)


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
