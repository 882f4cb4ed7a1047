"""The page with a real plan and made-up runs, without Airflow: what a browser shows is measured in seconds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, Route

import graph_compiler
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.documents.report import ThrowableType
from graph_compiler.explain.documents.plain_json import plain_json
from graph_compiler.explain.documents.view_answers import (
    DagOutcomes,
    LastRun,
    PipelineList,
    PipelineSummary,
    PlacedPipeline,
    PlacedPipelines,
    RunList,
)
from graph_compiler.explain.documents.view_run import (
    ViewAttempt,
    ViewBatch,
    ViewOutputRun,
    ViewRegionRun,
    ViewRun,
    ViewVertexRun,
)
from graph_compiler.explain.plan.plan import Plan
from graph_compiler.explain.plan.plan_writer import plan_of
from graph_compiler.graphs.execution import ExecutionState
from pipelines.flights import env

STATIC = Path(graph_compiler.__file__).parent / "airflow_backend" / "web" / "static"
ORIGIN = "http://view.test"
APP = f"{ORIGIN}/graph-compiler/app/"
BEGUN = 1_700_000_000.0
FAILED_OPERATOR = "lateness_by_weather"
REASON = (
    f"pipeline 'flights', operator '{FAILED_OPERATOR}': the input has no column 'weather'\n"
    "  found: carrier, origin, dest\n"
    "  hint: name the column that has the weather\n"
    "  declared at pipelines/flights.py:58"
)
TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


def plan() -> Plan:
    """Return the plan of the example."""
    return replace(plan_of(compile_pipeline(env.pipeline())), plan_id="of the plan")


def run(state: str) -> ViewRun:
    """Return a run of the example: `success`, `failed` in its second task, or `running` in its first one.

    `batches` is a success, of a stream.
    """
    shown = plan()
    first, second = (region.id for region in shown.regions)
    states = {
        "success": (ExecutionState.FINISHED, ExecutionState.FINISHED),
        "batches": (ExecutionState.FINISHED, ExecutionState.FINISHED),
        "failed": (ExecutionState.FINISHED, ExecutionState.FAILED),
        "waiting": (ExecutionState.FAILED, ExecutionState.CANCELED),
        "running": (ExecutionState.RUNNING, ExecutionState.CREATED),
    }[state]
    attempts = (_attempt(shown, first, states[0], BEGUN + 120), _attempt(shown, second, states[1], BEGUN + 180))
    retried = replace(attempts[1], number=1, try_number=3, execution_id="again", started=BEGUN + 220, ended=BEGUN + 250)
    if state == "batches":
        attempts = (attempts[0], replace(attempts[1], batches=tuple(map(_batch, range(150, 200)))))
    tries = (attempts[1], retried) if state == "failed" else (attempts[1],)
    never = states[1] in {ExecutionState.CANCELED, ExecutionState.CREATED}
    return ViewRun(
        version=1,
        pipeline="flights",
        group="",
        run_id=state,
        map_index=None,
        map_indexes=(),
        state={"waiting": "failed", "batches": "success"}.get(state, state),
        run_type="backfill",
        logical_date="2013-01-05T00:00:00+00:00",
        queued=BEGUN - 60,
        started=BEGUN,
        ended=None if state == "running" else BEGUN + 260,
        dag_version=1,
        plan_id="of the plan",
        has_documents=True,
        tasks=2,
        tasks_read=2,
        reasons_are_shown=True,
        regions=(
            ViewRegionRun(id=first, state=states[0], airflow_state="success", attempts=(attempts[0],)),
            ViewRegionRun(id=second, state=states[1], airflow_state=None, attempts=() if never else tries),
        ),
    )


def _batch(number: int) -> ViewBatch:
    return ViewBatch(
        number=number,
        rows_in=336_776,
        rows_out=1_200,
        late=number % 7,
        watermark="2013-01-05T00:22:00.000Z",
        state_rows=1_234_567,
        state_bytes=987_654_321,
        behind=12_345,
        waited=5400.0,
        seconds=1.25,
    )


def _attempt(shown: Plan, region: str, state: ExecutionState, started: float) -> ViewAttempt:
    own = [vertex for vertex in shown.vertices if vertex.region == region]
    is_failed, is_finished = state is ExecutionState.FAILED, state is ExecutionState.FINISHED
    results = {edge.result for edge in shown.edges if edge.source in {one.id for one in own}}
    return ViewAttempt(
        number=0,
        try_number=1,
        execution_id=region,
        state=state,
        queued=started - 20,
        started=started,
        ended=None if state is ExecutionState.RUNNING else started + 30,
        host="worker-1",
        reason=REASON if is_failed else None,
        throwable_type=ThrowableType.NON_RECOVERABLE_ERROR if is_failed else None,
        failed_operator=FAILED_OPERATOR if is_failed else None,
        current=None,
        recomputed=(),
        vertices=tuple(ViewVertexRun(id=one.id, rows=336_776, seconds=12.5, operators=()) for one in own)
        if is_finished
        else (),
        outputs=tuple(
            ViewOutputRun(kind="staged", name=region, location="there", rows=336_776, bytes=7_500_000, result=one)
            for one in results
            if one and is_finished
        ),
        contracts=(),
        work=None,
        application_id="local-1",
        spark_url=None,
        log_url="/dags/flights/runs/r/tasks/t?try_number=1",
    )


def pipelines() -> PipelineList:
    """Return a list: a Dag that runs with a backfill queued behind it, one that is only queued, one that never ran."""

    def ran(id: str, state: str, started: float | None, ended: float | None) -> LastRun:
        return LastRun(run_id=id, state=state, run_type="backfill", queued=BEGUN, started=started, ended=ended)

    ended = tuple(
        ran(f"run {number}", state, BEGUN, BEGUN + 200) for number, state in enumerate(("success", "failed", "success"))
    )
    of = {
        "busy": DagOutcomes(last_run=ran("now", "running", BEGUN, None), running=1, queued=29, ended=ended),
        "waiting": DagOutcomes(last_run=ran("later", "queued", None, None), running=0, queued=3, ended=()),
        "new": DagOutcomes(last_run=None, running=0, queued=0, ended=()),
    }
    return PipelineList(
        runs_are_shown=True,
        pipelines=tuple(
            PipelineSummary(
                dag_id=name,
                group="",
                pipeline=name,
                description=None,
                schedule="0 6 * * *",
                is_paused=name == "new",
                tags=(),
                operators=24,
                vertices=13,
                tasks=2,
                staged=1,
                runs=runs,
            )
            for name, runs in of.items()
        ),
    )


def serve(page: Page) -> None:
    """Answer the page's requests: its built files, and these documents."""
    page.route(f"{ORIGIN}/**", _answer)


def _answer(route: Route) -> None:
    url = urlsplit(route.request.url)
    path = url.path.removeprefix("/graph-compiler/")
    if path.startswith("app/"):
        file = STATIC / (path.removeprefix("app/") or "index.html")
        route.fulfill(body=file.read_bytes(), content_type=TYPES[file.suffix])
        return
    route.fulfill(json=_document(path.removeprefix("api/"), parse_qs(url.query)))


def _document(path: str, query: Mapping[str, list[str]]) -> Any:
    match path.split("/"):
        case ["pipelines"]:
            found: Any = pipelines()
        case ["dags", _, "pipelines"]:
            found = PlacedPipelines(pipelines=(PlacedPipeline(group="", pipeline="flights"),))
        case ["dags", _, "plan"]:
            found = plan()
        case ["dags", _, "run"]:
            found = run(query["run_id"][0])
        case _:
            found = RunList(runs=())
    return json.loads(json.dumps(plain_json(found)))
