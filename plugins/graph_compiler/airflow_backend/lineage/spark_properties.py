"""Spark properties for those who run OpenLineage's own listener in their applications.

The Spark provider adds them when it submits (`[openlineage] spark_inject_parent_job_info` and
`spark_inject_transport_info`), to a hook that it makes then. Ours is made before.
"""

from __future__ import annotations

from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.common.compat.openlineage.utils.spark import (
    inject_parent_job_information_into_spark_properties,
    inject_transport_information_into_spark_properties,
)
from airflow.sdk import Context


def with_parent_run(operator: SparkSubmitOperator, context: Context) -> dict[str, Any]:
    """Return the task's Spark properties, with its run as the parent and the transport, as far as they are wanted."""
    conf = dict(operator.conf or {})
    if operator._openlineage_inject_parent_job_info:
        conf = inject_parent_job_information_into_spark_properties(conf, context)
    if operator._openlineage_inject_transport_info:
        conf = inject_transport_information_into_spark_properties(conf, context)
    return conf
