"""A client submits, cancels and resumes runs under a scheduler, through Airflow's API."""

import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from graph_compiler.cli.commands.ui import PASSWORD, USER, Standalone
from graph_compiler.run_client import Login, RunClient, RunState
from tests.end_to_end.conftest import Home
from tests.harness.standalone import Api, processes_of, standalone, until

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.long,  # nine applications; tests/airflow/test_run_client.py holds the same without Spark
]

PIPELINE = '''"""A pipeline whose second task waits until a file is there."""
import time
from pathlib import Path

from graph_compiler import Parquet, Range, StreamExecutionEnvironment, param


def waits(rows, signal):
    """Wait on the driver."""
    Path(f"{signal}.waits").touch()
    while not Path(signal).exists():
        time.sleep(0.2)
    return rows


env = StreamExecutionEnvironment("followed", params={"output": "/out", "signal": "/may_go", "last": 30})
numbers = env.from_source(Range(0, 1000), "numbers").filter("id < :last").name("first")
staged = numbers.stage("the second task reads it")
ids = staged.transform(waits, signal=param("signal")).name("waits").select(id="id", day=":run_date")
ids.sink_to(Parquet("{{ params.output }}"), mode="append").name("ids")
'''
DAG = '''"""An airflow dag."""
from graph_compiler.airflow_backend import build_dag
from followed_pipeline import env

dag = build_dag(env, schedule=None)
'''


def test_runs_are_submitted_canceled_and_resumed(home: Home, tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "followed_pipeline.py").write_text(PIPELINE)

    def environment(**more: str) -> dict[str, str]:
        found = home.environment(**more)
        return found | {"PYTHONPATH": f"{tmp_path / 'code'}:{found['PYTHONPATH']}"}

    with standalone(environment, tmp_path, {"followed": DAG}, viewers=["bob"]) as api:
        rest = login(home.environment(), api, USER)
        configured = of_this_host(home, tmp_path, api)
        cancel_and_resume(home, tmp_path, rest, "2013-01-01", loses_rows=False)
        cancel_and_resume(home, tmp_path, configured, "2013-01-02", loses_rows=True)
        attached(home, tmp_path, rest)
        refused(home, api, rest)
    rows = parquet.read_table(tmp_path / "out").to_pylist()
    days = {"2013-01-01": 30, "2013-01-02": 30, "2013-01-03": 7}
    assert Counter((row["id"], row["day"]) for row in rows) == Counter(
        (id, day) for day, last in days.items() for id in range(last)
    )


def cancel_and_resume(home: Home, folder: Path, environment: Mapping[str, str], date: str, *, loses_rows: bool) -> None:
    signal = folder / f"may_go_{date}"
    params = ["--param", f"output={folder / 'out'}", "--param", f"signal={signal}"]
    done = home.cli(*("submit", "followed", "--date", date, "--detached", *params), environment=environment)
    assert done.returncode == 0, done.stderr
    run_id = done.stdout.strip()
    assert run_id.startswith(f"manual__{date}__")
    again = home.cli("submit", "followed", "--date", date, "-d", *params, environment=environment)
    assert again.returncode == 2
    assert f"'followed' already has a run of {date}T00:00:00+00:00: '{run_id}'" in again.stderr

    until(Path(f"{signal}.waits").exists, "the second task to wait", seconds=300)
    assert states(home, environment, run_id) == {"first": ("FINISHED", 1), "ids": ("RUNNING", 1)}
    early = home.cli("resume", "followed", run_id, environment=environment)
    assert (early.returncode, "is RUNNING" in early.stderr) == (2, True), early.stderr
    (run,) = (path for path in (home.staging / "followed").iterdir() if date in path.name)
    (descriptor,) = run.glob("tasks/ids/*/descriptor.json")
    assert processes_of(str(descriptor))

    canceled = home.cli("cancel", "followed", run_id, environment=environment)
    assert canceled.returncode == 0, canceled.stderr
    assert f"resume followed {run_id}" in canceled.stdout
    until(lambda: not processes_of(str(descriptor)), "the application to end", seconds=60)
    assert states(home, environment, run_id) == {"first": ("FINISHED", 1), "ids": ("FAILED", 1)}
    left = home.cli("result", "followed", run_id, "--json", environment=environment)
    assert (left.returncode, json.loads(left.stdout)["sinks"]) == (1, [])
    if loses_rows:
        for data in run.glob("data/*/*"):
            shutil.rmtree(data)

    signal.touch()
    resumed = home.cli("resume", "followed", run_id, "--json", environment=environment)
    assert resumed.returncode == 0, resumed.stderr
    names = {task["task"] for task in json.loads(resumed.stdout)["resumed"]}
    assert names == ({"first", "ids"} if loses_rows else {"ids"})
    until(lambda: states(home, environment, run_id)["ids"][0] == "FINISHED", "the end", seconds=300)
    tries = 2 if loses_rows else 1
    assert states(home, environment, run_id) == {"first": ("FINISHED", tries), "ids": ("FINISHED", 2)}
    assert len(list(run.glob("tasks/first/*/report.json"))) == tries
    until(
        lambda: home.cli("status", "followed", run_id, environment=environment).stdout.count("FINISHED") == 3,
        "the run to end",
    )
    result = home.cli("result", "followed", run_id, "--json", environment=environment)
    (sink,) = json.loads(result.stdout)["sinks"]
    assert (sink["sink"], sink["rows"], sink["path"]) == ("ids", 30, str(folder / "out"))
    nothing = home.cli("resume", "followed", run_id, environment=environment)
    assert nothing.returncode == 2
    assert "all its tasks finished" in nothing.stderr


