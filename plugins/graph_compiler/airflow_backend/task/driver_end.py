"""How a Spark driver ended: its report decides, or its exit code if there is none."""

from __future__ import annotations

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from graph_compiler.airflow_backend.task.execution_files import has_report, read_report
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.report import ThrowableType

_ENDED_ITSELF = (
    "Spark's driver ended with exit code 0 before its work was done, and left no report\n"
    "  hint: check whether a function ends the process (os._exit or similar); it must return rows or raise an error"
)
_ENDED_ELSEWHERE = (
    "Spark's driver is gone, and left no report\n"
    "  hint: see its log in the cluster: its application or its pod was removed, it does not see the staging root, or "
    "a function ended its process"
)


def why_failed(
    task: TaskDeploymentDescriptor,
    error: AirflowException | None,
    hook: SparkSubmitHook | None,
) -> AirflowException | None:
    """Return the report's message of a failure, None if the region succeeded.

    `error` is that of a non-zero exit code. If a driver on this host ended with 0 and without a report, its own code
    ended it, so a retry cannot help.
    """
    region = task.region
    if not has_report(task):
        if error is not None:
            return AirflowException(f"the Spark driver ended without a report: {error}")
        words = f"pipeline '{region.pipeline}', task '{region.region_id}': "
        if is_elsewhere(hook):
            return AirflowException(words + _ENDED_ELSEWHERE)
        return AirflowFailException(words + _ENDED_ITSELF)
    failure = read_report(task).failure
    if failure is None:  # a driver elsewhere has done its work, whatever became of its application
        return None if is_elsewhere(hook) else error
    message = failure.words(region.pipeline, region.region_id)
    if failure.throwable_type is ThrowableType.NON_RECOVERABLE_ERROR:
        return AirflowFailException(message)
    return AirflowException(message)


def is_elsewhere(hook: SparkSubmitHook | None) -> bool:
    """Whether the driver runs on another host, which may have another staging root."""
    return hook is not None and hook._connection["deploy_mode"] == "cluster"
