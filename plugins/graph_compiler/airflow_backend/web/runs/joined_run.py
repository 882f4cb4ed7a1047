"""Join a run's tries with the documents of its attempts, as pure functions.

The documents have reasons and metrics; Airflow knows the outcome of a worker that died without a report.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from graph_compiler.airflow_backend.web.runs.attempts import (
    Documents,
    batch_view,
    contracts_view,
    output_view,
    step_view,
    vertex_view,
    work_view,
)
from graph_compiler.airflow_backend.web.runs.dag_runs import Links, RunWithTries, TryRow
from graph_compiler.deployment.documents.run_identity import NOT_MAPPED, RunIdentity
from graph_compiler.explain.documents.view_run import VERSION, ViewAttempt, ViewRegionRun, ViewRun
from graph_compiler.explain.text.actual_text import remarks
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import RegionId, TaskName
from graph_compiler.run_client.run_status import EXECUTION_STATES
from graph_compiler.staging.attempts.attempt import Attempt
from graph_compiler.staging.attempts.attempt_documents import KeptExecution

_WAITING = (None, "scheduled", "up_for_retry")
"""States in which a task's current row may not be a separate try."""


def joined_run(
    identity: RunIdentity,
    found: RunWithTries,
    plan_id: str | None,
    tasks: Mapping[TaskName, Sequence[RegionId]],
    documents: Documents,
    links: Links,
) -> ViewRun:
    """Return the current state of the run; `tasks` are the plan's, with their regions."""
    run = found.run
    tries = defaultdict[TaskName, list[TryRow]](list)
    for row in found.tries:
        name = identity.task_name(row.task_id)
        if name is not None and row.map_index in (identity.map_index, NOT_MAPPED):
            tries[name].append(row)
    task_of = {
        id: task
        for task, ids in tasks.items()
        if task in tries or any(id in documents.attempts for id in ids)
        for id in ids
    }
    alone = (RegionId(name) for name in tries if name not in tasks)
    names = dict.fromkeys([*task_of, *alone, *documents.attempts])

    def task_run(name: TaskName) -> _TaskRun:
        return _TaskRun(
            tries=tries[name],
            is_shared=len(tasks.get(name, ())) > 1,
            log_url=partial(links.log, identity, name),
            links=links,
        )

    return ViewRun(
        version=VERSION,
        pipeline=identity.dag_id,
        group=identity.group_path,
        run_id=run.run_id,
        state=run.state,
        run_type=run.run_type,
        logical_date=run.logical_date,
        queued=run.queued,
        started=run.started,
        ended=run.ended,
        dag_version=run.dag_version,
        map_index=None if identity.map_index == NOT_MAPPED else identity.map_index,
        map_indexes=found.map_indexes(identity, tasks),
        plan_id=plan_id,
        has_documents=documents.are_there,
        tasks=documents.tasks,
        tasks_read=documents.tasks_read,
        reasons_are_shown=True,
        regions=tuple(
            _region(
                name,
                task_run(task_of.get(name, TaskName(name))),
                documents.attempts.get(name, ()),
                documents.kept.get(name, {}),
            )
            for name in names
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _TaskRun:
    """A task of a run: its tries, and whether several regions share them."""

    tries: Sequence[TryRow]
    is_shared: bool
    log_url: Callable[[int], str]
    links: Links


def without_reasons(run: ViewRun) -> ViewRun:
    """Return the run without failure reasons, which quote the tasks' logs, for users who may not read those."""
    regions = (
        replace(region, attempts=tuple(replace(one, reason=None, recomputed=()) for one in region.attempts))
        for region in run.regions
    )
    return replace(run, reasons_are_shown=False, regions=tuple(regions))


def _region(
    name: RegionId, task: _TaskRun, attempts: Sequence[Attempt], kept: Mapping[str, KeptExecution]
) -> ViewRegionRun:
    """Return a region's run; tries of its task that have `kept` an earlier attempt are none of its own."""
    current = next((row for row in task.tries if row.is_current), None)
    if current is not None and current.execution_id in kept:
        of_it = kept[current.execution_id].execution_id
        current = next((row for row in task.tries if row.execution_id == of_it), current)
    tries = [row for row in task.tries if row.execution_id not in kept]
    left = {attempt.execution_id: attempt for attempt in attempts}
    pairs: list[tuple[TryRow | None, Attempt | None]] = [
        (row, left.get(row.execution_id)) for row in tries if _is_begun(row, tries, left)
    ]
    known = {row.execution_id for row in tries}
    pairs += [(None, attempt) for id, attempt in left.items() if id not in known]
    found = sorted(
        (_attempt(row, attempt, task) for row, attempt in pairs), key=lambda one: (one.try_number, one.started or 0.0)
    )
    return ViewRegionRun(
        id=name,
        state=_region_state(current, found, is_shared=task.is_shared),
        airflow_state=current.state if current else None,
        attempts=tuple(found),
    )


def _is_begun(row: TryRow, tries: Sequence[TryRow], left: Container[str]) -> bool:
    """Whether a row is a try that has begun: while a task waits, its row repeats the number of the previous try."""
    if not row.is_current or row.execution_id in left:
        return True
    is_repeated = any(other.try_number == row.try_number for other in tries if other is not row)
    return row.try_number > 0 and not is_repeated and row.state not in _WAITING


def _region_state(current: TryRow | None, attempts: Sequence[ViewAttempt], *, is_shared: bool) -> ExecutionState:
    """Return the state of the task's current execution; of its last attempt if Airflow has no such task.

    Airflow decides whether a task has succeeded, even if a person has marked it: later tasks depend on that. A region
    may have finished though its task has failed, if others share the task.
    """
    if current is None:
        return attempts[-1].state if attempts else ExecutionState.CREATED
    of_airflow = _airflow_state(current)
    own = next((one for one in attempts if one.execution_id == current.execution_id), None)
    if own is None:
        return of_airflow
    if is_shared and own.state is ExecutionState.FINISHED:
        return own.state
    is_over = of_airflow.is_terminal
    differs = (of_airflow is ExecutionState.FINISHED) != (own.state is ExecutionState.FINISHED)
    return of_airflow if is_over and differs else own.state


def _airflow_state(row: TryRow) -> ExecutionState:
    return EXECUTION_STATES[row.state]


def _state(row: TryRow | None, attempt: Attempt | None) -> ExecutionState:
    """Return the state of the source that reports an end; if neither does, the documents', which are more direct."""
    if row is None:
        return attempt.state if attempt else ExecutionState.CREATED
    of_airflow = _airflow_state(row)
    is_ending = of_airflow.is_terminal or of_airflow is ExecutionState.CANCELING
    if attempt is None or (is_ending and not attempt.state.is_terminal):
        return of_airflow
    return attempt.state


def _attempt(row: TryRow | None, attempt: Attempt | None, task: _TaskRun) -> ViewAttempt:
    report = attempt.report if attempt else None
    progress = attempt.progress if attempt and not report else None
    known = report or progress
    failure = attempt.failure if attempt else None
    number = attempt.attempt_number if attempt else None
    try_number = row.try_number if row else 1 if number is None else number + 1
    begun = [row.started if row else None, attempt.started if attempt else None]
    started = next(filter(None, reversed(begun) if task.is_shared else begun), None)
    ended = (attempt.ended if attempt else None) or (row.ended if row else None)
    application_id = attempt.application_id if attempt else None
    state = _state(row, attempt)
    live = progress.ui_url if progress and not state.is_terminal else None
    return ViewAttempt(
        number=number,
        try_number=try_number,
        execution_id=attempt.execution_id if attempt else row.execution_id if row else "",
        state=state,
        queued=row.queued if row else None,
        started=started,
        ended=ended,
        host=(attempt.host if attempt else None) or (row.host if row else None),
        reason=attempt.reason if attempt else None,
        throwable_type=failure.throwable_type if failure else None,
        failed_operator=failure.operator if failure else None,
        current=step_view(progress.current) if progress and progress.current else None,
        recomputed=tuple(one.words() for one in report.recomputed) if report else (),
        vertices=tuple(vertex_view(one) for one in known.vertices) if known else (),
        outputs=tuple(output_view(one) for one in report.outputs) if report else (),
        contracts=contracts_view(report) if report else (),
        work=work_view(known.actions) if known else None,
        application_id=application_id,
        spark_url=task.links.spark(application_id, live),
        log_url=task.log_url(try_number),
        actual=report.actual if report else None,
        remarks=tuple(remarks(report)) if report else (),
        batches=tuple(map(batch_view, attempt.batches)) if attempt else (),
    )
