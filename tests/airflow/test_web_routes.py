"""The view's routes in Airflow's own application: permissions, answers, and their cost for the database."""

import base64
import bz2
import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.declaration import Pipeline
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import RegionId
from graph_compiler.staging.attempts.attempt import Attempt
from pipelines.flights import env as flights
from tests.airflow.web_server import (
    API,
    RUN,
    WHEN,
    application,
    client,
    counted_queries,
    fail_and_wait,
    make_database,
    set_task,
    start_run,
    store,
)
from tests.conftest import with_options
from tests.harness.installed_airflow import HAS_ALL

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]

SCRIPT = "<script>alert(1)</script>"
OF_DAG = ["pipelines", "plan", "versions", "compare?old=1&new=1", "runs", f"run?run_id={RUN}"]
OF_DAG += [f"{route}?run_id={RUN}&result={'0' * 32}-0" for route in ("rows", "result")]
ROUTES = [
    "/graph-compiler/app/",
    "/graph-compiler/app/assets/index.js",
    f"{API}/pipelines",
    *(f"{API}/dags/flights/{route.replace('+', '%2B')}" for route in OF_DAG),
]


def evil() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("evil", description=SCRIPT)
    rows = env.from_source(Csv("/in"), SCRIPT).filter(f"x > '{SCRIPT}'").name(f"name {SCRIPT}")
    rows.stage(SCRIPT).sink_to(Parquet("/out")).name("out").task_id("out")
    return env


def by_hand() -> Any:
    from airflow.providers.standard.operators.empty import EmptyOperator
    from airflow.sdk import DAG

    with DAG("by_hand", start_date=datetime(2013, 1, 1), schedule=None, tags=["graph"]) as dag:
        EmptyOperator(task_id="nothing")
    return dag


def compiled_dag(declared: Pipeline | StreamExecutionEnvironment) -> Any:
    from graph_compiler.airflow_backend import build_dag

    return build_dag(declared, schedule=None, start_date=datetime(2013, 1, 1))


def carrying(text: bytes) -> Any:
    """Return the Dag of a pipeline with this text in place of its plan."""
    env = StreamExecutionEnvironment("carrier")
    env.from_source(Csv("/in"), "in").sink_to(Parquet("/out")).name("out")
    dag = compiled_dag(env)
    (task,) = dag.tasks
    task.plan_document = base64.b64encode(bz2.compress(text)).decode()
    return dag


@pytest.fixture(scope="module")
def app(airflow_home: Path) -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIRFLOW__API_AUTH__JWT_SECRET", "for these tests only: " + "x" * 64)
        patch.setenv("AIRFLOW__GRAPH_COMPILER__STAGING_ROOT", str(airflow_home / "staging"))
        patch.setenv("AIRFLOW__CORE__MIN_SERIALIZED_DAG_UPDATE_INTERVAL", "0")
        make_database()
        store(compiled_dag(flights.pipeline()))
        start_run("flights")
        store(compiled_dag(with_options(flights.pipeline(), shuffle_mode="ALL_EXCHANGES_BLOCKING")))
        store(compiled_dag(evil()))
        store(by_hand())
        start_run("by_hand")
        yield application()


@pytest.fixture
def viewer(app: Any) -> Any:
    return client(app, "viewer")


def test_every_route_requires_a_login(app: Any) -> None:
    assert {route: client(app).get(route).status_code for route in ROUTES} == dict.fromkeys(ROUTES, 401)


def test_users_without_dag_permission_see_no_dag(app: Any) -> None:
    nobody = client(app, "none")
    routes = [route for route in ROUTES if "/dags/" in route]
    assert {route: nobody.get(route).status_code for route in routes} == dict.fromkeys(routes, 403)
    assert nobody.get(f"{API}/pipelines").json() == {"pipelines": [], "runs_are_shown": False}


