"""A finished run as one JSON document."""

from __future__ import annotations

import json

from graph_compiler.cli.running.finished_run import FinishedRun
from graph_compiler.cli.running.first_rows import FirstRows
from graph_compiler.deployment.documents.report import VertexMetrics
from graph_compiler.deployment.documents.wire import Json
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import RegionId
from graph_compiler.staging.attempts.attempt import Attempt


def run_json(run: FinishedRun) -> str:
    """Return the document; values of a preview that have no JSON form are text."""
    failed = run.failure is not None
    document: dict[str, object] = {
        "pipeline": run.compiled.pipeline.name,
        "run_id": run.run_id,
        "state": (ExecutionState.FAILED if failed else ExecutionState.FINISHED).value,
        "seconds": round(run.seconds, 1),
        "failure": run.failure,
        "tasks": [_task(id, attempts) for id, attempts in run.found.items()],
        "sinks": [{"sink": sink.name} | sink.to_json() for sink in (run.sinks if run.run_id is not None else ())],
        "contracts": [
            count.to_json()
            for attempts in run.found.values()
            if attempts and (report := attempts[-1].report) is not None
            for count in report.contracts
        ],
        "preview": run.preview.to_json() if isinstance(run.preview, FirstRows) else None,
        "log": None if run.log is None else str(run.log),
    }
    return json.dumps(document, indent=2, ensure_ascii=False, default=str)


def _task(id: RegionId, attempts: tuple[Attempt, ...]) -> Json:
    last = attempts[-1] if attempts else None
    report = None if last is None else last.report
    state = ExecutionState.CREATED if last is None else last.state
    return {
        "task": id,
        "state": state.value,
        "attempt": None if last is None else last.attempt_number + 1,
        "seconds": None if last is None or last.ended is None else round(last.ended - last.started, 1),
        "vertices": [_vertex(vertex) for vertex in (() if report is None else report.vertices)],
    }


def _vertex(vertex: VertexMetrics) -> Json:
    return {
        "vertex": vertex.name,
        "seconds": vertex.seconds,
        "operators": [
            {
                "operator": operator.name,
                "rows_in": operator.rows_in,
                "rows_out": operator.rows_out,
                "side_rows": dict(operator.side_rows),
            }
            for operator in vertex.operators
        ],
    }
