"""What is set for a driver's JVM when a task is submitted, and when the archive it lacks is made."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from graph_compiler import Csv, Parquet, SlotSharingGroup, StreamExecutionEnvironment
from graph_compiler.driver_jvm import start_settings as module
from graph_compiler.driver_jvm.class_archive import archive_cache
from tests.harness.driver_options import SMALL

if TYPE_CHECKING:
    from graph_compiler.airflow_backend.task.driver_tuning import WantedArchive

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]
SET = f"spark.driver.defaultJavaOptions={SMALL}"


@pytest.fixture(autouse=True)
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be a worker with two cores, nothing else to do, a cache, and no options of Java's."""
    from graph_compiler.airflow_backend.task import driver_tuning

    monkeypatch.setattr(driver_tuning, "why_no_room", lambda: None)
    monkeypatch.setattr(module, "available_cores", lambda: 2.0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__SPARK_CONF", "{}")
    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__STAGING_ROOT", str(tmp_path / "staging"))
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    for name in ("SPARK_SUBMIT_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)
    for conn_id, master in {"spark_default": "local[2]", "elsewhere": "yarn"}.items():
        extra = {"yarn_resourcemanager_webapp_address": "http://127.0.0.1:8088"}
        connection = {"conn_type": "spark", "host": master, "extra": extra}
        monkeypatch.setenv(f"AIRFLOW_CONN_{conn_id.upper()}", json.dumps(connection))


def prepared(group: str | SlotSharingGroup = "g", **options: str) -> tuple[Any, WantedArchive | None, str]:
    """Return the task, the archive that is missing, and the command of a pipeline's only task."""
    from graph_compiler.airflow_backend import build_dag
    from graph_compiler.airflow_backend.installation.submit_commands import _execution
    from graph_compiler.airflow_backend.task.task_try import TaskTry

    config = {key.replace("_", "-").replace("--", "."): it for key, it in options.items()}
    env = StreamExecutionEnvironment("p", config=config)
    env.from_source(Csv("/in"), "in").slot_sharing_group(group).sink_to(Parquet("/out"))
    task: Any = build_dag(env, schedule=None).tasks[0]
    task.application_args = ["descriptor.json"]
    found = task.prepare(TaskTry([_execution(region, "/staging") for region in task.regions]))
    return task, found.wanted, " ".join(found.submission.command)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], dict[str, Any]]]:
    """Return what is started in the background, which is not."""
    found: list[tuple[list[str], dict[str, Any]]] = []

    def popen(command: list[str], **named: Any) -> Any:
        found.append((command, named))
        return SimpleNamespace(pid=4711)

    monkeypatch.setattr(subprocess, "Popen", popen)
    return found


def test_a_local_driver_is_tuned() -> None:
    _, wanted, command = prepared()
    assert SET in command
    assert "spark.ui.enabled=false" in command
    assert wanted is not None


def test_an_option_turns_it_off() -> None:
    _, wanted, command = prepared(execution__driver_tuning="false")
    assert wanted is None
    for word in ("defaultJavaOptions", "spark.ui.enabled"):
        assert word not in command


def test_the_memory_of_a_group_counts() -> None:
    assert SET not in prepared(SlotSharingGroup("big", driver_memory="5g"))[2]


def test_a_driver_elsewhere_is_not_tuned() -> None:
    group = SlotSharingGroup("far", conn_id="elsewhere", deploy_mode="cluster")
    _, wanted, command = prepared(group)
    assert wanted is None
    for word in ("UseSerialGC", "Tier4", "SharedArchiveFile", "spark.ui.enabled"):
        assert word not in command


def test_a_driver_of_a_cluster_here_keeps_its_ui() -> None:
    command = prepared(SlotSharingGroup("near", conn_id="elsewhere"))[2]
    assert SET in command
    assert "spark.ui.enabled" not in command


def test_the_archive_is_made_after_the_second_task_that_lacks_it(
    started: list[tuple[list[str], dict[str, Any]]], tmp_path: Path
) -> None:
    from graph_compiler.airflow_backend.task.driver_tuning import make_archive_later

    _, wanted, _ = prepared()
    assert wanted is not None
    make_archive_later(wanted)
    assert started == []
    make_archive_later(wanted)
    ((command, named),) = started
    assert command[:4] == [sys.executable, "-P", "-m", "graph_compiler"]
    assert command[4:] == ["warm", "--background", wanted.key, "--program", "spark-submit"]
    assert named["env"]["XDG_CACHE_HOME"] == str(tmp_path)
    assert named["start_new_session"]

    make_archive_later(wanted)
    archive_cache(named["env"]).note_failure(wanted.key, "")
    make_archive_later(wanted)
    assert len(started) == 1


