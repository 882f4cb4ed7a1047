"""What `run` shows: tables and sentences, made from values only."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Sequence
from itertools import accumulate, islice, takewhile
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Group, JustifyMethod
from rich.table import Table
from rich.text import Text

from graph_compiler.cli.running.finished_run import Executions, TaskWords, outputs_of
from graph_compiler.cli.running.first_rows import FirstRows
from graph_compiler.deployment.documents.in_process_run import Step
from graph_compiler.deployment.documents.manifest import ContractCount
from graph_compiler.deployment.documents.progress import CurrentStep
from graph_compiler.deployment.documents.report import Output, Phase
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import RegionId, listing
from graph_compiler.staging.attempts.attempt import Attempt

_PHASES = {
    Phase.SHARE: "fixing rows that several read",
    Phase.STAGE: "staging rows",
    Phase.PREPARE: "writing rows",
    Phase.PREVIEW: "looking at rows",
}
_MOST_LINES = 12
_LARGE = 1e6
_WIDEST = 40
"""Terminal columns of a value that is never folded."""
_BETWEEN, _AROUND = 3, 2
"""Terminal columns between two columns of a table, and at its left and right edge."""


def task_table(
    pipeline: str,
    tasks: Sequence[TaskWords],
    found: Executions,
    elapsed: float,
    *,
    starting: str = "",
    step: str | None = None,
) -> Group:
    """Show each task with its vertices, attempt, duration and rows; `elapsed` seconds of the whole run in the title.

    `starting` names what starts while no task has begun; `step` is the current step.
    """
    state = "" if any(found.values()) or not starting else f" · starting {starting}"
    table = _table()
    for column in ("", "task", "vertices", "attempt", "duration", "rows out"):
        table.add_column(column, justify="right" if column in ("attempt", "duration", "rows out") else "left")
    for task in tasks:
        attempts = found[task.id]
        last = attempts[-1] if attempts else None
        table.add_row(
            _symbol(last),
            task.id,
            Text("\n".join(task.vertices)),
            str(last.attempt_number + 1) if last else "",
            f"{max(0.0, (last.ended or time.time()) - last.started):.1f} s" if last else "",
            "\n".join(f"{output.name} {output.rows:,}" for output in outputs_of(attempts)),
        )
    title = f"{pipeline} · {elapsed:.0f} s{state}"
    return _titled(title, table, Text(step, style="italic dim") if step else None)


def progress_line(region_id: RegionId, attempts: tuple[Attempt, ...]) -> str | None:
    """Return in one line what a task is doing; None before it starts."""
    if not attempts:
        return None
    last = attempts[-1]
    attempt = f" (attempt {last.attempt_number + 1})" if last.attempt_number else ""
    if last.report is None or last.ended is None:
        return f"{region_id}{attempt}: running"
    if last.report.failure is not None:
        return f"{region_id}{attempt}: failed"
    rows = ", ".join(f"{output.name} {output.rows:,} rows" for output in last.report.outputs)
    # Without the seconds, which change once more when the task's own process has ended.
    words = f"{region_id}{attempt}: finished"
    return f"{words}, {rows}" if rows else words


def step_words(region_id: RegionId, step: Step | CurrentStep) -> str:
    """Return what Spark is running: `late_routes · lateness: writing rows`."""
    return f"{region_id} · {step.operator}: {_PHASES.get(step.phase, step.phase.value)}"


def airflow_step(found: Executions) -> str | None:
    """Return what a run under Airflow does or waits for, from what its tasks have left; None if that is not known."""
    if not any(found.values()):
        return None  # Airflow is starting, which is shown
    for region_id, attempts in found.items():
        last = attempts[-1] if attempts else None
        if last is None or last.ended is not None or last.report is not None:
            continue
        if last.progress is None:
            return f"{region_id}: waiting for Spark to start"
        current = last.progress.current
        is_action = current is not None and current.phase is not Phase.EVALUATE
        return step_words(region_id, current) if current and is_action else None
    if all(attempts and attempts[-1].ended is not None for attempts in found.values()):
        return "waiting for Airflow to end the run"
    return "waiting for Airflow to start the next task"


def outputs_table(sinks: Sequence[Output]) -> Group:
    """Show the location of each sink's rows."""
    return outputs_of_run([(sink.name, sink.rows, sink.place) for sink in sinks])


def outputs_of_run(sinks: Sequence[tuple[str, int, str]]) -> Group:
    """Show the name, the number of rows and the location of each sink."""
    if not sinks:
        return Group(Text("nothing was published"), Text())
    table = _table()
    table.add_column("sink")
    table.add_column("rows", justify="right")
    table.add_column("path", overflow="fold")
    for name, rows, location in sinks:
        table.add_row(Text(name), f"{rows:,}", Text(location))
    return _titled("outputs", table)


def contracts_table(found: Executions) -> Group | None:
    """Show the counts of the data contracts; None if there are none."""
    counts = [
        count
        for attempts in found.values()
        if attempts and (report := attempts[-1].report) is not None
        for count in report.contracts
    ]
    return contracts_of(counts)


def contracts_of(counts: Sequence[ContractCount]) -> Group | None:
    """Show counts of data contracts; None if there are none."""
    if not counts:
        return None
    table = _table()
    table.add_column("contract")
    table.add_column("violated by", justify="right")
    table.add_column("of rows", justify="right")
    table.add_column("then")
    has_limits = any(count.allowed for count in counts)
    if has_limits:
        table.add_column("found", overflow="fold")
        table.add_column("allowed", overflow="fold")
    for count in counts:
        is_total = count.total is not None
        violations = ("yes" if count.is_violated else "no") if is_total else f"{count.violations:,}"
        row = (Text(count.contract), violations, f"{count.rows:,}", count.on_violation)
        table.add_row(*row, *((Text(count.total or ""), Text(count.allowed or "")) if has_limits else ()))
    return _titled("data contracts", table)


