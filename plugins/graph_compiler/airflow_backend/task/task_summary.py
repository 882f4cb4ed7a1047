"""A finished task's summary for Airflow: a small XCom, and lines in its log.

The report beside the descriptor is complete. Airflow keeps XComs in its database, so this one is limited.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NotRequired, TypedDict

from graph_compiler.deployment.documents.report import ActionMetrics, ExecutionReport, Output, VertexMetrics
from graph_compiler.deployment.documents.staging_layout import REPORT
from graph_compiler.deployment.documents.stream import batch_words
from graph_compiler.identifiers import listing

MOST_BYTES = 16 * 1024


class OutputSummary(TypedDict):
    """One sink or staged result, from its committed files."""

    name: str
    kind: str
    rows: int
    bytes: int
    location: str
    commit: NotRequired[dict[str, str]]


class VertexSummary(TypedDict):
    """One job vertex; `rows` are those of its last operator, None if Spark does not report them."""

    name: str
    rows: int | None
    seconds: float | None


class FinishedTask(TypedDict):
    """The summary of a task; `left_out` lists what did not fit, None if everything did."""

    outputs: list[OutputSummary]
    vertices: list[VertexSummary]
    left_out: str | None


def summarize(reports: Sequence[ExecutionReport], places: Sequence[str]) -> FinishedTask:
    """Return the summary of a task's reports, which are beside `places`; at most MOST_BYTES as JSON.

    What does not fit is left out: first the last vertices, then the last outputs.
    """
    outputs = [output for report in reports for output in report.outputs]
    vertices = [vertex for report in reports for vertex in report.vertices]
    summary = FinishedTask(
        outputs=[_summary(output) for output in outputs],
        vertices=[VertexSummary(name=vertex.name, rows=vertex.rows, seconds=vertex.seconds) for vertex in vertices],
        left_out=None,
    )
    while len(json.dumps(summary)) > MOST_BYTES and (summary["vertices"] or summary["outputs"]):
        (summary["vertices"] or summary["outputs"]).pop()
        summary["left_out"] = (
            f"{len(vertices) - len(summary['vertices'])} of {len(vertices)} vertices and "
            f"{len(outputs) - len(summary['outputs'])} of {len(outputs)} outputs, "
            f"which are in {REPORT} beside {listing(places)}"
        )
    return summary


def _summary(output: Output) -> OutputSummary:
    found = OutputSummary(
        name=output.name, kind=output.kind, rows=output.rows, bytes=output.bytes, location=output.location
    )
    if output.commit is not None:
        found["commit"] = output.commit.to_json()
    return found


def log_lines(report: ExecutionReport) -> Iterator[str]:
    """Return a line for each input without files, each increment, each output, each vertex and each Spark action."""
    for again in report.recomputed:
        yield again.words()
    for files in report.sources:
        if files.is_empty:
            yield files.words()
    for read in report.increments:
        yield read.words()
    yield from batch_words(report.batches)
    for output in report.outputs:
        yield f"{output.kind} {output.name}: {output.rows:,} rows, {output.bytes:,} bytes, {output.place}"
    for vertex in report.vertices:
        yield f"vertex {vertex.name}: {_rows(vertex)}"
    for action in report.actions:
        yield f"action {action.name}: {_work(action)}"


def _rows(vertex: VertexMetrics) -> str:
    last = vertex.operators[-1]
    most = "at most " if last.may_be_too_high else ""
    rows = "unknown rows" if vertex.rows is None else f"{most}{vertex.rows:,} rows"
    return rows if vertex.seconds is None else f"{rows}, {vertex.seconds} s"


def _work(action: ActionMetrics) -> str:
    parts = [
        f"{action.seconds} s",
        f"stages {', '.join(map(str, action.stage_ids)) or 'none'}",
        f"{action.tasks} tasks",
    ]
    counts = {
        "failed tasks": action.failed_tasks,
        "stages run again": action.repeated_stages,
        "bytes read": action.input_bytes,
        "bytes spilled": action.spilled_bytes,
        "bytes shuffled": action.shuffle_written_bytes,
    }
    parts += [f"{count:,} {what}" for what, count in counts.items() if count]
    slowest = action.slowest_task
    if slowest is not None and slowest.is_skewed:
        parts.append(f"slowest task {slowest.longest_seconds:.1f} s, median {slowest.median_seconds:.1f} s")
    return ", ".join(parts)
