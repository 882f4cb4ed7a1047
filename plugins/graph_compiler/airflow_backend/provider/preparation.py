"""How a task is submitted, as a value: what is known when it runs, and what follows from it.

SubmitFacts ─▶ prepare ─▶ SubmitPlan ─▶ SubmitOperator.apply

`prepare` reads and writes nothing: each step takes the settings of the one before, and returns what it adds.

    code and jars       --py-files <root>/<pipeline>/<run>/code/<sha256>.zip
                        --jars <root>/<pipeline>/<run>/files/<version>/functions.jar
    archives            --archives file://<root>/<pipeline>/<run>/files/<version>/environment.tar.gz#environment
    files               no argument: the driver adds them (`spark_runtime/artifacts.py`)
    the root's store    endpoint, region and path style as settings, where connection and spark-defaults.conf have none;
                        keys and HDFS's user as variables of spark-submit's process: they are in no document
    secrets             their names only; `task/secret_values.py` reads the values when spark-submit starts
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graph_compiler.airflow_backend.provider.host_facts import APPLICATION, END_WITHOUT_MEMORY, PROGRAM, PROGRAM_DIGEST
from graph_compiler.airflow_backend.provider.submit_target import (
    POD_NAME,
    ExecutionTargetError,
    SparkArguments,
    SparkDefaults,
    driver_pod,
)
from graph_compiler.declaration.artifacts.user_artifact import ArtifactKind
from graph_compiler.declaration.connectors.file_uris import local_path
from graph_compiler.declaration.connectors.secret import Secret
from graph_compiler.declaration.resources.application import DeployMode
from graph_compiler.deployment.documents.descriptor import RegionDescriptor, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.jvm_settings import with_pins
from graph_compiler.deployment.documents.wire import values_within
from graph_compiler.deployment.targets.execution_target import DriverPlace, ExecutionTarget, SecretWay, spark_uri
from graph_compiler.errors import SecretError
from graph_compiler.identifiers import TaskName
from graph_compiler.options.flink_options import CLASS_PATH_SEPARATOR, CLASS_PATHS, DRIVER_PYTHON, PYTHON
from graph_compiler.projects.code_archive import CodeArchive
from graph_compiler.staging.store.store_access import StoreAccess

_DRIVER_PYTHON = "PYSPARK_DRIVER_PYTHON"
_DEFAULT_JVM_OPTIONS = "spark.driver.defaultJavaOptions"
_OF_THIS_HOST = ("PYTHONPATH", "PYSPARK_PYTHON", _DRIVER_PYTHON)
"""Variables that spark-submit would hand to a driver on another host."""
_UMASK = "spark.hadoop.fs.permissions.umask-mode"
"""Hadoop's umask. Spark-submit's JVM already uses the file system, so a session's setting would come too late."""
_WAITS = ("spark.yarn.submit.waitAppCompletion", "spark.kubernetes.submission.waitAppCompletion")
_FROM_CLUSTER = "spark.kubernetes.driver.secretKeyRef"


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitFacts:
    """What is known of a try before it is submitted."""

    spark: SparkArguments
    target: ExecutionTarget
    executions: Sequence[TaskDeploymentDescriptor]
    """Of the try: they have one id, and one run."""
    environment: Mapping[str, str] = field(repr=False)
    """Of this process."""
    variables: Mapping[str, str]
    """What a driver on this host gets besides."""
    access: StoreAccess = field(default_factory=StoreAccess)
    """How the driver reaches the staging root's store."""
    staging_conn_id: str | None = None
    root_is_open: bool = False
    """Whether the users of a group may write to the staging root."""
    defaults: SparkDefaults | None = None
    """None where nothing of them is needed."""
    code: CodeArchive | None = None
    """The code of all functions of the pipeline; None where executors see this host's files."""

    @property
    def task(self) -> TaskDeploymentDescriptor:
        """The first execution; all are of the same run, pipeline and plan."""
        return self.executions[0]

    @property
    def place(self) -> DriverPlace:
        """What is true of the driver."""
        return self.target.place(DeployMode(self.spark.mode))


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitPlan:
    """What a hook submits, and what must be there before it does."""

    task_name: TaskName
    place: DriverPlace
    application: str
    conf: Mapping[str, Any] = field(repr=False)
    jars: str | None
    archives: str | None
    py_files: str | None
    pod: str | None
    """The name of the driver's pod, where it is known before it is submitted."""
    environment: Mapping[str, str] = field(repr=False)
    """Of spark-submit's process, without the values of secrets."""
    added: Mapping[str, str]
    """What of it is not this process's."""
    documents: Mapping[str, bytes] = field(repr=False)
    """What other hosts read, by keys below the staging root."""


