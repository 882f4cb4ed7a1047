"""`graph-compiler history`: every attempt at every task of a run."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import typer
from rich.console import Console
from rich.text import Text

from graph_compiler.cli.arguments.runs import DagName, RunId, layout_of, run_words
from graph_compiler.cli.console import AsJson, speaking_plainly, standard_output
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.deployment.documents.stream import batch_words
from graph_compiler.deployment.documents.wire import to_wire
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import RegionId, TaskName, counted, listing
from graph_compiler.staging.attempts.attempt import Attempt
from graph_compiler.staging.attempts.attempt_documents import KeptExecution
from graph_compiler.staging.attempts.attempts import (
    executions,
    find_run,
    history_size,
    kept_executions,
    logical_date_of,
    regions_of,
    task_names,
)
from graph_compiler.staging.store.stores import store_of

_STYLE = {ExecutionState.FINISHED: "green", ExecutionState.FAILED: "red", ExecutionState.CANCELED: "yellow"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionHistory:
    """The attempts at a region, and those that later tries of its task have kept instead of repeating them."""

    task_name: TaskName
    attempts: tuple[Attempt, ...]
    kept: tuple[KeptExecution, ...]


History = dict[RegionId, RegionHistory]


def history(dag: DagName, run_id: RunId, as_json: AsJson = False) -> None:
    """Show every attempt at every task of a run: state, time, worker, and why it did not finish."""
    with speaking_plainly():
        layout = layout_of(dag, run_id)
        found = run_history(layout)
        if as_json:
            typer.echo(history_json(found))
        else:
            show_history(layout, found, standard_output())


def run_history(layout: StagingLayout) -> History:
    """Return the attempts at each region of a run, in order, at most as many as its pipeline's settings show.

    Raises ExecutionNotFoundError.
    """
    store = store_of(layout.root)
    find_run(store, layout)
    return {
        region_id: RegionHistory(
            task_name=task_names(store, layout, [region_id])[0],
            attempts=executions(store, layout, region_id, size=history_size(store, layout, region_id)),
            kept=tuple(kept_executions(store, layout, region_id).values()),
        )
        for region_id in regions_of(store, layout)
    }


def show_history(layout: StagingLayout, found: History, console: Console) -> None:
    """Print a line for each attempt; if it did not finish, the reason follows below."""
    date = logical_date_of(attempt for one in found.values() for attempt in one.attempts)
    run = run_words(layout.identity.run_id, date)
    console.print(Text(f"{layout.identity.owner} · {run}"), soft_wrap=True)
    for region_id, one in found.items():
        title = f"{region_id} · {counted(len(one.attempts), 'attempt')}"
        console.print(Text(title, style="bold"))
        for attempt in one.attempts:
            console.print(_line(attempt), soft_wrap=True)
            for line in (*_details(attempt), *_kept_words(attempt, one.kept)):
                console.print(Text(f"      {line}"), soft_wrap=True)
    for task_name, regions in _by_task(found).items():
        if len(regions) > 1:
            console.print(Text(f"tries of task '{task_name}'", style="bold"))
            for number, words in _tries(regions):
                console.print(Text(f"  {number}  {', '.join(words)}"), soft_wrap=True)


def history_json(found: History) -> str:
    """Return the same as JSON, attempts counted from one; the details of the driver's work are in its report.json."""
    return json.dumps(
        {
            region_id: [
                {
                    "execution_id": attempt.execution_id,
                    "state": attempt.state,
                    "host": attempt.host,
                    "started": attempt.started,
                    "ended": attempt.ended,
                    "reason": attempt.reason,
                    "logical_date": attempt.logical_date,
                    "try_number": attempt.try_number,
                    "attempt": attempt.attempt_number + 1,
                    "kept_in_tries": list(_kept_in(attempt, one.kept)),
                    "recomputed": to_wire(attempt.report.recomputed if attempt.report else ()),
                    "increments": to_wire(attempt.report.increments if attempt.report else ()),
                    "batches": to_wire(attempt.batches),
                    "outputs": [{"name": each.name, "kind": each.kind} | each.to_json() for each in attempt.outputs],
                    "current": to_wire(attempt.progress.current if attempt.progress else None),
                }
                for attempt in one.attempts
            ]
            for region_id, one in found.items()
        },
        indent=1,
    )


def _by_task(found: History) -> dict[TaskName, History]:
    tasks: dict[TaskName, History] = {}
    for region_id, one in found.items():
        tasks.setdefault(one.task_name, {})[region_id] = one
    return tasks


def _tries(regions: History) -> Iterator[tuple[int, list[str]]]:
    """Yield each Airflow try of a task, and for each region its attempt, or the one that was kept."""
    tries: dict[int, list[str]] = {}
    for region_id, one in regions.items():
        own = {each.try_number: f"attempt {each.attempt_number + 1}" for each in one.attempts}
        kept = {each.try_number: f"kept from attempt {each.attempt_number + 1}" for each in one.kept}
        for number, words in (own | kept).items():
            if number is not None:
                tries.setdefault(number, []).append(f"{region_id} {words}")
    yield from sorted(tries.items())


def _details(attempt: Attempt) -> Iterator[str]:
    yield from (attempt.reason or "").splitlines()
    if attempt.report is not None:
        yield from (found.words() for found in attempt.report.recomputed)
        yield from (found.words() for found in attempt.report.increments)
    yield from batch_words(attempt.batches)
    yield from (f"{each.name}: {counted(each.rows, 'row')}, {each.place}" for each in attempt.outputs if each.commit)
    if attempt.progress is not None and (step := attempt.progress.current):
        seen = "last seen in" if attempt.state.is_terminal else "now in"
        yield f"{seen} '{step.operator}', {step.phase}, since {_moment(step.since)}"


def _kept_in(attempt: Attempt, kept: Iterable[KeptExecution]) -> tuple[int, ...]:
    """Return the Airflow tries that have kept an attempt's work instead of repeating it."""
    of_it = (one.try_number for one in kept if one.execution_id == attempt.execution_id)
    return tuple(number for number in of_it if number is not None)


def _kept_words(attempt: Attempt, kept: Iterable[KeptExecution]) -> Iterator[str]:
    if tries := _kept_in(attempt, kept):
        yield f"kept in {'try' if len(tries) == 1 else 'tries'} {listing(map(str, tries))}"


def _line(attempt: Attempt) -> Text:
    seconds = max(0.0, (attempt.ended or time.time()) - attempt.started)
    state = Text(f"{attempt.state:<9}", style=_STYLE.get(attempt.state, ""))
    words = f"  {_moment(attempt.started)}  {seconds:7.1f} s  {attempt.host or ''}"
    return Text(f"  #{attempt.attempt_number + 1:<3} ") + state + Text(words.rstrip())


def _moment(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
