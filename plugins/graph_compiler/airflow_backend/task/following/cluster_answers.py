"""What the provider learns about an application on a cluster, through an operator that may not have submitted it."""

from __future__ import annotations

import re
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

_UNKNOWN = re.compile(r"YARN RM REST API returned HTTP 404\b")
GONE = "NOTFOUND"
"""The provider's word for a pod that is not there; also used for an application that YARN does not know."""


def answered_status(operator: SparkSubmitOperator, id: str, context: Any) -> str:
    """Return an application's status in the provider's words; raises an error of the cluster's client."""
    try:
        return str(operator.get_job_status(id, context))
    except Exception as error:  # each cluster's client has its own
        if _UNKNOWN.search(str(error)):
            return GONE
        raise


def take_over(operator: SparkSubmitOperator, id: str) -> None:
    """Let a kill of the task end an application that it has not submitted."""
    hook = operator._hook
    if hook._is_yarn:
        hook._yarn_application_id = id
    else:
        hook._kubernetes_driver_pod = operator._parse_k8s_external_id(id)[1]
