"""The driver sees its own run in the staging root, or reports the problem before Spark starts."""

from pathlib import Path

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import VERSION, ExecutionAttempt, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.report import ExecutionReport, ThrowableType
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.spark_runtime.main import main

pytestmark = [pytest.mark.spark, pytest.mark.ci]
EXIT_CODE = ThrowableType.ENVIRONMENT_ERROR.exit_code


def test_a_driver_without_its_descriptor_names_the_root(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p" / "run" / "tasks" / "out" / "e1" / "descriptor.json"
    assert main(str(path)) == EXIT_CODE
    said = capsys.readouterr().err
    assert f"staging root {tmp_path} is not shared with this worker" in said
    assert f"found: no {path}" in said


def test_a_driver_without_its_runs_marker_reports_it(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment("p")
    env.from_source(Csv("/in"), "in").sink_to(Parquet(f"{tmp_path}/out")).name("out")
    (region,) = describe_regions(compile_pipeline(env.pipeline()))
    task = TaskDeploymentDescriptor(
        version=VERSION,
        identity=RunIdentity.own(region.pipeline, "run"),
        region=region,
        attempt=ExecutionAttempt(execution_id="e1", attempt_number=0),
        staging_root=str(tmp_path / "staging"),
        parameters=(),
    )
    path = Path(task.layout.descriptor(region.region_id, "e1"))
    path.parent.mkdir(parents=True)
    path.write_text(task.to_json())
    assert main(str(path)) == EXIT_CODE
    report = ExecutionReport.from_json(path.with_name("report.json").read_text())
    assert report.application_id is None
    assert report.failure is not None
    assert report.failure.throwable_type is ThrowableType.ENVIRONMENT_ERROR
    assert report.failure.message.startswith(f"staging root {tmp_path}/staging is not shared")
