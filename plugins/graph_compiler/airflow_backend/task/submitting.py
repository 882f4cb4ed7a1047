"""Prepare a try for spark-submit, and have ready what spark-submit and its driver read.

connection and host ─▶ facts ─▶ plan ─▶ tuned ─▶ applied to the operator ─▶ shipped ─▶ submitted
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from graph_compiler.airflow_backend.connection_access import root_access
from graph_compiler.airflow_backend.provider.host_facts import driver_environment, function_modules, spark_defaults
from graph_compiler.airflow_backend.provider.preparation import SubmitFacts, SubmitPlan, prepare
from graph_compiler.airflow_backend.provider.submit_operator import SubmitOperator
from graph_compiler.airflow_backend.provider.submit_target import SparkArguments, submit_target
from graph_compiler.airflow_backend.task.driver_tuning import WantedArchive, make_archive_later, tune_driver
from graph_compiler.airflow_backend.task.execution_files import write_submission
from graph_compiler.airflow_backend.task.secret_values import secrets_at_hand
from graph_compiler.airflow_backend.task.task_try import TaskTry
from graph_compiler.declaration.resources.application import DeployMode
from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.deployment.documents.submission import Submission
from graph_compiler.deployment.targets.submit_settings import SubmitSettings
from graph_compiler.projects.code_archive import pack
from graph_compiler.staging.attempts.artifact_copies import put_artifacts
from graph_compiler.staging.store.store_access import StoreAccess


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """What an operator will submit, and what must be there before it does."""

    task: TaskTry
    plan: SubmitPlan
    submission: Submission
    wanted: WantedArchive | None
    """The class archive that its driver would use if there were one."""
    access: StoreAccess
    """How the driver reaches the staging root's store."""

    def ship(self) -> None:
        """Put what other hosts read, and how the task is submitted.

        The first task of a run puts the files; later ones find them, unless they have changed.

        Raises ArtifactError if a file that the pipeline names was changed after it was loaded.
        """
        put_artifacts(self.task.store, self.task.first)
        for key, content in self.plan.documents.items():
            self.task.store.put_if_absent(key, content)
        write_submission(self.task, self.submission)

    @contextmanager
    def submitting(self, operator: SubmitOperator) -> Iterator[None]:
        """Within, spark-submit's process has what no argument and no document may have; raises SecretError."""
        with secrets_at_hand(self.plan.place, self.task) as secrets:
            operator.add_environment({**secrets, **self.access.environment()})
            yield
        make_archive_later(self.wanted)


def prepare_try(
    operator: SubmitOperator,
    task: TaskTry,
    others: Iterable[RegionDescriptor],
    where: SubmitSettings,
    staging_conn_id: str | None = None,
) -> Preparation:
    """Let an operator submit a try; nothing is written, and no secret is passed on.

    Raises ExecutionTargetError, SecretError, StagingError or CodeArchiveError.
    """
    facts = submit_facts(operator.connect(), task, others, where, staging_conn_id)
    plan, wanted = prepare(facts), None
    if where.tunes_driver and not plan.place.is_elsewhere:
        plan, wanted = tune_driver(plan, facts)
    command = operator.apply(plan)
    return Preparation(
        task=task,
        plan=plan,
        submission=Submission(
            command=tuple(command),
            shown=operator.masked(command),
            environment=tuple(sorted(plan.added.items())),
            host=socket.gethostname(),
        ),
        wanted=wanted if where.makes_archives else None,
        access=facts.access,
    )


def submit_facts(
    spark: SparkArguments,
    task: TaskTry,
    others: Iterable[RegionDescriptor],
    where: SubmitSettings,
    staging_conn_id: str | None,
) -> SubmitFacts:
    """Return what is known of a try on this host; raises ExecutionTargetError, StagingError or CodeArchiveError.

    `others` are the regions of the pipeline's other tasks: a task that recomputes a lost result runs the functions of
    the one that made it.
    """
    target = submit_target(spark, where.target, task.task_name)
    regions, root = [*task.regions, *others], task.layout.root
    is_elsewhere = target.place(DeployMode(spark.mode)).is_elsewhere
    return SubmitFacts(
        spark=spark,
        target=target,
        executions=task.executions,
        environment=dict(os.environ),
        variables={} if is_elsewhere else driver_environment(regions),
        access=root_access(root, staging_conn_id),
        staging_conn_id=staging_conn_id,
        root_is_open=task.store.is_open_to_group(root),
        defaults=spark_defaults(spark) if spark.is_kubernetes else None,
        code=None if target.executors_see_driver_files else pack(function_modules(regions)),
    )
