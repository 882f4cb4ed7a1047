"""`airflow standalone` on a free port of loopback, and its REST API."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from graph_compiler.cli.commands.ui import PASSWORD, USER, Standalone, end
from graph_compiler.cli.running.embedded_airflow import starting_this_airflow

Found = TypeVar("Found")
_BUSY_TRIES = 20


@dataclass(frozen=True, slots=True)
class Api:
    """The address of the API; `token` is empty until there is one."""

    url: str
    token: str = ""

    def call(self, method: str, path: str, body: object = None) -> Any:
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        data = None if body is None else json.dumps(body).encode()
        request = Request(self.url + path, data=data, headers=headers, method=method)
        for _ in range(_BUSY_TRIES):
            try:
                with urlopen(request, timeout=30) as answer:
                    content = answer.read()
                    return json.loads(content) if content else None  # what is deleted has no answer
            except HTTPError as error:  # SQLite is locked: another of Airflow's processes writes
                if error.code != HTTPStatus.SERVICE_UNAVAILABLE:
                    raise
                time.sleep(1)
        raise AssertionError(f"{method} {path}: Airflow was busy {_BUSY_TRIES} times")

    def attempt(self, method: str, path: str, body: object = None) -> Any:
        """Call; None while the server does not answer, or does not know the object yet."""
        try:
            return self.call(method, path, body)
        except (URLError, ConnectionError, TimeoutError, AssertionError):
            return None


@contextmanager
def standalone(
    environment: Callable[..., dict[str, str]], folder: Path, dags: Mapping[str, str], viewers: Collection[str] = ()
) -> Iterator[Api]:
    """Run it with these Dag files, by the name of the Dag; `environment` takes settings, `folder` keeps its files."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = folder / "standalone.log"
    (folder / "dags").mkdir(exist_ok=True)
    for name, source in dags.items():
        (folder / "dags" / f"{name}.py").write_text(source)
    server = Standalone(home=folder, port=port, users={USER: "admin"} | dict.fromkeys(viewers, "viewer"))
    settings = server.settings() | {"AIRFLOW__CORE__DAGS_FOLDER": str(folder / "dags")}
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "airflow", "standalone"],
            cwd=Path(__file__).parents[2],
            env=starting_this_airflow(environment(**settings), folder),
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        yield _ready(Api(server.url), dags)
    except BaseException:
        sys.stderr.write(log.read_text()[-20_000:])
        raise
    finally:
        end(process)


def _ready(api: Api, dags: Mapping[str, str]) -> Api:
    credentials = {"username": USER, "password": PASSWORD}
    answer = until(lambda: api.attempt("POST", "/auth/token", credentials), "a token")
    api = Api(api.url, answer["access_token"])
    for dag in dags:
        until(partial(api.attempt, "GET", f"/api/v2/dags/{dag}"), f"{dag} to be parsed")
        # SQLite may be locked by a process that starts, which Airflow answers with 500, too.
        path, body = f"/api/v2/dags/{dag}", {"is_paused": False}
        until(partial(api.attempt, "PATCH", path, body), f"{dag} to be unpaused")
    return api


def until(look: Callable[[], Found | None], what: str, *, seconds: float = 300) -> Found:
    """Wait until there is a result."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(1)
    raise AssertionError(f"waited {seconds:.0f} s for {what}")


def processes_of(text: str) -> list[int]:
    """Return the processes whose arguments hold a text; a descriptor's path: spark-submit's JVM and the driver."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if text.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:  # it has ended
            continue
    return found
