"""The application that spark-submit runs: `main.py <descriptor.json> …`, one region and one report for each.

The exit code is 0, or that of the ThrowableType of a failure; the report also has it, with the reason.
"""

from __future__ import annotations

import gc
import os
import socket
import sys
import traceback
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

if __name__ == "__main__":
    # A script's own folder is first on sys.path; the package that holds it is two levels up.
    sys.path[0] = str(Path(__file__).resolve().parents[2])
    gc.disable()  # until all modules are loaded

from graph_compiler.spark_runtime.unzipped_pyspark import import_unzipped

import_unzipped()

from pyspark.sql import SparkSession

from graph_compiler import program_log
from graph_compiler.declaration.connectors.file_uris import local_path
from graph_compiler.declaration.coordination import RegionEventKind
from graph_compiler.declaration.resources.application import DeployMode
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.jvm_settings import (
    READS_DIFFERENTLY,
    RESIDENT,
    UNRECORDED,
    capped_partitions,
    driver_defaults,
)
from graph_compiler.deployment.documents.report import VERSION, ExecutionReport, Failure, ThrowableType
from graph_compiler.deployment.documents.staging_layout import root_of
from graph_compiler.deployment.targets.known_targets import target_of
from graph_compiler.driver_jvm.pinned_process import host_zone, pin_process
from graph_compiler.errors import ExecutionClaimedError, ExtensionError, StagingError, StagingRootNotSharedError
from graph_compiler.spark_runtime.artifacts import add_artifacts, jars_not_below
from graph_compiler.spark_runtime.driver_process import begin_process, bound_output, end_process
from graph_compiler.spark_runtime.executor_probe import check_executors
from graph_compiler.spark_runtime.failures.failures import explain_failure, root_cause
from graph_compiler.spark_runtime.pinned_jvm import check_jvm, executor_pins
from graph_compiler.spark_runtime.positions.increments import Increments
from graph_compiler.spark_runtime.region.previous_version import reads_previous_version
from graph_compiler.spark_runtime.region.region import event_output, run_region
from graph_compiler.spark_runtime.region.region_listeners import Listeners
from graph_compiler.spark_runtime.region.running_code import RunningCode
from graph_compiler.spark_runtime.region.seams import PRODUCTION, Seams
from graph_compiler.spark_runtime.region.task_run import leave_out, run_regions
from graph_compiler.spark_runtime.region.task_sources import TaskSources
from graph_compiler.spark_runtime.region_metrics import RegionMetrics
from graph_compiler.spark_runtime.secret_values import hide_options, redact, redacted_failure
from graph_compiler.spark_runtime.spark_internals.java import (
    application_settings,
    ease_java_calls,
    stop_left_context,
    submitted_conf,
)
from graph_compiler.spark_runtime.spark_internals.versions import check_jars, check_pyspark
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments
from graph_compiler.staging.attempts.execution_order import claim_execution
from graph_compiler.staging.attempts.progress_file import writing_progress
from graph_compiler.staging.attempts.run_marker import check_marker, not_shared
from graph_compiler.staging.publications.previous_versions import why_read_again
from graph_compiler.staging.results.release import release_inputs
from graph_compiler.staging.store.stores import open_on_driver, store_of

LOG = program_log.logger(__name__)


def main(*descriptor_paths: str) -> int:
    """Run the regions that descriptors describe, which are those of one task; return the exit code."""
    bound_output()
    program_log.show_logs()
    pin_process()
    open_on_driver()
    tasks = []
    for path in descriptor_paths:
        try:
            task = AttemptDocuments.beside(path).read_descriptor()
        except StagingError as error:
            LOG.error("%s", error)
            return ThrowableType.NON_RECOVERABLE_ERROR.exit_code
        if task is None:  # a report would not be found, either
            LOG.error("%s", _not_shared_error(path))
            return ThrowableType.ENVIRONMENT_ERROR.exit_code
        tasks.append(task)
    first = tasks[0]
    try:
        claim_execution(store_of(first.staging_root), first)
    except ExecutionClaimedError as error:  # the other driver writes the report
        with program_log.about(first.log_fields):
            LOG.error("%s", error)
        return ThrowableType.RECOVERABLE_ERROR.exit_code
    try:
        check_marker(store_of(first.staging_root), first.layout, socket.gethostname())
        spark = session(first)
    except Exception as error:  # no root, no master, no memory: report it here
        with program_log.about(first.log_fields):
            LOG.error("traceback of the failure:\n%s", redact(_traceback(), *tasks))
        report = _leave(first, _failed(first, error, application_id=None))
        assert report.failure is not None
        leave_out(tasks[1:], f"'{first.region.region_id}' failed")
        return _exit_code([(first, report.failure)])
    try:
        return _exit_code(run_task(tasks, spark))
    finally:
        spark.stop()


