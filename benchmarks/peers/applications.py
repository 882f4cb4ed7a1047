"""What each way of running the pipeline submits to Spark, in order: [script, argument, …] for each application."""

from __future__ import annotations

import os
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
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.describe.templates import fill_places, find_places
from graph_compiler.deployment.documents.descriptor import (
    VERSION,
    ExecutionAttempt,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.session import SESSION
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.spark_runtime import main as spark_runtime_main
from graph_compiler.staging.executions.run_marker import RunMarker, mark_run
from graph_compiler.staging.store.local_store import LocalStore

HERE = Path(__file__).parent
RUNTIME = str(spark_runtime_main.__file__)
_EXECUTION = ExecutionAttempt(execution_id="execution", attempt_number=0)

Application = list[str]
"""What stands behind spark-submit's settings; `--conf` pairs of its own may come first."""


def start(_data: Path, _work: Path) -> list[Application]:
    """Return the application that does nothing."""
    return [[str(HERE / "empty_app.py")]]


def by_hand(_data: Path, work: Path, *words: str) -> list[Application]:
    """Return the hand-written application."""
    return [[str(HERE / "single_app.py"), str(work / "out"), *words]]


def by_hand_pinned(data: Path, work: Path) -> list[Application]:
    """Return the hand-written application under the session settings that graph_compiler pins."""
    conf = [word for key, value in SESSION.items() for word in ("--conf", f"{key}={value}")]
    return [conf + application for application in by_hand(data, work)]


def step_by_step(_data: Path, work: Path) -> list[Application]:
    """Return one application for each step."""
    return [
        [str(HERE / "step_app.py"), name, str(work / "staging"), str(work / "out")]
        for name in steps.STEPS
    ]


def compiled(
    env: StreamExecutionEnvironment, mode: str, data: Path, work: Path
) -> list[Application]:
    """Return graph_compiler's applications, one for each region; put the run's marker and their descriptors."""
    pipeline = replace(env.pipeline(), config=(("execution.batch-shuffle-mode", mode),))
    root = str(work / "staging")
    identity = RunIdentity.own(pipeline.name, "run")
    layout = StagingLayout(root=root, identity=identity)
    applications = []
    for region in describe_regions(compile_pipeline(pipeline)):
        places = {
            key: place.replace("{{ params.input }}", str(data)).replace(
                "{{ params.output }}", str(work / "out")
            )
            for key, place in find_places(region).items()
        }
        task = TaskDeploymentDescriptor(
            version=VERSION,
            identity=identity,
            region=fill_places(region, places),
            attempt=_EXECUTION,
            staging_root=root,
            parameters=(),
        )
        mark_run(LocalStore(), RunMarker.of(task, host=socket.gethostname(), time=time.time()))
        descriptor = Path(layout.descriptor(region.region_id, _EXECUTION.execution_id))
        descriptor.parent.mkdir(parents=True)
        descriptor.write_text(task.to_json())
        applications.append([RUNTIME, str(descriptor)])
    return applications


VARIANTS: dict[str, Callable[[Path, Path], list[Application]]] = {
    "start": start,
    "hand": by_hand,
    "hand-pinned": by_hand_pinned,
    "hand-persist": lambda data, work: by_hand(data, work, "persist"),
    "hand-steps": step_by_step,
    "functions": partial(compiled, pipeline_of_functions.env, "AUTO"),
    "functions-staged": partial(compiled, pipeline_of_functions.env, "ALL_EXCHANGES_BLOCKING"),
    "declared": partial(compiled, declared_pipeline.env, "AUTO"),
    "declared-staged": partial(compiled, declared_pipeline.env, "ALL_EXCHANGES_BLOCKING"),
}
"""By name: what to submit, given the input's folder and an empty folder to work in."""


def environment(data: Path) -> dict[str, str]:
    """Return the environment all of them run in."""
    roots = [str(HERE.parents[1]), str(Path(RUNTIME).parents[2])]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(roots),
        "PEERS_DATA": str(data),
        # Its own Spark and Python, whatever stands on the PATH.
        "SPARK_HOME": str(Path(str(pyspark.__file__)).parent),
        "PYSPARK_PYTHON": sys.executable,
    }
