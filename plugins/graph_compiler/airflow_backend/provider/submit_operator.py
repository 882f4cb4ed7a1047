"""The only module that uses private names of Airflow's Spark provider: another version of it is this module's concern.

connect ─▶ SparkArguments ─▶ … prepare … ─▶ SubmitPlan ─▶ apply ─▶ execute      of the provider
end_driver, take_over, status_of
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.common.compat.openlineage.utils.spark import (
    inject_parent_job_information_into_spark_properties,
    inject_transport_information_into_spark_properties,
)
from airflow.sdk import Context

from graph_compiler.airflow_backend.provider.preparation import SubmitPlan
from graph_compiler.airflow_backend.provider.submit_process import GRACE_SECONDS, end_driver, ended_unless_done, limited
from graph_compiler.airflow_backend.provider.submit_target import ExecutionTargetError, SparkArguments
from graph_compiler.deployment.describe.airflow_versions import has_all
from graph_compiler.deployment.targets.known_targets import KUBERNETES
from graph_compiler.deployment.targets.submit_settings import SubmitSettings

GONE = "NOTFOUND"
"""The provider's word for a pod that is not there; also used for an application that YARN does not know."""
_UNKNOWN = re.compile(r"YARN RM REST API returned HTTP 404\b")


class SubmitOperator(SparkSubmitOperator):  # type: ignore[misc]  # the provider ships no types
    """Submits what a plan says, and speaks to its cluster, also of an application that it has not submitted."""

    patience = 0
    """For how many seconds a driver of this host that is to end may end by itself."""

    @classmethod
    def of_cluster(cls, conn_id: str, deploy_mode: str | None) -> SubmitOperator:
        """Return an operator that submits nothing: it asks for applications, and ends them."""
        return cls(
            task_id="follows",
            conn_id=conn_id,
            deploy_mode=deploy_mode,
            yarn_track_via_rm_api=True,
            track_driver_via_k8s_api=True,
        )

    @property
    def cluster(self) -> tuple[str, str | None]:
        """The connection's id and the deploy mode, as `of_cluster` takes them; None is what the connection says."""
        return str(self._conn_id), self._deploy_mode

    @property
    def connected(self) -> SparkArguments:
        """What the provider passes to spark-submit, after the connection is read."""
        return _arguments(self._hook)

    @property
    def is_elsewhere(self) -> bool:
        """Whether the driver runs on another host; False before the connection is read."""
        return self._hook is not None and self.connected.is_elsewhere

    def connect(self) -> SparkArguments:
        """Read the connection, and forget what an earlier plan has set.

        Raises ExecutionTargetError if what the connection's master needs is not installed.
        """
        # Not in __init__: Airflow would store this host's paths in the Dag, and every host would create a Dag version.
        self.env_vars = None
        try:
            self._hook = self._get_hook()
        except (NameError, RuntimeError):  # the provider names a module that it could not import
            raise ExecutionTargetError(
                f"the Airflow connection has a master on Kubernetes, and {KUBERNETES.provider} is not installed\n"
                f"  hint: install it where tasks run: pip install {KUBERNETES.provider}"
            ) from None
        return self.connected

    def apply(self, plan: SubmitPlan) -> Sequence[str]:
        """Let the provider submit what a plan says, and return spark-submit's command; nothing is submitted yet.

        Raises ExecutionTargetError if its application could not be followed.
        """
        hook = self._hook
        hook._conf = dict(plan.conf)
        hook._jars, hook._archives, hook._py_files = plan.jars, plan.archives, plan.py_files
        hook._kubernetes_driver_pod = plan.pod
        hook.submit = partial(hook.submit, env=dict(plan.environment))
        if plan.place.is_tracked:
            self._track(plan.task_name)
        self._track_driver_via_k8s_api = hook._track_driver_via_k8s_api
        self.application = plan.application
        command: list[str] = hook._build_spark_submit_command(plan.application)
        return command

    def _track(self, task_id: str) -> None:
        """Let the hook wait by asking the cluster."""
        hook = self._hook
        try:
            if hook._is_yarn:
                hook._yarn_track_via_rm_api = True
                hook._validate_yarn_track_via_rm_api_config()
            else:
                hook._track_driver_via_k8s_api = True
                hook._validate_track_driver_via_k8s_api_config()
        except (RuntimeError, ValueError) as error:
            raise ExecutionTargetError(
                f"task '{task_id}': a driver on another host cannot be followed: {error}\n"
                "  hint: set it in the extra of the Airflow connection: yarn_resourcemanager_webapp_address for YARN, "
                "namespace for Kubernetes"
            ) from None

    def add_environment(self, values: Mapping[str, str]) -> None:
        """Add variables to the environment of spark-submit's process, and to no argument of it."""
        known = self._hook.submit.keywords["env"]
        self._hook.submit = partial(self._hook.submit, env={**known, **values})

    def masked(self, words: str | Sequence[str]) -> str:
        """Return words of a command in one line, with the values of passwords masked."""
        shown: str = self._hook._mask_cmd(words)
        return shown

    def with_parent_run(self, context: Context) -> dict[str, Any]:
        """Return the settings with the task's run as OpenLineage's parent, and the transport, as far as wanted.

        They are for those who run OpenLineage's own listener in their applications. The provider adds them when it
        submits, to a hook that it makes then; ours is made before.
        """
        conf = dict(self.conf or {})
        if self._openlineage_inject_parent_job_info:
            conf = inject_parent_job_information_into_spark_properties(conf, context)
        if self._openlineage_inject_transport_info:
            conf = inject_transport_information_into_spark_properties(conf, context)
        return conf

    @property
    def is_followed(self) -> bool:
        """Whether a later try follows its application: as `durable` says, which has no effect before Airflow 3.3."""
        return bool(self.durable) or not has_all()

    @property
    def pod_id(self) -> str | None:
        """The id of the driver's pod, as the provider stores it; None if the master is not one of Kubernetes."""
        hook = self._hook
        if not hook._is_kubernetes:
            return None
        return f"{hook._connection['namespace']}:{hook._kubernetes_driver_pod}"

    @property
    def state_keys(self) -> tuple[str, str]:
        """Where the provider stores an application's id in Airflow's task state store, and the end of a pod."""
        return self.external_id_key, self._K8S_DRIVER_STATUS_KEY

    def check_client(self, task_id: str) -> None:
        """Raise ExecutionTargetError if Airflow has no address of the cluster to ask for the pod; nothing is sent."""
        if not self._hook._is_kubernetes:
            return
        # Not at the top: it is installed only where Kubernetes is used.
        from airflow.providers.cncf.kubernetes import kube_client

        try:
            kube_client.get_kube_client()
        except Exception as error:  # the client's own
            raise ExecutionTargetError(
                f"task '{task_id}': Airflow cannot ask the cluster for the driver's pod: {error}\n"
                "  hint: in section [kubernetes_executor] of Airflow's configuration, in_cluster is True by default; "
                "outside of the cluster, set it to False, and config_file to a kubeconfig"
            ) from None

    def status_of(self, id: str, context: Any) -> str:
        """Return an application's status in the provider's words; raises an error of the cluster's client."""
        try:
            return str(self.get_job_status(id, context))
        except Exception as error:  # each cluster's client has its own
            if _UNKNOWN.search(str(error)):
                return GONE
            raise

    def take_over(self, id: str) -> None:
        """Let a kill of the task end an application that it has not submitted."""
        if self._hook._is_yarn:
            self._hook._yarn_application_id = id
        else:
            self._hook._kubernetes_driver_pod = self._parse_k8s_external_id(id)[1]

    def on_kill(self) -> None:
        """End the whole application, on this host or in its cluster."""
        leader = None if self._hook is None else self._hook._submit_sp
        if not end_driver(leader, is_elsewhere=self.is_elsewhere, patience=self.patience):
            super().on_kill()

    def _get_hook(self) -> SparkSubmitHook:
        hook = super()._get_hook()
        lead_a_group(hook, patience=self.patience)
        return hook


