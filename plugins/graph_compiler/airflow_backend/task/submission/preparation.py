"""Make a hook ready to submit a task: all that is not known when the Dag is parsed.

connection → target → where the driver is → its secrets, Python, code, umask → its JVM → command
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

from graph_compiler.airflow_backend.stores.connection_access import RootAccess, root_access
from graph_compiler.airflow_backend.task.execution_files import leave_submission
from graph_compiler.airflow_backend.task.following.tracking import track
from graph_compiler.airflow_backend.task.shared_root import pass_umask
from graph_compiler.airflow_backend.task.submission.driver_environment import (
    driver_environment,
    end_without_memory,
    hide_this_host,
    keep_driver_python,
    pass_code,
    program,
    ship_code,
    ship_program,
)
from graph_compiler.airflow_backend.task.submission.driver_pod import prepare_pod
from graph_compiler.airflow_backend.task.submission.driver_tuning import WantedArchive, tune_driver
from graph_compiler.airflow_backend.task.submission.process_group import pass_environment
from graph_compiler.airflow_backend.task.submission.secret_values import pass_secrets
from graph_compiler.airflow_backend.task.submission.submit_target import driver_place, submit_target
from graph_compiler.airflow_backend.task.task_try import TaskTry
from graph_compiler.declaration.artifacts.user_artifact import ArtifactKind
from graph_compiler.deployment.documents.descriptor import (
    RegionDescriptor,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.submission import Submission
from graph_compiler.deployment.targets.execution_target import (
    DriverPlace,
    ExecutionTarget,
    spark_uri,
)
from graph_compiler.deployment.targets.submit_settings import SubmitSettings
from graph_compiler.errors import SecretError
from graph_compiler.object_stores.s3_access import S3Access
from graph_compiler.options.flink_options import CLASS_PATH_SEPARATOR, CLASS_PATHS, PYTHON
from graph_compiler.projects.code_archive import CodeArchive
from graph_compiler.staging.attempts.artifact_copies import put_artifacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """What a hook will submit, and what must be there before it does."""

    task: TaskTry
    place: DriverPlace
    application: str
    submission: Submission
    archive: CodeArchive | None
    wanted: WantedArchive | None
    """The class archive that its driver would use if there were one."""
    access: RootAccess
    """How the driver reaches the staging root's store."""

    def ship(self) -> None:
        """Put what other hosts read, and how the task is submitted.

        The first task of a run puts the files; later ones find them, unless they have changed.

        Raises ArtifactError if a file that the pipeline names was changed after it was loaded.
        """
        put_artifacts(self.task.store, self.task.first)
        ship_code(self.task.first, self.archive)
        ship_program(self.place, self.task.first)
        leave_submission(self.task, self.submission)


def prepare(
    hook: SparkSubmitHook,
    task: TaskTry,
    others: Iterable[RegionDescriptor],
    where: SubmitSettings,
    staging_conn_id: str | None = None,
) -> Preparation:
    """Complete the hook's settings; nothing is written, and no secret is passed on.

    Raises ExecutionTargetError, SecretError, StagingError or CodeArchiveError.
    """
    target = submit_target(hook, where.target, task.task_name)
    place = driver_place(hook, target)
    hook._conf = dict(hook._conf)  # it is the operator's, which may prepare another execution, too
    for key, value in place.conf:
        hook._conf.setdefault(key, value)
    pass_secrets(hook, place, task)
    pass_umask(hook, task.layout.root)
    access = pass_store_access(hook, place, task.layout.root, staging_conn_id)
    environment = {}
    if place.is_elsewhere:
        end_without_memory(hook)
        hide_this_host(hook)
    else:
        environment = driver_environment([*task.regions, *others])
        pass_environment(hook, environment)
        keep_driver_python(hook)
    prepare_pod(hook, task)
    track(hook, place, task.task_name)
    pass_artifacts(hook, place, task.first)
    keep_worker_python(hook, target)
    archive = pass_code(hook, target, place, task.layout, [*task.regions, *others])
    tunes = where.tunes_driver and not place.is_elsewhere
    wanted = tune_driver(hook, target) if tunes else None
    application = program(place, task.first)
    command = hook._build_spark_submit_command(application)  # no public API has it
    return Preparation(
        task=task,
        place=place,
        application=application,
        submission=Submission(
            command=tuple(command),
            shown=hook._mask_cmd(command),
            environment=tuple(sorted(environment.items())),
            host=socket.gethostname(),
        ),
        archive=archive,
        wanted=wanted if where.makes_archives else None,
        access=access,
    )


# Let Spark reach the store of the staging root: as the connection says, or with the cluster's own identity.
#
# endpoint, region, path style    settings of Spark, where the connection and spark-defaults.conf have none
# HDFS's user                     variables of spark-submit's process and, by settings of Spark, of those on other hosts
# keys, session token             variables of spark-submit's process: S3A looks for them, and Spark sends them to
# executors with Hadoop's configuration; they are in no argument and no document


def pass_store_access(
    hook: SparkSubmitHook, place: DriverPlace, root: str, conn_id: str | None
) -> RootAccess:
    """Complete the hook's settings, and return the access; its variables are those of spark-submit's process.

    Raises SecretError if keys would not reach a driver there, and StagingError.
    """
    access = root_access(root, conn_id)
    for key, value in access.spark_settings().items():
        hook._conf.setdefault(key, value)
    if place.is_elsewhere and isinstance(access, S3Access) and access.environment():
        raise SecretError(
            f"Airflow connection '{conn_id}' of the staging root has keys, but they cannot be passed to a driver on "
            "another host\n"
            "  hint: leave them out of the connection, so that workers and cluster use their own identities, or use "
            "deploy mode client"
        )
    return access


# Let spark-submit know of the jars and archives that a pipeline names: copies below the run's folder.
#
# --jars <root>/<pipeline>/<run>/files/<version>/functions.jar
# --archives file://<root>/<pipeline>/<run>/files/<version>/environment.tar.gz#environment
#
# Files are no arguments: the driver adds them (`spark_runtime/artifacts.py`).


def pass_artifacts(
    hook: SparkSubmitHook, place: DriverPlace, task: TaskDeploymentDescriptor
) -> None:
    """Let the hook pass jars and archives, beside those that its arguments or else its settings name."""
    for artifact in task.region.artifacts:
        key = task.layout.artifact(artifact)
        match artifact.kind:
            case ArtifactKind.JAR if place.file_prefix:
                # Executors would not find a `local:` jar: Spark decodes the %3A of a run id once more than for drivers.
                for path in CLASS_PATHS:
                    hook._conf[path] = _with(hook._conf.get(path), key, CLASS_PATH_SEPARATOR)
            case ArtifactKind.JAR:
                hook._jars = _with(hook._jars or hook._conf.get("spark.jars"), place.uri(key))
            case ArtifactKind.ARCHIVE:
                # As a URI: Spark would take a run id's %3A in a path with a fragment for a colon.
                uri = place.uri(key) if place.file_prefix else spark_uri(key)
                named = hook._archives or hook._conf.get("spark.archives")
                hook._archives = _with(named, f"{uri}#{artifact.name}")


def keep_worker_python(hook: SparkSubmitHook, target: ExecutionTarget) -> None:
    """Let functions run with the worker's Python if theirs is in an archive, in which no process of the host starts."""
    python = hook._conf.get(PYTHON)
    if python and not Path(python).is_absolute() and target.executors_see_driver_files:
        del hook._conf[PYTHON]


def _with(named: str | None, more: str, separator: str = ",") -> str:
    return separator.join(filter(None, [named, more]))
