"""Join a run's tries with the documents of its attempts, as pure functions.

The documents have reasons and metrics; Airflow knows the outcome of a worker that died without a report.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from functools import partial
from pathlib import PurePath

from graph_compiler.airflow_backend.web.runs.attempts import Documents
from graph_compiler.airflow_backend.web.runs.dag_runs import RunWithTries, TryRow
from graph_compiler.airflow_backend.web.runs.execution_states import EXECUTION_STATES
from graph_compiler.airflow_backend.web.runs.links import Links
from graph_compiler.deployment.documents.progress import CurrentStep
from graph_compiler.deployment.documents.report import (
    ActionMetrics,
    ExecutionReport,
    Output,
    VertexMetrics,
)
from graph_compiler.deployment.documents.run_identity import NOT_MAPPED, RunIdentity
from graph_compiler.explain.documents.view_run import (
    VERSION,
    ViewAttempt,
    ViewContractRun,
    ViewOperatorRun,
    ViewOutputRun,
    ViewRegionRun,
    ViewRun,
    ViewSlowestTask,
    ViewStep,
    ViewVertexRun,
    ViewWork,
)
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import IntermediateDataSetId, RegionId
from graph_compiler.staging.executions.executions import RegionExecution

_WAITING = (None, "scheduled", "up_for_retry")
"""States in which a task's current row may not be a separate try."""
_STATES = {None if key is None else key.value: state for key, state in EXECUTION_STATES.items()}
"""The states, by their names in Airflow's database."""


def joined_run(
    identity: RunIdentity,
    found: RunWithTries,
    plan_id: str | None,
    documents: Documents,
    links: Links,
) -> ViewRun:
    """Return the current state of the run."""
    run = found.run
    tries = defaultdict[RegionId, list[TryRow]](list)
    for row in found.tries:
        region_id = identity.region_of(row.task_id)
        if region_id is not None and row.map_index in (identity.map_index, NOT_MAPPED):
            tries[region_id].append(row)
    names = dict.fromkeys([*tries, *documents.attempts])
    return ViewRun(
        version=VERSION,
        pipeline=identity.dag_id,
        run_id=run.run_id,
        state=run.state,
        run_type=run.run_type,
        logical_date=run.logical_date,
        started=run.started,
        ended=run.ended,
        dag_version=run.dag_version,
        plan_id=plan_id,
        has_documents=documents.are_there,
        tasks=documents.tasks,
        tasks_read=documents.tasks_read,
        reasons_are_shown=True,
        regions=tuple(
            _region(
                name,
                tries[name],
                documents.attempts.get(name, ()),
                partial(links.log, identity, name),
                links,
            )
            for name in names
        ),
    )


def without_reasons(run: ViewRun) -> ViewRun:
    """Return the run without failure reasons, which quote the tasks' logs, for users who may not read those."""
    regions = (
        replace(
            region,
            attempts=tuple(replace(one, reason=None, recomputed=()) for one in region.attempts),
        )
        for region in run.regions
    )
    return replace(run, reasons_are_shown=False, regions=tuple(regions))


def _region(
    name: RegionId,
    tries: Sequence[TryRow],
    attempts: Sequence[RegionExecution],
    log_url: Callable[[int], str],
    links: Links,
) -> ViewRegionRun:
    current = next((row for row in tries if row.is_current), None)
    left = {attempt.execution_id: attempt for attempt in attempts}
    pairs: list[tuple[TryRow | None, RegionExecution | None]] = [
        (row, left.get(row.execution_id)) for row in tries if _is_begun(row, tries, left)
    ]
    known = {row.execution_id for row in tries}
    pairs += [(None, attempt) for id, attempt in left.items() if id not in known]
    found = sorted(
        (_attempt(row, attempt, log_url, links) for row, attempt in pairs),
        key=lambda one: (one.number, one.started or 0.0),
    )
    return ViewRegionRun(
        id=name,
        state=_region_state(current, found),
        airflow_state=current.state if current else None,
        attempts=tuple(found),
    )


