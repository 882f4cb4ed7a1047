"""Learn what ran of a region: join the plans that Spark executed with the stages that its status store knows.

    plan                              stages by RDD      learned
    by_day    HashAggregate, RDD 16   16 → stage 12      by_day ran in stage 12
              Exchange day, RDD 14    14 → stage 11      an exchange by day, from stage 11 to 12
    flights    Scan                                      flights ran in stage 11

The optimizer moves and merges nodes. An operator ran in the stages that returned its rows: where it is found again
further down, only a part of it was moved there (a pushed filter, a partial aggregation). An operator that is in no
plan any more is not placed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from graph_compiler.declaration.operators import Source
from graph_compiler.deployment.documents.actual_execution import (
    MOST_EXCHANGES,
    MOST_STAGES,
    ActualExecution,
    ActualVertex,
    ExchangeRun,
    Spread,
)
from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.identifiers import JobVertexId, counted
from graph_compiler.spark_runtime.region.region_graph import OperatorGraph
from graph_compiler.spark_runtime.spark_internals.executed_parts import WRITE, Exchange, PartitionRead
from graph_compiler.spark_runtime.spark_internals.executed_plan import PlanNode
from graph_compiler.spark_runtime.spark_internals.stages import ExecutedStage

# Physical nodes that require nothing of their input: an exchange below them is required by a node above.
_PASS = frozenset(
    {
        "AQEShuffleReadExec", "BroadcastQueryStageExec", "ColumnarToRowExec", "InputAdapter", "ReusedExchangeExec",
        "ShuffleQueryStageExec", "SortExec", "WholeStageCodegenExec",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a walk down a plan is: the stage, the operators above, and what the last of them read by task.

    `consumer` is the operator that requires an exchange here, None if that is not known. `nearest` is the last one
    above, if no rows of other inputs have joined since.
    """

    stage_id: int | None
    parallelism: int | None
    is_shared: bool = False
    above: frozenset[int] = frozenset()
    consumer: int | None = None
    nearest: int | None = None
    reads: tuple[PartitionRead | None, ...] | None = None


