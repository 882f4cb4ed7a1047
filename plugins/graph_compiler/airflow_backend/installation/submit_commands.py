"""The commands that would submit a pipeline's tasks: a separate program, so that its caller does not import Airflow.

python -m graph_compiler.airflow_backend.installation.submit_commands flights   →   {"pipeline": "flights", "tasks": …}

They are those of the operators and their hook; nothing is written or submitted. What depends on the run has a name in
its place: RUN_ID, EXECUTION_ID. Arguments of a Dag file, such as `default_args`, are not known here.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime

from graph_compiler.airflow_backend.connection_access import open_stores
from graph_compiler.airflow_backend.dag.dag_builder import build_dag
from graph_compiler.airflow_backend.installation.settings import read_settings
from graph_compiler.airflow_backend.run_identities import identity_of_plan
from graph_compiler.airflow_backend.task.task_operator import DeploymentTaskOperator
from graph_compiler.airflow_backend.task.task_try import TaskTry
from graph_compiler.declaration.connectors.secret import Secret
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.deployment.documents.descriptor import (
    VERSION,
    ExecutionAttempt,
    RegionDescriptor,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.submission import PipelineSubmission, TaskSubmission
from graph_compiler.deployment.documents.wire import to_json, values_within
from graph_compiler.projects.pipeline_files import load_pipeline
from graph_compiler.tested_versions import installed_version

RUN, EXECUTION = "RUN_ID", "EXECUTION_ID"


def submit_commands(pipeline: Pipeline) -> PipelineSubmission:
    """Return how each task would be submitted; raises InvalidPipelineError and what `read_settings` raises."""
    dag = build_dag(pipeline, schedule=None, start_date=datetime(2000, 1, 1, tzinfo=UTC))
    settings = read_settings()
    open_stores(settings.staging_root, settings.staging_conn_id)
    root = settings.staging_root
    found = tuple(_submission(task, root) for task in dag.tasks if isinstance(task, DeploymentTaskOperator))
    return PipelineSubmission(pipeline=pipeline.name, tasks=found)


def _submission(operator: DeploymentTaskOperator, root: str) -> TaskSubmission:
    task = TaskTry([_execution(region, root) for region in operator.regions])
    operator.application_args = list(task.descriptors)
    secrets = dict.fromkeys(str(secret) for region in task.regions for secret in values_within(region, Secret))
    conn_id, _ = operator.cluster
    try:
        submission = operator.prepare(task).submission
    except Exception as error:  # the provider may raise any exception
        problem = str(error) or type(error).__name__
        return TaskSubmission(task=operator.task_id, conn_id=conn_id, secrets=tuple(secrets), problem=problem)
    return TaskSubmission(
        task=operator.task_id,
        conn_id=conn_id,
        command=tuple(operator.masked(word) for word in submission.command),
        environment=submission.environment,
        secrets=tuple(secrets),
    )


def _execution(region: RegionDescriptor, root: str) -> TaskDeploymentDescriptor:
    return TaskDeploymentDescriptor(
        version=VERSION,
        identity=identity_of_plan(region.pipeline, RUN),
        region=region,
        attempt=ExecutionAttempt(execution_id=EXECUTION, attempt_number=0),
        staging_root=root,
        parameters=(),
        compiled_for=installed_version("pyspark"),
    )


if __name__ == "__main__":
    print(to_json(submit_commands(load_pipeline(sys.argv[1]))).replace("\n", ""))
