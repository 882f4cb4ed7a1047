"""Measure a region's operators: seconds, stages and bytes of their actions, and the rows they processed.

    with metrics.running(sink, "prepare"):     Spark's jobs are called "flights · late_routes: prepare"
        publisher.prepare(…)

Actions are attributed by thread (Spark's local properties, Catalyst's current origin). To run actions in parallel,
start them in pyspark's InheritableThread, and enter `running` in each.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from graph_compiler import program_log
from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.documents.actual_execution import ActualExecution
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor, RegionDescriptor
from graph_compiler.deployment.documents.progress import VERSION, CurrentStep, ExecutionProgress
from graph_compiler.deployment.documents.report import ActionMetrics, OperatorMetrics, Phase, VertexMetrics
from graph_compiler.deployment.documents.stream import PublishedBatch
from graph_compiler.identifiers import IntermediateDataSetId
from graph_compiler.spark_runtime.execution_learner import ExecutionLearner
from graph_compiler.spark_runtime.region.region_graph import OperatorGraph, Output
from graph_compiler.spark_runtime.spark_internals.executed_plan import PlanNode, read_executed_plan, rows_by_output
from graph_compiler.spark_runtime.spark_internals.executed_queries import ExecutedQueries
from graph_compiler.spark_runtime.spark_internals.origins import ACTION, OPERATOR, mark_output, origin
from graph_compiler.spark_runtime.spark_internals.stages import ExecutedStage, StageTotals, executed_stages

LOG = program_log.logger(__name__)

_NUMBERS = itertools.count(1)  # job groups must be unique within the application


@dataclass(slots=True)
class RegionMetrics:
    """Collects the measurements of a region's actions, and their committed rows."""

    spark: SparkSession
    region: RegionDescriptor
    on_begin: Callable[[RegionDescriptor, OperatorDescriptor, Phase], None] = lambda *_: None
    """Receives every new measurement."""
    on_progress: Callable[[ExecutionProgress], None] | None = None
    """Receives the progress whenever something begins or ends."""
    actions: list[ActionMetrics] = field(default_factory=list)
    committed: dict[Output, int] = field(default_factory=dict)
    """Rows according to file footers, of staged outputs and of sinks."""
    staged: dict[IntermediateDataSetId, int] = field(default_factory=dict)
    """Rows of the staged results that were read."""
    is_brief: bool = False
    """Whether only what writes rows is measured: a stream evaluates the same for each of its batches.

    Nothing listens to them: what has been executed would be kept for as long as the stream runs.
    """
    published: Callable[[], tuple[PublishedBatch, ...]] = tuple
    """Returns the batches that a stream has published, also one that fails."""
    latest: tuple[PublishedBatch, ...] = ()
    """The last ones, while it runs."""
    _counted: dict[Output, int] = field(default_factory=dict)
    _too_high: set[Output] = field(default_factory=set)
    _same_rows: list[tuple[Output, Output]] = field(default_factory=list)
    _queries: ExecutedQueries | None = None
    """The listeners, while in `listening`."""
    _steps: list[CurrentStep] = field(default_factory=list)
    """The operators that are running, nested or in parallel."""
    _groups: list[str] = field(default_factory=list)
    """Spark's job groups of the measurements that are running."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _told: tuple[object, ...] = ()
    """How much was known when `_progress` was last computed."""
    _learner: ExecutionLearner = field(init=False)
    _graph: OperatorGraph = field(init=False)
    _progress: ExecutionProgress | None = None

    def __post_init__(self) -> None:
        self._graph = OperatorGraph.of(self.region)
        self._learner = ExecutionLearner(self.region)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Collect metrics within the `with` block."""
        self._queries = ExecutedQueries.of(self.spark)
        with self._queries.listening():
            yield

    @contextmanager
    def running(self, operator: OperatorDescriptor, phase: Phase) -> Iterator[None]:
        """Name Spark's jobs in the `with` block after an operator, and measure them unless they fail."""
        vertex = {"vertex": self._graph.vertex_name(operator)}
        if self.is_brief and phase is Phase.EVALUATE:
            with program_log.about(vertex):
                yield
            return
        with program_log.about(vertex), self._reporting(operator, phase), self._measuring(operator, phase):
            yield

    @contextmanager
    def in_batch(self, sink: OperatorDescriptor) -> Iterator[None]:
        """Report that a batch of a stream is in progress, for a sink, and since when."""
        with self._step(sink, Phase.PREPARE):
            yield

    def has_published(self, batches: tuple[PublishedBatch, ...]) -> None:
        """Report which batches a stream has published last."""
        self.latest = batches
        self._report()

    @contextmanager
    def _reporting(self, operator: OperatorDescriptor, phase: Phase) -> Iterator[None]:
        self.on_begin(self.region, operator, phase)
        with self._step(operator, phase):
            yield

    @contextmanager
    def _step(self, operator: OperatorDescriptor, phase: Phase) -> Iterator[None]:
        step = CurrentStep(operator=operator.name, phase=phase, since=time.time())
        self._steps.append(step)
        self._report()
        try:
            yield
        finally:
            self._steps.remove(step)
            self._report()

    def _report(self) -> None:
        with self._lock:  # batches of a stream have a thread of their own
            self._report_now()

    def _report_now(self) -> None:
        if self.on_progress is None:
            return
        if self._progress is None:
            self._progress = ExecutionProgress(
                version=VERSION,
                application_id=str(self.spark.sparkContext.applicationId),
                ui_url=self.spark.sparkContext.uiWebUrl,
                current=None,
                vertices=(),
                actions=(),
            )
        if (known := (len(self.actions), len(self.committed), len(self.staged), self.latest)) != self._told:
            self._told = known
            vertices, actions = self.vertices(), tuple(self.actions)
            self._progress = replace(self._progress, vertices=vertices, actions=actions, batches=self.latest)
        current = self._steps[-1] if self._steps else None
        self._progress = replace(self._progress, current=current)
        self.on_progress(self._progress)

    @contextmanager
    def _measuring(self, operator: OperatorDescriptor, phase: Phase) -> Iterator[None]:
        group = f"{operator.name} {next(_NUMBERS)}"
        description = f"{self.region.pipeline} · {operator.name}: {phase}"
        started = time.monotonic()
        self._groups.append(group)
        try:
            with _job_group(self.spark, group, description), self._marking(operator, phase, group):
                yield
        finally:
            self._groups.remove(group)
        seconds = time.monotonic() - started
        # A preview stops early, so its counts are not the numbers of rows.
        is_whole = phase not in (Phase.EVALUATE, Phase.PREVIEW)
        queries = self._queries_of(group, description) if is_whole else ()
        ran = self._stages_of(group, description)
        counted = self._count(operator, queries, ran or (), description)
        if ran is None or (phase is Phase.EVALUATE and not ran):
            return
        stages = StageTotals.of(ran)
        self.actions.append(
            ActionMetrics(
                name=description,
                operator=operator.name,
                vertex_id=self._graph.vertex_id(operator),
                phase=phase,
                seconds=round(seconds, 3),
                stage_ids=stages.stage_ids,
                tasks=stages.tasks,
                failed_tasks=stages.failed_tasks,
                repeated_stages=stages.repeated_stages,
                input_bytes=stages.input_bytes,
                spilled_bytes=stages.spilled_bytes,
                shuffle_read_bytes=stages.shuffle_read_bytes,
                shuffle_written_bytes=stages.shuffle_written_bytes,
                slowest_task=stages.slowest_task,
            )
        )
        for output, rows in counted.items():
            self._counted[output] = max(rows, self._counted.get(output, 0))
            if stages.repeated_stages:
                self._too_high.add(output)

    def _marking(self, operator: OperatorDescriptor, phase: Phase, group: str) -> AbstractContextManager[None]:
        """Let plan nodes show which operator has made them, and executed plans which action: listeners look for it."""
        if phase is Phase.EVALUATE:
            return origin(self.spark, OPERATOR, str(operator.node_id))
        return nullcontext() if self._queries is None else origin(self.spark, ACTION, group)

    def has_repeated_stages(self) -> bool:
        """Whether Spark has run a stage again, in what was measured or is running: its rows were counted twice."""
        if any(action.repeated_stages for action in self.actions):
            return True
        running = (self._stages_of(group, group) or () for group in self._groups)
        return any(stage.is_repeated for stages in running for stage in stages)

    def mark(self, rows: DataFrame, output: Output) -> None:
        """Mark an operator's output, so that its rows are found in executed plans."""
        if (same := mark_output(rows, output)) is not None:
            self._same_rows.append((output, same))

    def vertices(self) -> tuple[VertexMetrics, ...]:
        """Return what is known so far of every vertex."""
        known = RowsKnown(
            counted=self._counted,
            too_high=frozenset(self._too_high),
            committed=self.committed,
            staged=self.staged,
            same=tuple(self._same_rows),
        )
        return vertex_metrics(self.region, known, tuple(self.actions))

    def actual(self) -> ActualExecution | None:
        """Return what is known so far of stages, exchanges and where vertices ran; None if nothing ran."""
        return self._learner.actual()

    def _queries_of(self, group: str, description: str) -> tuple[Any, ...]:
        try:
            return self._queries.of_action(group) if self._queries is not None else ()
        except Exception as error:  # Spark's listener bus is too far behind
            LOG.warning("%s: rows are unknown: %s", description, error)
            self._learner.note(f"{description}: plans are unknown: {type(error).__name__}")
            return ()

    def _stages_of(self, group: str, description: str) -> tuple[ExecutedStage, ...] | None:
        """Return the stages of an action, None if Spark does not say: a failure to learn fails nothing."""
        try:
            found = executed_stages(self.spark, group, by_task=not self.is_brief)
        except Exception as error:  # it reads private parts of Spark
            LOG.warning("%s: its stages are unknown: %s", description, error)
            self._learner.note(f"{description}: stages are unknown: {type(error).__name__}")
            return None
        self._learner.ran(found)
        return found

    def _count(
        self, operator: OperatorDescriptor, queries: Sequence[Any], stages: Sequence[ExecutedStage], description: str
    ) -> dict[Output, int]:
        """Count the operators' output rows in the plans of an action, and learn where they ran."""
        found: dict[Output, int] = {}
        try:
            for query in queries:
                plan, why_no_parts = read_executed_plan(self.spark, query)
                for output, rows in rows_by_output(plan).items():
                    found[output] = max(rows, found.get(output, 0))
                self._learn(operator, plan, why_no_parts, stages, description)
        except Exception as error:  # it reads private parts of Spark
            LOG.warning("%s: rows are unknown: %s", description, error)
            self._learner.note(f"{description}: its plan is unknown: {type(error).__name__}")
            return {}
        return found

    def _learn(
        self,
        operator: OperatorDescriptor,
        plan: PlanNode,
        why_no_parts: Exception | None,
        stages: Sequence[ExecutedStage],
        description: str,
    ) -> None:
        """Learn where the operators in a plan ran; a failure costs no row counts."""
        if why_no_parts is None:
            try:
                self._learner.learn(plan, operator.node_id, stages)
            except Exception as error:  # a plan of a kind that was never seen
                why_no_parts = error
        if why_no_parts is not None:
            LOG.warning("%s: where it ran is unknown: %s", description, why_no_parts)
            self._learner.note(f"{description}: where it ran is unknown: {type(why_no_parts).__name__}")


