"""The application spark-submit runs: `main.py <descriptor.json>`, one region, one report beside the descriptor.

Exit code 0, or that of the failure's ThrowableType; the report says the same with its reason.
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

if __name__ == "__main__":
    # A script's own folder is first on sys.path; the package that holds it is two levels up.
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from pyspark.sql import SparkSession

from graph_compiler.deployment.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.report import ExecutionReport
from graph_compiler.deployment.staging_layout import StagingLayout
from graph_compiler.deployment.wire import to_json
from graph_compiler.spark_runtime.commit_store import LocalCommitStore
from graph_compiler.spark_runtime.failures import explain_failure
from graph_compiler.spark_runtime.region import run_region
from graph_compiler.spark_runtime.secret_values import hide_options, redact, redacted

REPORT_VERSION = 1


def main(descriptor_path: str) -> int:
    """Run the region a descriptor describes; gives the exit code."""
    task = TaskDeploymentDescriptor.from_json(Path(descriptor_path).read_text())
    spark = session(task)
    try:
        report = execute(task, spark)
    finally:
        spark.stop()
    if report.failure is not None:
        words = report.failure.words(task.region.pipeline, task.region.region_id)
        print(f"graph_compiler: {words}", file=sys.stderr)
        return report.failure.throwable_type.exit_code
    for output in report.outputs:
        print(
            f"graph_compiler: {output.kind} {output.name}: {output.rows} rows, {output.bytes} bytes, {output.location}"
        )
    return 0


def session(task: TaskDeploymentDescriptor) -> SparkSession:
    """Start Spark with the settings the pipeline's results depend on."""
    builder = SparkSession.builder.appName(f"{task.region.pipeline}.{task.region.region_id}")
    for key, value in task.region.session:
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    hide_options(spark, task.region)
    return spark


def execute(task: TaskDeploymentDescriptor, spark: SparkSession) -> ExecutionReport:
    """Run the region in a session and leave the report, whatever happens."""
    store = LocalCommitStore()
    application_id = spark.sparkContext.applicationId
    try:
        outputs = run_region(task, spark, store)
        report = ExecutionReport(
            version=REPORT_VERSION, application_id=application_id, outputs=outputs, failure=None
        )
    except Exception as error:  # whatever a user's function or Spark raises is reported, in words
        print(redact(traceback.format_exc()), file=sys.stderr)
        report = ExecutionReport(
            version=REPORT_VERSION,
            application_id=application_id,
            outputs=(),
            failure=redacted(explain_failure(error)),
        )
    layout = StagingLayout(
        root=task.staging_root, pipeline=task.region.pipeline, run_id=task.attempt.run_id
    )
    key = layout.report(task.region.region_id, task.attempt.execution_id)
    store.put_if_absent(key, to_json(report).encode())
    return report


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