def prepare(facts: SubmitFacts) -> SubmitPlan:
    """Return how a try is submitted; no secret's value is in it. Raises ExecutionTargetError or SecretError."""
    spark, place, task = facts.spark, facts.place, facts.task
    umask = {_UMASK: "002"} if facts.root_is_open else {}
    conf = _completed(spark.conf, dict(place.conf), umask, facts.access.spark_settings())
    _check_secrets(facts, conf)
    _check_keys(facts)
    hidden = _OF_THIS_HOST if place.is_elsewhere else ()
    added = {} if place.is_elsewhere else dict(facts.variables)
    if place.is_elsewhere:
        conf |= _jvm_of_another_host(conf)
    else:
        conf |= kept_python(conf, added[_DRIVER_PYTHON])
    pod = driver_pod(spark, conf, facts.defaults, task)
    conf |= {POD_NAME: pod} if pod else {}
    if place.is_tracked:
        _check_waits(conf, task.region.task_name)
    jars, class_paths, archives = passed_artifacts(conf, place, task)
    conf |= class_paths
    python = conf.get(PYTHON)
    if python and not Path(python).is_absolute() and facts.target.executors_see_driver_files:
        del conf[PYTHON]  # it is in an archive, in which no process of the host starts
    program = task.layout.program(PROGRAM_DIGEST)
    code = {} if facts.code is None else {task.layout.code(facts.code.digest): facts.code.content}
    return SubmitPlan(
        task_name=task.region.task_name,
        place=place,
        application=place.uri(program) if place.is_elsewhere else str(APPLICATION),
        conf=conf,
        jars=_joined(spark.jars, conf.get("spark.jars"), jars),
        archives=_joined(spark.archives, conf.get("spark.archives"), archives),
        py_files=_joined(spark.py_files, conf.get("spark.submit.pyFiles"), map(place.uri, code)),
        pod=pod,
        environment={**{name: it for name, it in facts.environment.items() if name not in hidden}, **added},
        added=added,
        documents={**code, **({program: PROGRAM} if place.is_elsewhere else {})},
    )


def _completed(conf: Mapping[str, Any], *defaults: Mapping[str, str]) -> dict[str, Any]:
    """Return settings with those that are in none before them."""
    found = dict(conf)
    for each in defaults:
        for key, value in each.items():
            found.setdefault(key, value)
    return found


def _joined(named: str | None, setting: str | None, more: Iterable[str]) -> str | None:
    """Return an argument with more behind what it names; it wins over the setting, which is kept, too."""
    added = list(more)
    return ",".join(filter(None, [named or setting, *added])) if added else named


def _jvm_of_another_host(conf: Mapping[str, Any]) -> dict[str, str]:
    """Return what lets a JVM end when it has no memory left, and pins its zone, locale and charset."""
    options = str(conf.get(_DEFAULT_JVM_OPTIONS, "")).split()
    kept = " ".join(dict.fromkeys([*options, END_WITHOUT_MEMORY]))
    return {_DEFAULT_JVM_OPTIONS: with_pins(kept)}


def kept_python(conf: Mapping[str, Any], python: str) -> dict[str, str]:
    """Return what keeps the Python of a driver on this host if the settings name one for executors."""
    return {DRIVER_PYTHON: python} if PYTHON in conf and DRIVER_PYTHON not in conf else {}


def _check_waits(conf: Mapping[str, Any], task_id: str) -> None:
    """Raise ExecutionTargetError if spark-submit would wait for an application that is to be followed."""
    for key in _WAITS:
        if str(conf.get(key, "")).strip().lower() == "true":
            raise ExecutionTargetError(
                f"task '{task_id}': a driver on another host cannot be followed: spark-submit would wait for it\n"
                f"  hint: remove the setting {key}"
            )


