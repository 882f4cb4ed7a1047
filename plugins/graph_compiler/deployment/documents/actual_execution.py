"""What ran of a region: the stages of Spark, which vertices ran in each, and the exchanges between them.

    flights  ─▒▶  lateness        declared: one hash edge
    stage 3  ─▒▶  stage 5         what ran: 8 tasks wrote 200 partitions, 4 tasks read them

Spark counts rows, bytes and spill by stage and task. Vertices that share a stage refer to it; how much of its bytes
belongs to which of them is not known, and not estimated.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from graph_compiler.extensions import UNSAID
from graph_compiler.identifiers import JobVertexId

MOST_STAGES = 200
"""The stages of a report: those that ran longest. A region with more has a note."""
MOST_EXCHANGES = 200
"""The exchanges of a report: those with the most bytes. A region with more has a note."""
MOST_COLUMNS = 16
"""The columns of an exchange that are named."""

_SKEW = 5
"""The largest task is this many times the median, as in spark.sql.adaptive.skewJoin.skewedPartitionFactor."""
_LARGE = 16 * 1024 * 1024
"""The bytes below which an uneven distribution costs nothing."""
_LATE = 10_000
"""The milliseconds below which a late task costs nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A number's distribution over tasks; `largest_task` is the index of the one with the maximum, None if unknown.

    Of an even number of tasks, the median is the lower one of the two.
    """

    minimum: int
    median: int
    maximum: int
    largest_task: int | None

    @classmethod
    def of(cls, values: list[int]) -> Spread | None:
        """Return the distribution of all values by task; None if there is no task."""
        if not values:
            return None
        ordered = sorted(values)
        return cls(
            minimum=ordered[0],
            median=ordered[(len(ordered) - 1) // 2],
            maximum=ordered[-1],
            largest_task=values.index(ordered[-1]),
        )

    def is_uneven(self, least: int) -> bool:
        """Whether the largest task has many times the median, and at least this much."""
        return self.maximum >= least and self.maximum > _SKEW * self.median


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRun:
    """A stage of Spark: sums over the tasks of all its `attempts`.

    Rows and bytes that were read are those of files and of exchanges; other connectors count none. `rows_by_task` are
    the rows that each task of the last attempt read from exchanges. `milliseconds` are run times of its tasks. Both are
    None if Spark did not keep the tasks, or if there are too many to sort.
    """

    stage_id: int
    attempts: int
    tasks: int
    failed_tasks: int
    run_milliseconds: int
    input_rows: int
    input_bytes: int
    output_rows: int
    output_bytes: int
    exchange_rows_read: int
    exchange_bytes_read: int
    exchange_rows_written: int
    exchange_bytes_written: int
    memory_spilled: int
    disk_spilled: int
    rows_by_task: Spread | None = None
    milliseconds: Spread | None = None

    @property
    def is_spilled(self) -> bool:
        """Whether its tasks had to write rows to disk that did not fit into memory."""
        return self.disk_spilled > 0

    @property
    def is_held_up(self) -> bool:
        """Whether one task ran much longer than the others although it did not read more rows."""
        spread, rows = self.milliseconds, self.rows_by_task
        is_late = spread is not None and spread.maximum > max(_LATE, 3 * spread.median)
        return is_late and not (rows is not None and rows.is_uneven(1))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeRun:
    """Rows that Spark moved between two stages, or sent to all tasks (`kind` is "broadcast").

    `target` is the vertex that required it, and `source` the one whose rows it moved, perhaps after a partial
    aggregation: the same vertex if the exchange is between two steps of one operator. `kind` is Spark's partitioning:
    hash, range, round robin, single, by id. `columns` are those that it distributes by, at most `MOST_COLUMNS`.

    `partitions` were written, and read by `tasks`: adaptive execution `joined` small ones (the number that ended up
    with others in one task), and `split` large ones (the number that several tasks read). `bytes_by_task` are
    approximate, as Spark keeps sizes of partitions rounded. What is not known is None.
    """

    source: JobVertexId | None
    target: JobVertexId | None
    kind: str
    columns: tuple[str, ...]
    written_by: int | None
    read_by: int | None
    rows: int | None
    bytes: int | None
    partitions: int | None
    tasks: int | None
    joined: int | None
    split: int | None
    bytes_by_task: Spread | None

    @property
    def is_skewed(self) -> bool:
        """Whether one task reads so much more than the others that they wait for it."""
        return self.bytes_by_task is not None and self.bytes_by_task.is_uneven(_LARGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActualVertex:
    """Where a vertex ran. `stage_ids` are the stages that returned its operators' rows, in order.

    `parallelism` is the number of tasks of the last of them, without tasks of other inputs of a union. `splits` are
    those that its sources were read in. None: not known, because Spark merged its operators into those of others.
    """

    vertex_id: JobVertexId
    parallelism: int | None
    splits: int | None
    stage_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ActualExecution:
    """All that was learned about an execution; `notes` say what is left out, and why."""

    vertices: tuple[ActualVertex, ...]
    stages: tuple[StageRun, ...]
    exchanges: tuple[ExchangeRun, ...]
    notes: tuple[str, ...] = field(default=(), metadata={UNSAID: True})

    def stages_of(self, vertex: ActualVertex) -> tuple[StageRun, ...]:
        """Return the stages that a vertex ran in, as far as they are listed."""
        return tuple(stage for stage in self.stages if stage.stage_id in vertex.stage_ids)

    def exchanges_before(self, vertex_id: JobVertexId) -> tuple[ExchangeRun, ...]:
        """Return the exchanges that a vertex required."""
        return tuple(exchange for exchange in self.exchanges if exchange.target == vertex_id)

    def vertices_in(self, stage_id: int) -> tuple[JobVertexId, ...]:
        """Return the vertices that share a stage."""
        return tuple(vertex.vertex_id for vertex in self.vertices if stage_id in vertex.stage_ids)
