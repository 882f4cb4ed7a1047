"""A driver in a pod starts with `local:` URIs, as Spark hands them to it: executors have what a run has put.

There is no Kubernetes here: a driver on this host gets the same arguments.
"""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.local_task import DeskRun, desk_task
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.deployment.targets.known_targets import KUBERNETES
from graph_compiler.staging.attempts.artifact_copies import put_artifacts
from graph_compiler.staging.store.stores import store_of
from tests.cluster.standalone_cluster import Cluster
from tests.harness.named_files import make_jar

pytestmark = pytest.mark.cluster

PROGRAM = """
import json
import sys
from pathlib import Path

from pyspark import SparkFiles
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType

from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.wire import from_json
from graph_compiler.spark_runtime.artifacts import add_artifacts

def read(_):
    import travelling
    files = ["rates.csv", "model/part.txt"]
    return [travelling.WORD, *(Path(SparkFiles.get(file)).read_text() for file in files)]

task = from_json(TaskDeploymentDescriptor, Path(sys.argv[1]).read_text())
spark = SparkSession.builder.getOrCreate()
add_artifacts(task, spark)
found = spark.sparkContext.parallelize([1], 1).map(read).collect()
spark.udf.registerJavaFunction("twice", "Twice", LongType())
found += sorted(row[0] for row in spark.range(3).selectExpr("twice(id)").collect())
print(json.dumps(found))
spark.stop()
"""


@pytest.fixture
def task(cluster: Cluster, tmp_path: Path) -> TaskDeploymentDescriptor:
    """Return a task with a file, a jar and an archive, whose run id has a colon, as all of Airflow's have."""
    make_jar(tmp_path)
    (tmp_path / "rates.csv").write_text("rates")
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as archive:
        archive.writestr("part.txt", "part")
    env = StreamExecutionEnvironment("p")
    env.add_files(tmp_path / "rates.csv")
    env.add_jars(tmp_path / "twice.jar")
    env.add_python_archive(tmp_path / "model.zip", "model")
    env.from_source(Csv("/in", schema="x INT"), "in").sink_to(Parquet("/out"))
    (region,) = describe_regions(compile_pipeline(env.pipeline()))
    root = str(cluster.shared / f"pod-{tmp_path.name}")
    run = DeskRun(day="2013-01-01", params={}, run_id="r:1", staging_root=root)
    found = desk_task(region, run, execution_id="e")
    put_artifacts(store_of(root), found)
    return found


def test_executors_have_the_code_and_what_the_pipeline_names(
    task: TaskDeploymentDescriptor, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

    from graph_compiler.airflow_backend.provider.preparation import passed_artifacts

    code, program = Path(task.layout.code("c")), Path(task.layout.program("p"))
    code.parent.mkdir(parents=True)
    program.write_text(PROGRAM)
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("travelling.py", "WORD = 'code'")
    (tmp_path / "task.json").write_text(to_json(task))

    place = KUBERNETES.cluster
    connection = {"conn_type": "spark", "host": "spark://127.0.0.1", "port": cluster.port}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
    _, class_paths, archives = passed_artifacts(cluster.conf(), place, task)
    hook = SparkSubmitHook(
        conf={**cluster.conf(), **class_paths},
        archives=",".join(archives),
        py_files=place.uri(str(code)),
        application_args=[str(tmp_path / "task.json")],
    )
    done = subprocess.run(
        hook._build_spark_submit_command(place.uri(str(program))),
        cwd=tmp_path,
        env={
            **os.environ,
            "SPARK_CONF_DIR": str(cluster.configuration),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-8000:]
    assert json.loads(done.stdout.splitlines()[-1]) == [["code", "rates", "part"], 0, 2, 4]
