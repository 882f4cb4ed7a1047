"""Run all regions of a pipeline in one Spark session: `in_process.py <request.json>`.

Each region is a separate execution, and writes the same documents as an Airflow task, so that history, staging and
replay work for it. If the run ends at an operator, that operator's rows are shown, and no sink is written.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

if __name__ == "__main__":
    # A script's own folder is first on sys.path; the package that holds it is two levels up.
    sys.path[0] = str(Path(__file__).resolve().parents[2])
    gc.disable()  # until all modules are loaded

from pyspark.sql import SparkSession

from graph_compiler import program_log
from graph_compiler.deployment.documents.descriptor import (
    OperatorDescriptor,
    RegionDescriptor,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.in_process_run import PREVIEW, PROGRESS, InProcessRequest, Step
from graph_compiler.deployment.documents.report import ExecutionReport, Outcome, Phase
from graph_compiler.deployment.documents.submission import Submission
from graph_compiler.deployment.documents.wire import from_json, to_json, to_wire
from graph_compiler.driver_jvm.pinned_process import pin_process
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.spark_runtime import main as application
from graph_compiler.spark_runtime.connectors import read_source
from graph_compiler.spark_runtime.driver_process import begin_process, bound_output, end_process
from graph_compiler.spark_runtime.region.region_graph import OperatorGraph
from graph_compiler.spark_runtime.region.region_listeners import Listeners
from graph_compiler.spark_runtime.region.seams import Seams
from graph_compiler.spark_runtime.region.task_sources import TaskSources
from graph_compiler.spark_runtime.rehearsal.kept_schemas import KeptSchemas
from graph_compiler.spark_runtime.rehearsal.preview import Previewer
from graph_compiler.spark_runtime.secret_values import hide_options
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments
from graph_compiler.staging.attempts.execution_order import begin, claim_execution
from graph_compiler.staging.store.stores import open_on_driver, store_of

SUBMIT_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
"""The variable that names the Spark installation to start."""


@dataclass(frozen=True, slots=True)
class RegionsProgress:
    """Reports each step that begins, one line per step."""

    path: Path

    def begins(self, region: RegionDescriptor, operator: OperatorDescriptor, phase: Phase) -> None:
        """Add a line."""
        step = Step(
            region_id=region.region_id,
            vertex=OperatorGraph.of(region).vertex_name(operator),
            operator=operator.name,
            phase=phase,
            time=time.time(),
        )
        with self.path.open("a") as lines:
            lines.write(json.dumps(to_wire(step)) + "\n")


def run_regions_of(request: InProcessRequest, spark: SparkSession, seams: Seams) -> ExecutionReport:
    """Run regions one after the other until one fails; return the last one's report."""
    sources = TaskSources.of((task.region for task in request.tasks), seams.read_source)
    seams = replace(seams, read_source=sources.read)
    for task in request.tasks:
        hide_options(spark, task.region)
        with _attempt(task) as ended:
            report = application.execute(task, spark, seams)
            ended(report)
        if report.failure is not None:
            break
    return report


class _Ended:
    """How an attempt ended, as far as it is known; without a report, it was stopped from outside."""

    state, reason = ExecutionState.CANCELED, "it was stopped while it was running"

    def __call__(self, report: ExecutionReport) -> None:
        failure = report.failure
        self.state = ExecutionState.FINISHED if failure is None else ExecutionState.FAILED
        self.reason = "" if failure is None else failure.message


@contextmanager
def _attempt(task: TaskDeploymentDescriptor) -> Iterator[_Ended]:
    """Write the documents of an attempt: its descriptor, how it was started, how it ended."""
    store, documents = store_of(task.staging_root), AttemptDocuments.of(task)
    command = (sys.executable, str(Path(application.__file__)), documents.descriptor)
    settings = {name: os.environ[name] for name in (SUBMIT_ARGUMENTS,) if name in os.environ}
    submission = Submission(
        command=command, shown=" ".join(command), environment=tuple(settings.items()), host=socket.gethostname()
    )
    begin(store, task)
    documents.put_submission(submission)
    claim_execution(store, task)
    ended = _Ended()

    def leave_outcome() -> None:
        outcome = Outcome(state=ended.state, ended=time.time(), reason=ended.reason or None)
        documents.put_outcome(outcome)

    def end_at_once(*_: object) -> None:
        # An exception raised while waiting for the JVM would arrive as a different one.
        leave_outcome()
        os._exit(128 + signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, end_at_once)
    try:
        yield ended
    finally:
        signal.signal(signal.SIGTERM, before)
        leave_outcome()


def main(request_path: str) -> int:
    """Carry out a request; return 0, or the exit code of the failure's ThrowableType."""
    bound_output()
    program_log.show_logs()
    pin_process()
    open_on_driver()
    path = Path(request_path)
    request = from_json(InProcessRequest, path.read_text())
    begins = RegionsProgress(path.with_name(PROGRESS)).begins
    previewer = None if request.preview is None else Previewer(request.preview)
    if previewer is None:
        seams = Seams(on_begin=begins, notify=Listeners.installed().notify)
    else:
        kept = KeptSchemas.of_repeated(path, request.tasks[0], os.environ, from_all_lines=True)
        read = read_source if kept is None else partial(read_source, known=kept.of)
        seams = Seams(on_begin=begins, observed=previewer.observed, looks=previewer.look, read_source=read)
    spark = application.session(request.tasks[0])
    try:
        report = run_regions_of(request, spark, seams)
    finally:
        spark.stop()
    if report.failure is not None:
        return report.failure.throwable_type.exit_code
    if previewer is not None and previewer.preview is not None:
        path.with_name(PREVIEW).write_text(to_json(previewer.preview))
    return 0


if __name__ == "__main__":
    begin_process()
    end_process(main(sys.argv[1]))
