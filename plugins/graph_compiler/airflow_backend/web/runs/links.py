"""Links to the attempts of a run: their logs in Airflow, their applications in Spark."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from graph_compiler.deployment.documents.run_identity import NOT_MAPPED, RunIdentity
from graph_compiler.identifiers import TaskName


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Links to the attempts of a run. Airflow's pages are relative to the address at which Airflow is served."""

    history_server: str | None

    def log(self, run: RunIdentity, name: TaskName, try_number: int) -> str:
        """Return the page of the log of a task in Airflow's UI."""
        page = task_page(run.dag_id, run.run_id, run.task_id(name), run.map_index)
        return f"{page}?try_number={try_number}"

    def spark(self, application_id: str | None, live: str | None) -> str | None:
        """Return Spark's UI while it runs, then its page of the history server, if one is configured."""
        if live is not None and live.startswith(("http://", "https://")):
            return live
        if self.history_server is None or application_id is None:
            return None
        return f"{self.history_server.rstrip('/')}/history/{_quoted(application_id)}/jobs/"


def run_page(dag_id: str, run_id: str) -> str:
    """Return the page of a run in Airflow's UI."""
    return f"/dags/{_quoted(dag_id)}/runs/{_quoted(run_id)}"


def task_page(dag_id: str, run_id: str, task_id: str, map_index: int) -> str:
    """Return the page of a task in a run."""
    mapped = "" if map_index == NOT_MAPPED else f"/mapped/{map_index}"
    return f"{run_page(dag_id, run_id)}/tasks/{_quoted(task_id)}{mapped}"


def _quoted(name: str) -> str:
    """Return a name quoted for a URL, whatever characters it has."""
    return quote(name, safe="", errors="replace")
