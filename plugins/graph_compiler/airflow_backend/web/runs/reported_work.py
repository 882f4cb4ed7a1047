"""What a driver has reported of an attempt, as the view shows it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from graph_compiler.deployment.documents.progress import CurrentStep
from graph_compiler.deployment.documents.report import (
    ActionMetrics,
    ExecutionReport,
    Output,
    VertexMetrics,
)
from graph_compiler.explain.documents.view_run import (
    ViewContractRun,
    ViewOperatorRun,
    ViewOutputRun,
    ViewSlowestTask,
    ViewStep,
    ViewVertexRun,
    ViewWork,
)
from graph_compiler.identifiers import IntermediateDataSetId


def vertex_view(vertex: VertexMetrics) -> ViewVertexRun:
    """Return a vertex, with its operators."""
    return ViewVertexRun(
        id=vertex.vertex_id,
        rows=vertex.rows,
        seconds=vertex.seconds,
        operators=tuple(
            ViewOperatorRun(
                name=one.name,
                rows_in=one.rows_in,
                rows_out=one.rows_out,
                side_rows=one.side_rows,
                may_be_too_high=one.may_be_too_high,
            )
            for one in vertex.operators
        ),
    )


def output_view(output: Output) -> ViewOutputRun:
    """Return an output; a staged one with its result."""
    # Staged data is in <result id>/epoch-<n>-<execution id> (staging_layout.py).
    is_staged = output.kind == "staged"
    folder = PurePath(output.location).parent.name
    return ViewOutputRun(
        kind=output.kind,
        name=output.name,
        location=output.location,
        rows=output.rows,
        bytes=output.bytes,
        result=IntermediateDataSetId(folder) if is_staged else None,
    )


def contracts_view(report: ExecutionReport) -> tuple[ViewContractRun, ...]:
    """Return the counts of contracts."""
    return tuple(
        ViewContractRun(
            name=one.contract,
            violations=one.violations,
            rows=one.rows,
            on_violation=one.on_violation,
        )
        for one in report.contracts
    )


def work_view(actions: Sequence[ActionMetrics]) -> ViewWork:
    """Return the sums over Spark actions."""
    return ViewWork(
        tasks=sum(one.tasks for one in actions),
        failed_tasks=sum(one.failed_tasks for one in actions),
        repeated_stages=sum(one.repeated_stages for one in actions),
        input_bytes=sum(one.input_bytes for one in actions),
        spilled_bytes=sum(one.spilled_bytes for one in actions),
        shuffled_bytes=sum(one.shuffle_written_bytes for one in actions),
        slowest_task=_slowest_task(actions),
    )


def _slowest_task(actions: Sequence[ActionMetrics]) -> ViewSlowestTask | None:
    found = ((one.operator, one.slowest_task) for one in actions if one.slowest_task)
    operator, slowest = max(found, key=lambda each: each[1].excess, default=(None, None))
    if operator is None or slowest is None:
        return None
    return ViewSlowestTask(
        operator=operator,
        stage_id=slowest.stage_id,
        tasks=slowest.tasks,
        median_seconds=slowest.median_seconds,
        longest_seconds=slowest.longest_seconds,
        is_skewed=slowest.is_skewed,
    )


def step_view(step: CurrentStep) -> ViewStep:
    """Return what a driver is doing."""
    return ViewStep(operator=step.operator, phase=step.phase, since=step.since)