def lead_a_group(hook: SparkSubmitHook, grace_seconds: float = GRACE_SECONDS, *, patience: int = 0) -> None:
    """Run a hook's process and all its children in a process group, which ends with this process, and limit its log.

    Their output may be in any encoding: an unreadable character is not an error.
    """
    process = hook._process_spark_submit_log

    def watched(lines: Iterable[str]) -> None:
        with ended_unless_done(hook._submit_sp.pid, grace_seconds, patience):
            process(limited(lines))

    hook._process_spark_submit_log = watched
    hook.submit = partial(hook.submit, start_new_session=True, errors="replace")


def _arguments(hook: SparkSubmitHook) -> SparkArguments:
    connection = hook._connection
    return SparkArguments(
        conn_id=hook._conn_id,
        master=str(connection["master"]),
        deploy_mode=connection["deploy_mode"],
        namespace=connection["namespace"],
        is_kubernetes=hook._is_kubernetes,
        program=str(connection["spark_binary"]),
        conf=dict(hook._conf),
        jars=hook._jars,
        archives=hook._archives,
        py_files=hook._py_files,
        driver_class_path=hook._driver_class_path,
        driver_memory=hook._driver_memory,
        properties_file=hook._properties_file,
    )


def submit_options(where: SubmitSettings, installation: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments that are set: a profile overrides the pipeline's, and they override the installation's.

    SlotSharingGroup("big", executor_cores=4, executor_instances=3)
        →   --executor-cores 4 --num-executors 3 --total-executor-cores 12

    Unset arguments are left out, so that a Dag's `default_args` still reach the operator.
    """
    common = {**installation, **dict(where.conf)}
    place = {"deploy_mode": str(where.deploy_mode)} if where.deploy_mode else {}
    if (profile := where.profile) is None:
        return {"conf": common} | place
    overridden = profile.settings()
    conf = {key: value for key, value in common.items() if key not in overridden}
    conf |= {key: str(value) for key, value in profile.conf.items()}
    if profile.driver_cores is not None:  # the operator has no argument for it
        conf["spark.driver.cores"] = str(profile.driver_cores)
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
