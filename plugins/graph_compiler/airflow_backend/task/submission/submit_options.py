"""A resource profile as arguments of Airflow's SparkSubmitOperator.

SlotSharingGroup("big", executor_cores=4, executor_instances=3)
    →   --executor-cores 4 --num-executors 3 --total-executor-cores 12
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graph_compiler.declaration.resources.slot_sharing_group import SlotSharingGroup
from graph_compiler.deployment.targets.submit_settings import SubmitSettings


def submit_options(
    profile: SlotSharingGroup | None, where: SubmitSettings, installation: Mapping[str, str]
) -> dict[str, Any]:
    """Return the arguments that are set: a profile overrides the pipeline's, and they override the installation's.

    Unset arguments are left out, so that a Dag's `default_args` still reach the operator.
    """
    common = {**installation, **dict(where.conf)}
    place = {"deploy_mode": str(where.deploy_mode)} if where.deploy_mode else {}
    if profile is None:
        return {"conf": common} | place
    overridden = profile.settings()
    conf = {key: value for key, value in common.items() if key not in overridden}
    conf |= {key: str(value) for key, value in profile.conf.items()}
    if profile.driver_cores is not None:
        conf["spark.driver.cores"] = str(
            profile.driver_cores
        )  # the operator has no argument for it
    options: dict[str, Any] = place | {
        "driver_memory": profile.driver_memory,
        "executor_memory": profile.executor_memory,
        "executor_cores": profile.executor_cores,
        "num_executors": profile.executor_instances,
    }
    if profile.executor_cores is not None and profile.executor_instances is not None:
        # A standalone master has no setting for the number of executors, only for the total number of cores.
        options["total_executor_cores"] = profile.executor_cores * profile.executor_instances
    return {"conf": conf} | {name: value for name, value in options.items() if value is not None}