@dataclass(slots=True)
class ExecutionLearner:
    """What has been learned of a region, action by action."""

    region: RegionDescriptor
    _graph: OperatorGraph = field(init=False)
    _order: dict[int, int] = field(init=False)
    _vertex_of: dict[int, JobVertexId] = field(init=False)
    _stages: dict[int, ExecutedStage] = field(default_factory=dict)
    _placed: dict[int, dict[int, int | None]] = field(default_factory=dict)
    """The stages of each operator, and in how many tasks it ran there."""
    _splits: dict[JobVertexId, int] = field(default_factory=dict)
    _sources: frozenset[JobVertexId] = field(init=False)
    """The vertices with one source, which read nothing else."""
    _exchanges: dict[object, ExchangeRun] = field(default_factory=dict)
    _notes: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._graph = OperatorGraph.of(self.region)
        self._order = {operator.node_id: number for number, operator in enumerate(self.region.operators)}
        self._vertex_of = {
            operator.node_id: vertex.vertex_id for vertex in self.region.vertices for operator in vertex.operators
        }

        self._sources = frozenset(
            vertex.vertex_id
            for vertex in self.region.vertices
            if sum(isinstance(operator.operator, Source) for operator in vertex.operators) == 1
            and not any(edge.staged for operator in vertex.operators for edge in operator.inputs)
        )

    def note(self, words: str) -> None:
        """Remember what cannot be learned, and why."""
        self._notes[words] = None

    def ran(self, stages: Sequence[ExecutedStage]) -> None:
        """Add the stages of an action."""
        self._stages |= {stage.run.stage_id: stage for stage in stages}

    def learn(self, plan: PlanNode, node_id: int, stages: Sequence[ExecutedStage]) -> None:
        """Learn from the plan of a query that an action ran for an operator, in these stages."""
        stage_of = {rdd: stage.run.stage_id for stage in stages for rdd in stage.rdd_ids}
        top = _below_wrappers(plan)
        is_own = WRITE in _kinds(plan) or any(operator in self._order for operator in _operators_in(plan))
        if top is None or not is_own:
            return  # a query about the target, not of this region's rows
        above = frozenset[int]() if node_id in top.operators else frozenset({node_id})
        place = self._at_top(top, stage_of, _Place(stage_id=None, parallelism=None, consumer=node_id))
        if above:
            self._put(node_id, place)
        self._walk(top, replace(place, above=above), stage_of)

    def actual(self) -> ActualExecution | None:
        """Return what is known so far; None if nothing has run."""
        if not self._stages and not self._notes:
            return None
        notes = [*self._notes]
        longest = sorted(self._stages.values(), key=lambda stage: -stage.run.run_milliseconds)
        largest = sorted(self._exchanges.values(), key=lambda exchange: -(exchange.bytes or 0))
        if len(longest) > MOST_STAGES:
            notes.append(f"{counted(len(longest) - MOST_STAGES, 'stage')} that ran for a shorter time are not listed")
        if len(largest) > MOST_EXCHANGES:
            notes.append(f"{counted(len(largest) - MOST_EXCHANGES, 'exchange')} with fewer bytes are not listed")
        listed = sorted(stage.run.stage_id for stage in longest[:MOST_STAGES])
        return ActualExecution(
            vertices=tuple(self._vertices()),
            stages=tuple(self._stages[id].run for id in listed),
            exchanges=tuple(sorted(largest[:MOST_EXCHANGES], key=_in_order)),
            notes=tuple(notes),
        )

    def _vertices(self) -> Iterator[ActualVertex]:
        for vertex in self.region.vertices:
            ids = [operator.node_id for operator in vertex.operators]
            placed = [self._placed[id] for id in ids if id in self._placed]
            tasks = [number for number in (placed[-1].values() if placed else ()) if number is not None]
            stage_ids = sorted({stage_id for places in placed for stage_id in places})
            yield ActualVertex(
                vertex_id=vertex.vertex_id,
                parallelism=max(tasks, default=None),
                splits=self._splits.get(vertex.vertex_id),
                stage_ids=tuple(stage_ids[-MOST_STAGES:]),
            )

    def _at_top(self, node: PlanNode, stage_of: dict[int, int], place: _Place) -> _Place:
        """Return the place at the top of a part."""
        stage_id = None if node.rdd_id is None else stage_of.get(node.rdd_id)
        tasks = None if stage_id is None else self._stages[stage_id].run.tasks
        return replace(place, stage_id=stage_id, parallelism=tasks, is_shared=False, reads=None)

    def _read(self, nearest: int | None, splits: int) -> None:
        """Note the splits that a leaf has read for the operator above it."""
        vertex = None if nearest is None else self._vertex_of.get(nearest)
        if vertex in self._sources:
            self._splits[vertex] = max(splits, self._splits.get(vertex, 0))

    def _put(self, node_id: int, place: _Place) -> None:
        if place.stage_id is not None and node_id in self._order:
            places = self._placed.setdefault(node_id, {})
            before = places.get(place.stage_id)
            places[place.stage_id] = max(before or 0, place.parallelism or 0) or None

    def _walk(self, node: PlanNode, place: _Place, stage_of: dict[int, int]) -> None:
        if node.partitions is not None:
            place = replace(place, parallelism=node.partitions, is_shared=True)
        own = sorted((operator for operator in node.operators if operator in self._order), key=self._order.__getitem__)
        for operator in own:
            if operator not in place.above:
                self._put(operator, place)
        nearest = own[0] if own else place.nearest
        if node.splits is not None:
            self._read(nearest, node.splits)
        passes = node.kind in _PASS or node.exchange is not None
        below = replace(
            place,
            above=place.above | node.operators,
            consumer=own[0] if own else place.consumer if passes else None,
            nearest=nearest if len(node.children) == 1 else None,
            reads=place.reads if node.reads is None else node.reads,
        )
        for child in node.children:
            inner = below
            if node.exchange is not None:
                inner = self._at_top(child, stage_of, below)
                self._exchange(node.exchange, child, below, inner.stage_id)
            self._walk(child, inner, stage_of)

    def _exchange(self, exchange: Exchange, below: PlanNode, place: _Place, written_by: int | None) -> None:
        if (written_by is not None and written_by == place.stage_id) or not below.has_run:
            return  # rows in one partition need no exchange; rows that were not needed were not moved
        sizes = exchange.sizes
        reads = place.reads
        if reads is None and sizes is not None:
            reads = tuple(PartitionRead(number, number + 1) for number in range(len(sizes)))
        target = place.consumer
        run = ExchangeRun(
            source=self._source(below, target),
            target=None if target is None else self._vertex_of.get(target),
            kind=exchange.kind,
            columns=exchange.columns,
            written_by=written_by,
            read_by=place.stage_id,
            rows=exchange.rows,
            bytes=exchange.bytes,
            partitions=None if sizes is None else len(sizes),
            tasks=None if reads is None else len(reads),
            joined=_joined(reads),
            split=_split(reads),
            bytes_by_task=_by_task(reads, sizes, is_shared=place.is_shared),
        )
        self._exchanges[run.written_by, run.read_by, run.target, run.kind, len(run.columns), run.rows] = run

    def _source(self, below: PlanNode, target: int | None) -> JobVertexId | None:
        """Return the vertex whose rows an exchange moved, perhaps after a partial step; None if it is not known.

        Rules move parts of later operators down here, so only those that the target reads are candidates.
        """
        if target is None or target not in self._order:
            return None
        node, upstream, is_partial = below, self._graph.upstream(target), False
        while not (found := [operator for operator in node.operators if operator in upstream]):
            is_partial = is_partial or target in node.operators
            if len(node.children) != 1 or node.exchange is not None:
                return self._vertex_of[target] if is_partial else None
            (node,) = node.children
        return self._vertex_of[max(found, key=self._order.__getitem__)]