def _is_begun(row: TryRow, tries: Sequence[TryRow], left: Container[str]) -> bool:
    """Whether a row is a try that has begun: while a task waits, its row repeats the number of the previous try."""
    if not row.is_current or row.execution_id in left:
        return True
    is_repeated = any(other.try_number == row.try_number for other in tries if other is not row)
    return row.try_number > 0 and not is_repeated and row.state not in _WAITING


def _region_state(current: TryRow | None, attempts: Sequence[ViewAttempt]) -> ExecutionState:
    """Return the state of the task's current execution; of its last attempt if Airflow has no such task.

    Airflow decides whether a task has succeeded, even if a person has marked it: later tasks depend on that.
    """
    if current is None:
        return attempts[-1].state if attempts else ExecutionState.CREATED
    of_airflow = _airflow_state(current)
    own = next((one for one in attempts if one.execution_id == current.execution_id), None)
    if own is None:
        return of_airflow
    is_over = of_airflow.is_terminal
    differs = (of_airflow is ExecutionState.FINISHED) != (own.state is ExecutionState.FINISHED)
    return of_airflow if is_over and differs else own.state


def _airflow_state(row: TryRow) -> ExecutionState:
    return _STATES[row.state]


def _state(row: TryRow | None, attempt: RegionExecution | None) -> ExecutionState:
    """Return the state of the source that reports an end; if neither does, the documents', which are more direct."""
    if row is None:
        return attempt.state if attempt else ExecutionState.CREATED
    of_airflow = _airflow_state(row)
    is_ending = of_airflow.is_terminal or of_airflow is ExecutionState.CANCELING
    if attempt is None or (is_ending and not attempt.state.is_terminal):
        return of_airflow
    return attempt.state


def _attempt(
    row: TryRow | None,
    attempt: RegionExecution | None,
    log_url: Callable[[int], str],
    links: Links,
) -> ViewAttempt:
    report = attempt.report if attempt else None
    progress = attempt.progress if attempt and not report else None
    known = report or progress
    failure = report.failure if report else None
    number = attempt.attempt_number if attempt else row.try_number - 1 if row else 0
    try_number = row.try_number if row else number + 1
    started = (row.started if row else None) or (attempt.started if attempt else None)
    ended = (attempt.ended if attempt else None) or (row.ended if row else None)
    application_id = known.application_id if known else None
    state = _state(row, attempt)
    live = progress.ui_url if progress and not state.is_terminal else None
    return ViewAttempt(
        number=number,
        try_number=try_number,
        execution_id=attempt.execution_id if attempt else row.execution_id if row else "",
        state=state,
        started=started,
        ended=ended,
        host=(attempt.host if attempt else None) or (row.host if row else None),
        reason=attempt.reason if attempt else None,
        throwable_type=failure.throwable_type if failure else None,
        failed_operator=failure.operator if failure else None,
        current=_step(progress.current) if progress and progress.current else None,
        recomputed=tuple(one.words() for one in report.recomputed) if report else (),
        vertices=tuple(_vertex(one) for one in known.vertices) if known else (),
        outputs=tuple(_output(one) for one in report.outputs) if report else (),
        contracts=_contracts(report) if report else (),
        work=_work(known.actions) if known else None,
        application_id=application_id,
        spark_url=links.spark(application_id, live),
        log_url=log_url(try_number),
    )


def _vertex(vertex: VertexMetrics) -> ViewVertexRun:
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


def _output(output: Output) -> ViewOutputRun:
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


def _contracts(report: ExecutionReport) -> tuple[ViewContractRun, ...]:
    return tuple(
        ViewContractRun(
            name=one.contract,
            violations=one.violations,
            rows=one.rows,
            on_violation=one.on_violation,
        )
        for one in report.contracts
    )


def _work(actions: Sequence[ActionMetrics]) -> ViewWork:
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


def _step(step: CurrentStep) -> ViewStep:
    return ViewStep(operator=step.operator, phase=step.phase, since=step.since)
