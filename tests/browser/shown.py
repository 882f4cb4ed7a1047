"""A real Airflow with interesting runs: one succeeded, one failed, one recovered; and one large plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import quote

from graph_compiler.cli.commands.ui import PASSWORD
from tests.browser.functions import STAGING
from tests.end_to_end.conftest import Home
from tests.end_to_end.test_standalone import DAG_FILE, ended
from tests.harness.standalone import Api, standalone, until

VIEWER = "vera"
DAGS = {
    "flights": DAG_FILE,
    **{file.stem: file.read_text() for file in sorted(Path(__file__).parent.glob("dags/*.py"))},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Its address, its users, and its Airflow home."""

    api: Api
    home: Home
    folder: Path

    def trigger(self, dag_id: str) -> str:
        """Start a run and return its id."""
        conf = self.home.params if dag_id == "flights" else {"output": str(self.home.output)}
        run = self.api.call("POST", f"/api/v2/dags/{dag_id}/dagRuns", {"logical_date": None, "conf": conf})
        return str(run["dag_run_id"])

    def dag_file(self, dag_id: str) -> Path:
        """Return the file that Airflow parses."""
        return self.folder / "dags" / f"{dag_id}.py"

    def log_in(self, name: str) -> Api:
        """Return the API with another user's login."""
        credentials = {"username": name, "password": PASSWORD}
        answer = self.api.call("POST", "/auth/token", credentials)
        return Api(self.api.url, answer["access_token"])

    def end_of(self, dag_id: str, run_id: str) -> str:
        """Wait for the end of a run, and return its state."""
        path = f"/api/v2/dags/{dag_id}/dagRuns/{quote(run_id, safe='')}"
        state: str = until(lambda: ended(self.api.call("GET", path)["state"]), f"{dag_id} to end", seconds=900)
        return state


@contextmanager
def shown_airflow(folder: Path) -> Iterator[Shown]:
    """Start it; it ends with the context."""
    home = Home(folder / "airflow")
    more: Mapping[str, str] = {STAGING: str(home.folder / "staging"), "AIRFLOW__GRAPH_COMPILER__ROW_SAMPLES": "20"}
    with standalone(partial(home.environment, **more), folder, DAGS, viewers=[VIEWER]) as api:
        yield Shown(api=api, home=home, folder=folder)
