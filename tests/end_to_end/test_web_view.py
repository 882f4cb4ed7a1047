"""The view of a real run, under `airflow standalone`."""

from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest

from tests.end_to_end.conftest import Home
from tests.end_to_end.test_standalone import DAG_FILE, ended
from tests.standalone import Api, standalone, until

pytestmark = [pytest.mark.e2e, pytest.mark.long]

VIEW = "/graph-compiler/api"


def test_a_real_run_is_shown_from_its_first_attempt_to_its_rows(home: Home, tmp_path: Path) -> None:
    with standalone(home.environment, tmp_path, {"flights": DAG_FILE}) as api:
        made = api.call(
            "POST",
            "/api/v2/dags/flights/dagRuns",
            {"logical_date": "2013-01-01T00:00:00Z", "conf": home.params},
        )
        run_id = made["dag_run_id"]
        path = f"{VIEW}/dags/flights/run?run_id={quote(run_id, safe='')}"
        running = until(lambda: running_region(api, path), "a region to run", seconds=300)
        run = until(lambda: ended_run(api, path), "the run to end", seconds=600)
        plan = api.call("GET", f"{VIEW}/dags/flights/plan?run_id={quote(run_id, safe='')}")
        (staged,) = {edge["result"] for edge in plan["edges"] if edge["is_staged"]}
        result = api.call("GET", f"{path.replace('/run?', '/result?')}&result={staged}")
        links = api.call(
            "GET", f"/api/v2/dags/flights/dagRuns/{quote(run_id)}/taskInstances/late_routes/links"
        )
        (listed,) = api.call("GET", f"{VIEW}/pipelines")["pipelines"]
        plugins = api.call("GET", "/api/v2/plugins")["plugins"]
        anonymous = status(api.url + path, None)
        by_cookie = status(api.url + path, api.token)
    assert running["state"] in ("DEPLOYING", "RUNNING")
    assert (run["state"], run["has_documents"], run["plan_id"]) == (
        "success",
        True,
        plan["plan_id"],
    )
    regions = {region["id"]: region for region in run["regions"]}
    assert {id: region["state"] for id, region in regions.items()} == {
        "with_weather": "FINISHED",
        "late_routes": "FINISHED",
    }
    (attempt,) = regions["with_weather"]["attempts"]
    (written,) = [one for one in attempt["outputs"] if one["kind"] == "staged"]
    assert (written["result"], written["rows"]) == (staged, result["rows"])
    assert {"arr_delay", "temp"} <= {column["name"] for column in result["schema"]}
    assert sum(part["rows"] for part in result["partitions"]) == result["rows"] > 0
    assert {vertex["id"] for vertex in attempt["vertices"]} == {
        vertex["id"] for vertex in plan["vertices"] if vertex["region"] == "with_weather"
    }
    assert links["extra_links"]["Region in the plan"].endswith("&region=late_routes")
    assert (listed["dag_id"], listed["last_run"]["state"]) == ("flights", "success")
    (ours,) = [one for one in plugins if one["name"] == "graph_compiler"]
    assert [view["destination"] for view in ours["external_views"]] == ["nav", "dag", "dag_run"]
    assert (anonymous, by_cookie) == (401, 200)


def running_region(api: Api, path: str) -> Any:
    run = api.attempt("GET", path)
    begun = [region for region in (run or {"regions": []})["regions"] if region["attempts"]]
    return begun[0] if begun else None


def ended_run(api: Api, path: str) -> Any:
    run = api.call("GET", path)
    return run if ended(run["state"]) else None


def status(url: str, token: str | None) -> int:
    """Ask as a browser does, which has the token in a cookie."""
    headers = {} if token is None else {"Cookie": f"_token={token}"}
    try:
        with urlopen(Request(url, headers=headers), timeout=30) as answer:
            found: int = answer.status
            return found
    except HTTPError as error:
        return error.code
