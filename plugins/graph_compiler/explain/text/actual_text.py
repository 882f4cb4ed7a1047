"""The execution graph after a run: what was declared beside what ran, as text and as JSON, with remarks.

    by_day
        parallelism: decided by Spark, ran in 4 tasks · stage 5
        exchange: hash by day from 'flown' · stage 3 → 5 · 12,431 rows, 1.2 MB · 200 partitions in 4 tasks, 200 joined

A remark names the columns that rows were distributed by, never their values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graph_compiler.deployment.documents.actual_execution import (
    ActualExecution,
    ActualVertex,
    ExchangeRun,
    Spread,
    StageRun,
)
from graph_compiler.deployment.documents.descriptor import RegionDescriptor, VertexDescriptor
from graph_compiler.deployment.documents.report import ExecutionReport
from graph_compiler.deployment.documents.wire import Json
from graph_compiler.explain.documents.plain_json import plain_json
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import JobVertexId, counted, listing, size_words

_SHOWN = 40
"""The stages and exchanges of a region that are printed; JSON has all that the report has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionAfterRun:
    """A region as it was deployed, and its last attempt, counted from 1; `report` None: no driver has left one."""

    region: RegionDescriptor
    state: ExecutionState
    attempt: int
    report: ExecutionReport | None

    @property
    def actual(self) -> ActualExecution | None:
        """What ran; None if it is not known."""
        return None if self.report is None else self.report.actual


def actual_text(title: str, regions: Sequence[RegionAfterRun]) -> str:
    """Return the graph as text."""
    lines = [title]
    for one in regions:
        lines += ["", f"{one.region.region_id} · {one.state} · attempt {one.attempt}"]
        lines += [f"  {line}" for line in _region_lines(one)]
    return "\n".join(lines)


def actual_json(run_id: str, regions: Sequence[RegionAfterRun]) -> dict[str, Json]:
    """Return the graph as JSON: of each vertex what was declared, and what ran."""
    return {"run": run_id, "regions": [_region_json(one) for one in regions]}


def remarks(report: ExecutionReport) -> Iterator[str]:
    """Yield inputs without files, and what was uneven, late or spilled, with what one could do."""
    yield from (files.words() for files in report.sources if files.is_empty)
    actual = report.actual
    if actual is None:
        return
    names = {vertex.vertex_id: vertex.name for vertex in report.vertices}
    for exchange in actual.exchanges:
        if exchange.is_skewed:
            yield _skew(exchange, names)
    for stage in actual.stages:
        who = _who(actual, stage, names)
        if stage.is_held_up and (time := stage.milliseconds) is not None:
            task = "one task" if time.largest_task is None else f"task {time.largest_task}"
            yield (
                f"stage {stage.stage_id}{who}: {task} ran {time.maximum / 1000:.1f} s, the median is "
                f"{time.median / 1000:.1f} s, and it did not read many more rows\n"
                "  hint: see its host and its log in Spark's UI; a slow host needs no change here. If it calls a "
                "function, some rows may take longer there"
            )
        if stage.is_spilled:
            yield (
                f"stage {stage.stage_id}{who}: its tasks wrote {size_words(stage.disk_spilled)} to disk, because "
                "their rows did not fit into memory\n"
                "  hint: give its slot sharing group more executor memory, or let it run in more tasks: "
                "set_parallelism, or a lower spark.sql.adaptive.advisoryPartitionSizeInBytes"
            )


def _skew(exchange: ExchangeRun, names: dict[JobVertexId, str]) -> str:
    spread = exchange.bytes_by_task
    assert spread is not None, "it is skewed"
    by = f"by {listing(exchange.columns)}" if exchange.columns else f"({exchange.kind})"
    name = names.get(exchange.target) if exchange.target is not None else None
    before = "an exchange" if name is None else f"the exchange before '{name}'"
    task = "one task" if spread.largest_task is None else f"task {spread.largest_task}"
    hint = (
        "a few values of these columns have most of the rows: `graph-compiler replay DAG RUN TASK --count-by "
        f"OPERATOR:{','.join(exchange.columns)}` shows which, to those who may read the rows. For a join, lower "
        "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes: Spark then splits such partitions"
        if exchange.columns
        else "rebalance() distributes rows evenly, where the operator needs no keys"
    )
    return (
        f"{before} {by} is skewed: {task} reads {size_words(spread.maximum)}, the median is "
        f"{size_words(spread.median)}\n  hint: {hint}"
    )


