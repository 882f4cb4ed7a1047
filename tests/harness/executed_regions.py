"""Execute an Airflow task without a scheduler: what the task runner passes, and what a driver leaves behind."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from graph_compiler.deployment.documents.report import Failure
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.identifiers import path_segment
from tests.harness.reports import bare_report

if TYPE_CHECKING:
    from graph_compiler.airflow_backend.task.task_operator import DeploymentTaskOperator


RUN = "manual__2013-01-01T00:00:00+00:00"


class Store(dict[str, Any]):
    """Airflow's task state store: of one task in one run, for all tries."""

    def set(self, key: str, value: Any) -> None:
        self[key] = value

    def delete(self, key: str) -> None:
        self.pop(key, None)


class StagedStore(Store):
    """What is kept in the run's folder where Airflow has no store: a try is not given any."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __getitem__(self, key: str) -> Any:
        return json.loads((self._folder / f"{key}.json").read_text())["value"]


def execute(operator: DeploymentTaskOperator, store: Store | None, execution: str) -> Any:
    """Execute a try of a task; the last character of the execution's id is the try's number."""
    return operator.execute(context_of(operator, store, execution))


def context_of(operator: DeploymentTaskOperator, store: Store | None, execution: str) -> Any:
    """Return what the task runner passes to a try."""
    named = {"dag_id": operator.regions[0].pipeline, "task_id": operator.task_id, "run_id": RUN}
    instance = SimpleNamespace(
        **named, map_index=-1, id=execution, try_number=int(execution[-1]), stats_tags={}, start_date=datetime.now(UTC)
    )
    return {"ti": instance, "task_state_store": None if isinstance(store, StagedStore) else store}


def folder_of(operator: DeploymentTaskOperator, execution: str) -> Path:
    """Return the folder of an execution below the staging root."""
    run = Path(operator._settings.staging_root, operator.regions[0].pipeline, path_segment(RUN))
    return run / "tasks" / str(operator.task_id) / execution


def leave_report(folder: Path, failure: Failure | None = None) -> None:
    """Write the report of an execution, as its driver does."""
    (folder / "report.json").write_text(to_json(bare_report(failure)))


def outcome(folder: Path) -> str | None:
    """Return the state that the task's process has written as an execution's outcome."""
    file = folder / "outcome.json"
    return str(json.loads(file.read_text())["state"]) if file.exists() else None