def test_no_archive_is_made_where_there_is_no_room(
    started: list[tuple[list[str], dict[str, Any]]], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from graph_compiler.airflow_backend.task import driver_tuning

    _, wanted, _ = prepared()
    monkeypatch.setattr(driver_tuning, "why_no_room", lambda: "a Spark driver runs")
    caplog.set_level("INFO")
    for _ in range(2):
        driver_tuning.make_archive_later(wanted)
    assert started == []
    assert "no class archive is made now: a Spark driver runs" in caplog.text
    monkeypatch.setattr(driver_tuning, "why_no_room", lambda: None)
    for _ in range(2):
        driver_tuning.make_archive_later(wanted)
    assert len(started) == 1
    for word in ("process 4711", "1.8 GiB", "minutes", "execution.class-archives: false turns"):
        assert word in caplog.text


def test_an_option_keeps_tasks_from_making_archives() -> None:
    _, wanted, command = prepared(execution__class_archives="false")
    assert wanted is None
    assert SET in command


def test_the_maker_gets_no_secret_of_the_pipeline(started: list[tuple[list[str], dict[str, Any]]]) -> None:
    from graph_compiler.airflow_backend.task.driver_tuning import make_archive_later

    task, wanted, _ = prepared()
    task.add_environment({"GRAPH_COMPILER_SECRET_DB": "hidden"})  # as the operator does
    for _ in range(2):
        make_archive_later(wanted)
    ((_, named),) = started
    assert "hidden" not in named["env"].values()
    assert named["env"]["PYSPARK_DRIVER_PYTHON"]
    assert "PYSPARK_DRIVER_PYTHON" not in repr(wanted)


def test_the_maker_imports_nothing_from_the_worker_s_folder(
    started: list[tuple[list[str], dict[str, Any]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graph_compiler.airflow_backend.task.driver_tuning import make_archive_later

    _, wanted, _ = prepared()
    for _ in range(2):
        make_archive_later(wanted)
    ((command, named),) = started
    monkeypatch.undo()
    (tmp_path / "typer.py").write_text("raise SystemExit(77)")
    done = subprocess.run([*command[:4], "--help"], env=named["env"], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("error", [PermissionError("no entry"), RuntimeError("not foreseen")])
def test_no_problem_of_the_start_fails_a_task(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    from graph_compiler.airflow_backend.task import driver_tuning

    _, wanted, _ = prepared()

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(driver_tuning, "archive_cache", fail)
    driver_tuning.make_archive_later(wanted)
    assert str(error) in caplog.text

    caplog.clear()
    monkeypatch.setattr(driver_tuning, "start_settings", fail)
    _, missing, command = prepared()
    assert (missing, "spark-submit" in command) == (None, True)
    assert "defaultJavaOptions" not in command
    assert str(error) in caplog.text


def test_options_of_a_group_stay_before_ours() -> None:
    group = SlotSharingGroup("named", conf={"spark.driver.defaultJavaOptions": "-Da=b"})
    assert f"spark.driver.defaultJavaOptions=-Da=b {SMALL}" in prepared(group)[2]


def test_a_driver_that_died_of_a_damaged_archive_is_tried_again_without_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
    from airflow.sdk.exceptions import AirflowException

    from graph_compiler.airflow_backend.provider.submit_operator import SubmitOperator

    _, wanted, _ = prepared()
    assert wanted is not None
    with archive_cache(wanted.environment).new_archive(wanted.key) as draft:
        assert draft is not None
        draft.file.write_bytes(b"classes")
    archive = archive_cache(wanted.environment).find(wanted.key)
    assert archive is not None
    assert str(archive) in prepared()[2]

    def die(*_: object, **__: object) -> None:
        raise AirflowException("Cannot execute: spark-submit. Error code is: 134")

    def run() -> None:
        from graph_compiler.airflow_backend import build_dag
        from graph_compiler.airflow_backend.installation.submit_commands import _execution
        from graph_compiler.airflow_backend.task.task_try import TaskTry

        env = StreamExecutionEnvironment("p")
        env.from_source(Csv("/in"), "in").slot_sharing_group("g").sink_to(Parquet("/out"))
        task: Any = build_dag(env, schedule=None).tasks[0]
        tried = TaskTry([_execution(region, "/nowhere") for region in task.regions])
        task.application_args = ["descriptor.json"]
        with pytest.raises(AirflowException, match="134"):
            task._submit_anew(tried, {})

    monkeypatch.setattr(SparkSubmitHook, "submit", die)
    monkeypatch.setattr(SubmitOperator, "with_parent_run", lambda task, _: task.conf)
    run()
    assert archive.exists(), "it is not damaged"
    archive.chmod(0o600)
    archive.write_bytes(b"Classes")
    run()
    assert not archive.exists()
    assert "is damaged, and was removed" in caplog.text
