"""Runs under `airflow standalone`, driven through its REST API."""

import time
from pathlib import Path

import duckdb
import pytest

from tests.end_to_end.conftest import Home
from tests.harness.reference import REPORTS, assert_same_rows, expected, published
from tests.harness.standalone import processes_of, standalone, until

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

DAILY_DAG_FILE = '''"""An airflow dag whose runs write a place of their own, and a partition of one they share."""
from datetime import datetime

from graph_compiler import Parquet, Range, StreamExecutionEnvironment
from graph_compiler.airflow_backend import build_dag

env = StreamExecutionEnvironment("daily")
rows = env.from_source(Range(0, 3), "numbers").select(id="id", day=":run_date")
rows.sink_to(Parquet("{output}/own/{{{{ ds }}}}")).name("own")
rows.sink_to(Parquet("{output}/all"), mode="overwrite-partitions", partition_by="day").name("all")
dag = build_dag(env, schedule="@daily", start_date=datetime(2013, 1, 1))
'''


def test_a_triggered_run_gives_the_reference_rows(home: Home, tmp_path: Path) -> None:
    with standalone(home.environment, tmp_path, dag_files(tmp_path)) as api:
        run = api.call(
            "POST", "/api/v2/dags/flights/dagRuns", {"logical_date": "2013-01-01T00:00:00Z", "conf": home.params}
        )
        path = f"/api/v2/dags/flights/dagRuns/{run['dag_run_id']}"
        state = until(lambda: ended(api.call("GET", path)["state"]), "the run to end", seconds=600)
        tasks = api.call("GET", f"{path}/taskInstances")["task_instances"]
    assert state == "success"
    assert {task["task_id"]: (task["state"], task["try_number"]) for task in tasks} == {
        "with_weather": ("success", 1),
        "late_routes": ("success", 1),
    }
    for name, query in REPORTS.items():
        assert_same_rows(published(home.output / name), expected(query))


def test_a_task_marked_failed_ends_its_whole_spark_application(home: Home, tmp_path: Path) -> None:
    with standalone(home.environment, tmp_path, dag_files(tmp_path)) as api:
        run = api.call("POST", "/api/v2/dags/slow/dagRuns", {"logical_date": None})
        path = f"/api/v2/dags/slow/dagRuns/{run['dag_run_id']}"
        (descriptor,) = until(lambda: list(home.folder.glob(DESCRIPTORS)), "the task to begin")
        until(lambda: len(processes_of(str(descriptor))) >= 2, "the driver and its JVM")
        api.call("PATCH", f"{path}/taskInstances/out", {"new_state": "failed"})
        marked = time.monotonic()
        until(lambda: not processes_of(str(descriptor)), "the application to end", seconds=60)
        print(f"ended {time.monotonic() - marked:.1f} s after it was marked")
        until((descriptor.parent / "outcome.json").exists, "the outcome", seconds=30)
    assert not (tmp_path / "slow").exists()
    history = home.cli("history", "slow", run["dag_run_id"])
    assert "#1   CANCELED" in history.stdout, history.stdout + history.stderr


def test_a_backfill_of_five_days_at_once_ends_with_five_days(home: Home, tmp_path: Path) -> None:
    days = [f"2013-01-0{number}" for number in range(1, 6)]
    with standalone(home.environment, tmp_path, dag_files(tmp_path)) as api:
        asked = {
            "dag_id": "daily",
            "from_date": f"{days[0]}T00:00:00Z",
            "to_date": f"{days[-1]}T00:00:00Z",
            "reprocess_behavior": "none",
            "max_active_runs": 5,
        }
        api.call("POST", "/api/v2/backfills", asked)
        path = "/api/v2/dags/daily/dagRuns?run_type=backfill"

        def states() -> list[str] | None:
            found = [run["state"] for run in api.call("GET", path)["dag_runs"]]
            return found if len(found) == 5 and all(map(ended, found)) else None

        found = until(states, "five runs to end", seconds=600)
        path = "/api/v2/dags/daily/dagRuns/~/taskInstances"
        tasks = api.call("GET", path)["task_instances"]
        tasks = [task for task in tasks if task["dag_run_id"].startswith("backfill")]
    assert found == ["success"] * 5
    began = sorted((task["start_date"], task["end_date"]) for task in tasks)
    assert began[1][0] < began[0][1], "at least two ran at once"
    print(f"tries: {sorted(task['try_number'] for task in tasks)}")
    # Airflow itself starts today's run as well, as soon as the Dag is not paused.
    assert sorted(path.name for path in (tmp_path / "daily/own").glob("2013-*")) == days
    with duckdb.connect() as connection:
        for where in ("all/day=2013-*/*.parquet", "own/2013-*/*.parquet"):
            query = f"SELECT CAST(day AS VARCHAR), id FROM '{tmp_path}/daily/{where}' ORDER BY ALL"
            rows = connection.execute(query).fetchall()
            assert rows == [(day, id) for day in days for id in range(3)]


def dag_files(folder: Path) -> dict[str, str]:
    return {
        "flights": DAG_FILE,
        "slow": SLOW_DAG_FILE.format(output=folder / "slow"),
        "daily": DAILY_DAG_FILE.format(output=folder / "daily"),
    }


DESCRIPTORS = "staging/slow/*/tasks/out/*/descriptor.json"


def ended(state: str) -> str | None:
    return state if state in ("success", "failed") else None
