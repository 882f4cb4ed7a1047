"""The values of a region's secrets, from Airflow's connections; only the driver's environment receives them.

SparkSubmitHook passes variables to the process it starts only for local masters, and for client mode on a standalone
cluster. For YARN and Kubernetes it turns them into arguments, `--conf spark.…Env.NAME=value`, which every user of the
host can read.
"""

from __future__ import annotations

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.sdk import BaseHook, Connection
from airflow.sdk.exceptions import AirflowException
from airflow.sdk.log import mask_secret

from graph_compiler.declaration.connectors.secret import CONNECTION_FIELDS, Secret
from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.deployment.documents.values_within import values_within
from graph_compiler.errors import SecretError


def secret_values(region: RegionDescriptor) -> dict[str, str]:
    """Return each secret's value by its variable, masked from now on in every log of this process.

    Raises SecretError, which names the missing connection or field, and never contains a value.
    """
    secrets = dict.fromkeys(values_within(region, Secret))
    return {secret.variable: _value(secret) for secret in secrets}


def check_way_to_driver(hook: SparkSubmitHook) -> None:
    """Raise SecretError if the hook would turn the environment into arguments, or would not pass it on."""
    master, mode = hook._connection["master"], hook._connection["deploy_mode"]
    if hook._is_yarn or hook._is_kubernetes or mode == "cluster":
        raise SecretError(
            f"this pipeline uses secrets, and the Spark connection has master '{master}'"
            f" and deploy mode '{mode or 'client'}': there, environment variables of the driver "
            "are lost, or appear as arguments\n"
            "  allowed: local, or spark://… with deploy mode client\n"
            "  hint: keep the credentials in the cluster (a keytab, a Kubernetes secret) instead of using Secret"
        )


def _value(secret: Secret) -> str:
    try:
        connection: Connection = BaseHook.get_connection(secret.conn_id)
    except AirflowException:
        raise SecretError(f"there is no Airflow connection '{secret.conn_id}' ({secret})") from None
    found = (
        getattr(connection, secret.field)
        if secret.field in CONNECTION_FIELDS
        else connection.extra_dejson.get(secret.field)
    )
    if found is None or found == "":
        raise SecretError(
            f"the Airflow connection '{secret.conn_id}' has no {secret.field}\n"
            f"  allowed: {', '.join(CONNECTION_FIELDS)}, or a key in its extra"
        )
    value = str(found)
    mask_secret(value)
    return value
