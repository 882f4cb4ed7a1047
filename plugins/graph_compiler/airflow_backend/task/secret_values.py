"""The values of a task's secrets, from Airflow's connections; only the driver receives them.

`provider/preparation.py` has refused a driver that they cannot reach.

    environment          of spark-submit's process: the driver is its child
    file                 beside the first descriptor, for its owner only: the driver removes it when it starts
    Kubernetes secret    the cluster has the values: spark.kubernetes.driver.secretKeyRef.<variable>

The command line asks for the values of tables' catalogs, which it gives to the process that asks the tables:

    python -m graph_compiler.airflow_backend.task.secret_values < '[secret, …]'   →   {"values": {…}, "missing": {…}}

SparkSubmitHook would turn `env_vars` into arguments for YARN and Kubernetes, which every user of the host can read, so
they are not used.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from airflow.sdk import BaseHook, Connection
from airflow.sdk.exceptions import AirflowException
from airflow.sdk.log import mask_secret

from graph_compiler.airflow_backend.provider.preparation import named_secrets
from graph_compiler.airflow_backend.task.task_try import TaskTry
from graph_compiler.declaration.connectors.secret import CONNECTION_FIELDS, Secret
from graph_compiler.deployment.documents.staging_layout import secrets_of
from graph_compiler.deployment.documents.wire import from_wire
from graph_compiler.deployment.targets.execution_target import DriverPlace, SecretWay
from graph_compiler.errors import SecretError


@contextmanager
def secrets_at_hand(place: DriverPlace, task: TaskTry) -> Iterator[Mapping[str, str]]:
    """Have the values of a task's secrets ready while spark-submit runs; yield those for its environment.

    Passwords and keys of the extra are masked from now on in every log of this process. Raises SecretError, which names
    the missing connection or field, and never contains a value.
    """
    if place.secrets is SecretWay.KUBERNETES_SECRET or not (secrets := named_secrets(task.regions)):
        yield {}
        return
    values = {secret.variable: _value(secret) for secret in secrets}
    if place.secrets is not SecretWay.FILE:
        yield values
        return
    # Not with --files: YARN keeps these in caches of all hosts of an application after its end.
    task.store.put(secrets_of(task.descriptors[0]), json.dumps(values).encode())
    yield {}


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


def known_secrets(secrets: Iterable[Secret]) -> dict[str, dict[str, str]]:
    """Return the values of secrets, and why others have none, by the names of their variables."""
    values: dict[str, str] = {}
    missing: dict[str, str] = {}
    for secret in secrets:
        try:
            values[secret.variable] = _value(secret)
        except SecretError as error:
            missing[secret.variable] = str(error).splitlines()[0]
    return {"values": values, "missing": missing}


if __name__ == "__main__":
    print(json.dumps(known_secrets([from_wire(Secret, each) for each in json.load(sys.stdin)])))
