"""A finished run, under Airflow or in process: what `run` shows, or prints as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from graph_compiler.deployment.documents.report import Output
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.identifiers import RegionId
from graph_compiler.staging.executions.region_execution import RegionExecution

Executions = Mapping[RegionId, tuple[RegionExecution, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """Rows of an operator or a sink; `total` is None if not counted, `order` is the column they are sorted by.

    `is_glance`: types and decimals are left out, since the rows only give an impression.
    """

    name: str
    columns: tuple[tuple[str, str], ...]
    rows: Sequence[Sequence[object]]
    total: int | None
    order: str | None = None
    is_glance: bool = False


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
    preview: Preview | str | None
    log: Path | None

    @property
    def sinks(self) -> tuple[Output, ...]:
        """Return the published outputs."""
        outputs = (output for each in self.found.values() for output in outputs_of(each))
        return tuple(output for output in outputs if output.kind == "sink")


def outputs_of(attempts: Sequence[RegionExecution]) -> tuple[Output, ...]:
    """Return the outputs of the last attempt at a task."""
    report = attempts[-1].report if attempts else None
    return () if report is None else report.outputs


def task_words(compiled: CompiledPipeline) -> tuple[TaskWords, ...]:
    """Return all tasks of a pipeline."""
    return tuple(
        TaskWords(
            id=region.id,
            vertices=tuple(compiled.job_graph.vertex[id].name for id in region.vertex_ids),
        )
        for region in compiled.deployment.regions
    )
