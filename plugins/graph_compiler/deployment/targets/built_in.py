"""The targets that are built in, as observed on Spark 4's masters."""

from __future__ import annotations

from graph_compiler.deployment.targets.execution_target import (
    DriverPlace,
    ExecutionTarget,
    SecretWay,
)

_CLIENT = DriverPlace(ignores=("driver_cores",), secrets=SecretWay.ENVIRONMENT)
"""The driver is a child of spark-submit: it has the host's cores."""

LOCAL = ExecutionTarget(
    name="local",
    masters=r"local(\[.*\])?",
    master_form="local, local[N]",
    client=DriverPlace(
        ignores=("driver_cores", "executor_memory", "executor_cores", "executor_instances"),
        secrets=SecretWay.ENVIRONMENT,
    ),
    cluster=DriverPlace(refused="driver and executor are one process of the Airflow worker"),
    executors_see_driver_files=True,
    why_ignored="driver and executor are one JVM, whose heap is driver_memory and whose cores are the master's",
)
STANDALONE = ExecutionTarget(
    name="standalone",
    masters=r"spark://.+",
    master_form="spark://HOST:PORT",
    client=_CLIENT,
    cluster=DriverPlace(refused="Spark refuses Python applications there"),
    # It starts executors until no cores are left, or spark.cores.max is reached: their number times their cores.
    needed_with=(("executor_instances", "executor_cores"),),
)
YARN = ExecutionTarget(
    name="yarn",
    masters="yarn",
    master_form="yarn",
    client=_CLIENT,
    cluster=DriverPlace(
        secrets=SecretWay.FILE,
        is_elsewhere=True,
        is_tracked=True,
        # An execution has one driver: what YARN starts again would be refused its claim.
        conf=(("spark.yarn.maxAppAttempts", "1"),),
    ),
)
KUBERNETES = ExecutionTarget(
    name="kubernetes",
    masters=r"k8s://.+",
    master_form="k8s://https://HOST:PORT",
    provider="apache-airflow-providers-cncf-kubernetes",
    client=_CLIENT,
    cluster=DriverPlace(
        secrets=SecretWay.KUBERNETES_SECRET,
        is_elsewhere=True,
        file_prefix="local://",  # the pod mounts the staging root
        is_tracked=True,
    ),
)

BUILT_IN = (LOCAL, STANDALONE, YARN, KUBERNETES)