def _who(actual: ActualExecution, stage: StageRun, names: dict[JobVertexId, str]) -> str:
    found = [f"'{names[id]}'" for id in actual.vertices_in(stage.stage_id) if id in names]
    return f" ({listing(found)})" if found else ""


def _region_lines(one: RegionAfterRun) -> Iterator[str]:
    actual = one.actual
    if actual is None:
        yield "what ran is not known: it has no report, or an earlier version wrote it"
        return
    names = {vertex.vertex_id: vertex.name for vertex in one.region.vertices}
    runs = {run.vertex_id: run for run in actual.vertices}
    rows = {vertex.vertex_id: vertex.rows for vertex in one.report.vertices} if one.report else {}
    for vertex in one.region.vertices:
        yield vertex.name
        run = runs.get(vertex.vertex_id)
        for line in _vertex_lines(vertex, run, rows.get(vertex.vertex_id), actual, names):
            yield f"    {line}"
    for stage in actual.stages[:_SHOWN]:
        yield _stage_line(stage)
    if len(actual.stages) > _SHOWN:
        yield f"{counted(len(actual.stages) - _SHOWN, 'more stage')}: --json has them"
    yield from actual.notes
    for remark in remarks(one.report) if one.report else ():
        yield from f"! {remark}".splitlines()


def _vertex_lines(
    vertex: VertexDescriptor,
    run: ActualVertex | None,
    rows: int | None,
    actual: ActualExecution,
    names: dict[JobVertexId, str],
) -> Iterator[str]:
    configured = _configured_parallelism(vertex)
    declared = "decided by Spark" if configured is None else f"declared {configured}"
    if run is None or not run.stage_ids:
        yield f"parallelism: {declared}; where it ran is not known: Spark merged it into other operators"
    else:
        ran = "in an unknown number of tasks" if run.parallelism is None else f"in {counted(run.parallelism, 'task')}"
        stages = listing(f"stage {id}" for id in run.stage_ids)
        others = {id for stage in run.stage_ids for id in actual.vertices_in(stage)} - {vertex.vertex_id}
        shared = [f"'{name}'" for id, name in names.items() if id in others]
        yield f"parallelism: {declared}, ran {ran} · {stages}{f', shared with {listing(shared)}' if shared else ''}"
    known = [
        *([counted(run.splits, "split")] if run is not None and run.splits is not None else []),
        *([f"{_rows(rows)} out"] if rows is not None else []),
    ]
    if known:
        yield ", ".join(known)
    exchanges = actual.exchanges_before(vertex.vertex_id)
    yield from (f"exchange: {_exchange_words(exchange, names)}" for exchange in exchanges[:_SHOWN])
    if len(exchanges) > _SHOWN:
        yield f"{counted(len(exchanges) - _SHOWN, 'more exchange')}: --json has them"


def _exchange_words(exchange: ExchangeRun, names: dict[JobVertexId, str]) -> str:
    words = exchange.kind + (f" by {listing(exchange.columns)}" if exchange.columns else "")
    if exchange.source is not None and exchange.source != exchange.target and exchange.source in names:
        words += f" from '{names[exchange.source]}'"
    parts = [words]
    if exchange.written_by is not None and exchange.read_by is not None:
        parts.append(f"stage {exchange.written_by} → {exchange.read_by}")
    amount = [
        *([] if exchange.rows is None else [_rows(exchange.rows)]),
        *([] if exchange.bytes is None else [size_words(exchange.bytes)]),
    ]
    if amount:
        parts.append(", ".join(amount))
    if exchange.partitions is not None and exchange.tasks is not None:
        moved = f"{counted(exchange.partitions, 'partition')} in {counted(exchange.tasks, 'task')}"
        moved += f", {exchange.joined} joined" if exchange.joined else ""
        parts.append(moved + (f", {exchange.split} split" if exchange.split else ""))
    if exchange.bytes_by_task is not None and exchange.tasks != 1:
        parts.append(f"by task {_spread_words(exchange.bytes_by_task)}")
    return " · ".join(parts)


