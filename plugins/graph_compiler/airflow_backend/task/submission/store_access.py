"""Let Spark reach the store of the staging root: as the connection says, or with the cluster's own identity.

endpoint, region, path style    settings of Spark, where the connection and spark-defaults.conf have none
HDFS's user                     variables of spark-submit's process and, by settings of Spark, of those on other hosts
keys, session token             variables of spark-submit's process: S3A looks for them, and Spark sends them to
executors with Hadoop's configuration; they are in no argument and no document
"""

from __future__ import annotations

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

from graph_compiler.airflow_backend.stores.connection_access import RootAccess, root_access
from graph_compiler.deployment.targets.execution_target import DriverPlace
from graph_compiler.errors import SecretError
from graph_compiler.object_stores.s3_access import S3Access


def pass_store_access(
    hook: SparkSubmitHook, place: DriverPlace, root: str, conn_id: str | None
) -> RootAccess:
    """Complete the hook's settings, and return the access; its variables are those of spark-submit's process.

    Raises SecretError if keys would not reach a driver there, and StagingError.
    """
    access = root_access(root, conn_id)
    for key, value in access.spark_settings().items():
        hook._conf.setdefault(key, value)
    if place.is_elsewhere and isinstance(access, S3Access) and access.environment():
        raise SecretError(
            f"Airflow connection '{conn_id}' of the staging root has keys, and they do not reach a driver that runs on "
            "another host\n"
            "  hint: leave them out of the connection, so that workers and cluster use their own identities, or use "
            "deploy mode client"
        )
    return access
