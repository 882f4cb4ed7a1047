"""Answers for the web view, besides plans and runs: lists of pipelines, versions and runs, staged results, rows.

Times are seconds since the epoch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from graph_compiler.identifiers import IntermediateDataSetId


@dataclass(frozen=True, slots=True, kw_only=True)
class LastRun:
    """A run of a Dag in the list; `queued` is when it began to wait."""

    run_id: str
    state: str
    run_type: str
    queued: float | None
    started: float | None
    ended: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DagOutcomes:
    """What the runs of a Dag are doing: the one to look at, how many wait or run, and the newest that ended.

    `last_run` is the newest running one, else the newest that ended, else the newest queued one: a backfill queues
    many at once.
    """

    last_run: LastRun | None
    running: int
    queued: int
    ended: tuple[LastRun, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineSummary:
    """A compiled pipeline in the list. `runs` are its Dag's; None if they are not shown.

    `group` is the path of its task group; empty in the pipeline's own Dag. `schedule` is Airflow's text for it.
    """

    dag_id: str
    group: str
    pipeline: str
    description: str | None
    schedule: str | None
    is_paused: bool
    tags: tuple[str, ...]
    operators: int
    vertices: int
    tasks: int
    staged: int
    runs: DagOutcomes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineList:
    """The compiled pipelines that a user may read."""

    pipelines: tuple[PipelineSummary, ...]
    runs_are_shown: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedPipeline:
    """A pipeline of a Dag; `group` is the path of its task group."""

    group: str
    pipeline: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedPipelines:
    """The pipelines of a Dag, in the order of their tasks."""

    pipelines: tuple[PlacedPipeline, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanVersion:
    """A Dag version. `plan_id` None: its plan is unreadable, or was never deployed."""

    number: int
    created: float
    plan_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionList:
    """The newest versions of a Dag."""

    versions: tuple[PlanVersion, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A run in the list. `dag_version` is the newest version among its tasks."""

    run_id: str
    state: str
    run_type: str
    logical_date: str | None
    queued: float | None
    started: float | None
    ended: float | None
    dag_version: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunList:
    """The newest runs of a Dag."""

    runs: tuple[RunSummary, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column; `type` in Spark's own words."""

    name: str
    type: str
    nullable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """One partition."""

    rows: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedResult:
    """One committed epoch of a result. `rows_are_shown`: whether this user may see its rows."""

    result: IntermediateDataSetId
    schema: tuple[Column, ...]
    rows: int
    bytes: int
    epoch: int
    partitions: tuple[Partition, ...]
    checksum: str | None
    rows_are_shown: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CutCell:
    """The beginning of a long value; `bytes` is the length of all of a string or binary, None for others."""

    text: str
    bytes: int | None


Cell: TypeAlias = str | CutCell | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSample:
    """Rows in the order of partitions, cells in the order of columns; `notes` say what is left out."""

    epoch: int
    rows_in_result: int
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...]
