"""The targets that can be named: ours, and those that installed packages register.

    [project.entry-points."graph_compiler.execution_targets"]
    acme = "acme_spark.target:ACME"

The entry point names a value, and its name is the value's.
"""

from __future__ import annotations

from graph_compiler.deployment.targets.execution_target import DriverPlace, ExecutionTarget, SecretWay
from graph_compiler.errors import ExtensionError
from graph_compiler.extensions import find_value, registered_values

ENTRY_POINTS = "graph_compiler.execution_targets"


def target_names() -> tuple[str, ...]:
    """Return the names of all targets, ours first; nothing is imported."""
    ours = [target.name for target in BUILT_IN]
    others = [entry.name for entry in registered_values(ENTRY_POINTS)]
    return tuple(dict.fromkeys([*ours, *others]))


def target_named(name: str) -> ExecutionTarget | None:
    """Return the target of a name, None if there is none; raises ExtensionError if its package cannot be used."""
    own = next((target for target in BUILT_IN if target.name == name), None)
    found = own or find_value(ENTRY_POINTS, name, ExecutionTarget)
    if found is not None and found.name != name:
        raise ExtensionError(f"the entry point '{name}' names target '{found.name}'")
    return found


def target_of(master: str) -> ExecutionTarget | None:
    """Return the first target with this master, None if there is none; others are imported only if none is ours.

    Raises ExtensionError if another package's target cannot be imported.
    """
    for name in target_names():
        target = target_named(name)
        if target is not None and target.has_master(master):
            return target
    return None


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
    why_ignored="driver and executor are one JVM; its heap is driver_memory, and its cores are the master's",
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
