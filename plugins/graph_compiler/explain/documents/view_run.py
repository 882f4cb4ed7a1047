"""A run for the web view: Airflow's state of its tasks, joined with the documents of their attempts."""

from __future__ import annotations

from dataclasses import dataclass

from graph_compiler.deployment.documents.actual_execution import ActualExecution
from graph_compiler.deployment.documents.report import Phase, ThrowableType
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import IntermediateDataSetId, JobVertexId

VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewOperatorRun:
    """Rows into and out of an operator."""

    name: str
    rows_in: int | None
    rows_out: int | None
    side_rows: tuple[tuple[str, int | None], ...]
    may_be_too_high: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewVertexRun:
    """One job vertex in one attempt."""

    id: JobVertexId
    rows: int | None
    seconds: float | None
    operators: tuple[ViewOperatorRun, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewOutputRun:
    """A sink or a staged result; `result` is the id of the latter."""

    kind: str
    name: str
    location: str
    rows: int
    bytes: int
    result: IntermediateDataSetId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewContractRun:
    """The counts of a data contract; `found` is a total with its limit, or a limit of the violations."""

    name: str
    violations: int
    rows: int
    on_violation: str
    found: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewSlowestTask:
    """The task that exceeded its stage's median most, and the operator for which Spark ran it.

    `is_skewed`: it delayed the others long enough to be reported.
    """

    operator: str
    stage_id: int
    tasks: int
    median_seconds: float
    longest_seconds: float
    is_skewed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewStep:
    """What an attempt is running, and `since` when; its last step if its driver died."""

    operator: str
    phase: Phase
    since: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewWork:
    """Spark's work in an attempt, over all finished actions."""

    tasks: int
    failed_tasks: int
    repeated_stages: int
    input_bytes: int
    spilled_bytes: int
    shuffled_bytes: int
    slowest_task: ViewSlowestTask | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewBatch:
    """A batch of a stream that an attempt has published, and where the stream was behind it.

    `rows_in` are of sources, `rows_out` of all sinks. `late` rows were left out. `watermark` is ISO. `behind` is how
    many records of Kafka were not read, in the partition that is most behind; `waited`, for how many seconds its oldest
    file had been there. What is not known, or does not exist for the stream, is None.
    """

    number: int
    rows_in: int | None
    rows_out: int
    late: int
    watermark: str | None
    state_rows: int | None
    state_bytes: int | None
    behind: int | None
    waited: float | None
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewAttempt:
    """One execution of the region. `number` counts them from 0, `try_number` is that of Airflow's try, from 1.

    `number` is None for a try that left no execution: it failed before it was deployed, or the execution was removed.

    Airflow queued it at `queued`. While it runs, and after it died without a report, `vertices` and `work` are the last
    known ones; otherwise, `current` is None. `actual` is what ran, of an attempt with a report, and `remarks` what was
    skewed, late or spilled. `batches` are the last ones of a stream.
    """

    number: int | None
    try_number: int
    execution_id: str
    state: ExecutionState
    queued: float | None
    started: float | None
    ended: float | None
    host: str | None
    reason: str | None
    throwable_type: ThrowableType | None
    failed_operator: str | None
    current: ViewStep | None
    recomputed: tuple[str, ...]
    vertices: tuple[ViewVertexRun, ...]
    outputs: tuple[ViewOutputRun, ...]
    contracts: tuple[ViewContractRun, ...]
    work: ViewWork | None
    application_id: str | None
    spark_url: str | None
    log_url: str
    actual: ActualExecution | None = None
    remarks: tuple[str, ...] = ()
    batches: tuple[ViewBatch, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewRegionRun:
    """One task of a run; `state` is that of its current execution."""

    id: str
    state: ExecutionState
    airflow_state: str | None
    attempts: tuple[ViewAttempt, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewRun:
    """The current state of a run. `has_documents` false: this server does not see the documents of the attempts.

    `tasks` have documents, and those of `tasks_read` were read: fewer if they exceed the limit of one request.
    `reasons_are_shown` false: this user may not see why attempts failed. `map_index` is None unless its task group is
    mapped; `map_indexes` are those of all instances that Airflow has expanded. `pipeline` is the Dag.
    """

    version: int
    pipeline: str
    group: str
    run_id: str
    map_index: int | None
    map_indexes: tuple[int, ...]
    state: str
    run_type: str
    logical_date: str | None
    queued: float | None
    started: float | None
    ended: float | None
    dag_version: int | None
    plan_id: str | None
    has_documents: bool
    tasks: int
    tasks_read: int
    reasons_are_shown: bool
    regions: tuple[ViewRegionRun, ...]