def preview_table(preview: FirstRows, width: int) -> Group:
    """Show rows in `width` terminal columns; for the rows of an operator, with the columns' types.

    Columns that do not fit are left out, and named below.
    """
    total = "" if preview.total is None else f" of {preview.total:,}"
    order = f", {preview.order}" if preview.order else ""
    headers = [_header(name, kind, preview) for name, kind in preview.columns]
    rows = [[_cell(value, is_glance=preview.is_glance) for value in row] for row in preview.rows]
    widths = _fitting([_width(column) for column in zip(headers, *rows, strict=True)], width)
    shown = len(widths)
    table = _table()
    for position, most in enumerate(widths):
        is_number = any(isinstance(row[position], int | float) for row in preview.rows)
        justify: JustifyMethod = "right" if is_number else "left"
        table.add_column(headers[position], justify=justify, overflow="fold", max_width=most)
    for row in rows:
        table.add_row(*row[:shown])
    left_out = [name for name, _ in preview.columns[shown:]]
    words = f"not shown for lack of space: {listing(left_out)}" if left_out else ""
    title = f"{preview.name}: {len(preview.rows)}{total} rows{order}"
    return _titled(title, table, Text(words, style="dim") if words else None)


def failure_words(pipeline: str, found: Executions, log: Path, *, starting: str) -> str:
    """Return what failed: the operator and its cause first, then where to read on."""
    ended = [(id, attempts) for id, attempts in found.items() if attempts and not attempts[-1].is_finished]
    if ended:  # what was left out or stopped is a consequence
        region_id, attempts = min(ended, key=lambda one: one[1][-1].state is not ExecutionState.FAILED)
        died = f"pipeline '{pipeline}', region '{region_id}': Spark's driver died without a report"
        cause = attempts[-1].words(pipeline, region_id) or died
        return f"{cause}\n  region '{region_id}' failed after {_tries(attempts)}\n  log: {log}"
    before = "before Spark was started" if starting != "Spark" else "to start"
    return f"pipeline '{pipeline}': {starting} failed {before}\n{_last_error(log)}  log: {log}"


def skipped_words(pipeline: str, found: Executions, day: str, log: Path) -> str:
    """Return that Airflow succeeded without running some tasks, and which."""
    left = [region_id for region_id, attempts in found.items() if not attempts]
    return (
        f"pipeline '{pipeline}': Airflow has not run {listing(left)}\n"
        f"  hint: a Dag runs no task before its start_date; the run's date is {day}\n  log: {log}"
    )


def _last_error(log: Path) -> str:
    """Return the last line of a log that names an error, with the indented lines that follow it."""
    lines = log.read_text(errors="replace").splitlines()
    named = [i for i, line in enumerate(lines) if re.match(r"\s*[\w.]*(Error|Exception)\b", line)]
    if not named:
        return ""
    first, *others = lines[named[-1] :]
    going_on = takewhile(lambda line: line.startswith("  "), others)
    found = [first.strip(), *islice(going_on, _MOST_LINES)]
    return "".join(f"  {line[:300]}\n" for line in found)


def _tries(attempts: tuple[Attempt, ...]) -> str:
    return "1 attempt" if len(attempts) == 1 else f"{len(attempts)} attempts"


def _symbol(execution: Attempt | None) -> Text:
    if execution is None:
        return Text("·", style="dim")
    if execution.report is None:
        return Text("▶", style="yellow")
    return Text("✗", style="red") if execution.report.failure else Text("✓", style="green")


def _table() -> Table:
    return Table(box=SIMPLE_HEAD, pad_edge=False)


def _titled(title: str, table: Table, below: Text | None = None) -> Group:
    """Put a title above a table: a table's own title would be wrapped where the table is narrow."""
    return Group(Text(title, style="bold"), table, *([below] if below else []))


def _header(name: str, kind: str, preview: FirstRows) -> Text:
    return Text(name) if preview.is_glance else Text(f"{name}\n").append(kind, style="dim")


def _width(cells: Iterable[Text]) -> tuple[int, int]:
    """Return the terminal columns that a column of the table needs if its long values are folded, and if not."""
    header, *values = (max((cell_len(line) for line in cell.plain.splitlines()), default=0) for cell in cells)
    needed = max(header, *(min(value, _WIDEST) for value in values), 0)
    return needed, max(header, *values, 0)


def _fitting(widths: Sequence[tuple[int, int]], room: int) -> list[int]:
    """Return the widths of the columns that fit, at least one; folded columns share the remaining room."""
    ends = accumulate(needed + _BETWEEN for needed, _ in widths)
    totals = [end - _BETWEEN + _AROUND for end in ends]
    shown = max(1, sum(total <= room for total in totals))
    found, left = [], room - totals[shown - 1] if totals else 0
    for needed, full in widths[:shown]:
        more = min(full - needed, left)
        found.append(max(needed + more, 1))
        left -= more
    return found


def _cell(value: object, *, is_glance: bool) -> Text:
    if value is None:
        return Text("" if is_glance else "NULL", style="dim")
    if not is_glance:
        return Text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    if isinstance(value, float):
        return Text(f"{value:,.1f}" if abs(value) >= _LARGE else f"{value:,.6g}")
    return Text(f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value))
