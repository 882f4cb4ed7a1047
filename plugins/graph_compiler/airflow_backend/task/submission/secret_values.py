"""The values of a task's secrets, from Airflow's connections; only the driver receives them.

    environment          of spark-submit's process: the driver is its child
    file                 beside the first descriptor, for its owner only: the driver removes it when it starts
    Kubernetes secret    the cluster has the values: spark.kubernetes.driver.secretKeyRef.<variable>

SparkSubmitHook would turn `env_vars` into arguments for YARN and Kubernetes, which every user of the host can read, so
they are not used.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.sdk import BaseHook, Connection
from airflow.sdk.exceptions import AirflowException
from airflow.sdk.log import mask_secret

from graph_compiler.airflow_backend.task.task_try import TaskTry
from graph_compiler.declaration.connectors.file_uris import local_path
from graph_compiler.declaration.connectors.secret import CONNECTION_FIELDS, Secret
from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.deployment.documents.staging_layout import secrets_of
from graph_compiler.deployment.documents.wire import values_within
from graph_compiler.deployment.targets.execution_target import DriverPlace, SecretWay
from graph_compiler.errors import SecretError

_FROM_CLUSTER = "spark.kubernetes.driver.secretKeyRef"


def pass_secrets(hook: SparkSubmitHook, place: DriverPlace, task: TaskTry) -> None:
    """Name in the hook's settings what brings secrets to the driver; no value is read.

    Raises SecretError if there are secrets, and they cannot reach a driver there.
    """
    secrets = _secrets(task.regions)
    if not secrets:
        return
    if place.secrets is None:
        master, mode = hook._connection["master"], hook._connection["deploy_mode"]
        raise SecretError(
            f"this pipeline uses secrets, but they cannot be passed to a driver on master '{master}' "
            f"in deploy mode '{mode or 'client'}'\n"
            "  hint: use another execution target, or keep the credentials in the cluster instead of using Secret"
        )
    if place.secrets is SecretWay.FILE:
        _check_owner(task)
    elif place.secrets is SecretWay.KUBERNETES_SECRET:
        _check_references(hook, secrets)


@contextmanager
def secrets_at_hand(place: DriverPlace, task: TaskTry) -> Iterator[Mapping[str, str]]:
    """Have the values of a task's secrets ready while spark-submit runs; yield those for its environment.

    Passwords and keys of the extra are masked from now on in every log of this process. Raises SecretError, which names
    the missing connection or field, and never contains a value.
    """
    if place.secrets is SecretWay.KUBERNETES_SECRET or not (secrets := _secrets(task.regions)):
        yield {}
        return
    values = {secret.variable: _value(secret) for secret in secrets}
    if place.secrets is not SecretWay.FILE:
        yield values
        return
    # Not with --files: YARN keeps these in caches of all hosts of an application after its end.
    task.store.put(secrets_of(task.descriptors[0]), json.dumps(values).encode())
    yield {}


def _secrets(regions: Iterable[RegionDescriptor]) -> tuple[Secret, ...]:
    return tuple(
        dict.fromkeys(each for region in regions for each in values_within(region, Secret))
    )


def _check_owner(task: TaskTry) -> None:
    """Raise SecretError if others than its owner may read what is written below the staging root."""
    if local_path(task.layout.root) is None:
        raise SecretError(
            "this pipeline uses secrets, and a driver on a host of YARN reads them below the staging root, "
            f"which is not on a disk: {task.layout.root}\n"
            "  hint: use deploy mode client, or a staging root on a disk"
        )
    if task.store.is_open_to_group(task.layout.root):
        raise SecretError(
            "this pipeline uses secrets, and a driver on a host of YARN reads them below the staging root, "
            f"which is open to a group: {task.layout.root}\n"
            "  hint: use deploy mode client, or a staging root of one user"
        )


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
    if secret.is_masked:
        mask_secret(value)
    return value
