"""A compiled pipeline as Spark applications: descriptors in a staging root, as a task of Airflow writes them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyspark

from graph_compiler import StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.local_task import DeskRun, desk_task
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.report import Outcome
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.driver_jvm.pinned_process import pinned_variables
from graph_compiler.driver_jvm.start_settings import DriverStart, start_settings
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.spark_runtime import main as spark_runtime_main
from graph_compiler.staging.attempts.execution_order import begin
from graph_compiler.staging.attempts.run_marker import RunMarker, mark_run
from graph_compiler.staging.store.stores import store_of

RUNTIME = str(spark_runtime_main.__file__)
PROJECT = Path(__file__).parents[2]
MEMORY = "2g"
Application = list[str]
"""The arguments after spark-submit's settings; its own `--conf` pairs may come first."""


@dataclass(frozen=True, slots=True)
class Deployed:
    """The tasks of a pipeline that is to run once: of each, the descriptors of its regions."""

    data: Path
    tasks: Sequence[Sequence[TaskDeploymentDescriptor]]

    @classmethod
    def of(cls, env: StreamExecutionEnvironment, data: Path, work: Path, options: Mapping[str, str]) -> Deployed:
        """Compile a pipeline, and make its run in an empty folder."""
        pipeline = replace(env.pipeline(), config=tuple(options.items()))
        run = DeskRun(
            day="2013-01-01",
            params={"input": str(data), "output": str(work / "out")},
            run_id="run",
            staging_root=str(work / "staging"),
        )
        described = describe_pipeline(compile_pipeline(pipeline)).tasks().values()
        tasks = [[desk_task(region, run, execution_id="execution") for region in regions] for regions in described]
        first = tasks[0][0]
        marker = RunMarker.of(first, host=socket.gethostname(), time=time.time())
        mark_run(store_of(run.staging_root), marker)
        return cls(data, tasks).tried(1)

    def tried(self, number: int) -> Deployed:
        """Return the tasks at their try `number`, from 1; every region has a new attempt."""
        tasks = [
            [
                replace(
                    task,
                    attempt=replace(task.attempt, execution_id=f"try{number}", attempt_number=number - 1),
                    try_number=number,
                    turn=turn if len(regions) > 1 else None,
                )
                for turn, task in enumerate(regions)
            ]
            for regions in self.tasks
        ]
        for task in (task for regions in tasks for task in regions):
            assert begin(store_of(task.staging_root), task), "this try has begun already"
        return Deployed(self.data, tasks)

    def applications(self, *, is_tuned: bool = True) -> list[Application]:
        """Return one application for each task; `is_tuned`: with the settings of a task's driver."""
        settings = tuned(self.data) if is_tuned else []
        return [[*settings, RUNTIME, *(_descriptor(task) for task in regions)] for regions in self.tasks]

    def fail_in_last_region(self, command: Sequence[str]) -> None:
        """Run the only task, kill its driver when the last region begins, and write what Airflow's task would."""
        ((*before, last),) = self.tasks
        claim = Path(last.layout.execution(last.region.region_id, last.attempt.execution_id) + "/driver.json")
        process = subprocess.Popen(
            command,
            env=environment(self.data),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        while not claim.exists():
            assert process.poll() is None, "it ended before its last region began"
            time.sleep(0.01)
        os.killpg(process.pid, 9)
        process.wait()
        for task in (*before, last):
            state = ExecutionState.FAILED if task is last else ExecutionState.FINISHED
            outcome = Outcome(state=state, ended=time.time(), reason=None)
            key = task.layout.execution(task.region.region_id, task.attempt.execution_id) + "/outcome.json"
            store_of(task.staging_root).put_if_absent(key, to_json(outcome).encode())


def tuned(data: Path) -> list[str]:
    """Return the settings with which a task's driver starts; raises RuntimeError if there is no class archive."""
    found = start_settings(DriverStart(environment=environment(data), conf={}, memory=MEMORY, is_local=True))
    if found.wanted is not None:
        raise RuntimeError("there is no class archive: graph-compiler warm")
    return [word for key, value in found.conf for word in ("--conf", f"{key}={value}")]


def environment(data: Path) -> dict[str, str]:
    """Return the environment in which all applications run."""
    roots = [str(PROJECT), str(Path(RUNTIME).parents[2])]
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {
        **inherited,
        **pinned_variables(inherited),  # as a task's driver has them
        "PYTHONPATH": os.pathsep.join(roots),
        "PEERS_DATA": str(data),
        # Its own Spark and Python, whatever the PATH has.
        "SPARK_HOME": str(Path(str(pyspark.__file__)).parent),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }


def _descriptor(task: TaskDeploymentDescriptor) -> str:
    return task.layout.descriptor(task.region.region_id, task.attempt.execution_id)
