"""The values of a region's secrets, from Airflow's connections; only the driver's environment receives them.

The execution target says where a driver inherits the environment of spark-submit. For YARN and Kubernetes,
SparkSubmitHook turns it into arguments, `--conf spark.…Env.NAME=value`, which every user of the host can read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.sdk import BaseHook, Connection
from airflow.sdk.exceptions import AirflowException
from airflow.sdk.log import mask_secret

from graph_compiler.declaration.connectors.secret import CONNECTION_FIELDS, Secret
from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.deployment.documents.values_within import values_within
from graph_compiler.deployment.targets.built_in import BUILT_IN
from graph_compiler.deployment.targets.execution_target import DriverPlace
from graph_compiler.errors import SecretError


def secret_values(region: RegionDescriptor) -> dict[str, str]:
    """Return each secret's value by its variable, masked from now on in every log of this process.

    Raises SecretError, which names the missing connection or field, and never contains a value.
    """
    secrets = dict.fromkeys(values_within(region, Secret))
    return {secret.variable: _value(secret) for secret in secrets}


def pass_secrets(
    hook: SparkSubmitHook,
    driver: DriverPlace,
    region: RegionDescriptor,
    values: Mapping[str, str],
) -> None:
    """Let the hook pass the values of a region's secrets, by variable, in the environment.

    Raises SecretError if a driver there does not inherit it, or the hook would turn it into arguments.
    """
    if not any(values_within(region, Secret)):
        return
    if not driver.inherits_environment or hook._is_yarn or hook._is_kubernetes:
        master, mode = hook._connection["master"], hook._connection["deploy_mode"]
        raise SecretError(
            f"this pipeline uses secrets, and the Spark connection has master '{master}'"
            f" and deploy mode '{mode or 'client'}': there, environment variables of the driver "
            "are lost, or appear as arguments\n"
            f"  allowed: {'; '.join(_ways())}\n"
            "  hint: keep the credentials in the cluster (a keytab, a Kubernetes secret) instead of using Secret"
        )
    hook._env_vars = {**(hook._env_vars or {}), **values}


def _ways() -> Iterator[str]:
    for target in BUILT_IN:
        for mode in target.deploy_modes:
            if target.place(mode).inherits_environment:
                yield f"{target.master_form} with deploy mode {mode}"


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
