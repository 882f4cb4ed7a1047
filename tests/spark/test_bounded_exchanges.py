"""A driver's exchanges begin with what options say (decision 8): each case has a session as spark-submit starts it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.local_task import DeskRun, desk_task
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.jvm_settings import INITIAL_PARTITIONS, SHUFFLE_PARTITIONS
from graph_compiler.deployment.targets.submit_settings import pipeline_settings

pytestmark = [pytest.mark.spark, pytest.mark.ci]  # each case starts a session of its own
ROOT = Path(__file__).parents[2]
PROGRAM = """
import json, re, sys
from pathlib import Path
from graph_compiler import program_log
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.spark_runtime.main import session
program_log.show_logs()
spark = session(TaskDeploymentDescriptor.from_json(Path(sys.argv[1]).read_text()))
counts = spark.range(0, 10, 1, 4).selectExpr("id % 7 AS k").groupBy("k").count()
plan = counts._jdf.queryExecution().executedPlan().toString()
Path(sys.argv[2]).write_text(json.dumps(re.findall(r"hashpartitioning[(].*?, ([0-9]+)[)]", plan)))
spark.stop()
"""
CASES: dict[str, tuple[dict[str, int], dict[str, int], int]] = {
    "Spark's own": ({}, {}, 200),
    "a default": ({"parallelism.default": 3}, {SHUFFLE_PARTITIONS: 7}, 3),
    "a maximum": ({"pipeline.max-parallelism": 2}, {SHUFFLE_PARTITIONS: 7, INITIAL_PARTITIONS: 9}, 2),
    "a maximum that is not reached": ({"pipeline.max-parallelism": 128}, {SHUFFLE_PARTITIONS: 7}, 7),
}


@pytest.mark.parametrize(("config", "connection", "wanted"), CASES.values(), ids=CASES)
def test_an_exchange_begins_with(
    config: dict[str, int], connection: dict[str, int], wanted: int, tmp_path: Path
) -> None:
    env = StreamExecutionEnvironment("p", config=config)
    env.from_source(Csv("/in", schema="id INT"), "in").sink_to(Parquet("/out"))
    compiled = compile_pipeline(env.pipeline())
    (region,) = describe_regions(compiled)
    desk = DeskRun(day="2024-03-31", params={}, run_id="r", staging_root=str(tmp_path / "staging"))
    descriptor, answer = tmp_path / "descriptor.json", tmp_path / "answer.json"
    descriptor.write_text(desk_task(region, desk, execution_id="e").to_json())
    settings = {"spark.ui.enabled": "false", **connection, **pipeline_settings(compiled)}
    words = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(descriptor), str(answer)],
        env={
            **os.environ,
            "PYTHONPATH": f"{ROOT}:{ROOT}/plugins",
            "PYSPARK_SUBMIT_ARGS": " ".join(["--master", "local[1]", *words, "pyspark-shell"]),
        },
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(answer.read_text()) == [str(wanted)]
    assert ("is lowered to 2: pipeline.max-parallelism" in done.stdout) == (wanted == 2)