def _below_wrappers(plan: PlanNode) -> PlanNode | None:
    """Return the topmost node that a stage has computed."""
    node = plan
    while node.rdd_id is None:
        if len(node.children) != 1 or node.exchange is not None:
            return None
        (node,) = node.children
    return node


def _kinds(node: PlanNode) -> Iterator[str]:
    while len(node.children) == 1 and node.rdd_id is None:
        yield node.kind
        (node,) = node.children


def _operators_in(node: PlanNode) -> Iterator[int]:
    yield from node.operators
    for child in node.children:
        yield from _operators_in(child)


def _joined(reads: Sequence[PartitionRead | None] | None) -> int | None:
    if reads is None or None in reads:
        return None
    return sum(read.end - read.first for read in reads if read is not None and read.end - read.first > 1)


def _split(reads: Sequence[PartitionRead | None] | None) -> int | None:
    if reads is None or None in reads:
        return None
    return len({read.first for read in reads if read is not None and read.bytes is not None})


def _by_task(
    reads: Sequence[PartitionRead | None] | None, sizes: Sequence[int] | None, *, is_shared: bool
) -> Spread | None:
    """Return the bytes that each task read; numbers of tasks are unknown if other inputs share their stage."""
    if reads is None or sizes is None or None in reads:
        return None
    known = [read for read in reads if read is not None]
    spread = Spread.of([sum(sizes[each.first : each.end]) if each.bytes is None else each.bytes for each in known])
    return replace(spread, largest_task=None) if spread and is_shared else spread


def _in_order(exchange: ExchangeRun) -> tuple[int, int]:
    return (exchange.read_by if exchange.read_by is not None else -1, exchange.written_by or 0)
