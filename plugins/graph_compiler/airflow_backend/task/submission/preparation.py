"""Make a hook ready to submit a task: all that is not known when the Dag is parsed.

connection → target → where the driver is → its secrets, Python, code, umask → its JVM → command
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from dataclasses import dataclass

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

from graph_compiler.airflow_backend.stores.connection_access import RootAccess
from graph_compiler.airflow_backend.task.execution_files import leave_submission
from graph_compiler.airflow_backend.task.following.tracking import track
from graph_compiler.airflow_backend.task.shared_root import pass_umask
from graph_compiler.airflow_backend.task.submission.driver_environment import (
    driver_environment,
    end_without_memory,
    hide_this_host,
    keep_driver_python,
    program,
    ship_program,
)
from graph_compiler.airflow_backend.task.submission.driver_pod import prepare_pod
from graph_compiler.airflow_backend.task.submission.driver_tuning import WantedArchive, tune_driver
from graph_compiler.airflow_backend.task.submission.executor_code import pass_code, ship_code
from graph_compiler.airflow_backend.task.submission.process_group import pass_environment
from graph_compiler.airflow_backend.task.submission.secret_values import pass_secrets
from graph_compiler.airflow_backend.task.submission.store_access import pass_store_access
from graph_compiler.airflow_backend.task.submission.submit_target import driver_place, submit_target
from graph_compiler.airflow_backend.task.submission.user_artifacts import (
    keep_worker_python,
    pass_artifacts,
)
from graph_compiler.airflow_backend.task.task_try import TaskTry
from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.deployment.documents.submission import Submission
from graph_compiler.deployment.targets.execution_target import DriverPlace
from graph_compiler.deployment.targets.submit_settings import SubmitSettings
from graph_compiler.projects.code_archive import CodeArchive
from graph_compiler.staging.executions.artifact_copies import put_artifacts


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
