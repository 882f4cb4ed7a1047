"""The containers of docker-compose.yaml, started by `scripts/compose` in a copy of the project."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

from tests.harness.reference import rows
from tests.harness.standalone import Api, until

ROOT = Path(__file__).parents[2]
OWN_PROJECT = Path(__file__).parent / "project"
HAS_STAND_INS = os.environ.get("STAND_INS") == "1"
"""Whether the images that a registry would have are stand-ins (`with_docker`)."""
_UNAUTHORIZED = 401
_MINUTES_TO_BUILD = 40


@dataclass
class Deployment:
    """Containers that run: the folder of the project's copy, and the variables of `scripts/compose`."""

    folder: Path
    variables: Mapping[str, str]
    started: float = field(default_factory=time.monotonic)
    _api: Api | None = field(default=None, repr=False)  # it has a token

    @property
    def output(self) -> Path:
        """Return the folder of the sinks, as this host sees it."""
        return self.folder / "output"

    def numbers(self, sink: str, label: str | None = None) -> list[int]:
        """Return the sorted numbers of a sink with the columns id and label."""
        found = rows(self.output / sink)
        return sorted(int(str(row[0])) for row in found if label is None or row[1] == label)

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of programs that talk to the containers."""
        return {**os.environ, **self.variables}

    def script(self, *words: str, answer: str = "") -> str:
        """Run `scripts/compose`; return all it says, raise AssertionError if it fails."""
        return _run([str(self.folder / "scripts" / "compose"), *words], self, answer)

    @contextmanager
    def changed(
        self, change: Callable[[], None] = lambda: None, undo: Callable[[], None] = lambda: None, **variables: str
    ) -> Iterator[None]:
        """Go down, change something, and come up with more variables; go down and come up as before at the end."""
        before = self.variables
        self.script("down")
        try:
            change()
            self.variables = {**before, **variables}
            self.script("up")
            yield
        finally:
            self.script("down")
            undo()
            self.variables = before
            self.script("up")

    def compose(self, *words: str) -> str:
        """Run Docker Compose itself."""
        return _run([*_compose(), *words], self)

    def docker(self, *words: str) -> str:
        """Run Docker."""
        return _run(["docker", *words], self)

    def secrets(self) -> dict[str, str]:
        """Return what `.env` has."""
        lines = (self.folder / ".env").read_text().splitlines()
        pairs = (line.partition("=") for line in lines if not line.startswith("#"))
        return {name: value for name, _, value in pairs}

    def container(self, service: str) -> str:
        """Return the id of a service's container, the first one of several."""
        return self.compose("ps", "-q", service).split()[0]

    def running(self) -> list[str]:
        """Return the ids of all containers that run."""
        project = self.variables["COMPOSE_PROJECT_NAME"]
        label = f"label=com.docker.compose.project={project}"
        return self.docker("ps", "--quiet", "--filter", label).split()

    def execute(self, service: str, *words: str) -> str:
        """Run a command in a service's container."""
        return self.docker("exec", self.container(service), *words)

    def kill(self, service: str) -> str:
        """Kill a container, as a power cut does; return its id."""
        container = self.container(service)
        self.docker("kill", "--signal", "KILL", container)
        return container

    def kill_and_start(self, service: str) -> None:
        """Kill a container, and start it again."""
        self.docker("start", self.kill(service))

    def api(self) -> Api:
        """Return Airflow's API, logged in; waits until it answers."""
        if self._api is None:
            address = f"http://127.0.0.1:{self.variables['AIRFLOW_PORT']}"
            body = {"username": "admin", "password": self.secrets()["ADMIN_PASSWORD"]}
            answer = until(lambda: Api(address).attempt("POST", "/auth/token", body), "a token")
            self._api = Api(address, answer["access_token"])
        return self._api

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Call the API, and again while it is away; raises HTTPError for what it refuses."""
        for _ in range(120):
            try:
                return self.api().call(method, path, body)
            except HTTPError as error:
                if error.code == _UNAUTHORIZED:
                    self._api = None  # a token ends, too
                elif error.code < 500:
                    raise
            except (OSError, AssertionError):
                pass
            time.sleep(2)
        raise AssertionError(f"{method} {path}: no answer")

    def trigger(self, dag: str, **conf: object) -> str:
        """Trigger a Dag that is not paused (any more); return the run's id."""
        self.ask("PATCH", f"/api/v2/dags/{dag}", {"is_paused": False})
        run_id = f"test_{secrets.token_hex(6)}"
        body = {"dag_run_id": run_id, "logical_date": None, "conf": conf}
        self.ask("POST", f"/api/v2/dags/{dag}/dagRuns", body)
        return run_id

    def state(self, dag: str, run_id: str) -> str:
        """Return the state of a run."""
        return str(self.ask("GET", f"/api/v2/dags/{dag}/dagRuns/{run_id}")["state"])

    def tasks(self, dag: str, run_id: str) -> dict[str, dict[str, Any]]:
        """Return the task instances of a run, by the task's id."""
        path = f"/api/v2/dags/{dag}/dagRuns/{run_id}/taskInstances"
        return {each["task_id"]: each for each in self.ask("GET", path)["task_instances"]}

    def wait_for_state(self, dag: str, run_id: str, task: str, state: str) -> None:
        """Wait until a task is in a state."""
        until(lambda: self.tasks(dag, run_id).get(task, {}).get("state") == state, f"{dag}.{task} to be {state}")

    def end_of(self, dag: str, run_id: str, *, seconds: float = 600) -> str:
        """Wait for the end of a run; return its state."""
        ends = ("success", "failed")
        try:
            until(lambda: self.state(dag, run_id) in ends, f"the end of {dag}", seconds=seconds)
        except AssertionError as error:
            tasks = {name: each["state"] for name, each in self.tasks(dag, run_id).items()}
            raise AssertionError(f"{error}: {tasks}\n{self.compose('ps')}") from None
        return self.state(dag, run_id)

    def log(self, dag: str, run_id: str, task: str, attempt: int = 1) -> str:
        """Return the log of a task's attempt."""
        path = f"/api/v2/dags/{dag}/dagRuns/{run_id}/taskInstances/{task}/logs/{attempt}"
        return json.dumps(self.ask("GET", path))

    def view(self, dag: str, run_id: str) -> Any:
        """Return the document of a run that the view shows."""
        return self.ask("GET", f"/graph-compiler/api/dags/{dag}/run?run_id={run_id}")

    def history(self, dag: str, run_id: str) -> str:
        """Return what `graph-compiler history` prints of a run."""
        return self.execute("airflow-scheduler", "graph-compiler", "history", dag, run_id)

    def wait_until_healthy(self) -> None:
        """Wait until every container is healthy again."""
        until(lambda: not self.unhealthy(), "all services to be healthy", seconds=300)

    def unhealthy(self) -> list[str]:
        """Return the names of containers that are not healthy, or do not run."""
        ids = self.compose("ps", "-q").split()
        shape = "{{.Name}} {{.State.Status}} {{.State.ExitCode}} {{if .State.Health}}{{.State.Health.Status}}{{end}}"
        found = []
        for line in self.docker("inspect", "--format", shape, *ids).splitlines():
            name, status, code, *health = line.split()
            ended = name.rstrip("_-1").endswith("init") and (status, code) == ("exited", "0")
            if not ended and (status, health) != ("running", ["healthy"]):
                found.append(name)
        return found


@contextmanager
def deployed(folder: Path, **variables: str) -> Iterator[Deployment]:
    """Copy the project, start its containers, and remove them at the end."""
    copy = folder / f"gc-{secrets.token_hex(3)}"
    _copy(copy)
    names = {"IMAGE": "graph-compiler:test", "COMPOSE_PROJECT_NAME": copy.name}
    deployment = Deployment(copy, {"AIRFLOW_PORT": "8080", **names, **variables})
    try:
        yield deployment
    finally:
        deployment.script("down-all", "--yes")


def _copy(folder: Path) -> None:
    """Copy what git would have in a clean clone, and the pipelines of these tests."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    done = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, done.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    shutil.copytree(OWN_PROJECT, folder, dirs_exist_ok=True)


def _compose() -> list[str]:
    found = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
    return ["docker", "compose"] if found.returncode == 0 else ["docker-compose"]


def _run(command: list[str], deployment: Deployment, answer: str = "") -> str:
    done = subprocess.run(
        command,
        cwd=deployment.folder,
        env=deployment.environment,
        input=answer,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_MINUTES_TO_BUILD * 60,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(command)} failed:\n{done.stdout[-8000:]}"
    return done.stdout
