"""Two reports share a task under real Airflow, and one of them fails once: the retry repeats only that one."""

import json
from pathlib import Path

import pytest

from tests.end_to_end.conftest import Home
from tests.end_to_end.test_named_files import call
from tests.harness.reference import expected

pytestmark = [pytest.mark.e2e, pytest.mark.ci]

PIPELINE = """
from pathlib import Path

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment, param

FOLDER = Path(__file__).parents[1]


def fails_once(rows):
    if not (FOLDER / "failed").exists():
        (FOLDER / "failed").touch()
        raise ConnectionError("the first time")
    return rows


env = StreamExecutionEnvironment("reports")
orders = env.from_source(Csv(str(FOLDER / "orders.csv"), schema="id INT, region STRING"), "orders")
clean = orders.filter("id > 0").name("clean").stage("two reports read it")
sums = clean.key_by("region").aggregate(orders="count(*)").name("sums")
sums.transform(fails_once).name("shaky").sink_to(Parquet(str(FOLDER / "out/sums"))).name("sums_out")
large = clean.filter("id > 500").name("large")
large.sink_to(Parquet(str(FOLDER / "out/large")), mode="append").name("large_out")
"""
DAG = """
from graph_compiler.airflow_backend import build_dag
from pipelines.reports import env

dag = build_dag(env, schedule=None)
"""


@pytest.mark.usefixtures("migrated_home")
def test_a_retry_keeps_the_region_that_has_finished(home: Home, tmp_path: Path) -> None:
    project = reports_project(tmp_path / "project")
    call(home, project, "graph_compiler", "run", "reports", "--date", "2024-01-01", "--json")

    (run,) = (home.staging / "reports").iterdir()
    assert run_id(run).startswith("manual__2024-01-01T")
    applications = {json.loads(report.read_text())["application_id"] for report in run.glob("tasks/*/*/report.json")}
    assert len(applications) == 3, "the stage, both reports, the one that failed"
    states = {
        region.name: sorted(len(list(region.glob(f"*/{kind}.json"))) for kind in ("report", "kept"))
        for region in (run / "tasks").iterdir()
    }
    assert states == {"clean": [0, 1], "sums_out": [0, 2], "large_out": [1, 1]}
    said = call(home, project, "graph_compiler", "history", "reports", run_id(run))
    assert "kept in try 2" in said
    assert "ConnectionError: the first time" in said
    rows = expected(f"SELECT region, orders FROM read_parquet('{project}/out/sums/*.parquet') ORDER BY 1")[1]
    assert rows == [("a", 333), ("b", 333), ("c", 333)]
    large = expected(f"SELECT count(*), count(DISTINCT id) FROM read_parquet('{project}/out/large/*.parquet')")[1]
    assert large == [(499, 499)], "appended once"


def reports_project(folder: Path) -> Path:
    """Write the project, and return its folder."""
    for name, text in {
        "pipelines/__init__.py": "",
        "pipelines/reports.py": PIPELINE,
        "dags/reports.py": DAG,
        "orders.csv": "id,region\n" + "".join(f"{id},{'abc'[id % 3]}\n" for id in range(1000)),
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def run_id(run: Path) -> str:
    return str(json.loads((run / "run.json").read_text())["identity"]["run_id"])
