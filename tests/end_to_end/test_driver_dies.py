"""The second task's driver is killed once: the retry reads the first task's result, and the rows are correct."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.identifiers import RegionId
from graph_compiler.staging.attempts.attempts import executions as attempts_of
from graph_compiler.staging.attempts.attempts import identity_of
from graph_compiler.staging.store.local_store import LocalStore
from tests.end_to_end.conftest import ROOT, Home
from tests.harness.reference import assert_same_rows, expected, published, reports

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.long,  # three applications; `make test-faults` kills real drivers at many more points
]
Found = TypeVar("Found")


@pytest.mark.usefixtures("migrated_home")
def test_the_retry_reuses_the_committed_result(home: Home, january: Path, tmp_path: Path) -> None:
    home = replace(home, data=january)
    events = tmp_path / "events"
    events.mkdir()
    spark_conf = {
        "spark.ui.enabled": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": str(events),
        "spark.eventLog.rolling.enabled": "false",
    }
    environment = home.environment(AIRFLOW__GRAPH_COMPILER__SPARK_CONF=json.dumps(spark_conf))
    conf = json.dumps(home.params)
    log = tmp_path / "log"
    with log.open("w") as output:
        airflow = subprocess.Popen(
            [sys.executable, "-m", "airflow", "dags", "test", "flights", "2013-01-01", "--conf", conf],
            cwd=ROOT,
            env=environment,
            stdout=output,
            stderr=output,
        )
        descriptor = wait_for(lambda: next(iter(home.executions().get("late_routes", [])), None), airflow, log)
        wait_for(lambda: len(list(events.iterdir())) == 2, airflow, log)  # its Spark application has started
        os.kill(wait_for(lambda: python_driver(descriptor / "descriptor.json"), airflow, log), signal.SIGKILL)
        assert airflow.wait(timeout=300) == 0, log.read_text()[-5000:]

    executions = home.executions()
    assert {task: len(attempts) for task, attempts in executions.items()} == {"with_weather": 1, "late_routes": 2}
    assert len(list(events.iterdir())) == 3, "Spark applications started"
    reported = [(folder / "report.json").exists() for folder in executions["late_routes"]]
    assert sorted(reported) == [False, True]
    (run,) = (home.folder / "staging" / "flights").iterdir()
    identity = identity_of(LocalStore(), str(run))
    assert identity is not None
    layout = StagingLayout(root=str(home.folder / "staging"), identity=identity)
    states = [
        [attempt.state.value for attempt in attempts_of(LocalStore(), layout, RegionId(task))]
        for task in ("with_weather", "late_routes")
    ]
    assert states == [["FINISHED"], ["FAILED", "FINISHED"]]
    (first, _) = attempts_of(LocalStore(), layout, RegionId("late_routes"))
    assert "the Spark driver ended without a report" in str(first.reason)
    (manifests,) = home.folder.glob("staging/flights/*/manifests/*")
    assert [path.name for path in manifests.iterdir()] == ["0.json"]
    assert_same_rows(published(home.output / "late_routes"), expected(reports(january)["late_routes"]))


def wait_for(look: Callable[[], Found | None], process: subprocess.Popen[bytes], log: Path) -> Found:
    """Wait for a result; fail if the run ends first."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and process.poll() is None:
        if found := look():
            return found
        time.sleep(0.05)
    raise AssertionError(f"the run ended before what the test waits for:\n{log.read_text()[-5000:]}")


def python_driver(descriptor: Path) -> int | None:
    """Return the process id of the Python that runs the application (the JVM above it has the same argument)."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if str(descriptor).encode() in command and b"python" in Path(os.fsdecode(command[0])).name.encode():
            return int(folder.name)
    return None
