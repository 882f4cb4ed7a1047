"""The request of a run in one process, and its progress and preview: documents in one folder.

    request.json     written by the caller
    progress.jsonl   a Step on each line, when it starts
    preview.json     rows of the operator it ran up to

Its results are in the run's own documents (`attempts.py`), as after a run under Airflow.
"""

from __future__ import annotations

from dataclasses import dataclass

from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.deployment.documents.report import Phase
from graph_compiler.identifiers import RegionId

REQUEST, PROGRESS, PREVIEW = "request.json", "progress.jsonl", "preview.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewRequest:
    """The operator whose rows to show: at most `limit` of them; `counts`: also their number."""

    node_id: int
    output_tag: str | None
    limit: int
    counts: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class InProcessRequest:
    """Regions in an order in which they can run. With a preview, no sink is written."""

    tasks: tuple[TaskDeploymentDescriptor, ...]
    preview: PreviewRequest | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What was started, and when (seconds since the epoch)."""

    region_id: RegionId
    vertex: str
    operator: str
    phase: Phase
    time: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewedColumn:
    """A column's name and its type as Spark writes it."""

    name: str
    data_type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """Rows as JSON objects, one text each; `total` None if they were not counted."""

    columns: tuple[PreviewedColumn, ...]
    rows: tuple[str, ...]
    total: int | None
