"""A finished run, under Airflow or in process: what `run` shows, or prints as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path, PurePath

from graph_compiler.cli.running.first_rows import FirstRows
from graph_compiler.declaration.connectors import Parquet
from graph_compiler.declaration.connectors.file_uris import local_path
from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.documents.report import Output
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.identifiers import RegionId, listing
from graph_compiler.staging.attempts.attempt import Attempt

Executions = Mapping[RegionId, tuple[Attempt, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskWords:
    """A task of the run, and the names of its vertices."""

    id: RegionId
    vertices: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRun:
    """The result of a run. `run_id` is None if it ended before it had one; `failure` says why it failed.

    `preview` is a sentence if the requested rows cannot be shown.
    """

    compiled: CompiledPipeline
    run_id: str | None
    seconds: float
    found: Executions
    failure: str | None
    preview: FirstRows | str | None
    log: Path | None

    @property
    def sinks(self) -> tuple[Output, ...]:
        """Return the published outputs."""
        outputs = (output for each in self.found.values() for output in outputs_of(each))
        return tuple(output for output in outputs if output.kind == "sink")


def outputs_of(attempts: Sequence[Attempt]) -> tuple[Output, ...]:
    """Return the outputs of the last attempt at a task."""
    report = attempts[-1].report if attempts else None
    return () if report is None else report.outputs


def task_words(compiled: CompiledPipeline) -> tuple[TaskWords, ...]:
    """Return all tasks of a pipeline."""
    return tuple(
        TaskWords(id=region.id, vertices=tuple(compiled.job_graph.vertex[id].name for id in region.vertex_ids))
        for region in compiled.deployment.regions
    )


PREVIEW_ROWS = 5
PREVIEW_BYTES = 50_000_000


def load_preview() -> None:
    """Import what `published_preview` needs, half a second of work, while another process is waited for."""
    with suppress(ImportError):
        import_module("pyarrow.parquet")


def published_preview(
    compiled: CompiledPipeline, sinks: Sequence[Output], sorted_by: str | None
) -> FirstRows | str | None:
    """Return rows, largest `sorted_by` first; None if there is no such sink, it is large, or not on a disk."""
    # Imported when called: `explain` and `env` do not need it.
    from pyarrow import ArrowException, parquet

    names = [
        node.declared_name
        for node in compiled.stream_graph.nodes
        if isinstance(node.operator, Sink) and isinstance(node.operator.connector, Parquet)
    ]
    found = [sink for name in names[:1] for sink in sinks if sink.name == name]
    if not found or not found[0].rows:
        return None
    (sink, *_) = found
    folder = local_path(sink.location)
    if folder is None or _bytes_below(folder) > PREVIEW_BYTES:
        return None
    try:
        rows = parquet.read_table(sink.location)
    except ArrowException as error:  # its files have types that only Spark reads as one table
        return f"{sink.name} cannot be shown here: {error}"
    if sorted_by is not None and sorted_by not in rows.column_names:
        return f"{sink.name} has no column '{sorted_by}' to sort by; it has {listing(rows.column_names)}"
    if sorted_by is not None:
        rows = rows.sort_by([(sorted_by, "descending")])
    return FirstRows(
        name=sink.name,
        columns=tuple((field.name, str(field.type)) for field in rows.schema),
        rows=[tuple(row.values()) for row in rows.slice(0, PREVIEW_ROWS).to_pylist()],
        total=rows.num_rows,  # of the target, which may have rows of earlier runs, too
        is_glance=True,
        order=f"largest {sorted_by} first" if sorted_by else None,
    )


def _bytes_below(folder: PurePath) -> int:
    return sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