@contextmanager
def _job_group(spark: SparkSession, group: str, description: str) -> Iterator[None]:
    """Set this thread's job group; Spark's UI shows the description with each job and query."""
    context = spark.sparkContext
    keys = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")
    before = [context.getLocalProperty(key) for key in keys]
    context.setJobGroup(group, description)
    try:
        yield
    finally:
        for key, value in zip(keys, before, strict=True):
            context.setLocalProperty(key, value)  # type: ignore[arg-type]  # None removes it


# Combine the metrics of each vertex, as pure functions.
#
# Footers take precedence: the rows in a sink or a staged result are exactly those of its producer. Spark's counts are
# used for the operators in between.


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsKnown:
    """Rows by output: `counted` by Spark, some `too_high`; `committed` in files. `staged`: rows of inputs.

    `same`: an output and an earlier one with equally many rows (only columns change); in topological order.
    """

    counted: Mapping[Output, int]
    too_high: frozenset[Output]
    committed: Mapping[Output, int]
    staged: Mapping[IntermediateDataSetId, int]
    same: tuple[tuple[Output, Output], ...]


def vertex_metrics(
    region: RegionDescriptor, known: RowsKnown, actions: tuple[ActionMetrics, ...]
) -> tuple[VertexMetrics, ...]:
    """Return the metrics of every vertex, in the region's order."""
    exact = _spread({**_rows_of_single_inputs(region.operators, known.committed), **known.committed}, known.same)
    rows = _spread({**known.counted, **exact}, known.same)
    too_high = _spread(dict.fromkeys(known.too_high, 0), known.same).keys() - exact.keys()
    return tuple(
        VertexMetrics(
            vertex_id=vertex.vertex_id,
            name=vertex.name,
            operators=tuple(
                OperatorMetrics(
                    name=operator.name,
                    rows_in=_rows_in(operator, rows, known.staged),
                    rows_out=rows.get((operator.node_id, None)),
                    side_rows=tuple(
                        (tag, rows.get((operator.node_id, tag))) for tag in operator.operator.output_tags()
                    ),
                    may_be_too_high=any(output[0] == operator.node_id for output in too_high),
                )
                for operator in vertex.operators
            ),
            seconds=_seconds(vertex.vertex_id, actions),
        )
        for vertex in region.vertices
    )


