"""docs/airflow.md: the notifier in Python and in YAML, and the mail that the page shows."""

import re
from pathlib import Path
from typing import Any

import pytest

from graph_compiler import Parquet, StreamExecutionEnvironment, Values
from graph_compiler.explain.alert import message_of
from graph_compiler.projects.yaml.export import export_pipeline
from graph_compiler.projects.yaml.reader import parse_pipeline
from tests.explain.test_alert import ALERTS

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]
PAGE = Path(__file__).parents[2] / "docs" / "airflow.md"


def blocks(language: str) -> list[str]:
    """Return the code blocks of the section on alerts."""
    section = PAGE.read_text().partition("## Alerts\n")[2].partition("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)


def env() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("sales")
    env.from_source(Values([(1,)], "x INT"), "rows").sink_to(Parquet("/out")).name("out")
    return env


def test_the_dag_file_of_the_page_gives_every_task_the_notifier() -> None:
    known: dict[str, Any] = {"env": env()}
    exec(blocks("python")[0], known)
    (task,) = known["dag"].tasks
    assert task.on_failure_callback == [known["alert"]]
    assert list(task.on_retry_callback) == []


def test_the_module_and_the_file_of_the_page_do_the_same_in_yaml(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graph_compiler.airflow_backend import FailureNotifier, build_dag

    (tmp_path / "alerts.py").write_text(blocks("python")[1])
    monkeypatch.syspath_prepend(tmp_path)
    pipeline = parse_pipeline(export_pipeline(env().pipeline()) + blocks("yaml")[0], "sales.yaml")
    task: Any = build_dag(pipeline).get_task("out")
    (found,) = task.on_failure_callback
    assert isinstance(found, FailureNotifier)
    assert "on_failure_callback: alerts:alert" in export_pipeline(pipeline)


def test_the_mail_of_the_page_is_that_of_a_retry() -> None:
    from graph_compiler.airflow_backend.notify.rendering import plain_text

    text = plain_text(message_of(ALERTS["retry"]))
    assert f"```\n{text}```" in PAGE.read_text()
