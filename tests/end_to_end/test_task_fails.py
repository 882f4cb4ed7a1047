"""A Spark task fails once and is run again by Spark: the counts from committed files are exact."""

import subprocess
import sys
from pathlib import Path

import pytest

from graph_compiler import Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.connectors import Csv
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import VERSION, ExecutionAttempt, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.report import ExecutionReport
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.driver_jvm.pinned_process import pinned_variables
from tests.conftest import mark
from tests.end_to_end.conftest import ROOT, Home
from tests.harness.reference import expected
from tests.spark import user_functions

pytestmark = [pytest.mark.e2e, pytest.mark.ci]
APPLICATION = ROOT / "plugins" / "graph_compiler" / "spark_runtime" / "main.py"


def test_rows_and_bytes_are_exact_though_a_task_failed(
    env: StreamExecutionEnvironment, home: Home, tmp_path: Path
) -> None:
    (tmp_path / "in.csv").write_text("x\n" + "".join(f"{x}\n" for x in range(1000)))
    env.from_source(Csv(f"{tmp_path}/in.csv", schema="x INT"), "in").rebalance().transform(
        user_functions.fails_once
    ).set_parallelism(4).name("shaky").stage("to count it").key_by("x").aggregate(n="count(*)").name("counts").sink_to(
        Parquet(f"{tmp_path}/out")
    ).name("out")
    first, second = (submit(task, home) for task in tasks(env, tmp_path))
    assert (first.failure, second.failure) == (None, None)
    (staged,), (sink,) = first.outputs, second.outputs
    assert (staged.rows, sink.rows) == (1000, 1000)
    files = list((tmp_path / "out").glob("*.parquet"))
    assert sink.bytes == sum(file.stat().st_size for file in files)
    assert expected(f"SELECT count(*), sum(n) FROM read_parquet('{tmp_path}/out/*.parquet')")[1] == [(1000, 1000)]
    (action,) = [action for action in first.actions if action.phase == "stage"]
    assert action.failed_tasks == 4
    assert action.repeated_stages == 0
    (shaky,) = [o for vertex in first.vertices for o in vertex.operators if o.name == "shaky"]
    assert (shaky.rows_out, shaky.may_be_too_high) == (1000, False)


def tasks(env: StreamExecutionEnvironment, tmp_path: Path) -> list[Path]:
    """Write a descriptor for each region, beside which its report will be."""
    found = []
    for region in describe_regions(compile_pipeline(env.pipeline())):
        task = TaskDeploymentDescriptor(
            version=VERSION,
            identity=RunIdentity.own(region.pipeline, "r"),
            region=region,
            attempt=ExecutionAttempt(execution_id="e", attempt_number=0),
            staging_root=str(tmp_path / "staging"),
            parameters=(),
        )
        folder = tmp_path / "staging" / "sales" / "r" / "tasks" / region.region_id / "e"
        folder.mkdir(parents=True)
        mark(task)
        (folder / "descriptor.json").write_text(task.to_json())
        found.append(folder / "descriptor.json")
    return found


def submit(descriptor: Path, home: Home) -> ExecutionReport:
    """Run spark-submit with a master that lets a task fail twice."""
    environment = home.environment(PYSPARK_PYTHON=sys.executable)  # it finds Spark's home by it, too
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("spark-submit")),
            "--master",
            "local[2,3]",
            "--conf",
            "spark.ui.enabled=false",
            str(APPLICATION),
            str(descriptor),
        ],
        env=environment | pinned_variables(environment),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    return ExecutionReport.from_json((descriptor.parent / "report.json").read_text())
