"""What spark-submit is given of the files that a pipeline names, and the copies that a task puts."""

from pathlib import Path
from typing import Any

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.artifacts.user_artifact import ArtifactError
from graph_compiler.deployment.describe.local_task import DeskRun, desk_task
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.targets.submit_settings import UNDECLARED, submit_settings
from tests.airflow.test_executor_code import operator_to

pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("default")]


@pytest.fixture
def task(tmp_path: Path) -> TaskDeploymentDescriptor:
    """Return a task with a file, a jar and an archive."""
    for name in ("rates.csv", "one.jar", "env.tar.gz"):
        (tmp_path / name).write_text("1")
    env = StreamExecutionEnvironment("p")
    env.add_files(tmp_path / "rates.csv")
    env.add_jars(tmp_path / "one.jar")
    env.add_python_archive(tmp_path / "env.tar.gz", "environment")
    env.from_source(Csv("/in", schema="x INT"), "in").sink_to(Parquet("/out"))
    (region,) = describe_regions(compile_pipeline(env.pipeline()))
    run = DeskRun(day="2013-01-01", params={}, run_id="r:1", staging_root=str(tmp_path / "root"))
    return desk_task(region, run, execution_id="e")


def submitted(
    task: TaskDeploymentDescriptor, master: str, monkeypatch: pytest.MonkeyPatch, **settings: Any
) -> tuple[list[str], dict[str, str]]:
    """Return the words of spark-submit, and the settings, after the task's files were put."""
    from graph_compiler.airflow_backend.task.submitting import prepare_try
    from graph_compiler.airflow_backend.task.task_try import TaskTry

    prepared = prepare_try(operator_to(master, monkeypatch, **settings), TaskTry([task]), (), UNDECLARED)
    prepared.ship()
    return list(prepared.submission.command), dict(prepared.plan.conf)


@pytest.mark.parametrize("master", ["local[2]", "spark://master:7077", "yarn"])
def test_jars_and_archives_are_arguments_and_all_are_copies(
    task: TaskDeploymentDescriptor, tmp_path: Path, master: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, _ = submitted(task, master, monkeypatch, conf={"spark.jars": "/theirs.jar"})
    (jar,) = tmp_path.glob("root/p/r%3A1/files/*/one.jar")
    (archive,) = tmp_path.glob("root/p/r%3A1/files/*/environment.tar.gz")
    assert words[words.index("--jars") + 1] == f"/theirs.jar,{jar}"
    assert words[words.index("--archives") + 1] == f"{archive.as_uri()}#environment"
    assert "r%253A1" in archive.as_uri()
    assert "--files" not in words
    (file,) = tmp_path.glob("root/p/r%3A1/files/*/rates.csv")
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_file_that_changed_after_the_pipeline_was_loaded_fails_the_attempt(
    task: TaskDeploymentDescriptor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rates.csv").write_text("2")
    with pytest.raises(ArtifactError, match="was changed after the pipeline was loaded"):
        submitted(task, "yarn", monkeypatch)
    assert not list(tmp_path.glob("root/p/*/files/*/rates.csv"))


@pytest.mark.parametrize(
    ("master", "python", "is_passed"),
    [
        ("spark://master:7077", "environment/bin/python", True),
        ("local[2]", "environment/bin/python", False),
        ("local[2]", "/opt/bin/python", True),
    ],
)
def test_a_python_of_an_archive_runs_where_it_is_unpacked(
    task: TaskDeploymentDescriptor, master: str, python: str, is_passed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = StreamExecutionEnvironment("p", config={"python.executable": python})
    env.from_source(Csv("/in"), "in").sink_to(Parquet("/out"))
    conf = dict(submit_settings(compile_pipeline(env.pipeline()), None).conf)
    _, passed = submitted(task, master, monkeypatch, conf=conf)
    assert passed.get("spark.pyspark.python") == (python if is_passed else None)
