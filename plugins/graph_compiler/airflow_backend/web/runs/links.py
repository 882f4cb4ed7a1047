"""Where the attempts of a run are looked at: their logs in Airflow, their applications in Spark."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from graph_compiler.deployment.documents.run_identity import NOT_MAPPED, RunIdentity
from graph_compiler.identifiers import RegionId


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Where the attempts of a run are looked at. Airflow's pages are named from where Airflow is served."""

    history_server: str | None

    def log(self, run: RunIdentity, region_id: RegionId, try_number: int) -> str:
        """Return the page of the log of a region's task in Airflow's UI."""
        task = f"tasks/{quote(run.task_of(region_id), safe='')}"
        if run.map_index != NOT_MAPPED:
            task += f"/mapped/{run.map_index}"
        dag_run = f"/dags/{quote(run.dag_id, safe='')}/runs/{quote(run.run_id, safe='')}"
        return f"{dag_run}/{task}?try_number={try_number}"

    def spark(self, application_id: str | None, live: str | None) -> str | None:
        """Return Spark's own UI while there is one; else its history server's page, where one is configured."""
        if live is not None and live.startswith(("http://", "https://")):
            return live
        if self.history_server is None or application_id is None:
            return None
        return f"{self.history_server.rstrip('/')}/history/{_quoted(application_id)}/jobs/"


def _quoted(name: str) -> str:
    """Write a name as a part of a URL, whatever a document says that it is."""
    return quote(name, safe="", errors="replace")
