"""Airflow by its REST API: what a person with a login may do, and no more."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import quote

import httpx

from graph_compiler.deployment.documents.run_identity import NOT_MAPPED
from graph_compiler.run_client.login import PASSWORD, TOKEN, USER, Login, checked_url, is_loopback
from graph_compiler.run_client.run_status import (
    AirflowRefusedError,
    AirflowUnreachableError,
    DagFacts,
    RunStatus,
    TaskStatus,
    Trigger,
    run_status,
)

_SECONDS = 30.0
"""How long an answer may take: to begin, between two parts of it, and as a whole."""
_MOST_BYTES = 64 << 20
_PAGE = 100
_MOST_PAGES = 1_000
"""Of the tasks of a run. A list that is longer has no end."""
_TRIES = 5
_MOST_SHOWN = 500
_BAD_TOKEN = "its token is invalid or has expired"
_BAD_LOGIN = "it does not accept this user and password"


class RestEnd:
    """Airflow's API at an address. `pause` is called between two tries of a request that may be repeated.

    All methods raise AirflowUnreachableError without an answer, AirflowRefusedError if refused. `find_dag` and
    `find_run` return None for what does not exist; a `run_id` of None is the newest run. `name` is for messages.
    """

    def __init__(
        self, url: str, login: Login, *, seconds: float = _SECONDS, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self.name = checked_url(url)
        self._login = login
        self._pause = pause
        self._seconds = seconds
        self._token = login.token
        self._client = self._new_client()

    def find_dag(self, dag_id: str) -> DagFacts | None:
        """Return a Dag."""
        found = self._find(_dag(dag_id))
        with self._expecting_airflow():
            return found and DagFacts(
                is_paused=bool(found["is_paused"]), has_import_errors=bool(found["has_import_errors"])
            )

    def find_run(self, dag_id: str, run_id: str | None) -> RunStatus | None:
        """Return a run with its tasks."""
        with self._expecting_airflow():
            if run_id is None:
                newest = {"limit": 1, "order_by": "-run_after"}
                runs = self._find(f"{_dag(dag_id)}/dagRuns", newest)
                found = next(iter(runs["dag_runs"]), None) if runs else None
            else:
                found = self._find(_run(dag_id, run_id))
            if found is None:
                return None
            known = str(found["dag_run_id"])
            page = f"{self.name}/dags/{quote(dag_id, safe='')}/runs/{quote(known, safe='')}"
            return run_status(found, self._tasks(dag_id, known), page)

    def run_of_date(self, dag_id: str, logical_date: str) -> str | None:
        """Return the id of the run with a logical date; there is at most one."""
        asked = {"logical_date_gte": logical_date, "logical_date_lte": logical_date, "limit": 1}
        runs = self._find(f"{_dag(dag_id)}/dagRuns", asked)
        with self._expecting_airflow():
            found = [str(run["dag_run_id"]) for run in runs["dag_runs"]] if runs else []
        return next(iter(found), None)

    def trigger(self, wanted: Trigger) -> None:
        """Start a run, in one request; refused with 409 if the Dag has one with this id, or this logical date."""
        body = {"dag_run_id": wanted.run_id, "logical_date": wanted.logical_date, "conf": dict(wanted.conf)}
        self._call("POST", f"{_dag(wanted.dag_id)}/dagRuns", body, tries=1)

    def fail(self, dag_id: str, run_id: str) -> None:
        """Mark a run as failed: its tasks that run are ended, and the others are skipped."""
        self._call("PATCH", _run(dag_id, run_id), {"state": "failed"})

    def clear(self, dag_id: str, run_id: str, tasks: Sequence[TaskStatus]) -> None:
        """Let exactly these tasks of a run run again, and the run continue, in one request.

        Refused with 409 if one of them runs.
        """
        body = {
            "dry_run": False,
            "dag_run_id": run_id,
            "task_ids": [
                task.task_id if task.map_index == NOT_MAPPED else [task.task_id, task.map_index] for task in tasks
            ],
            "only_failed": False,
            "reset_dag_runs": True,
            "prevent_running_task": True,
        }
        self._call("POST", f"{_dag(dag_id)}/clearTaskInstances", body, tries=1)

    def has_scheduler(self) -> bool:
        """Whether a scheduler is alive."""
        health = self._call("GET", "/api/v2/monitor/health")
        with self._expecting_airflow():
            return bool(health["scheduler"]["status"] == "healthy")

    def close(self) -> None:
        """Close the connections; it can be called twice."""
        self._client.close()

    def _tasks(self, dag_id: str, run_id: str) -> list[Mapping[str, Any]]:
        found: list[Mapping[str, Any]] = []
        for _ in range(_MOST_PAGES):
            asked = {"limit": _PAGE, "offset": len(found), "order_by": "id"}
            page = self._call("GET", f"{_run(dag_id, run_id)}/taskInstances", params=asked)
            tasks = page["task_instances"]
            if tasks and tasks == found[-len(tasks) :]:
                raise ValueError("it answers one page of task instances twice")
            found += tasks
            if not tasks or len(found) >= page["total_entries"]:
                return found
        raise ValueError(f"a run has more than {_MOST_PAGES} pages of task instances")

    def _find(self, path: str, params: Mapping[str, Any] | None = None) -> Any:
        try:
            return self._call("GET", path, params=params)
        except AirflowRefusedError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise

    def _call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        params: Mapping[str, Any] | None = None,
        tries: int = _TRIES,
    ) -> Any:
        """Call, again if there is no answer: requests that would start a run or tasks a second time have one try."""
        for left in reversed(range(tries)):
            try:
                return self._once(method, path, body, params)
            except AirflowUnreachableError:
                if not left:
                    raise
                self._pause(1.0)
        raise AssertionError("there is at least one try")

    def _once(self, method: str, path: str, body: object, params: Mapping[str, Any] | None) -> Any:
        headers = {"Authorization": f"Bearer {self._token or self._new_token()}"}
        answer = self._send(method, path, json=body, params=params, headers=headers)
        if answer.status_code == HTTPStatus.UNAUTHORIZED and self._login.token is None:
            headers = {"Authorization": f"Bearer {self._new_token()}"}  # it has expired
            answer = self._send(method, path, json=body, params=params, headers=headers)
        return self._document(answer, _BAD_TOKEN)

    def _new_token(self) -> str:
        credentials = {"username": self._login.user, "password": self._login.password}
        answer = self._send("POST", "/auth/token", json=credentials)
        origin = self._login.origin
        document = self._document(answer, _BAD_LOGIN if origin is None else _bad_file(origin))
        with self._expecting_airflow():
            self._token = str(document["access_token"])
        return self._token

    def _send(self, method: str, path: str, **request: Any) -> httpx.Response:
        try:
            return self._within_time(lambda: self._whole(method, path, request))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            words = str(error) or type(error).__name__
            raise AirflowUnreachableError(
                f"Airflow's API at {self.name} has not answered: {words}\n"
                "  hint: is the API server running, and is this its address?"
            ) from None

    def _within_time(self, ask: Callable[[], httpx.Response]) -> httpx.Response:
        """Ask in a thread that is left alone if it takes too long: httpx limits only the time between two bytes."""
        answer: Future[httpx.Response] = Future()

        def settle() -> None:
            try:
                answer.set_result(ask())
            except BaseException as error:  # it is raised below
                answer.set_exception(error)

        Thread(target=settle, daemon=True).start()
        try:
            return answer.result(self._seconds * 2)
        except TimeoutError:
            self._client = self._new_client()
            raise httpx.ReadTimeout(f"its answer takes longer than {self._seconds:g} s") from None

    def _new_client(self) -> httpx.Client:
        direct = {} if not is_loopback(self.name) else dict.fromkeys(("http://", "https://", "all://"))
        return httpx.Client(base_url=self.name, timeout=self._seconds, mounts=direct)  # not by a proxy

    def _whole(self, method: str, path: str, request: Mapping[str, Any]) -> httpx.Response:
        """Return an answer with its content, which has an end."""
        deadline, content = time.monotonic() + self._seconds, bytearray()
        with self._client.stream(method, path, **request) as answer:
            for part in answer.iter_bytes():
                content += part
                if time.monotonic() > deadline:
                    raise httpx.ReadTimeout(f"its answer takes longer than {self._seconds:g} s")
                if len(content) > _MOST_BYTES:
                    raise AirflowRefusedError(
                        HTTPStatus.BAD_GATEWAY, f"{self.name} answers with more than {_MOST_BYTES >> 20} MiB"
                    )
        headers = [
            (name, value)
            for name, value in answer.headers.multi_items()
            if name.lower() not in ("content-encoding", "content-length")  # it is decoded
        ]
        return httpx.Response(answer.status_code, headers=headers, content=bytes(content), request=answer.request)

    def _document(self, answer: httpx.Response, bad_login: str) -> Any:
        status = answer.status_code
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:  # also 503: the database is locked
            raise AirflowUnreachableError(
                f"Airflow's API at {self.name} failed with {status}: {_detail(answer)}\n"
                "  hint: see the log of the API server"
            )
        if status == HTTPStatus.UNAUTHORIZED:
            raise AirflowRefusedError(status, f"Airflow's API at {self.name}: {bad_login}")
        if status == HTTPStatus.FORBIDDEN:
            raise AirflowRefusedError(
                status,
                f"Airflow's API at {self.name}: this user may not do that\n"
                "  hint: the user's role must be allowed to read the Dag, to trigger it, and to change its runs "
                "and tasks",
            )
        if not answer.is_success:
            raise AirflowRefusedError(status, f"Airflow's API at {self.name} refuses with {status}: {_detail(answer)}")
        with self._expecting_airflow():
            return answer.json()

    @contextmanager
    def _expecting_airflow(self) -> Iterator[None]:
        """Raise AirflowRefusedError if an answer is not one of Airflow's, or is nested too deeply to be read."""
        try:
            yield
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
            raise AirflowRefusedError(
                HTTPStatus.BAD_GATEWAY,
                f"{self.name} does not answer as the API of Airflow 3: {type(error).__name__} {error}\n"
                "  hint: is this the address of Airflow's API server, without /api/v2?",
            ) from None


def _bad_file(origin: Path) -> str:
    return f"{_BAD_LOGIN}, which are those in {origin}\n  hint: set {USER} and {PASSWORD}, or {TOKEN}"


def _detail(answer: httpx.Response) -> str:
    """Return the server's reason, without the values it was sent, which may be secrets."""
    try:
        detail = answer.json()["detail"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return answer.reason_phrase or "no reason"
    if isinstance(detail, list):
        places = ((".".join(map(str, one.get("loc", ()))), one.get("msg", "")) for one in detail)
        detail = "; ".join(f"{place}: {words}" for place, words in places)
    elif isinstance(detail, dict):  # a database's constraint
        detail = detail.get("reason") or detail.get("message") or "no reason"
    return str(detail)[:_MOST_SHOWN]


def _dag(dag_id: str) -> str:
    return f"/api/v2/dags/{quote(dag_id, safe='')}"


def _run(dag_id: str, run_id: str) -> str:
    return f"{_dag(dag_id)}/dagRuns/{quote(run_id, safe='')}"
