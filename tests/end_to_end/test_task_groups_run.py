"""One pipeline in two Dags, in two groups of one Dag and in a mapped group, in two runs at once, under a scheduler."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from graph_compiler.deployment.documents.run_identity import RunIdentity
from tests.end_to_end.conftest import Home
from tests.harness.standalone import standalone, until

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.long,  # 24 applications; tests/airflow/test_task_groups.py holds the same without Spark
]

DECLARED = '''"""An airflow dag that holds a pipeline: {what}."""
from graph_compiler import Parquet, Range, StreamExecutionEnvironment
from graph_compiler.airflow_backend import build_dag, build_task_group

env = StreamExecutionEnvironment("counted", params={{"first": 0, "last": 3}})
numbers = env.from_source(Range(0, 30), "numbers").filter("id >= :first AND id < :last").name("first")
ids = numbers.stage("it is read elsewhere, too").select(id="id", run=":run_date")
ids.sink_to(Parquet("{output}/all"), mode="append").name("last")
'''
OWN = "dag = build_dag(env)\ndag.max_active_runs = 2\n"
MANY = """
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, task, task_group


@task
def ranges():
    return [10, 20, 25]


@task_group(group_id="each")
def each(first):
    build_task_group(env, params={{"first": first, "last": 30}})


with DAG("many", schedule=None, params={{"last": 5}}, max_active_runs=2, max_active_tasks=6) as dag:
    wait = BashOperator(task_id="wait", bash_command="test -e {output}")
    mail = BashOperator(task_id="mail", bash_command="echo {{{{ run_id }}}} >> {output}/mail")
    wait >> build_task_group(env) >> mail
    wait >> build_task_group(env, "emea", params={{"first": "{{{{ params.last - 1 }}}}"}}) >> mail
    each.expand(first=ranges()) >> mail
"""
RUN_IDS = ("one", "two")
IDS = {
    "counted": range(3),
    "": range(5),
    "emea": range(4, 5),
    "0": range(10, 30),
    "1": range(20, 30),
    "2": range(25, 30),
}


def test_each_is_a_run_of_its_own_with_exact_rows(home: Home, tmp_path: Path) -> None:
    output = tmp_path / "output"
    output.mkdir()
    head = DECLARED.format(what="its own, and others", output=output)
    files = {"counted": head + OWN, "many": head + MANY.format(output=output)}
    with standalone(home.environment, tmp_path, files) as api:
        for dag in files:
            for day, run_id in enumerate(RUN_IDS, start=1):
                api.call(
                    "POST",
                    f"/api/v2/dags/{dag}/dagRuns",
                    {"dag_run_id": run_id, "logical_date": f"2013-01-0{day}T00:00:00Z"},
                )

        def states() -> list[str] | None:
            runs = [
                api.call("GET", f"/api/v2/dags/{dag}/dagRuns/{run_id}")["state"] for dag in files for run_id in RUN_IDS
            ]
            return runs if all(state in ("success", "failed") for state in runs) else None

        found = until(states, "four runs to end", seconds=1200)
        listed = home.cli("staging", "list", "--json")
        runs = [(owner_of(run), run["run_id"], run["attempts"]) for run in json.loads(listed.stdout)]
        for owner, run_id, _ in runs:
            shown = home.cli("history", owner, run_id).stdout
            assert shown.count("FINISHED") == 2, shown
    assert found == ["success"] * 4
    rows = parquet.read_table(output / "all").to_pylist()
    expected = Counter((id, f"2013-01-0{day}") for day in (1, 2) for ids in IDS.values() for id in ids)
    assert Counter((row["id"], row["run"]) for row in rows) == expected
    assert sorted((output / "mail").read_text().split()) == sorted(RUN_IDS)
    owners = ["counted", "counted@many:counted", "counted@many:emea"]
    owners += [f"counted@many:each.counted:{index}" for index in range(3)]
    assert sorted(runs) == sorted((owner, run_id, 2) for owner in owners for run_id in RUN_IDS)


def owner_of(run: dict[str, Any]) -> str:
    names = ("dag_id", "group_path", "pipeline", "run_id", "map_index")
    return RunIdentity(**{name: run[name] for name in names}).owner
