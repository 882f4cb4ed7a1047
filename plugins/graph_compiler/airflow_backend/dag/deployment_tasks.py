"""The deployment tasks of a compiled pipeline, in the current Dag and task group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from airflow.sdk import DAG, XComArg
from airflow.sdk.definitions.edges import EdgeInfoType

from graph_compiler.airflow_backend.dag.arguments import Arguments
from graph_compiler.airflow_backend.dag.assets import assets_awaited
from graph_compiler.airflow_backend.dag.plan_document import packed
from graph_compiler.airflow_backend.dag.restart_strategy import restart_strategy
from graph_compiler.airflow_backend.installation.settings import Settings
from graph_compiler.airflow_backend.task.task_operator import DeploymentTaskOperator
from graph_compiler.declaration.dag.airflow_arguments import AirflowArguments
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.deployment.targets.submit_settings import submit_settings
from graph_compiler.explain.plan.plan import Plan
from graph_compiler.explain.plan.plan_writer import plan_of
from graph_compiler.explain.text.plan_text import explain_tasks
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.identifiers import TaskName

_ALL_SUCCESS: Mapping[str, Any] = {"trigger_rule": "all_success"}
"""Of tasks that read staged rows: with another rule, also one from a Dag's `default_args`, they would run without."""


def add_tasks(
    dag: DAG, compiled: CompiledPipeline, settings: Settings, arguments: Arguments, airflow: AirflowArguments
) -> tuple[Mapping[TaskName, DeploymentTaskOperator], Plan]:
    """Add the tasks of a pipeline, and a dependency for each staged edge between two; return them, and the plan."""
    groups = compiled.deployment.slot_sharing_groups
    awaited = tuple(assets_awaited(dag.schedule))
    arguments = replace(arguments, run_date_zone=compiled.options.run_date_timezone, assets=awaited)
    restart, described = restart_strategy(compiled.options), describe_pipeline(compiled)
    plan = plan_of(compiled, described)
    explanations = explain_tasks(plan)
    labels = _labels(compiled)
    readers = {downstream for _, downstream in labels}
    tasks = {
        name: DeploymentTaskOperator(
            regions=regions,
            plan=described.plan,
            arguments=arguments,
            settings=settings,
            where=submit_settings(compiled, regions[0].resource_profile),
            doc_md=_page(explanations[name], regions),
            restart=restart,
            params=dict(arguments.params),
            render_template_as_native_obj=False,  # a value that looks like a number stays text
            dag=dag,
            **{**airflow.of_task(name, groups[name]), **(_ALL_SUCCESS if name in readers else {})},
        )
        for name, regions in described.tasks().items()
    }
    for name, task in tasks.items():
        task.others = tuple(region for region in described.regions if region.task_name != name)
        for upstream, _ in XComArg.iter_xcom_references(dict(arguments.of_the_run)):
            upstream >> task
    next(iter(tasks.values())).plan_document = packed(plan)
    for (upstream_name, downstream_name), texts in labels.items():
        upstream, downstream = tasks[upstream_name], tasks[downstream_name]
        upstream >> downstream
        # Not Airflow's Label: inside task groups it changes dependencies.
        label = EdgeInfoType(label=", ".join(dict.fromkeys(texts)))
        dag.set_edge_info(upstream.task_id, downstream.task_id, label)
    return tasks, plan


def _labels(compiled: CompiledPipeline) -> Mapping[tuple[TaskName, TaskName], Sequence[str]]:
    """Return what is staged between two tasks, for each two that depend on each other."""
    labels: dict[tuple[TaskName, TaskName], list[str]] = {}
    for edge in compiled.task_edges():
        task_of = compiled.deployment.task_of_vertex
        ends = task_of(edge.source_id).id, task_of(edge.target_id).id
        labels.setdefault(ends, []).append(f"{edge.ship_strategy} · {edge.result_type}")
    return labels


def _page(explanation: str, regions: Sequence[RegionDescriptor]) -> str:
    vertices = [f"- {vertex.name} `{vertex.vertex_id}`" for region in regions for vertex in region.vertices]
    return "\n".join([f"```\n{explanation}\n```", "", *dict.fromkeys(vertices)])
