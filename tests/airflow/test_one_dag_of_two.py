"""A viewer of one Dag of two: every route, with ids, groups, results and versions of the other Dag."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from tests.airflow.web_server import API, application, client, forget, make_database, start_run, store

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]
SECRET = "salaries"
"""In all that the hidden Dag declares."""
MINE, HIDDEN = "mine", "hidden"
MY_RUN, HIDDEN_RUN, BOTH = "manual__mine", f"manual__{SECRET}", "manual__both"
RESULT = f"{'0' * 32}-0"


def declared(name: str, word: str) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment(name, description=word, tags=(word,))
    rows = env.from_source(Csv(f"/{word}"), word).filter(f"{word} > 1").name(f"kept {word}")
    rows.stage(word).sink_to(Parquet(f"/out/{word}")).name(f"out {word}").task_id(word)
    return env


@pytest.fixture(scope="module")
def app(airflow_home: Path) -> Iterator[Any]:
    from graph_compiler.airflow_backend import build_dag

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIRFLOW__API_AUTH__JWT_SECRET", "for these tests only: " + "x" * 64)
        patch.setenv("AIRFLOW__GRAPH_COMPILER__STAGING_ROOT", str(airflow_home / "staging"))
        patch.setenv("AIRFLOW__GRAPH_COMPILER__ROW_SAMPLES", "10")
        make_database()
        for name, word, run in ((MINE, "orders", MY_RUN), (HIDDEN, SECRET, HIDDEN_RUN)):
            store(build_dag(declared(name, word), schedule=None, start_date=datetime(2013, 1, 1)))
            start_run(name, run)
            start_run(name, BOTH)
        yield application()
        for name in (MINE, HIDDEN):
            forget(name)


@pytest.fixture(params=["viewer", "admin"])
def user(app: Any, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a client of a user who may read one Dag, as an auth manager with permissions per Dag says."""
    from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager

    is_authorized = SimpleAuthManager.is_authorized_dag

    def only_mine(self: Any, *, details: Any = None, **more: Any) -> bool:
        is_hidden = details is not None and details.id not in (None, MINE)
        return not is_hidden and is_authorized(self, details=details, **more)

    monkeypatch.setattr(SimpleAuthManager, "is_authorized_dag", only_mine)
    return client(app, request.param)


def routes() -> list[str]:
    """Return the paths of all routes of the view's data."""
    from fastapi.routing import APIRoute

    from graph_compiler.airflow_backend.web.routes import plan_routes, row_routes, run_routes

    routers = (plan_routes.router, run_routes.router, row_routes.router)
    found = (one for router in routers for one in router.routes if isinstance(one, APIRoute))
    return sorted({f"/graph-compiler{one.path}" for one in found})


def test_these_are_all_routes_with_a_dag() -> None:
    of_dags = [route.rpartition("/")[2] for route in routes() if "{dag_id}" in route]
    assert of_dags == ["compare", "pipelines", "plan", "result", "rows", "run", "runs", "versions"]


def requests(dag: str, run: str, **more: object) -> list[str]:
    asked = {"run_id": run, "result": RESULT, "old": 1, "new": 1} | more
    query = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in asked.items())
    paths = [route for route in routes() if "{dag_id}" in route]
    return [f"{path.replace('{dag_id}', quote(dag, safe=''))}?{query}" for path in paths]


def test_no_route_of_the_hidden_dag_answers(user: Any) -> None:
    for name in (HIDDEN, f"{HIDDEN}/", f"{MINE}/../{HIDDEN}", f"./{HIDDEN}"):
        for request in requests(name, HIDDEN_RUN):
            answer = user.get(request)
            assert answer.status_code in (403, 404), request
            assert SECRET not in answer.text.replace(HIDDEN_RUN, "")


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"group": HIDDEN},
        {"group": f"../{HIDDEN}"},
        {"group": f"x/../../../{HIDDEN}/{HIDDEN_RUN}"},
        {"dag_id": HIDDEN},
        {"result": f"../../{HIDDEN}/{HIDDEN_RUN}/data/{RESULT}"},
        {"map_index": 3},
        {"version": 1},
    ],
)
@pytest.mark.parametrize("run", [HIDDEN_RUN, MY_RUN, f"../{HIDDEN}/{HIDDEN_RUN}"])
def test_no_route_of_the_own_dag_leads_to_the_hidden_one(user: Any, run: str, more: dict[str, object]) -> None:
    for request in requests(MINE, run, **more):
        answer = user.get(request)
        assert answer.status_code in (200, 403, 404, 422, 503), request
        echoed = answer.text.replace(HIDDEN_RUN, "")
        assert SECRET not in echoed, request


def test_rows_and_results_of_a_run_of_that_name_in_another_dag_are_not_shown(user: Any, airflow_home: Path) -> None:
    """Both Dags have a run of one id: the folder is that of the asked Dag."""
    folder = airflow_home / "staging" / HIDDEN / BOTH / "manifests" / RESULT
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "0.json").write_text(f'{{"{SECRET}": 1}}')
    for request in requests(MINE, BOTH):
        assert SECRET not in user.get(request).text, request


def test_the_list_has_only_the_own_dag(user: Any) -> None:
    answer = user.get(f"{API}/pipelines")
    assert [one["dag_id"] for one in answer.json()["pipelines"]] == [MINE]
    assert SECRET not in answer.text
