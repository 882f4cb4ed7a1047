"""What is set for a driver's JVM when a task is submitted, and when the archive it lacks is made."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from graph_compiler import Csv, Parquet, SlotSharingGroup, StreamExecutionEnvironment
from graph_compiler.driver_jvm import start_settings as module
from graph_compiler.driver_jvm.class_archive import archive_cache

if TYPE_CHECKING:
    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

    from graph_compiler.driver_jvm.start_settings import StartSettings

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]
SERIAL = "spark.driver.defaultJavaOptions=-XX:+UseSerialGC"


@pytest.fixture(autouse=True)
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be a worker with two cores, a cache, and no options of Java's."""
    monkeypatch.setattr(module, "available_cores", lambda: 2.0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__STAGING_ROOT", str(tmp_path / "staging"))
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    for name in ("SPARK_SUBMIT_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)
    for conn_id, master in {"spark_default": "local[2]", "elsewhere": "yarn"}.items():
        extra = {"yarn_resourcemanager_webapp_address": "http://127.0.0.1:8088"}
        connection = {"conn_type": "spark", "host": master, "extra": extra}
        monkeypatch.setenv(f"AIRFLOW_CONN_{conn_id.upper()}", json.dumps(connection))


def prepared(
    group: str | SlotSharingGroup = "g", **options: str
) -> tuple[SparkSubmitHook, StartSettings, str]:
    """Return the hook, what was set, and the command of a pipeline's only task."""
    from graph_compiler.airflow_backend import build_dag
    from graph_compiler.airflow_backend.installation.submit_commands import _task

    config = {key.replace("_", "-").replace("--", "."): it for key, it in options.items()}
    env = StreamExecutionEnvironment("p", config=config)
    env.from_source(Csv("/in"), "in").slot_sharing_group(group).sink_to(Parquet("/out"))
    task: Any = build_dag(env, schedule=None).tasks[0]
    task.application_args = ["descriptor.json"]
    found = task.prepare(_task(task.region, "/staging"))
    return task._hook, found.start, " ".join(found.submission.command)


def test_a_local_driver_is_tuned() -> None:
    _, found, command = prepared()
    assert SERIAL in command
    assert "spark.ui.enabled=false" in command
    assert found.wanted is not None


def test_an_option_turns_it_off() -> None:
    assert "defaultJavaOptions" not in prepared(execution__driver_tuning="false")[2]


def test_the_memory_of_a_group_counts() -> None:
    assert SERIAL not in prepared(SlotSharingGroup("big", driver_memory="5g"))[2]


def test_a_driver_elsewhere_is_not_tuned() -> None:
    group = SlotSharingGroup("far", conn_id="elsewhere", deploy_mode="cluster")
    command = prepared(group)[2]
    assert "UseSerialGC" not in command
    assert "SharedArchiveFile" not in command


def test_a_driver_of_a_cluster_here_keeps_its_ui() -> None:
    group = SlotSharingGroup("near", conn_id="elsewhere", conf={"spark.ui.enabled": True})
    assert "spark.ui.enabled=true" in prepared(group)[2]


def test_the_archive_is_made_after_the_second_task_that_lacks_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from graph_compiler.airflow_backend.task.submission.driver_tuning import make_archive_later

    hook, found, _ = prepared()
    started: list[tuple[Any, dict[str, Any]]] = []
    monkeypatch.setattr(subprocess, "Popen", lambda it, **named: started.append((it, named)))
    make_archive_later(hook, found)
    assert started == []
    make_archive_later(hook, found)
    ((command, named),) = started
    assert command == [sys.executable, "-m", "graph_compiler", "warm", "--background"]
    assert named["env"]["XDG_CACHE_HOME"] == str(tmp_path)
    assert named["start_new_session"]

    archive_cache(named["env"]).note_failure(str(found.wanted), "it cannot be made")
    make_archive_later(hook, found)
    assert len(started) == 1
