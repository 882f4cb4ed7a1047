"""One pipeline in a mapped task group, in a Dag with another name, with real Spark: each is a separate run."""

import json
from collections import Counter
from pathlib import Path

import pytest
from pyarrow import parquet

from tests.end_to_end.conftest import Home

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.long,  # four applications; tests/airflow/test_tasks_elsewhere.py holds the same without Spark
]

DAG_FILE = '''"""An airflow dag that holds one pipeline twice: mapped over two numbers."""
from airflow.sdk import DAG, task_group

from graph_compiler import Parquet, StreamExecutionEnvironment
from graph_compiler.airflow_backend.installation.settings import read_settings
from graph_compiler.airflow_backend.task.task_operator import DeploymentTaskOperator
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.connectors import Range
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline

env = StreamExecutionEnvironment("counted")
rows = env.from_source(Range(0, 3), "rows").name("first").stage("it is read elsewhere, too")
rows.sink_to(Parquet("{output}"), mode="append").name("last")


def add_tasks():
    described = describe_pipeline(compile_pipeline(env.pipeline()))
    first, last = (
        DeploymentTaskOperator(
            regions=regions,
            plan=described.plan,
            pipeline=env.pipeline(),
            settings=read_settings(),
        )
        for regions in described.tasks().values()
    )
    first >> last


with DAG("places", schedule=None):
    @task_group(group_id="each")
    def each(number):
        add_tasks()

    each.expand(number=[1, 2])
'''
OWNERS = ["counted@places:each:0", "counted@places:each:1"]


@pytest.mark.usefixtures("migrated_home")
def test_each_placement_stages_reads_and_appends_its_own_rows(home: Home, tmp_path: Path) -> None:
    (tmp_path / "dags").mkdir()
    output = tmp_path / "output"
    (tmp_path / "dags" / "places.py").write_text(DAG_FILE.format(output=output))
    environment = home.environment(AIRFLOW__CORE__DAGS_FOLDER=str(tmp_path / "dags"))

    done = home.command(
        "-m", "airflow", "dags", "test", "places", "2013-01-01", environment=environment
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    ids = Counter(parquet.read_table(output).column("id").to_pylist())
    assert ids == {0: 2, 1: 2, 2: 2}

    listed = home.cli("staging", "list", "--json", environment=environment)
    runs = json.loads(listed.stdout)
    assert [(run["state"], run["reason"]) for run in runs] == [("FINISHED", "Airflow: success")] * 2
    assert [(run["attempts"], len(run["results_kept"])) for run in runs] == [(2, 1)] * 2
    assert {(run["dag_id"], run["group_path"], run["map_index"]) for run in runs} == {
        ("places", "each", 0),
        ("places", "each", 1),
    }
    (run_id,) = {run["run_id"] for run in runs}
    for owner in OWNERS:
        shown = home.cli("history", owner, run_id, environment=environment).stdout
        assert shown.count("FINISHED") == 2, shown
    gone = home.cli("staging", "gc", "--older-than", "0 s", "--json", environment=environment)
    removed = json.loads(gone.stdout)["removed"]
    assert [(one["pipeline"], one["run_id"], one["waste"]) for one in removed] == [
        ("counted", run_id, "RUN")
    ] * 2
