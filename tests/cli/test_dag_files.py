"""`run` without a Dag file says at once what is missing."""

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from graph_compiler import Schedule
from graph_compiler.cli.app import app
from graph_compiler.cli.running.dag_files import require_dag
from graph_compiler.errors import InvalidPipelineError
from graph_compiler.projects.pipeline_files import PipelineFile
from pipelines.flights import env

PIPELINE = env.pipeline()
LOADS_ALL = "globals().update(load_dags(folder))\n"


def module(folder: Path, suffix: str = ".py") -> PipelineFile:
    return PipelineFile(name="pipelines.sales", file=folder / "pipelines" / f"sales{suffix}", root=folder)


@pytest.fixture
def dags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dags").mkdir()
    return tmp_path / "dags"


def test_the_lines_of_the_missing_dag_file_are_shown(dags: Path) -> None:
    (dags / "all_pipelines.py").write_text(LOADS_ALL)
    with pytest.raises(InvalidPipelineError) as refused:
        require_dag(PIPELINE, module(dags.parent), dags)
    said = str(refused.value)
    assert "no file in dags/ makes a Dag of pipelines/sales.py" in said
    assert "hint: write dags/sales.py:" in said
    assert "from pipelines.sales import env\n" in said
    assert "dag = build_dag(env, schedule=None)" in said
    assert "schedule=Schedule(…)" in said


def test_a_dag_file_that_names_the_module_is_enough(dags: Path) -> None:
    (dags / "deeper").mkdir()
    (dags / "deeper" / "any.py").write_text("from pipelines.sales import env\n")
    require_dag(PIPELINE, module(dags.parent), dags)


@pytest.mark.parametrize("suffix", [".py", ".yaml"])
def test_pipelines_with_a_schedule_share_one_dag_file(dags: Path, suffix: str) -> None:
    pipeline = PIPELINE if suffix == ".yaml" else replace(PIPELINE, schedule=Schedule())
    with pytest.raises(InvalidPipelineError, match="write dags/all_pipelines.py:"):
        require_dag(pipeline, module(dags.parent, suffix), dags)
    (dags / "all_pipelines.py").write_text(LOADS_ALL)
    require_dag(pipeline, module(dags.parent, suffix), dags)


def test_with_dag_bundles_airflow_is_asked_for_dags(dags: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST", "[]")
    require_dag(PIPELINE, module(dags.parent), dags)


def test_run_refuses_before_airflow_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    monkeypatch.setenv("AIRFLOW__CORE__DAGS_FOLDER", str(tmp_path))
    monkeypatch.setattr(
        "graph_compiler.cli.commands.run.run_under_airflow", lambda *_: pytest.fail("Airflow was started")
    )
    done = CliRunner().invoke(app, ["run", "flights"])
    assert done.exit_code == 2
    assert "makes a Dag of pipelines/flights.py" in done.stderr
