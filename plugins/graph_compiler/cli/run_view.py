"""What `run` shows: tables and sentences, made from values alone."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from itertools import islice, takewhile
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import JustifyMethod
from rich.table import Table
from rich.text import Text

from graph_compiler.declaration.connectors import Parquet
from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.executions import RegionExecution
from graph_compiler.deployment.report import Output
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.identifiers import RegionId, listing

PREVIEW_ROWS = 5
PREVIEW_BYTES = 50_000_000
_MOST_LINES = 12
Executions = Mapping[RegionId, tuple[RegionExecution, ...]]


def task_table(compiled: CompiledPipeline, found: Executions, *, elapsed: float) -> Table:
    """Show each task with its vertices, attempt, duration and rows; `elapsed` seconds of the whole run in the title."""
    state = "" if any(found.values()) else " · starting Airflow"
    table = _table(f"{compiled.pipeline.name} · {elapsed:.0f} s{state}")
    for column in ("", "task", "vertices", "attempt", "duration", "rows out"):
        table.add_column(
            column, justify="right" if column in ("attempt", "duration", "rows out") else "left"
        )
    for region in compiled.deployment.regions:
        vertices = "\n".join(compiled.job_graph.vertex[id].name for id in region.vertex_ids)
        attempts = found[region.id]
        last = attempts[-1] if attempts else None
        table.add_row(
            _symbol(last),
            region.id,
            Text(vertices),
            str(last.attempt_number + 1) if last else "",
            f"{(last.ended or time.time()) - last.started:.1f} s" if last else "",
            "\n".join(f"{output.name} {output.rows:,}" for output in _outputs(last)),
        )
    return table


def progress_line(region_id: RegionId, attempts: tuple[RegionExecution, ...]) -> str | None:
    """Say in one line what a task is doing; None before it starts."""
    if not attempts:
        return None
    last = attempts[-1]
    attempt = f" (attempt {last.attempt_number + 1})" if last.attempt_number else ""
    if last.report is None or last.ended is None:
        return f"{region_id}{attempt}: running"
    if last.report.failure is not None:
        return f"{region_id}{attempt}: failed"
    rows = ", ".join(f"{output.name} {output.rows:,} rows" for output in last.report.outputs)
    return f"{region_id}{attempt}: finished in {last.ended - last.started:.1f} s, {rows}"


def outputs_table(found: Executions) -> Table:
    """Show where each sink's rows are."""
    table = _table("outputs")
    table.add_column("sink")
    table.add_column("rows", justify="right")
    table.add_column("path", overflow="fold")
    for attempts in found.values():
        for output in _outputs(attempts[-1]):
            if output.kind == "sink":
                table.add_row(output.name, f"{output.rows:,}", output.location)
    return table


def contracts_table(found: Executions) -> Table | None:
    """Show what the data contracts counted; None where there are none."""
    counts = [
        count
        for attempts in found.values()
        if attempts[-1].report is not None
        for count in attempts[-1].report.contracts
    ]
    if not counts:
        return None
    table = _table("data contracts")
    table.add_column("contract")
    table.add_column("violated by", justify="right")
    table.add_column("of rows", justify="right")
    table.add_column("then")
    for count in counts:
        table.add_row(
            count.contract, f"{count.violations:,}", f"{count.rows:,}", count.on_violation
        )
    return table


def preview_table(
    compiled: CompiledPipeline, found: Executions, sorted_by: str | None
) -> Table | str | None:
    """Show rows of the first Parquet sink, largest `sorted_by` first; None where there is none, or it is large."""
    # Imported when called: `explain` and `env` need not wait for it.
    from pyarrow import parquet

    names = [
        node.declared_name
        for node in compiled.stream_graph.nodes
        if isinstance(node.operator, Sink) and isinstance(node.operator.connector, Parquet)
    ]
    if not names:
        return None
    name = names[0]
    outputs = [output for attempts in found.values() for output in _outputs(attempts[-1])]
    sink = next(output for output in outputs if output.kind == "sink" and output.name == name)
    if not sink.rows or sink.bytes > PREVIEW_BYTES:
        return None
    rows = parquet.read_table(sink.location)
    if sorted_by is not None and sorted_by not in rows.column_names:
        return f"{name} has no column '{sorted_by}' to sort by; it has {listing(rows.column_names)}"
    if sorted_by is not None:
        rows = rows.sort_by([(sorted_by, "descending")])
    first_rows = rows.slice(0, PREVIEW_ROWS).to_pylist()
    order = f", largest {sorted_by} first" if sorted_by else ""
    table = _table(f"{name}: {len(first_rows)} of {sink.rows:,} rows{order}")
    for column, value in first_rows[0].items():
        justify: JustifyMethod = "right" if isinstance(value, int | float) else "left"
        table.add_column(column, justify=justify, overflow="fold")
    for row in first_rows:
        table.add_row(*(_cell(value) for value in row.values()))
    return table


def failure_words(compiled: CompiledPipeline, found: Executions, log: Path) -> str:
    """Say what failed, the operator and its cause first, and where to read on."""
    name = compiled.pipeline.name
    for region_id, attempts in found.items():
        last = attempts[-1] if attempts else None
        if last is not None and last.report is None:
            cause = f"pipeline '{name}', task '{region_id}': Spark's driver died without a report"
        elif last is not None and last.report is not None and last.report.failure is not None:
            cause = last.report.failure.words(name, region_id)
        else:
            continue
        return f"{cause}\n  task '{region_id}' failed after {_tries(attempts)}\n  log: {log}"
    return f"pipeline '{name}': Airflow failed before Spark was started\n{_last_error(log)}  log: {log}"


def _last_error(log: Path) -> str:
    """Give the last line of a log that names an error, with the indented lines that go on about it."""
    lines = log.read_text(errors="replace").splitlines()
    named = [i for i, line in enumerate(lines) if re.match(r"\s*[\w.]*(Error|Exception)\b", line)]
    if not named:
        return ""
    first, *others = lines[named[-1] :]
    going_on = takewhile(lambda line: line.startswith("  "), others)
    found = [first.strip(), *islice(going_on, _MOST_LINES)]
    return "".join(f"  {line[:300]}\n" for line in found)


def _tries(attempts: tuple[RegionExecution, ...]) -> str:
    return "1 attempt" if len(attempts) == 1 else f"{len(attempts)} attempts"


def _outputs(execution: RegionExecution | None) -> tuple[Output, ...]:
    return (
        execution.report.outputs if execution is not None and execution.report is not None else ()
    )


def _symbol(execution: RegionExecution | None) -> Text:
    if execution is None:
        return Text("·", style="dim")
    if execution.report is None:
        return Text("▶", style="yellow")
    return Text("✗", style="red") if execution.report.failure else Text("✓", style="green")


def _table(title: str) -> Table:
    return Table(
        title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False
    )


def _cell(value: object) -> Text:
    if value is None:
        return Text("")
    if isinstance(value, float):
        return Text(f"{value:,.1f}")
    return Text(
        f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    )
