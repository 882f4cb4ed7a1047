"""Airflow's API as a client meets it: rights, odd answers, lost answers, and secrets that stay secret."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from graph_compiler.run_client import AirflowRefusedError, AirflowUnreachableError, Login, RunClient, RunState
from graph_compiler.run_client.run_status import Trigger
from tests.harness.staging_trees import OUT, Run

pytestmark = pytest.mark.airflow

RUN = {
    "dag_id": "sales",
    "dag_run_id": "manual__2013-01-01",
    "state": "running",
    "logical_date": "2013-01-01T00:00:00Z",
    "start_date": "2013-01-01T10:00:00.5Z",
    "end_date": None,
}
TASK = {
    "task_id": "first",
    "map_index": -1,
    "state": "running",
    "try_number": 1,
    "start_date": "2013-01-01T10:00:01Z",
    "end_date": None,
}
TRIGGER = Trigger(dag_id="sales", run_id="r", logical_date="2013-01-01T00:00:00+00:00", conf={})
Reply = tuple[int, Any]


@dataclass
class Server:
    """Answers by method and path; None closes the connection without an answer. `asked` are the requests."""

    url: str = ""
    replies: dict[str, Reply | Callable[[Any], Reply | None] | None] = field(default_factory=dict)
    asked: list[tuple[str, Any]] = field(default_factory=list)
    tokens: int = 0

    def reply(self, what: str, token: str | None, body: Any) -> Reply | None:
        self.asked.append((what, body))
        if what == "POST /auth/token":
            if body != {"username": "ann", "password": "s3cret"}:
                return 401, {"detail": "Invalid credentials"}
            self.tokens += 1
            return 201, {"access_token": f"token-{self.tokens}"}
        if token not in (f"Bearer token-{self.tokens}", "Bearer given"):
            return 401, {"detail": "Invalid JWT token"}
        found = self.replies.get(what, (404, {"detail": "not found"}))
        return found(body) if callable(found) else found

    @property
    def paths(self) -> list[str]:
        return [what for what, _ in self.asked if what != "POST /auth/token"]


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(size)) if size else None
            what = f"{self.command} {unquote(urlsplit(self.path).path)}"
            found = state.reply(what, self.headers.get("Authorization"), body)
            if found is None:
                return  # the connection is closed
            status, document = found
            content = document if isinstance(document, bytes) else json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = answer  # noqa: N815  # names of http.server

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as found:
        state.url = f"http://127.0.0.1:{found.server_port}"
        thread = threading.Thread(target=found.serve_forever, args=(0.01,))
        thread.start()
        yield state
        found.shutdown()
        thread.join()


@pytest.fixture
def trickling() -> Iterator[str]:
    """Return the address of a server that sends one byte of an answer at a time, for ever."""
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_header = "slow-header" in self.path
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX-A: " if is_header else b"HTTP/1.1 200 OK\r\n\r\n")
            while not over.wait(0.02):
                try:
                    self.wfile.write(b" ")
                except OSError:
                    return

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as found:
        thread = threading.Thread(target=found.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{found.server_port}"
        over.set()
        found.shutdown()
        thread.join()


@pytest.mark.parametrize("dag_id", ["slow-body", "slow-header"])
def test_an_answer_that_never_ends_is_no_answer(dag_id: str, trickling: str) -> None:
    from graph_compiler.run_client.rest_end import RestEnd

    end = RestEnd(trickling, Login(token="given"), seconds=0.2, pause=lambda _: None)
    with pytest.raises(AirflowUnreachableError, match=r"its answer takes longer than 0.2 s"):
        end.find_dag(dag_id)
    end.close()


def test_a_list_that_never_ends_is_not_followed(server: Server) -> None:
    number = 0

    def page(_: Any) -> Reply:
        nonlocal number
        number += 1
        return 200, {"task_instances": [{**TASK, "task_id": f"t{number}"}], "total_entries": 10**9}

    path = "GET /api/v2/dags/sales/dagRuns/r"
    server.replies = {path: (200, RUN), path.replace("/r", f"/{RUN['dag_run_id']}"): (200, RUN)}
    server.replies[f"GET /api/v2/dags/sales/dagRuns/{RUN['dag_run_id']}/taskInstances"] = page
    with pytest.raises(AirflowRefusedError, match="more than 1000 pages of task instances"):
        end_of(server).find_run("sales", "r")
    assert number == 1000


def test_one_page_for_ever_is_noticed_at_once(server: Server) -> None:
    server.replies["GET /api/v2/dags/sales/dagRuns/r"] = 200, RUN
    tasks = f"GET /api/v2/dags/sales/dagRuns/{RUN['dag_run_id']}/taskInstances"
    server.replies[tasks] = 200, {"task_instances": [TASK], "total_entries": 10**9}
    with pytest.raises(AirflowRefusedError, match="one page of task instances twice"):
        end_of(server).find_run("sales", "r")
    assert server.paths.count(tasks) == 2


@pytest.mark.parametrize("status", [200, 400, 500])
def test_json_that_is_nested_too_deeply_is_no_answer_of_airflow(status: int, server: Server) -> None:
    server.replies["GET /api/v2/dags/sales"] = status, b'{"a":' * 100_000
    expected = AirflowUnreachableError if status == 500 else AirflowRefusedError
    with pytest.raises(expected):
        end_of(server).find_dag("sales")


def test_an_answer_without_measure_is_refused(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    from graph_compiler.run_client import rest_end

    monkeypatch.setattr(rest_end, "_MOST_BYTES", 1 << 20)
    server.replies["GET /api/v2/dags/sales"] = 200, b" " * (3 << 20)
    with pytest.raises(AirflowRefusedError, match="more than 1 MiB"):
        end_of(server).find_dag("sales")


def end_of(server: Server, login: Login | None = None) -> Any:
    from graph_compiler.run_client.rest_end import RestEnd

    login = login or Login(user="ann", password="s3cret")
    return RestEnd(server.url, login, seconds=5, pause=lambda _: None)


def test_a_run_has_its_tasks_of_all_pages_and_a_link(server: Server) -> None:
    tasks = [{**TASK, "task_id": f"t{number}"} for number in range(3)]
    run = "/api/v2/dags/sales/dagRuns/manual__2013-01-01"
    pages = iter([tasks[:2], tasks[2:]])
    server.replies = {
        f"GET {run}": (200, RUN),
        f"GET {run}/taskInstances": lambda _: (200, {"task_instances": next(pages), "total_entries": 3}),
    }
    found = end_of(server).find_run("sales", "manual__2013-01-01")
    assert [task.task_id for task in found.tasks] == ["t0", "t1", "t2"]
    assert (found.state, found.started) == (RunState.RUNNING, 1357034400.5)
    assert found.page == f"{server.url}/dags/sales/runs/manual__2013-01-01"
    assert server.tokens == 1


def test_names_with_slashes_stay_one_name(server: Server) -> None:
    assert end_of(server).find_run("a/../b", "x?y#z") is None
    assert server.paths == ["GET /api/v2/dags/a/../b/dagRuns/x?y#z"]


def test_an_expired_token_is_replaced_but_not_a_given_one(server: Server) -> None:
    server.replies["GET /api/v2/dags/sales"] = (200, {"is_paused": False, "has_import_errors": None})
    end = end_of(server)
    assert end.find_dag("sales").is_paused is False
    server.tokens = 5  # the server has forgotten the others
    assert end.find_dag("sales").has_import_errors is False
    given = end_of(server, Login(token="given"))
    assert given.find_dag("sales") is not None
    old = end_of(server, Login(token="0ld-token"))
    with pytest.raises(AirflowRefusedError, match="token is invalid or has expired") as refused:
        old.find_dag("sales")
    assert "0ld-token" not in str(refused.value)


def test_a_wrong_password_is_refused_and_not_shown(server: Server) -> None:
    with pytest.raises(AirflowRefusedError, match="does not accept this user") as refused:
        end_of(server, Login(user="ann", password="wr0ng")).find_dag("sales")
    assert "wr0ng" not in str(refused.value)
    assert server.tokens == 0


def test_a_wrong_password_of_a_file_is_refused_with_the_file(server: Server) -> None:
    login = Login(user="ann", password="wr0ng", origin=Path("/home/ann/passwords.json"))
    with pytest.raises(AirflowRefusedError, match="those in /home/ann/passwords.json") as refused:
        end_of(server, login).find_dag("sales")
    assert "wr0ng" not in str(refused.value)


def test_what_is_sent_to_this_host_passes_no_proxy(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert end_of(server).find_dag("sales") is None
    assert server.tokens == 1


@pytest.mark.parametrize(
    ("status", "detail", "words"),
    [
        (403, "Forbidden", "this user may not do that"),
        (409, {"reason": "Unique constraint violation", "statement": "x"}, "409: Unique constr"),
        (400, "least: 10 is greater than the maximum of 9", "400: least: 10 is greater"),
        (
            422,
            [{"loc": ["body", "conf"], "msg": "Input should be a dict", "input": "s3cret"}],
            "422: body.conf: Input should be a dict",
        ),
        (404, "Dag with dag_id: 'sales' not found", "404: Dag with dag_id"),
        (418, b"<html>teapot", "418"),
    ],
)
def test_a_refusal_becomes_a_sentence(status: int, detail: Any, words: str, server: Server) -> None:
    reply = detail if isinstance(detail, bytes) else {"detail": detail}
    server.replies["POST /api/v2/dags/sales/dagRuns"] = (status, reply)
    with pytest.raises(AirflowRefusedError) as refused:
        end_of(server).trigger(TRIGGER)
    assert refused.value.status == status
    assert words in str(refused.value)
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("reply", [None, (503, {"detail": "database is locked"})], ids=str)
def test_a_trigger_is_asked_once_and_others_again(reply: Reply | None, server: Server) -> None:
    run = "/api/v2/dags/sales/dagRuns"
    answers = iter([reply, reply, (200, RUN)])
    server.replies = {f"POST {run}": reply, f"PATCH {run}/r": lambda _: next(answers)}
    with pytest.raises(AirflowUnreachableError, match="Airflow's API at"):
        end_of(server).trigger(TRIGGER)
    assert server.paths == [f"POST {run}"]
    end_of(server).fail("sales", "r")
    assert server.paths == [f"POST {run}", *[f"PATCH {run}/r"] * 3]


def test_a_run_is_started_once_though_the_connection_breaks(server: Server, tmp_path: Path) -> None:
    runs: dict[str, Any] = {}

    def start(body: Any) -> None:
        runs[body["dag_run_id"]] = {**RUN, "dag_run_id": body["dag_run_id"]}
        run = f"/api/v2/dags/sales/dagRuns/{body['dag_run_id']}"
        server.replies[f"GET {run}"] = (200, runs[body["dag_run_id"]])
        empty = {"task_instances": [], "total_entries": 0}
        server.replies[f"GET {run}/taskInstances"] = (200, empty)

    server.replies["POST /api/v2/dags/sales/dagRuns"] = start
    server.replies["GET /api/v2/dags/sales"] = (200, {"is_paused": False, "has_import_errors": False})
    client = RunClient(end_of(server), staging_root=str(tmp_path), pause=lambda _: None)
    run = client.submit("sales", date="2013-01-01")
    assert list(runs) == [run.run_id]
    assert server.paths.count("POST /api/v2/dags/sales/dagRuns") == 1


@pytest.mark.parametrize("answer", [None, (502, {"detail": "bad gateway"})], ids=["broken", "502"])
def test_tasks_are_cleared_once_though_the_answer_is_lost(answer: Reply | None, server: Server, tmp_path: Path) -> None:
    """Asked again at once, Airflow would refuse with 409, or clear tasks that have failed again since."""
    run, clear = "/api/v2/dags/sales/dagRuns/r", "POST /api/v2/dags/sales/clearTaskInstances"
    states = ["failed"]

    def cleared(_: Any) -> Reply | None:
        states.append("queued")
        return answer

    server.replies = {
        f"GET {run}": lambda _: (200, {**RUN, "dag_run_id": "r", "state": states[-1]}),
        f"GET {run}/taskInstances": (200, {"task_instances": [{**TASK, "state": "failed"}], "total_entries": 1}),
        clear: cleared,
    }
    client = RunClient(end_of(server), staging_root=str(tmp_path), pause=lambda _: None)
    assert len(client.resume("sales", "r")) == 1
    look = [f"GET {run}", f"GET {run}/taskInstances"]
    assert server.paths == [*look, clear, *look]


@pytest.mark.parametrize("reply", [b"<html>", {"detail": 1}, {**RUN, "dag_run_id": "r", "state": "exploded"}], ids=str)
def test_another_server_is_reported(reply: Any, server: Server) -> None:
    run = "/api/v2/dags/sales/dagRuns/r"
    server.replies = {
        f"GET {run}": (200, reply),
        f"GET {run}/taskInstances": (200, {"task_instances": [], "total_entries": 0}),
    }
    with pytest.raises(AirflowRefusedError, match="does not answer as the API of Airflow 3"):
        end_of(server).find_run("sales", "r")


def test_exactly_the_given_tasks_are_cleared(server: Server) -> None:
    from tests.harness.fake_airflow import task

    server.replies["POST /api/v2/dags/sales/clearTaskInstances"] = (200, {"task_instances": []})
    end_of(server).clear("sales", "r", [task("a", "failed"), task("b", "failed", map_index=3)])
    (body,) = (body for what, body in server.asked if "clear" in what)
    assert body["task_ids"] == ["a", ["b", 3]]
    assert (body["dag_run_id"], body["only_failed"], body["dry_run"]) == ("r", False, False)
    assert not {key for key, value in body.items() if key.startswith("include_") and value}
    assert body["prevent_running_task"] is True


def test_no_server_is_reported_with_its_address() -> None:
    with pytest.raises(AirflowUnreachableError, match="is the API server running"):
        end_of(Server(url="http://127.0.0.1:1")).find_dag("sales")


def test_the_example_of_the_documentation_resumes_a_failed_run(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (Path(__file__).parents[2] / "docs" / "airflow.md").read_text()
    section = text.partition("## A client for runs")[2]
    (example, *_) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    states = iter(["queued", "failed", "failed", "success"])
    tasks = iter(["success", "failed", "failed", "success"])

    def start(body: Any) -> Reply:
        path = f"/api/v2/dags/sales/dagRuns/{body['dag_run_id']}"
        run = {**RUN, "dag_run_id": body["dag_run_id"]}
        server.replies[f"GET {path}"] = lambda _: (200, {**run, "state": next(states)})
        server.replies[f"GET {path}/taskInstances"] = lambda _: (
            200,
            {"task_instances": [{**TASK, "state": next(tasks)}], "total_entries": 1},
        )
        Run(tmp_path / "staging", body["dag_run_id"], dag_id="sales").end(OUT, "e0")
        return 200, run

    facts = {"is_paused": False, "has_import_errors": False}
    server.replies["GET /api/v2/dags/sales"] = (200, facts)
    server.replies["POST /api/v2/dags/sales/dagRuns"] = start
    server.replies["POST /api/v2/dags/sales/clearTaskInstances"] = (200, {})
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path))
    monkeypatch.delenv("AIRFLOW__GRAPH_COMPILER__STAGING_ROOT", raising=False)
    found: dict[str, Any] = {"url": server.url, "password": "s3cret"}
    exec(example, found)
    assert found["run"].state is RunState.FINISHED
    assert [task.task_id for task in found["again"]] == ["first"]
    assert list(states) == []
    (started,) = (body for what, body in server.asked if what.endswith("/sales/dagRuns"))
    assert started["conf"] == {"least": 3}
    assert started["logical_date"] == "2013-01-01T00:00:00+00:00"
