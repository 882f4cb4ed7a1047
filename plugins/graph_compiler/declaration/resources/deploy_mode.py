"""Where the driver of a Spark application runs."""

from __future__ import annotations

from enum import StrEnum


class DeployMode(StrEnum):
    """Spark's `--deploy-mode`: CLIENT runs the driver where spark-submit runs, CLUSTER on a machine of the cluster."""

    CLIENT = "client"
    CLUSTER = "cluster"
