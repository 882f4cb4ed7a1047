"""Dags of a folder of pipelines: valid pipelines have a Dag, invalid ones are reported with their line."""

import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]

SALES = """name: {name}
schedule: {{cron: "@daily", start: 2026-01-01}}
sources: {{orders: {{csv: /in}}}}
sinks: {{out: {{from: orders, sink_to: {{parquet: "/out/{name}"}}}}}}
"""
MODULE = """
from graph_compiler import Csv, Parquet, Schedule, StreamExecutionEnvironment
env = StreamExecutionEnvironment("{name}"{more})
env.from_source(Csv("/in"), "in").sink_to(Parquet("/out/{name}"))
"""
LOADER = '''"""An airflow dag for each."""
from graph_compiler.airflow_backend import load_dags
globals().update(load_dags("{folder}"))
'''
BROKEN = '''"""What is wrong, for airflow's list of dag import errors."""
from graph_compiler.airflow_backend import report_broken
report_broken("{folder}")
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of pipelines in a project with the two Dag files."""
    pipelines = tmp_path / "jobs"  # no package of another name is in the way
    pipelines.mkdir()
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "all_pipelines.py").write_text(LOADER.format(folder=pipelines))
    (tmp_path / "dags" / "broken_pipelines.py").write_text(BROKEN.format(folder=pipelines))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    for name in ("sales", "stock"):
        (pipelines / f"{name}.yaml").write_text(SALES.format(name=name))
    return pipelines


def bag(folder: Path) -> Any:
    from airflow.dag_processing.dagbag import DagBag

    return DagBag(dag_folder=folder.parent / "dags")


def test_each_yaml_file_is_a_dag(folder: Path) -> None:
    found = bag(folder)
    assert found.import_errors == {}
    assert sorted(found.dags) == ["sales", "stock"]
    assert found.dags["sales"].schedule == "@daily"
    assert found.dags["sales"].fileloc == str(folder.parent / "dags" / "all_pipelines.py")


def test_a_module_with_a_schedule_is_a_dag(folder: Path) -> None:
    (folder / "hourly_mod.py").write_text(MODULE.format(name="hourly", more=', schedule=Schedule(cron="@hourly")'))
    (folder / "library_mod.py").write_text(MODULE.format(name="library", more=""))
    (folder / "_private.yaml").write_text("no pipeline")
    found = bag(folder)
    assert found.import_errors == {}
    assert sorted(found.dags) == ["hourly", "sales", "stock"]


def test_a_broken_pipeline_hides_no_other(folder: Path) -> None:
    (folder / "bad.yaml").write_text(SALES.format(name="bad").replace("from: orders", "from: order"))
    (folder / "bad_mod.py").write_text(MODULE.format(name="bad_mod", more="") + "\nenv.nothing()\n")
    (folder / "twice.yaml").write_text(SALES.format(name="sales"))
    found = bag(folder)
    assert sorted(found.dags) == ["sales", "stock"]
    ((file, words),) = found.import_errors.items()
    assert Path(file).name == "broken_pipelines.py"
    assert "sinks.out.from: there is no stream called 'order'" in words
    assert f"declared at {folder / 'bad.yaml'}:4:" in words
    assert "pipeline 'bad_mod' has 1 problem\n  it cannot be loaded" in words
    assert "`env.nothing()` raised AttributeError" in words
    assert f"declared at {folder / 'bad_mod.py'}:6" in words
    assert "twice.yaml: pipeline 'sales' has 1 problem\n  another pipeline has this name" in words


def test_pipelines_that_airflow_refuses_are_reported(folder: Path) -> None:
    wrong = SALES.format(name="wrong").replace("{orders: {csv: /in}}", "{orders: {csv: '/in/{{ ds }}'}}")
    wrong = wrong.replace('cron: "@daily", start: 2026-01-01', "assets: /data/orders")
    (folder / "wrong.yaml").write_text(wrong)
    found = bag(folder)
    assert sorted(found.dags) == ["sales", "stock"]
    (words,) = found.import_errors.values()
    assert "orders: '/in/{{ ds }}' uses ds, but a run triggered by an asset has no logical date" in words
    assert "hint: {{ run_date }} is the day in every run" in words


def test_a_tasks_process_compiles_its_own_pipeline_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_AIRFLOW_PARSING_CONTEXT_DAG_ID", "stock")
    assert sorted(bag(folder).dags) == ["stock"]
