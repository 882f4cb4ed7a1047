"""A Spark application: its deploy mode, and which of Spark's settings are set elsewhere, or hold a secret."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

from graph_compiler.declaration.connectors.jdbc_url import is_in_url
from graph_compiler.errors import Problem


class DeployMode(StrEnum):
    """Spark's `--deploy-mode`: CLIENT runs the driver where spark-submit runs, CLUSTER on a machine of the cluster."""

    CLIENT = "client"
    CLUSTER = "cluster"


INSTEAD: Mapping[str, str] = {
    "spark.master": "conn_id=… or option airflow.conn-id: the Airflow connection has the master",
    "spark.submit.deployMode": "deploy_mode=… or option execution.deploy-mode",
}
"""Spark's settings that say where an application runs, with what sets them here."""

_SECRET = re.compile(r"(password|secret|secret[._-]?key|token|credential|access[._-]?key)$", re.IGNORECASE)
_ELSEWHERE = "spark-defaults.conf of the cluster, or a Hadoop credential provider"
_CATALOG = "spark.sql.catalog."
_IN_A_CATALOG = "spark-defaults.conf of the cluster, or catalog={'…': Secret('connection id')} of an Iceberg table"
# The values are names of Kubernetes' Secrets.
_NAMES_OF_SECRETS = re.compile(r"spark\.kubernetes\.(driver|executor)\.secret")


def secret_in_plain_text(key: str, found: str, value: object = "") -> Problem | None:
    """Return the problem of a setting that is, or holds, a secret; `found` says where it is set.

    It is one by its name, or its value has a password as a url or a property of Java: `-D….password=…`.
    """
    is_named = _SECRET.search(key) is not None and not _NAMES_OF_SECRETS.match(key)
    if not is_named and not (isinstance(value, str) and is_in_url(value)):
        return None
    return Problem(
        message=f"{found} holds a secret in plain text",
        allowed=_IN_A_CATALOG if key.startswith(_CATALOG) else _ELSEWHERE,
        hint="anyone who can see the code, the plan or the arguments of a process could read it",
    )
