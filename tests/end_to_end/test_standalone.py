"""Runs under `airflow standalone`, driven through its REST API."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest

from tests.end_to_end.conftest import ROOT, Home
from tests.reference import REPORTS, assert_same_rows, expected, published

pytestmark = [pytest.mark.e2e, pytest.mark.long]

DAG_FILE = '''"""An airflow dag of the example pipeline that starts only when it is told to."""
from datetime import datetime

from graph_compiler.airflow_backend import build_dag
from pipelines.flights import env

dag = build_dag(env, schedule=None, start_date=datetime(2013, 1, 1))
'''

SLOW_DAG_FILE = '''"""An airflow dag that would run for hours."""
from datetime import datetime

from graph_compiler import Parquet, Range, StreamExecutionEnvironment
from graph_compiler.airflow_backend import build_dag

env = StreamExecutionEnvironment("slow")
env.from_source(Range(0, 10**14), "numbers").filter("hash(id) = 7").sink_to(Parquet("{output}")).name("out")
dag = build_dag(env, schedule=None, start_date=datetime(2013, 1, 1))
'''


def test_a_triggered_run_gives_the_reference_rows(home: Home, tmp_path: Path) -> None:
    with standalone(home, tmp_path) as api:
        call(api, "PATCH", "/api/v2/dags/flights", {"is_paused": False})
        run = call(
            api,
            "POST",
            "/api/v2/dags/flights/dagRuns",
            {"logical_date": "2013-01-01T00:00:00Z", "conf": home.params},
        )
        path = f"/api/v2/dags/flights/dagRuns/{run['dag_run_id']}"
        state = until(lambda: ended(call(api, "GET", path)["state"]), "the run to end", seconds=600)
        tasks = call(api, "GET", f"{path}/taskInstances")["task_instances"]
    assert state == "success"
    assert {task["task_id"]: (task["state"], task["try_number"]) for task in tasks} == {
        "with_weather": ("success", 1),
        "late_routes": ("success", 1),
    }
    for name, query in REPORTS.items():
        assert_same_rows(published(home.output / name), expected(query))


def test_a_task_marked_failed_ends_its_whole_spark_application(home: Home, tmp_path: Path) -> None:
    with standalone(home, tmp_path) as api:
        call(api, "PATCH", "/api/v2/dags/slow", {"is_paused": False})
        run = call(api, "POST", "/api/v2/dags/slow/dagRuns", {"logical_date": None})
        path = f"/api/v2/dags/slow/dagRuns/{run['dag_run_id']}"
        (descriptor,) = until(lambda: list(home.folder.glob(DESCRIPTORS)), "the task to begin")
        until(lambda: len(processes_of(descriptor)) >= 2, "the driver and its JVM")
        call(api, "PATCH", f"{path}/taskInstances/out", {"new_state": "failed"})
        marked = time.monotonic()
        until(lambda: not processes_of(descriptor), "the application to end", seconds=60)
        print(f"ended {time.monotonic() - marked:.1f} s after it was marked")
        until((descriptor.parent / "outcome.json").exists, "the outcome", seconds=30)
    assert not (tmp_path / "slow").exists()
    history = home.cli("history", "slow", run["dag_run_id"])
    assert "#0   CANCELED" in history.stdout, history.stdout + history.stderr


DESCRIPTORS = "staging/slow/*/tasks/out/*/descriptor.json"


def processes_of(descriptor: Path) -> list[int]:
    """Give the processes that have the descriptor as an argument: spark-submit's JVM and the Python driver."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if str(descriptor).encode() in (folder / "cmdline").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:  # it has ended
            continue
    return found


Api = dict[str, str]


@contextmanager
def standalone(home: Home, tmp_path: Path) -> Iterator[Api]:
    """Run `airflow standalone` on a free port of loopback; gives its address and a token."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    passwords, dags = tmp_path / "passwords.json", tmp_path / "dags"
    passwords.write_text(json.dumps({"admin": "admin"}))
    dags.mkdir()
    (dags / "flights.py").write_text(DAG_FILE)
    (dags / "slow.py").write_text(SLOW_DAG_FILE.format(output=tmp_path / "slow"))
    environment = home.environment(
        AIRFLOW__API__HOST="127.0.0.1",
        AIRFLOW__API__PORT=str(port),
        AIRFLOW__API__WORKERS="1",
        AIRFLOW__CORE__DAGS_FOLDER=str(dags),
        AIRFLOW__CORE__EXECUTION_API_SERVER_URL=f"http://127.0.0.1:{port}/execution/",
        AIRFLOW__CORE__PARALLELISM="4",
        AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE=str(passwords),
        AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS="admin:admin",
    )
    api = {"url": f"http://127.0.0.1:{port}"}
    log = tmp_path / "standalone.log"
    with log.open("w") as output:
        server = subprocess.Popen(
            [sys.executable, "-m", "airflow", "standalone"],
            cwd=ROOT,
            env=environment,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        credentials = {"username": "admin", "password": "admin"}
        api["token"] = until(lambda: attempt(api, "POST", "/auth/token", credentials), "a token")[
            "access_token"
        ]
        for dag in ("flights", "slow"):
            until(partial(attempt, api, "GET", f"/api/v2/dags/{dag}"), f"{dag} to be parsed")
        yield api
    except BaseException:
        sys.stderr.write(log.read_text()[-20_000:])
        raise
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(timeout=60)


def until(look: Any, what: str, *, seconds: float = 300) -> Any:
    """Look until there is something."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(1)
    raise AssertionError(f"waited {seconds} s for {what}")


def ended(state: str) -> str | None:
    return state if state in ("success", "failed") else None


def attempt(api: Api, method: str, path: str, body: object = None) -> Any:
    """Call; None while the server does not answer or does not know the thing yet."""
    try:
        return call(api, method, path, body)
    except (URLError, ConnectionError):
        return None


def call(api: Api, method: str, path: str, body: object = None) -> Any:
    headers = {"Content-Type": "application/json"}
    if "token" in api:
        headers["Authorization"] = f"Bearer {api['token']}"
    data = None if body is None else json.dumps(body).encode()
    with urlopen(
        Request(api["url"] + path, data=data, headers=headers, method=method), timeout=30
    ) as answer:
        return json.load(answer)
