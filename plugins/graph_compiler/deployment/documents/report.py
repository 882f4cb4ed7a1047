"""The report of an execution: outcome, cause, rows. Without a report, the driver died: an environment error.

Rows and bytes of outputs come from the footers of committed files, and are exact. Rows of operators in between come
from Spark's SQL metrics: None if the executed plan has no node with exactly this operator's rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from graph_compiler.deployment.documents.actual_execution import ActualExecution
from graph_compiler.deployment.documents.computed_by import ComputedBy
from graph_compiler.deployment.documents.manifest import ContractCount, StagedRead
from graph_compiler.deployment.documents.position import ReadIncrement
from graph_compiler.deployment.documents.stream import PublishedBatch
from graph_compiler.deployment.documents.wire import from_json
from graph_compiler.errors import SourceLocation
from graph_compiler.extensions import UNSAID
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.identifiers import IntermediateDataSetId, JobVertexId, OperatorId, RegionId, counted, listing

VERSION = 4


class ThrowableType(StrEnum):
    """The type of a failure, which determines whether a retry can help (Flink's noun)."""

    NON_RECOVERABLE_ERROR = "NON_RECOVERABLE_ERROR"
    PARTITION_DATA_MISSING_ERROR = "PARTITION_DATA_MISSING_ERROR"
    ENVIRONMENT_ERROR = "ENVIRONMENT_ERROR"
    RECOVERABLE_ERROR = "RECOVERABLE_ERROR"

    @property
    def exit_code(self) -> int:
        """Return the driver's exit code, which is used if the report is lost."""
        return 80 + list(ThrowableType).index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why an execution failed. `operator` is None if no single operator caused it; `message` is for people."""

    throwable_type: ThrowableType
    operator: str | None
    declared_at: SourceLocation | None
    message: str

    @property
    def reason(self) -> str:
        """Return the message with the operator and its line, for a reader who knows the pipeline."""
        where = f"operator '{self.operator}': " if self.operator else ""
        declared = f"\n  declared at {self.declared_at}" if self.declared_at else ""
        return f"{where}{self.message}{declared}"

    def words(self, pipeline: str, region_id: RegionId) -> str:
        """Return the message, after the operator's name if there is one."""
        where = f"operator '{self.operator}'" if self.operator else f"region '{region_id}'"
        declared = f"\n  declared at {self.declared_at}" if self.declared_at else ""
        return f"pipeline '{pipeline}', {where}: {self.message}{declared}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedCommit:
    """The commit by which readers of a table see rows. `kind` is what the format calls it: "snapshot" or "version".

    `id` is text: programs in JavaScript would round Iceberg's numbers. `removed_rows` is None if they are not counted.
    """

    kind: str
    id: str
    removed_rows: int | None = None

    def words(self) -> str:
        """Return it for people: `snapshot 812, which removes 3 rows`."""
        removed = f", which removes {counted(self.removed_rows, 'row')}" if self.removed_rows else ""
        return f"{self.kind} {self.id}{removed}"

    def to_json(self) -> dict[str, str]:
        """Return its id, under what the format calls it."""
        return {self.kind: self.id}


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Rows and bytes of one sink or staged result, from its committed files. `kind` is "sink" or "staged"."""

    kind: str
    name: str
    location: str
    rows: int
    bytes: int
    commit: PublishedCommit | None = field(default=None, metadata={UNSAID: True})

    @property
    def place(self) -> str:
        """Return where the rows are, for people: with a table's commit."""
        return self.location if self.commit is None else f"{self.location}, {self.commit.words()}"

    def to_json(self) -> dict[str, object]:
        """Return it for other programs."""
        commit = {} if self.commit is None else self.commit.to_json()
        return {"rows": self.rows, "bytes": self.bytes, "path": self.location} | commit


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorMetrics:
    """Rows into and out of one operator; `side_rows` by tag of a side output.

    `may_be_too_high`: Spark ran stages again (a lost executor), and counted the rows of both runs.
    """

    name: str
    rows_in: int | None
    rows_out: int | None
    side_rows: tuple[tuple[str, int | None], ...]
    may_be_too_high: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class VertexMetrics:
    """One job vertex, its operators head first; `seconds` are those of the actions that ran for its operators.

    `seconds` None: it ran as part of other vertices' actions, and Spark does not measure parts.
    """

    vertex_id: JobVertexId
    name: str
    operators: tuple[OperatorMetrics, ...]
    seconds: float | None

    @property
    def rows(self) -> int | None:
        """Return the rows out of its last operator."""
        return self.operators[-1].rows_out if self.operators else None


class Phase(StrEnum):
    """The purpose of a Spark action.

    EVALUATE: an operator becomes part of a plan (a schema is inferred). SHARE: rows with several readers are fixed.
    STAGE: rows are staged for other tasks. PREPARE: a sink's rows are written beside its target. PREVIEW: rows are
    shown to a user.
    """

    EVALUATE = "evaluate"
    SHARE = "share"
    STAGE = "stage"
    PREPARE = "prepare"
    PREVIEW = "preview"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowestTask:
    """The longest task of a stage and the median of its `tasks`: if they differ a lot, the stage's rows are skewed."""

    stage_id: int
    tasks: int
    median_seconds: float
    longest_seconds: float

    @property
    def excess(self) -> float:
        """Return how many seconds the other tasks of its stage may have waited for it."""
        return self.longest_seconds - self.median_seconds

    @property
    def is_skewed(self) -> bool:
        """Whether it should be reported: it delayed the other tasks for more than a moment."""
        return self.longest_seconds > max(10.0, 3 * self.median_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionMetrics:
    """What Spark ran for one operator; `name` is Spark's job description.

    `seconds` are the driver's; the bytes are sums over the tasks of all `stage_ids`, including repeated ones.
    `input_bytes` are those that Spark counts for files; other connectors count none. `slowest_task` is that of the
    stage where it exceeds the median most; None if no stage with several tasks ran long enough to judge.
    """

    name: str
    operator: str
    vertex_id: JobVertexId
    phase: Phase
    seconds: float
    stage_ids: tuple[int, ...]
    tasks: int
    failed_tasks: int
    repeated_stages: int
    input_bytes: int
    spilled_bytes: int
    shuffle_read_bytes: int
    shuffle_written_bytes: int
    slowest_task: SlowestTask | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecomputedResult:
    """A lost result of another region that this execution recomputed: its new epoch, the operators that ran, why."""

    result_id: IntermediateDataSetId
    producer: RegionId
    epoch: int
    operators: tuple[str, ...]
    rows: int
    seconds: float
    reason: str

    def words(self) -> str:
        """Return what was recomputed, in one line."""
        operators = ", ".join(self.operators)
        return (
            f"computed {self.result_id} of {self.producer} again ({operators}): "
            f"{self.rows:,} rows, epoch {self.epoch}, {self.seconds:.1f} s; {self.reason}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Relisting:
    """How a later attempt lists what SQL text or a function has read: a table by its name, or the same paths.

    `columns` is a digest of the table's columns; `options` are those of the read that determine which files it lists.
    """

    table: str | None
    columns: str | None
    options: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFiles:
    """The files that an operator has read: the paths that were listed, and a digest of their sizes and times.

    `again` is None for a source, which is listed as it is declared, and for what cannot be listed again. `is_empty`:
    no file was there.
    """

    operator: str
    paths: tuple[str, ...]
    digest: str
    again: Relisting | None = field(default=None, metadata={UNSAID: True})
    is_empty: bool = field(default=False, metadata={UNSAID: True})

    def words(self) -> str:
        """Return that no file was there, in one line."""
        return f"'{self.operator}' has no rows: there are no files at {listing(self.paths)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class UncomparedRead:
    """What an operator has read, and no later attempt can compare: a database, a view, a pattern in a function."""

    operator: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSchema:
    """The columns of the rows that a source has read, or that a sink has written: Spark's schema JSON."""

    operator_id: OperatorId
    schema: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionReport:
    """The end of one execution; `failure` None means it finished. `application_id` None: Spark did not start.

    `sources` are the files that operators have read, as far as they are known; `uncompared` is what else they have
    read. `schemas` are those of all sources and sinks of a finished execution. `computed_by` None: an earlier version
    wrote it, or it failed. `actual` None: an earlier version wrote it, or nothing ran. `increments` are what sources
    that read only what is new have read.
    """

    version: int
    application_id: str | None
    outputs: tuple[Output, ...]
    contracts: tuple[ContractCount, ...]
    vertices: tuple[VertexMetrics, ...]
    actions: tuple[ActionMetrics, ...]
    reads: tuple[StagedRead, ...]
    recomputed: tuple[RecomputedResult, ...]
    failure: Failure | None
    sources: tuple[SourceFiles, ...] = field(default=(), metadata={UNSAID: True})
    uncompared: tuple[UncomparedRead, ...] = field(default=(), metadata={UNSAID: True})
    schemas: tuple[OperatorSchema, ...] = field(default=(), metadata={UNSAID: True})
    computed_by: ComputedBy | None = field(default=None, metadata={UNSAID: True})
    actual: ActualExecution | None = field(default=None, metadata={UNSAID: True})
    batches: tuple[PublishedBatch, ...] = field(default=(), metadata={UNSAID: True})
    increments: tuple[ReadIncrement, ...] = field(default=(), metadata={UNSAID: True})

    @classmethod
    def of_nothing(cls) -> ExecutionReport:
        """Return the report of an execution that had nothing to do, and has started no Spark."""
        return cls(
            version=VERSION,
            application_id=None,
            outputs=(),
            contracts=(),
            vertices=(),
            actions=(),
            reads=(),
            recomputed=(),
            failure=None,
        )

    @classmethod
    def from_json(cls, text: str) -> ExecutionReport:
        """Decode; raises DescriptorError if the form or the version is a different one."""
        return from_json(cls, text, version=VERSION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A terminal state, when it was reached (seconds since the epoch), and why the task did not succeed.

    An execution may have finished in a try that failed: it has a reason, too.
    """

    state: ExecutionState
    ended: float
    reason: str | None