def run_task(
    tasks: Sequence[TaskDeploymentDescriptor], spark: SparkSession
) -> list[tuple[TaskDeploymentDescriptor, Failure]]:
    """Run the regions of one task in a session, the first of which is claimed already; return all failures."""
    code = RunningCode.of((task.region for task in tasks), spark)
    sources = TaskSources.of((task.region for task in tasks), PRODUCTION.read_source)
    seams = replace(PRODUCTION, read_source=sources.read, notify=Listeners.installed().notify)

    def why_again(task: TaskDeploymentDescriptor, report: ExecutionReport) -> str | None:
        if task.region.stream is not None:
            return "its stream may have more rows by now"
        other = code.why_other(task.region, report.computed_by)
        if other is not None:
            return other
        if reads_previous_version(task.region):
            return why_read_again(task, store_of(task.staging_root))
        increments = Increments.of(task, spark, store_of(task.staging_root))
        return sources.why_changed(increments.pinned(task.region), report, spark)

    return run_regions(tasks, lambda task: execute(task, spark, seams, code), why_again, _release)


def _exit_code(failures: Sequence[tuple[TaskDeploymentDescriptor, Failure]]) -> int:
    """Log failures; return 0, or the code of the one that a retry may help most."""
    for task, failure in failures:
        with program_log.about(task.log_fields):
            LOG.error("%s", failure.words(task.region.pipeline, task.region.region_id))
    return max((failure.throwable_type.exit_code for _, failure in failures), default=0)


def session(task: TaskDeploymentDescriptor) -> SparkSession:
    """Start Spark with the settings that the pipeline's results depend on; raises SparkVersionError."""
    check_pyspark(task.compiled_for)
    pin_process()
    if RESIDENT in os.environ:
        stop_left_context()
    ease_java_calls()
    submitted = dict(submitted_conf().getAll())
    check_jvm(submitted)
    if (zone := host_zone()) is not None:
        LOG.info("this host's time zone is %s, and tasks run in UTC. %s", zone, READS_DIFFERENTLY)
    master = submitted.get("spark.master", "")
    if master.startswith("local"):
        # Python workers need this process's environment; on a cluster they have their own Python.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(f"{task.region.pipeline}.{task.region.task_name}")
    settings = {**UNRECORDED, **executor_pins(submitted), **driver_defaults(master, submitted)}
    settings |= dict(task.region.session)
    if capped := capped_partitions(submitted):
        for key, most in capped.items():
            LOG.info("%s is lowered to %s: pipeline.max-parallelism", key, most)
        settings |= capped
    if local_path(task.staging_root) is None:
        from graph_compiler.spark_runtime.stores.hadoop_calls import executor_keys  # most drivers need none

        settings |= executor_keys(submitted, os.environ)
        settings |= jars_not_below(task.layout.run, submitted)
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    check_jars(spark)
    return spark


def execute(
    task: TaskDeploymentDescriptor, spark: SparkSession, seams: Seams = PRODUCTION, code: RunningCode | None = None
) -> ExecutionReport:
    """Run the region in a session; write a report even if it fails. Without `code`, no later try keeps its work."""
    with program_log.about(task.log_fields):
        report = _execute(task, spark, seams, code)
        failure = report.failure
        kind = RegionEventKind.FINISHED if failure is None else RegionEventKind.FAILED
        seams.notify(task, kind, map(event_output, report.outputs), None if failure is None else failure.message)
        return report