def test_a_viewer_sees_everything_but_rows(viewer: Any) -> None:
    found = {route: viewer.get(route).status_code for route in ROUTES}
    missing = {route for route, status in found.items() if status == 404}
    assert missing == {ROUTES[1], ROUTES[-1]}, "no such file, and nothing is committed"
    assert [route for route, status in found.items() if status == 403] == [ROUTES[-2]]
    assert set(found.values()) <= {200, 403, 404, 503}


def test_a_forged_token_is_refused(app: Any) -> None:
    forged = client(app)
    forged.headers["Authorization"] = "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9."
    assert forged.get(f"{API}/pipelines").status_code == 403


def test_the_list_has_only_dags_that_the_user_may_read(viewer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager

    is_authorized = SimpleAuthManager.is_authorized_dag

    def but_not_evil(self: Any, *, details: Any = None, **more: Any) -> bool:
        hidden = details is not None and details.id == "evil"
        return not hidden and is_authorized(self, details=details, **more)

    def names() -> list[str]:
        return [one["dag_id"] for one in viewer.get(f"{API}/pipelines").json()["pipelines"]]

    assert names() == ["evil", "flights"]
    monkeypatch.setattr(SimpleAuthManager, "is_authorized_dag", but_not_evil)
    assert names() == ["flights"]
    assert viewer.get(f"{API}/dags/evil/plan").status_code == 403
    assert viewer.get(f"{API}/dags/flights/plan?dag_id=evil").json()["pipeline"] == "flights"
    assert viewer.get(f"{API}/dags/evil/plan?dag_id=flights").status_code == 403


def test_the_list_hides_runs_without_permission(viewer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
    from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager

    is_authorized = SimpleAuthManager.is_authorized_dag

    def but_no_runs(self: Any, *, access_entity: Any = None, **more: Any) -> bool:
        is_run = access_entity is DagAccessEntity.RUN
        return not is_run and is_authorized(self, access_entity=access_entity, **more)

    def last_run() -> Any:
        listed = viewer.get(f"{API}/pipelines").json()
        flights = next(one for one in listed["pipelines"] if one["dag_id"] == "flights")
        return listed["runs_are_shown"], flights["runs"] is not None

    assert last_run() == (True, True)
    monkeypatch.setattr(SimpleAuthManager, "is_authorized_dag", but_no_runs)
    assert viewer.get(f"{API}/dags/flights/runs").status_code == 403
    assert last_run() == (False, False)


@pytest.mark.parametrize(
    "text",
    [b"[]", b'{"version":1}', b'{"version":1,"view":{},"compared_by":{}}'],
    ids=["no object", "no plan", "nothing drawn"],
)
def test_a_plan_that_cannot_be_read_hides_no_other(viewer: Any, text: bytes) -> None:
    from airflow.models.dag import DagModel
    from airflow.utils.session import create_session

    store(carrying(text))
    try:
        answer = viewer.get(f"{API}/pipelines")
        assert [one["dag_id"] for one in answer.json()["pipelines"]] == ["evil", "flights"]
        assert viewer.get(f"{API}/dags/carrier/versions").json()["versions"][0]["plan_id"] is None
        assert viewer.get(f"{API}/dags/carrier/compare?old=1&new=1").status_code == 404
    finally:
        with create_session() as session:
            session.get_one(DagModel, "carrier").is_stale = True


@pytest.mark.usefixtures("app")
def test_a_list_longer_than_the_cache_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.utils.session import create_session

    from graph_compiler.airflow_backend.web.plans import dag_versions as plans

    monkeypatch.setattr(plans, "_KEPT", 1)
    cards = plans.PlanCards()
    with create_session() as session:
        one, other = plans.latest_versions(session, ["evil", "flights"]).values()
        cards.of(session, [one])
        assert all(cards.of(session, [one, other]).values())


def test_a_lone_surrogate_in_a_reason_is_served() -> None:
    from graph_compiler.airflow_backend.web.routes.answers import answer

    body = bytes(answer({"reason": "no file 'caf\udce9' <é>"}).body)
    assert json.loads(body) == {"reason": "no file 'caf\udce9' <é>"}
    assert "<é>".encode() in body


def test_missing_things_are_404_with_a_message(viewer: Any) -> None:
    run = RUN.replace("+", "%2B")
    missing = {f"by_hand/{route}": "there is no " for route in ("plan", "versions", "runs", f"run?run_id={run}")}
    missing |= {"~/plan": "there is no ", "unknown/plan": "there is no "}
    missing |= {"flights/plan?version=99": "there is no compiled pipeline 'flights' in version 99"}
    missing |= {"flights/plan?run_id=other": "there is no run 'other' of 'flights'"}
    missing |= {"flights/compare?old=1&new=99": "there is no compiled pipeline 'flights' in version 99"}
    missing |= {"flights/run?run_id=other": "there is no run 'other' of 'flights'"}
    missing |= {f"flights/result?run_id={run}&result=../../x": "has committed no result"}
    for path, words in missing.items():
        answer = viewer.get(f"{API}/dags/{path}")
        assert (path, answer.status_code) == (path, 404)
        assert words in answer.json()["detail"]


@pytest.mark.parametrize("number", ["0", "-1", "1e3", "x", "9" * 30])
def test_a_version_out_of_range_is_refused(viewer: Any, number: str) -> None:
    assert viewer.get(f"{API}/dags/flights/plan?version={number}").status_code == 422
    assert viewer.get(f"{API}/dags/flights/compare?old=1&new={number}").status_code == 422


def test_every_route_accepts_only_get(viewer: Any) -> None:
    for route in ROUTES:
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            assert viewer.request(method, route).status_code == 405, (method, route)
    for path in ("/docs", "/openapi.json", "/redoc", "/"):
        assert viewer.get(f"/graph-compiler{path}").status_code == 404


def test_every_answer_has_a_content_security_policy(app: Any, viewer: Any) -> None:
    answers = [
        client(app).get(ROUTES[0]),
        *(viewer.get(route) for route in ROUTES),
        viewer.get("/graph-compiler/nothing"),
        viewer.post(ROUTES[0]),
    ]
    for answer in answers:
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "frame-ancestors 'self'" in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "no-cache" in answer.headers["Cache-Control"]


def test_names_with_markup_are_only_served_as_json(viewer: Any) -> None:
    for route in ("pipelines", "dags/evil/plan", "dags/evil/versions", f"dags/{SCRIPT}/plan"):
        answer = viewer.get(f"{API}/{route}")
        assert answer.headers["Content-Type"] == "application/json", route
    plan = viewer.get(f"{API}/dags/evil/plan").json()
    assert plan["description"] == SCRIPT
    assert [one["name"] for one in plan["operators"]] == [SCRIPT, f"name {SCRIPT}", "out"]
    assert SCRIPT in plan["edges"][0]["explanation"]


def test_a_missing_build_is_reported(viewer: Any) -> None:
    from graph_compiler.airflow_backend.web.routes.pages import INDEX, STATIC

    answer = viewer.get("/graph-compiler/app/")
    assert answer.headers["Content-Type"].startswith("text/html")
    assert (answer.status_code == 200) == (STATIC / INDEX).is_file()


def test_a_run_shows_its_own_plan_and_the_dag_the_current_one(viewer: Any) -> None:
    versions = viewer.get(f"{API}/dags/flights/versions").json()["versions"]
    assert [one["number"] for one in versions] == [2, 1]
    now = viewer.get(f"{API}/dags/flights/plan").json()
    ran = viewer.get(f"{API}/dags/flights/plan", params={"run_id": RUN}).json()
    assert [now["plan_id"], ran["plan_id"]] == [one["plan_id"] for one in versions]
    assert (len(now["regions"]), len(ran["regions"])) == (13, 2)
    assert viewer.get(f"{API}/dags/flights/plan?version=1").json() == ran
    run = viewer.get(f"{API}/dags/flights/run", params={"run_id": RUN}).json()
    assert (run["dag_version"], run["plan_id"]) == (1, ran["plan_id"])


def test_versions_are_compared_like_the_diff_command(viewer: Any) -> None:
    found = viewer.get(f"{API}/dags/flights/compare?old=1&new=2").json()
    assert found["summary"] == ("flights: 1 of 1 staged results reusable · tasks: 12 added, 1 removed, 1 changed")
    assert {"operators", "results", "tasks"} <= set(found)
    same = viewer.get(f"{API}/dags/flights/compare?old=2&new=2").json()
    assert same["summary"] == "flights: nothing changed (13 tasks)"


def test_the_list_has_shape_and_last_run(viewer: Any) -> None:
    by_name = {one["dag_id"]: one for one in viewer.get(f"{API}/pipelines").json()["pipelines"]}
    shape = {key: by_name["flights"][key] for key in ("operators", "vertices", "tasks", "staged")}
    assert shape == {"operators": 24, "vertices": 13, "tasks": 13, "staged": 9}
    assert by_name["flights"]["schedule"] == "None"
    runs = by_name["flights"]["runs"]
    assert (runs["running"], runs["queued"], runs["ended"]) == (1, 0, [])
    assert runs["last_run"] == {
        "run_id": RUN,
        "state": "running",
        "run_type": "manual",
        "queued": runs["last_run"]["queued"],
        "started": WHEN.timestamp(),
        "ended": None,
    }
    nothing: dict[str, Any] = {"last_run": None, "running": 0, "queued": 0, "ended": []}
    assert by_name["evil"]["runs"] == nothing


@pytest.mark.parametrize(
    ("states", "shown", "counts"),
    [
        (["success", "running", "queued", "queued"], "running", (1, 2, 1)),
        (["failed", "success", "queued"], "success", (0, 1, 2)),
        (["success", "failed"], "failed", (0, 0, 2)),
        (["queued", "queued"], "queued", (0, 2, 0)),
        (["success"] * 12, "success", (0, 0, 10)),
        ([], None, (0, 0, 0)),
    ],
)
@pytest.mark.usefixtures("app")
def test_a_queued_backfill_hides_neither_the_running_nor_the_last_run(
    states: list[str], shown: str | None, counts: tuple[int, int, int]
) -> None:
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session
    from airflow.utils.state import DagRunState
    from sqlalchemy import delete

    from graph_compiler.airflow_backend.web.runs.dag_runs import outcomes

    with create_session() as session:
        session.execute(delete(DagRun).where(DagRun.dag_id == "evil"))
        for number, state in enumerate(states):
            run = DagRun(
                dag_id="evil",
                run_id=f"backfill__{number}",
                run_type="backfill",
                state=DagRunState(state),
                logical_date=WHEN + timedelta(days=number),
                run_after=WHEN,
            )
            session.add(run)
            session.flush()
        found = outcomes(session, ["evil", "by_hand"])["evil"]
        session.rollback()
    assert (found.last_run and found.last_run.state) == shown
    assert (found.running, found.queued, len(found.ended)) == counts


def test_runs_are_listed_newest_first(viewer: Any) -> None:
    start_run("flights", "manual__later", "queued")
    runs = viewer.get(f"{API}/dags/flights/runs").json()["runs"]
    assert [(run["run_id"], run["state"], run["dag_version"]) for run in runs] == [
        ("manual__later", "queued", 2),
        (RUN, "running", 1),
    ]


def test_a_retry_is_two_attempts_and_a_waiting_task_has_none(viewer: Any) -> None:
    start_run("evil", "manual__retried")

    def region(name: str) -> Any:
        run = viewer.get(f"{API}/dags/evil/run?run_id=manual__retried").json()
        return next(one for one in run["regions"] if one["id"] == name)

    first = next(one["id"] for one in viewer.get(f"{API}/dags/evil/plan").json()["regions"])
    assert (region(first)["state"], region(first)["attempts"]) == ("CREATED", [])
    own = set_task("evil", first, "manual__retried", try_number=1, state="running", start_date=WHEN)
    found = region(first)
    assert [(one["state"], one["execution_id"]) for one in found["attempts"]] == [("RUNNING", own)]
    fail_and_wait("evil", first, "manual__retried")
    found = region(first)
    assert (found["state"], found["airflow_state"]) == ("FAILED", "up_for_retry")
    assert [(one["try_number"], one["state"], one["execution_id"]) for one in found["attempts"]] == [(1, "FAILED", own)]
    again = set_task("evil", first, "manual__retried", try_number=2, state="queued")
    found = region(first)
    assert found["state"] == "DEPLOYING"
    assert [(one["try_number"], one["execution_id"]) for one in found["attempts"]] == [(1, own), (2, again)]
    assert found["attempts"][1]["log_url"] == (f"/dags/evil/runs/manual__retried/tasks/{first}?try_number=2")


def test_failure_messages_require_permission_to_read_logs(viewer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
    from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager

    from graph_compiler.airflow_backend.web.routes import run_routes
    from graph_compiler.airflow_backend.web.runs.attempts import Documents

    start_run("evil", "manual__reasons")
    left = Attempt(
        execution_id="e1",
        attempt_number=0,
        state=ExecutionState.FAILED,
        started=1.0,
        ended=2.0,
        host=None,
        reason="a row said SECRET",
        report=None,
        progress=None,
    )
    documents = Documents(are_there=True, attempts={RegionId("out"): (left,)})
    monkeypatch.setattr(run_routes, "read_documents", lambda _run: documents)
    is_authorized = SimpleAuthManager.is_authorized_dag

    def but_no_logs(self: Any, *, access_entity: Any = None, **more: Any) -> bool:
        is_log = access_entity is DagAccessEntity.TASK_LOGS
        return not is_log and is_authorized(self, access_entity=access_entity, **more)

    shown = viewer.get(f"{API}/dags/evil/run?run_id=manual__reasons")
    assert shown.json()["reasons_are_shown"]
    assert "SECRET" in shown.text
    monkeypatch.setattr(SimpleAuthManager, "is_authorized_dag", but_no_logs)
    tag = {"If-None-Match": shown.headers["ETag"]}
    hidden = viewer.get(f"{API}/dags/evil/run?run_id=manual__reasons", headers=tag)
    assert (hidden.status_code, hidden.json()["reasons_are_shown"]) == (200, False)
    assert "SECRET" not in hidden.text


def test_a_run_that_has_not_changed_is_not_sent_again(viewer: Any) -> None:
    first = viewer.get(f"{API}/dags/flights/run", params={"run_id": RUN})
    again = viewer.get(
        f"{API}/dags/flights/run", params={"run_id": RUN}, headers={"If-None-Match": first.headers["ETag"]}
    )
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["ETag"] == first.headers["ETag"]
    set_task("flights", "late_routes", state="scheduled")
    changed = viewer.get(
        f"{API}/dags/flights/run", params={"run_id": RUN}, headers={"If-None-Match": first.headers["ETag"]}
    )
    assert changed.status_code == 200


def test_queries_are_few_and_do_not_grow_with_tasks(viewer: Any) -> None:
    def queries(path: str) -> int:
        viewer.get(f"{API}/{path}")  # plans are read once
        with counted_queries() as found:
            assert viewer.get(f"{API}/{path}").status_code == 200
        return len(found)

    start_run("flights", "manual__wide")  # 13 tasks; that of `evil` has 2
    start_run("evil", "manual__narrow")
    wide, narrow = (queries("dags/flights/run?run_id=manual__wide"), queries("dags/evil/run?run_id=manual__narrow"))
    found = {
        "run": wide,
        "pipelines": queries("pipelines"),
        "runs": queries("dags/flights/runs"),
        "plan": queries("dags/flights/plan"),
        "versions": queries("dags/flights/versions"),
    }
    assert wide == narrow
    # One of each is Airflow's own: it asks whether the login was revoked.
    wanted = {"run": 4, "pipelines": 6, "runs": 4, "plan": 2, "versions": 3}
    if not HAS_ALL:  # Airflow 3.2 reads a Dag and its version one by one
        wanted = {"run": 6, "pipelines": 6, "runs": 5, "plan": 3, "versions": 4}
    assert found == wanted
