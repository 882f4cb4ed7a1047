"""The values of a region's secrets, from Airflow's connections; only the driver receives them.

    environment          of spark-submit's process: the driver is its child
    file                 below a folder that only its owner can enter; --files uploads it, and it is removed
    Kubernetes secret    the cluster has the values: spark.kubernetes.driver.secretKeyRef.<variable>

SparkSubmitHook would turn `env_vars` into arguments for YARN and Kubernetes, which every user of the host can read, so
they are not used.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.sdk import BaseHook, Connection
from airflow.sdk.exceptions import AirflowException
from airflow.sdk.log import mask_secret

from graph_compiler.declaration.connectors.secret import (
    CONNECTION_FIELDS,
    SECRETS_FILE,
    Secret,
)
from graph_compiler.deployment.documents.descriptor import (
    RegionDescriptor,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.values_within import values_within
from graph_compiler.deployment.targets.execution_target import DriverPlace, SecretWay
from graph_compiler.errors import SecretError
from graph_compiler.identifiers import path_segment

_FROM_CLUSTER = "spark.kubernetes.driver.secretKeyRef"


def pass_secrets(hook: SparkSubmitHook, place: DriverPlace, task: TaskDeploymentDescriptor) -> None:
    """Name in the hook's settings what brings secrets to the driver; no value is read.

    Raises SecretError if a region has secrets, and they cannot reach a driver there.
    """
    secrets = _secrets(task.region)
    if not secrets:
        return
    if place.secrets is None:
        master, mode = hook._connection["master"], hook._connection["deploy_mode"]
        raise SecretError(
            f"this pipeline uses secrets, and no way is known by which they reach a driver of master '{master}' "
            f"with deploy mode '{mode or 'client'}'\n"
            "  hint: use another execution target, or keep the credentials in the cluster instead of using Secret"
        )
    if place.secrets is SecretWay.FILE:
        hook._files = ",".join(filter(None, [hook._files, str(_file(task))]))
    elif place.secrets is SecretWay.KUBERNETES_SECRET:
        _check_references(hook, secrets)


@contextmanager
def secrets_at_hand(
    place: DriverPlace, task: TaskDeploymentDescriptor
) -> Iterator[Mapping[str, str]]:
    """Have the values of a region's secrets ready while spark-submit runs; yield those for its environment.

    They are masked from now on in every log of this process. Raises SecretError, which names the missing connection or
    field, and never contains a value.
    """
    if place.secrets is SecretWay.KUBERNETES_SECRET or not (secrets := _secrets(task.region)):
        yield {}
        return
    values = {secret.variable: _value(secret) for secret in secrets}
    if place.secrets is not SecretWay.FILE:
        yield values
        return
    file = _file(task)
    try:
        file.parent.mkdir(mode=0o700)
    except OSError as error:  # what is there may be another user's
        raise SecretError(
            f"this host cannot have the values of secrets in a file: {error}"
        ) from None
    try:
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as text:
            json.dump(values, text)
        yield {}
    finally:
        shutil.rmtree(file.parent, ignore_errors=True)


def _secrets(region: RegionDescriptor) -> tuple[Secret, ...]:
    return tuple(dict.fromkeys(values_within(region, Secret)))


def _file(task: TaskDeploymentDescriptor) -> Path:
    """Return where this host has the values for a moment."""
    name = f"graph_compiler-{path_segment(task.attempt.execution_id)}"
    return Path(tempfile.gettempdir(), name, SECRETS_FILE)


def _check_references(hook: SparkSubmitHook, secrets: tuple[Secret, ...]) -> None:
    """Raise SecretError unless the settings say which key of which Kubernetes secret each one is."""
    missing = [each for each in secrets if f"{_FROM_CLUSTER}.{each.variable}" not in hook._conf]
    if missing:
        lines = "".join(
            f"\n    {_FROM_CLUSTER}.{each.variable}=<name of the Kubernetes secret>:<key>    for {each}"
            for each in missing
        )
        raise SecretError(
            "this pipeline uses secrets, and in cluster mode on Kubernetes they must be in the cluster: an environment "
            f"variable would be readable in the pod's specification\n  allowed: these settings of Spark{lines}"
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