def _execute(
    task: TaskDeploymentDescriptor, spark: SparkSession, seams: Seams, code: RunningCode | None
) -> ExecutionReport:
    documents = AttemptDocuments.of(task)
    metrics: RegionMetrics | None = None
    application_id: str | None = None  # not known if an earlier region's failure has ended Spark
    try:
        seams.notify(task, RegionEventKind.STARTED, (), None)
        application_id = spark.sparkContext.applicationId
        hide_options(spark, task.region)
        _warn_about_ignored_settings(task, spark)
        add_artifacts(task, spark)
        check_executors(task, spark)
        with writing_progress(documents) as tells:
            metrics = RegionMetrics(spark, task.region, seams.on_begin, tells)
            if task.region.stream is not None and seams.publishes(task.region):
                from graph_compiler.spark_runtime.streams.stream_query import run_stream  # most drivers need none

                result = run_stream(task, spark, documents.store, metrics, seams)
            else:
                with metrics.listening():
                    result = run_region(task, spark, documents.store, metrics, seams)
        report = ExecutionReport(
            version=VERSION,
            application_id=application_id,
            outputs=result.outputs,
            contracts=result.contracts,
            vertices=metrics.vertices(),
            actions=tuple(metrics.actions),
            reads=result.reads,
            recomputed=result.recomputed,
            failure=None,
            sources=result.sources,
            uncompared=result.uncompared,
            schemas=result.schemas,
            computed_by=None if code is None else code.at_end(task.region),
            actual=metrics.actual(),
            increments=result.increments,
            batches=metrics.published(),
        )
    except BaseException as error:  # every exception is reported: a function may call sys.exit(0), too
        LOG.error("traceback of the failure:\n%s", redact(_traceback(), task))
        report = _failed(task, error, application_id, metrics)
        _leave(task, report)
        if isinstance(root_cause(error), KeyboardInterrupt):  # this process is asked to end
            raise
        return report
    _leave(task, report)
    _release(task, report)
    return report


def _failed(
    task: TaskDeploymentDescriptor,
    error: BaseException,
    application_id: str | None,
    metrics: RegionMetrics | None = None,
) -> ExecutionReport:
    """Return the report of a failure, with its progress; it has no outputs, since only a stream's batches are there."""
    return ExecutionReport(
        version=VERSION,
        application_id=application_id,
        outputs=(),
        contracts=(),
        vertices=metrics.vertices() if metrics else (),
        actions=tuple(metrics.actions) if metrics else (),
        reads=(),
        recomputed=(),
        failure=redacted_failure(explain_failure(error), task),
        actual=metrics.actual() if metrics else None,
        batches=metrics.published() if metrics else (),
    )


def _not_shared_error(descriptor_path: str) -> StagingRootNotSharedError:
    return not_shared(root_of(descriptor_path), socket.gethostname(), f"no {descriptor_path}")


def _leave(task: TaskDeploymentDescriptor, report: ExecutionReport) -> ExecutionReport:
    AttemptDocuments.of(task).put_report(report)
    return report


def _release(task: TaskDeploymentDescriptor, report: ExecutionReport) -> None:
    """Remove data that no task will read any more; errors are ignored, since all work is done."""
    try:
        for released in release_inputs(task, report, store_of(task.staging_root)):
            LOG.info("%s: %s bytes", released.words(), f"{released.bytes:,}")
    except Exception:  # any error may be ignored: `staging gc` finds what is left
        LOG.warning("nothing released: %s", _traceback())


def _traceback() -> str:
    return traceback.format_exc().rstrip()


def _warn_about_ignored_settings(task: TaskDeploymentDescriptor, spark: SparkSession) -> None:
    profile = task.region.resource_profile
    if profile is None:
        return
    master, mode = str(spark.sparkContext.master), application_settings(spark).get("spark.submit.deployMode", "client")
    try:
        target = target_of(master)
    except ExtensionError:  # the package of another target need not be installed here
        return
    if target is not None and (words := target.ignored_words(profile.resources(), master, DeployMode(mode))):
        LOG.info("slot sharing group '%s': %s", profile.name, words)


if __name__ == "__main__":
    begin_process()
    end_process(main(*sys.argv[1:]))