def _spread(rows: Mapping[Output, int], same: tuple[tuple[Output, Output], ...]) -> dict[Output, int]:
    """Copy known counts to outputs with equally many rows: up the graph, then down."""
    found = dict(rows)
    for output, before in reversed(same):
        if output in found:
            found.setdefault(before, found[output])
    for output, before in same:
        if before in found:
            found.setdefault(output, found[before])
    return found


def _rows_of_single_inputs(
    operators: Sequence[OperatorDescriptor], committed: Mapping[Output, int]
) -> dict[Output, int]:
    """Return the rows of outputs that only a sink reads: those it wrote."""
    return {
        (edge.node_id, edge.output_tag): committed[sink.node_id, None]
        for sink in operators
        if isinstance(sink.operator, Sink) and (sink.node_id, None) in committed
        for edge in sink.inputs
        if len(sink.inputs) == 1 and edge.staged is None
    }


def _rows_in(
    operator: OperatorDescriptor, rows: Mapping[Output, int], staged: Mapping[IntermediateDataSetId, int]
) -> int | None:
    """Return the number of rows that an operator read; None for a source, or if one of its inputs is unknown."""
    inputs = [
        rows.get((edge.node_id, edge.output_tag)) if edge.staged is None else staged.get(edge.staged.id)
        for edge in operator.inputs
    ]
    known = [count for count in inputs if count is not None]
    return sum(known) if inputs and len(known) == len(inputs) else None


def _seconds(vertex_id: str, actions: tuple[ActionMetrics, ...]) -> float | None:
    mine = [action.seconds for action in actions if action.vertex_id == vertex_id]
    return round(sum(mine), 3) if mine else None
