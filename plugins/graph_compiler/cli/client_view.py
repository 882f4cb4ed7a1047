"""What the commands of the client show: tables and documents, made from values only."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, MutableMapping
from datetime import UTC, datetime

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from graph_compiler.cli.console import program_name
from graph_compiler.cli.running.run_view import contracts_of, outputs_of_run
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.run_client import RunResult, RunState, RunStatus, TaskStatus

_STYLE = {ExecutionState.FINISHED: "green", ExecutionState.FAILED: "red", ExecutionState.CANCELED: "yellow"}


def client_call(word: str, run: RunStatus, api_url: str | None) -> str:
    """Return a command about a run, ready for a shell."""
    where = () if api_url is None else ("--api-url", api_url)
    return f"{program_name()} {shlex.join([word, run.dag_id, run.run_id, *where])}"


def changes(run: RunStatus, shown: MutableMapping[str, str]) -> Iterator[str]:
    """Yield a line for each task whose state or try differs from what was shown, and note it there."""
    for task in run.tasks:
        words = str(task.state) if task.tries < 2 else f"{task.state} (try {task.tries})"
        if task.state is not ExecutionState.CREATED and shown.get(task.name) != words:
            shown[task.name] = words
            yield f"{task.name}: {words}"


def show_status(run: RunStatus, console: Console) -> None:
    """Print a run and a table of its tasks."""
    date = "" if run.logical_date is None else f" · logical date {run.logical_date}"
    console.print(Text(f"{run.dag_id} · {run.run_id}{date} · {run.state}"), soft_wrap=True)
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in ("task", "state", "try", "started", "duration"):
        table.add_column(column, justify="right" if column in ("try", "duration") else "left")
    for task in run.tasks:
        table.add_row(
            Text(task.name),
            Text(task.state, style=_STYLE.get(task.state, "")),
            str(task.tries or ""),
            "" if task.started is None else f"{datetime.fromtimestamp(task.started, UTC):%Y-%m-%d %H:%M:%S} UTC",
            "" if task.started is None or task.ended is None else f"{task.ended - task.started:.1f} s",
        )
    console.print(table)
    if run.page is not None:
        console.print(Text(run.page), soft_wrap=True)


def show_result(run: RunStatus, result: RunResult, console: Console) -> None:
    """Print the state of a run, why it failed, and what it has published."""
    console.print(Text(f"{run.dag_id} · {run.run_id} · {run.state}"), soft_wrap=True)
    if run.state is not RunState.FINISHED:
        for words in result.failures:
            console.print(Text(words), soft_wrap=True)
    owners = len({sink.owner for sink in result.sinks}) > 1
    rows = [(f"{sink.owner} · {sink.sink}" if owners else sink.sink, sink.rows, sink.path) for sink in result.sinks]
    console.print(outputs_of_run(rows))
    if (contracts := contracts_of(result.contracts)) is not None:
        console.print(contracts)


def status_document(run: RunStatus) -> dict[str, object]:
    """Return the JSON document of a run."""
    return {
        "dag": run.dag_id,
        "run_id": run.run_id,
        "state": run.state,
        "airflow_state": run.airflow_state,
        "logical_date": run.logical_date,
        "started": run.started,
        "ended": run.ended,
        "page": run.page,
        "tasks": [task_document(task) for task in run.tasks],
    }


def task_document(task: TaskStatus) -> dict[str, object]:
    """Return the JSON document of a task."""
    return {
        "task": task.task_id,
        "map_index": task.map_index,
        "state": task.state,
        "airflow_state": task.airflow_state,
        "tries": task.tries,
        "started": task.started,
        "ended": task.ended,
    }


def result_document(run: RunStatus, result: RunResult) -> dict[str, object]:
    """Return the JSON document of what a run has published."""
    return {
        "dag": run.dag_id,
        "run_id": run.run_id,
        "state": run.state,
        "failures": list(result.failures) if run.state is not RunState.FINISHED else [],
        "sinks": [
            {"pipeline": sink.owner, "sink": sink.sink, "rows": sink.rows, "bytes": sink.bytes, "path": sink.path}
            for sink in result.sinks
        ],
        "contracts": [count.to_json() for count in result.contracts],
    }
