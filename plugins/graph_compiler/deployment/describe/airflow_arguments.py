"""Airflow's arguments of a compiled pipeline: declared ones, and those of the function that builds the Dag."""

from __future__ import annotations

from graph_compiler.declaration.dag.airflow_arguments import AirflowArguments, find_strangers
from graph_compiler.deployment.describe.airflow_versions import missing_abilities
from graph_compiler.errors import InvalidPipelineError
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline


def airflow_arguments(compiled: CompiledPipeline, given: AirflowArguments, function: str) -> AirflowArguments:
    """Return the declared arguments, and those that `function` was given, which win.

    Raises InvalidPipelineError for names that Airflow, or the pipeline, does not have.
    """
    found = compiled.pipeline.airflow.overridden(given)
    groups = compiled.deployment.slot_sharing_groups
    problems = (*given.problems(function), *find_strangers(found, groups), *missing_abilities(compiled.options, found))
    if problems:
        raise compiled.pipeline.placed(InvalidPipelineError(compiled.pipeline.name, problems))
    return found
