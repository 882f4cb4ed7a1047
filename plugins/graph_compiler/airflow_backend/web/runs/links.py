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
        task = f"tasks/{quote(run.task_id(name), safe='')}"
        if run.map_index != NOT_MAPPED:
            task += f"/mapped/{run.map_index}"
        dag_run = f"/dags/{quote(run.dag_id, safe='')}/runs/{quote(run.run_id, safe='')}"
        return f"{dag_run}/{task}?try_number={try_number}"

    def spark(self, application_id: str | None, live: str | None) -> str | None:
        """Return Spark's UI while it runs, then its page of the history server, if one is configured."""
        if live is not None and live.startswith(("http://", "https://")):
            return live
        if self.history_server is None or application_id is None:
            return None
        return f"{self.history_server.rstrip('/')}/history/{_quoted(application_id)}/jobs/"


def _quoted(name: str) -> str:
    """Return a name quoted for a URL, whatever characters it has."""
    return quote(name, safe="", errors="replace")