def _spread_words(spread: Spread) -> str:
    task = "" if spread.largest_task is None else f" (task {spread.largest_task})"
    return f"{size_words(spread.minimum)} / {size_words(spread.median)} / {size_words(spread.maximum)}{task}"


def _stage_line(stage: StageRun) -> str:
    amounts = {
        "read": (stage.input_rows, stage.input_bytes),
        "from exchanges": (stage.exchange_rows_read, stage.exchange_bytes_read),
        "to exchanges": (stage.exchange_rows_written, stage.exchange_bytes_written),
        "written": (stage.output_rows, stage.output_bytes),
    }
    parts = [
        f"stage {stage.stage_id}: {counted(stage.tasks, 'task')}",
        *(f"{words} {_rows(rows)}, {size_words(size)}" for words, (rows, size) in amounts.items() if rows or size),
        *([f"rows by task {_rows_words(stage.rows_by_task)}"] if stage.rows_by_task and stage.tasks > 1 else []),
        *([f"{counted(stage.failed_tasks, 'failed task')}"] if stage.failed_tasks else []),
        *([f"{stage.attempts} attempts"] if stage.attempts > 1 else []),
        *([f"spilled {size_words(stage.disk_spilled)}"] if stage.is_spilled else []),
    ]
    return " · ".join(parts)


def _rows(number: int) -> str:
    return f"{number:,} {'row' if number == 1 else 'rows'}"


def _rows_words(spread: Spread) -> str:
    task = "" if spread.largest_task is None else f" (task {spread.largest_task})"
    return f"{spread.minimum:,} / {spread.median:,} / {spread.maximum:,}{task}"


def _configured_parallelism(vertex: VertexDescriptor) -> int | None:
    """Return the parallelism that a vertex's operators set, None if they set none: Spark decides."""
    found = [operator.settings.parallelism for operator in vertex.operators]
    return next((number for number in found if number is not None), None)


def _region_json(one: RegionAfterRun) -> Json:
    actual = one.actual
    runs = {run.vertex_id: run for run in actual.vertices} if actual else {}
    known = {vertex.vertex_id: vertex for vertex in one.report.vertices} if one.report else {}
    vertices: list[Json] = [
        {
            "id": vertex.vertex_id,
            "name": vertex.name,
            "declared": {"parallelism": _configured_parallelism(vertex)},
            "actual": _vertex_json(runs.get(vertex.vertex_id), actual),
            "rows_out": known[vertex.vertex_id].rows if vertex.vertex_id in known else None,
        }
        for vertex in one.region.vertices
    ]
    return {
        "region": one.region.region_id,
        "state": one.state,
        "attempt": one.attempt,
        "vertices": vertices,
        "stages": [plain_json(stage) for stage in actual.stages] if actual else [],
        "exchanges": [plain_json(exchange) for exchange in actual.exchanges] if actual else [],
        "notes": list(actual.notes) if actual else [],
        "remarks": list(remarks(one.report)) if one.report else [],
    }


def _vertex_json(run: ActualVertex | None, actual: ActualExecution | None) -> Json:
    if run is None or actual is None:
        return None
    shared = {id for stage in run.stage_ids for id in actual.vertices_in(stage)} - {run.vertex_id}
    return {
        "parallelism": run.parallelism,
        "splits": run.splits,
        "stages": list(run.stage_ids),
        "shares_stages_with": [vertex.vertex_id for vertex in actual.vertices if vertex.vertex_id in shared],
    }
