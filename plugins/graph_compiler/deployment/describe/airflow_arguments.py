"""Airflow's arguments of a compiled pipeline: declared ones, and those of the function that builds the Dag."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from graph_compiler.declaration.dag.airflow_arguments import ONE_OF, AirflowArguments, find_strangers
from graph_compiler.deployment.describe.airflow_versions import missing_abilities
from graph_compiler.errors import InvalidPipelineError, Problem
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline

_ALL = "all_success"


def airflow_arguments(compiled: CompiledPipeline, given: AirflowArguments, function: str) -> AirflowArguments:
    """Return the declared arguments, and those that `function` was given, which win.

    Raises InvalidPipelineError for names that Airflow, or the pipeline, does not have.
    """
    found = compiled.pipeline.airflow.overridden(given)
    groups = compiled.deployment.slot_sharing_groups
    problems = (
        *given.problems(function),
        *find_strangers(found, groups),
        *misplaced_rules(compiled, found),
        *missing_abilities(compiled.options, found),
    )
    if problems:
        raise compiled.pipeline.placed(InvalidPipelineError(compiled.pipeline.name, problems))
    return found


def misplaced_rules(compiled: CompiledPipeline, given: AirflowArguments) -> Iterator[Problem]:
    """Find a trigger rule of one task that reads staged rows: it would run without them."""
    if not given.task_args:
        return
    task_of = compiled.deployment.task_of_vertex
    readers = {str(task_of(edge.target_id).id) for edge in compiled.task_edges()}
    for name, arguments in given.task_args.items():
        rule = arguments.get("trigger_rule") if name in readers and isinstance(arguments, Mapping) else None
        # Other words are found elsewhere. Airflow's own constants are equal to theirs, and printed otherwise.
        for word in (word for word in ONE_OF["trigger_rule"] if word == rule and word != _ALL):
            yield Problem(
                message=f"task_args['{name}'] has trigger_rule '{word}', and '{name}' reads what other tasks stage",
                allowed=_ALL,
                hint="without it, the task runs when those tasks have succeeded; a rule for what is upstream of the "
                "pipeline belongs to its first tasks, or in default_args",
            )