def attached(home: Home, folder: Path, environment: Mapping[str, str]) -> None:
    signal = folder / "may_go_2013-01-01"
    params = {"output": str(folder / "out"), "signal": str(signal), "last": "7"}
    words = [word for name, value in params.items() for word in ("--param", f"{name}={value}")]
    done = home.cli("submit", "followed", "--date", "2013-01-03", *words, environment=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "first: FINISHED" in done.stdout
    assert str(folder / "out") in done.stdout


def refused(home: Home, api: Api, environment: Mapping[str, str]) -> None:
    as_bob = login(environment, api, "bob")
    seen = home.cli("status", "followed", environment=as_bob)
    assert seen.returncode == 0, seen.stderr
    forbidden = home.cli("submit", "followed", "-d", environment=as_bob)
    assert forbidden.returncode == 2
    assert "this user may not do that" in forbidden.stderr
    wrong = {**environment, "GRAPH_COMPILER_API_PASSWORD": "s3cret-word"}
    stranger = home.cli("status", "followed", environment=wrong)
    assert stranger.returncode == 2
    assert "does not accept this user and password" in stranger.stderr
    assert "s3cret-word" not in stranger.stderr + stranger.stdout
    with RunClient.of_api(api.url, Login(user=USER, password=PASSWORD)) as client:
        assert client.status("followed").state is RunState.FINISHED
    api.call("PATCH", "/api/v2/dags/followed", {"is_paused": True})
    paused = home.cli("submit", "followed", "-d", environment=environment)
    assert paused.returncode == 2
    assert "airflow dags unpause followed" in paused.stderr


def of_this_host(home: Home, folder: Path, api: Api) -> dict[str, str]:
    """Return an environment without a login, in which the server has the same settings as Airflow's own processes."""
    users = {USER: "admin", "bob": "viewer"}
    settings = Standalone(home=folder, port=int(api.url.rpartition(":")[2]), users=users).settings()
    return home.environment(**settings)


def login(environment: Mapping[str, str], api: Api, user: str) -> dict[str, str]:
    return {
        **environment,
        "GRAPH_COMPILER_API_URL": api.url,
        "GRAPH_COMPILER_API_USER": user,
        "GRAPH_COMPILER_API_PASSWORD": PASSWORD,
    }


def states(home: Home, environment: Mapping[str, str], run_id: str) -> dict[str, tuple[Any, int]]:
    done: subprocess.CompletedProcess[str] = home.cli("status", "followed", run_id, "--json", environment=environment)
    assert done.returncode in (0, 1), done.stderr
    tasks = json.loads(done.stdout)["tasks"]
    return {task["task"]: (task["state"], task["tries"]) for task in tasks}
