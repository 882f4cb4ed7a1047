"""Restart strategies, from a pipeline's options to Airflow's reaction to a failure."""

import os
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.deployment.documents.descriptor import ExecutionAttempt
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.errors import InvalidPipelineError
from tests.harness.installed_airflow import HAS_ALL

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]

needs_policies = pytest.mark.skipif(not HAS_ALL, reason="this Airflow has no retry policies")
POLICIES: list[tuple[dict[str, str], int, float]] = [
    ({"type": "exponential-delay", "exponential_delay__initial_backoff": "3 s"}, 1_000_000, 3),
    ({"type": "failure-rate", "failure_rate__delay": "500 ms"}, 1_000_000, 0.5),
]


def task_of(**options: str) -> Any:
    from graph_compiler.airflow_backend.dag.dag_builder import build_dag

    config = {f"restart-strategy.{key.replace('__', '.')}": value for key, value in options.items()}
    env = StreamExecutionEnvironment("p", config={key.replace("_", "-"): value for key, value in config.items()})
    env.from_source(Csv("/in/a.csv"), "a").sink_to(Parquet("/out/a")).name("out")
    (task,) = build_dag(env, schedule=None, start_date=datetime(2013, 1, 1)).tasks
    return task


@pytest.mark.parametrize(
    ("options", "retries", "seconds"),
    [
        ({}, 2, 10),
        ({"type": "none"}, 0, None),
        ({"type": "fixed-delay"}, 1, 1),
        ({"type": "fixed-delay", "fixed_delay__attempts": "5", "fixed_delay__delay": "2 min"}, 5, 120),
        *(POLICIES if HAS_ALL else []),
    ],
)
def test_a_strategy_becomes_airflows_retries(options: dict[str, str], retries: int, seconds: float | None) -> None:
    task = task_of(**options)
    assert task.retries == retries
    if seconds is not None:
        assert task.retry_delay == timedelta(seconds=seconds)
    assert (getattr(task, "retry_policy", None) is not None) is (retries == 1_000_000)


@pytest.mark.skipif(HAS_ALL, reason="this Airflow has retry policies")
@pytest.mark.parametrize("options", [case[0] for case in POLICIES])
def test_a_strategy_that_this_airflow_cannot_follow_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(InvalidPipelineError, match="has no retry policies\n.*fixed-delay\n.*use Airflow 3.3"):
        task_of(**options)


@needs_policies
def test_the_policy_counts_the_failures_of_earlier_tries(tmp_path: Path) -> None:
    task = task_of(
        type="failure-rate", failure_rate__max_failures_per_interval="2", failure_rate__failure_rate_interval="1 h"
    )
    task._settings = task._settings.model_copy(update={"staging_root": str(tmp_path)})
    instance = instance_of(task, try_number=1)
    context: Any = {"ti": instance}

    def decide() -> str:
        instance.try_number += 1
        return str(task.retry_policy.evaluate(ValueError(), 1, 9, context).action.value)

    assert decide() == "retry"
    leave_execution(tmp_path, "e0")
    assert decide() == "retry"
    leave_execution(tmp_path, "e1")
    assert decide() == "fail"
    leave_execution(tmp_path, "e2")  # the one that has just failed is counted once
    assert decide() == "fail"
    for folder in tmp_path.rglob("descriptor.json"):
        os.utime(folder, (0, 0))
    assert decide() == "retry"


@needs_policies
def test_what_failed_before_a_task_was_cleared_does_not_count(tmp_path: Path) -> None:
    """Airflow then adds the task's retries to the tries so far."""
    task = task_of(type="exponential-delay", exponential_delay__attempts_before_reset_backoff="2")
    task._settings = task._settings.model_copy(update={"staging_root": str(tmp_path)})
    for number in range(3):
        leave_execution(tmp_path, f"e{number}")

    def decision(try_number: int, cleared_after: int) -> str:
        instance = instance_of(task, try_number=try_number)
        instance.max_tries += cleared_after
        return str(task.retry_policy.evaluate(ValueError(), try_number, 9, {"ti": instance}).action.value)

    assert decision(4, cleared_after=0) == "fail"
    assert decision(4, cleared_after=3) == "retry"
    assert decision(6, cleared_after=3) == "fail"
    task.retries = 1_000_009  # changed since: it is unknown after which try it was cleared
    assert decision(4, cleared_after=-9) == "fail"


def instance_of(task: Any, *, try_number: int) -> Any:
    return SimpleNamespace(
        dag_id="p", task_id=task.task_id, map_index=-1, run_id="run", id="e9", task=task,
        try_number=try_number, max_tries=task.retries,
    )  # fmt: skip


def leave_execution(root: Path, execution_id: str) -> None:
    """Write the documents of an execution that died."""
    layout = StagingLayout(root=str(root), identity=RunIdentity.own("p", "run"))
    attempt = ExecutionAttempt(execution_id=execution_id, attempt_number=0)
    path = Path(layout.descriptor("out", execution_id))  # type: ignore[arg-type]  # a region's id
    path.parent.mkdir(parents=True)
    path.write_text(f'{{"attempt": {to_json(attempt)}}}')