def passed_artifacts(
    conf: Mapping[str, Any], place: DriverPlace, task: TaskDeploymentDescriptor
) -> tuple[list[str], dict[str, str], list[str]]:
    """Return the jars that are arguments, the settings for those that a driver finds by itself, and the archives."""
    named = [(it.kind, task.layout.artifact(it), it.name) for it in task.region.artifacts]
    jars = [key for kind, key, _ in named if kind is ArtifactKind.JAR]
    # As URIs: Spark would take a run id's %3A in a path with a fragment for a colon.
    uri = place.uri if place.file_prefix else spark_uri
    archives = [f"{uri(key)}#{name}" for kind, key, name in named if kind is ArtifactKind.ARCHIVE]
    if not (jars and place.file_prefix):
        return [place.uri(key) for key in jars], {}, archives
    # Executors would not find a `local:` jar: Spark decodes the %3A of a run id once more than for drivers.
    paths = {path: CLASS_PATH_SEPARATOR.join(filter(None, [conf.get(path), *jars])) for path in CLASS_PATHS}
    return [], paths, archives


def named_secrets(regions: Iterable[RegionDescriptor]) -> tuple[Secret, ...]:
    """Return the secrets of regions, each once."""
    return tuple(dict.fromkeys(each for region in regions for each in values_within(region, Secret)))


def _check_secrets(facts: SubmitFacts, conf: Mapping[str, Any]) -> None:
    """Raise SecretError if there are secrets, and they cannot reach the driver."""
    spark, place = facts.spark, facts.place
    secrets = named_secrets(each.region for each in facts.executions)
    if not secrets:
        return
    if place.secrets is None:
        raise SecretError(
            f"this pipeline uses secrets, but they cannot be passed to a driver on master '{spark.master}' "
            f"in deploy mode '{spark.mode}'\n"
            "  hint: use another execution target, or keep the credentials in the cluster instead of using Secret"
        )
    if place.secrets is SecretWay.FILE:
        _check_owner(facts.task.layout.root, is_open=facts.root_is_open)
    elif place.secrets is SecretWay.KUBERNETES_SECRET:
        _check_references(conf, secrets)


def _check_owner(root: str, *, is_open: bool) -> None:
    """Raise SecretError if others than its owner may read what is written below the staging root."""
    if local_path(root) is None:
        raise SecretError(
            "this pipeline uses secrets, and a driver on a host of YARN reads them below the staging root, "
            f"which is not on a disk: {root}\n"
            "  hint: use deploy mode client, or a staging root on a disk"
        )
    if is_open:
        raise SecretError(
            "this pipeline uses secrets, and a driver on a host of YARN reads them below the staging root, "
            f"which is open to a group: {root}\n"
            "  hint: use deploy mode client, or a staging root of one user"
        )


def _check_references(conf: Mapping[str, Any], secrets: tuple[Secret, ...]) -> None:
    """Raise SecretError unless the settings say which key of which Kubernetes secret each one is."""
    missing = [each for each in secrets if f"{_FROM_CLUSTER}.{each.variable}" not in conf]
    if missing:
        lines = "".join(
            f"\n    {_FROM_CLUSTER}.{each.variable}=<name of the Kubernetes secret>:<key>    for {each}"
            for each in missing
        )
        raise SecretError(
            "this pipeline uses secrets, and in cluster mode on Kubernetes they must be in the cluster: an environment "
            f"variable would be readable in the pod's specification\n  allowed: these settings of Spark{lines}"
        )


def _check_keys(facts: SubmitFacts) -> None:
    """Raise SecretError if the staging root's store has keys that would not reach the driver."""
    if facts.place.is_elsewhere and facts.access.has_keys:
        raise SecretError(
            f"Airflow connection '{facts.staging_conn_id}' of the staging root has keys, but they cannot be passed to "
            "a driver on another host\n"
            "  hint: leave them out of the connection, so that workers and cluster use their own identities, or use "
            "deploy mode client"
        )
