"""What each way of running the pipeline submits to Spark, in order: [script, argument, …] for each application."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyspark

from benchmarks.peers import declared_pipeline, pipeline_of_functions, steps
from graph_compiler import StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.local_task import DeskRun, desk_task
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.session import SESSION
from graph_compiler.driver_jvm.start_settings import DriverStart, start_settings
from graph_compiler.spark_runtime import main as spark_runtime_main
from graph_compiler.staging.executions.execution_order import begin
from graph_compiler.staging.executions.run_marker import RunMarker, mark_run
from graph_compiler.staging.store.stores import store_of

HERE = Path(__file__).parent
RUNTIME = str(spark_runtime_main.__file__)

MEMORY = "2g"
PIPELINES = "spark-pipelines"
"""The program of Spark Declarative Pipelines."""
Application = list[str]
"""The arguments after spark-submit's settings; its own `--conf` pairs may come first. Or a call of PIPELINES."""


def start(_data: Path, _work: Path) -> list[Application]:
    """Return the application that does nothing."""
    return [[str(HERE / "empty_app.py")]]


def tuned_start(data: Path, work: Path) -> list[Application]:
    """Return the application that does nothing, with the settings of a task's driver."""
    return [tuned(data) + application for application in start(data, work)]


def by_hand(_data: Path, work: Path, *words: str) -> list[Application]:
    """Return the hand-written application."""
    return [[str(HERE / "single_app.py"), str(work / "out"), *words]]


def by_hand_pinned(data: Path, work: Path) -> list[Application]:
    """Return the hand-written application under the session settings that graph_compiler pins."""
    conf = [word for key, value in SESSION.items() for word in ("--conf", f"{key}={value}")]
    return [conf + application for application in by_hand(data, work)]


def declarative(_data: Path, work: Path) -> list[Application]:
    """Return the pipeline of Spark Declarative Pipelines, whose datasets are tables."""
    datasets = work / "datasets"
    datasets.mkdir()
    shutil.copy(HERE / "declarative_datasets.py", datasets)
    spec = {
        "name": "peers",
        "storage": (work / "storage").as_uri(),
        "libraries": [{"glob": {"include": "datasets/**"}}],
    }
    (work / "spark-pipeline.yml").write_text(json.dumps(spec))  # JSON is YAML
    warehouse = f"spark.sql.warehouse.dir={work / 'out'}"
    return [[PIPELINES, "run", "--spec", str(work / "spark-pipeline.yml"), "--conf", warehouse]]


def step_by_step(_data: Path, work: Path) -> list[Application]:
    """Return one application for each step."""
    return [
        [str(HERE / "step_app.py"), name, str(work / "staging"), str(work / "out")]
        for name in steps.STEPS
    ]


def compiled(
    env: StreamExecutionEnvironment, mode: str, data: Path, work: Path
) -> list[Application]:
    """Return graph_compiler's applications, one for each region, deployed as `run --in-process` deploys them."""
    pipeline = replace(env.pipeline(), config=(("execution.batch-shuffle-mode", mode),))
    run = DeskRun(
        day="2013-01-01",
        params={"input": str(data), "output": str(work / "out")},
        run_id="run",
        staging_root=str(work / "staging"),
    )
    regions = describe_regions(compile_pipeline(pipeline))
    tasks = [desk_task(region, run, execution_id="execution") for region in regions]
    store = store_of(run.staging_root)
    mark_run(store, RunMarker.of(tasks[0], host=socket.gethostname(), time=time.time()))
    for task in tasks:
        assert begin(store, task), "the folder is empty: nothing has begun in it"
    return [
        [
            *tuned(data),
            RUNTIME,
            task.layout.descriptor(task.region.region_id, task.attempt.execution_id),
        ]
        for task in tasks
    ]


def tuned(data: Path) -> list[str]:
    """Return the settings with which a task's driver starts; raises RuntimeError if there is no class archive."""
    found = start_settings(
        DriverStart(environment=environment(data), conf={}, memory=MEMORY, is_local=True)
    )
    if found.wanted is not None:
        raise RuntimeError("there is no class archive: graph-compiler warm")
    return [word for key, value in found.conf for word in ("--conf", f"{key}={value}")]


VARIANTS: dict[str, Callable[[Path, Path], list[Application]]] = {
    "start": start,
    "start-tuned": tuned_start,
    "hand": by_hand,
    "hand-pinned": by_hand_pinned,
    "hand-persist": lambda data, work: by_hand(data, work, "persist"),
    "hand-steps": step_by_step,
    "spark-pipelines": declarative,
    "functions": partial(compiled, pipeline_of_functions.env, "AUTO"),
    "functions-staged": partial(compiled, pipeline_of_functions.env, "ALL_EXCHANGES_BLOCKING"),
    "declared": partial(compiled, declared_pipeline.env, "AUTO"),
    "declared-staged": partial(compiled, declared_pipeline.env, "ALL_EXCHANGES_BLOCKING"),
}
"""By name: what to submit, given the input's folder and an empty folder to work in."""


def environment(data: Path) -> dict[str, str]:
    """Return the environment in which all of them run."""
    roots = [str(HERE.parents[1]), str(Path(RUNTIME).parents[2])]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(roots),
        "PEERS_DATA": str(data),
        # Its own Spark and Python, whatever the PATH has.
        "SPARK_HOME": str(Path(str(pyspark.__file__)).parent),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
