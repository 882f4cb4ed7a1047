"""Run a region whose rows never end: one query of Spark, whose batches are published one after the other.

    offsets of batch n are logged ─▶ its rows reach foreachBatch ─▶ all sinks publish it ─▶ batch n is committed
                 └── a driver that dies in between: the next one has the same rows under the same number ──┘

All operators but the sinks are in Spark's query, and contracts with what reads them: these count the rows of a batch
before it is published. Each batch is a region of its own for `run_region`: its rows are the sources, and the ledgers of
targets know it by stream and number. So it is published once, by whatever driver.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, struct
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from graph_compiler import program_log
from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.operators import Sink, Source, WindowAggregate
from graph_compiler.declaration.windows import Flush
from graph_compiler.deployment.documents.descriptor import (
    InputDescriptor,
    OperatorDescriptor,
    RegionDescriptor,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.manifest import ContractCount
from graph_compiler.deployment.documents.report import OperatorSchema, Output, Phase
from graph_compiler.deployment.documents.staging_layout import StreamLayout
from graph_compiler.deployment.documents.stream import (
    END_OF_TIME_MS,
    PublishedBatch,
    StreamOrigin,
    StreamProgress,
    StreamQuery,
    late_words,
)
from graph_compiler.errors import RepeatedReadError, UnreadFilesError
from graph_compiler.identifiers import counted, quoted
from graph_compiler.spark_runtime.connectors.arriving.arriving_source import SOURCE, ArrivingSource
from graph_compiler.spark_runtime.executor_probe import check_states
from graph_compiler.spark_runtime.failures.failures import OperatorFailedError
from graph_compiler.spark_runtime.operators import union
from graph_compiler.spark_runtime.region.coordination import initialize_on_master
from graph_compiler.spark_runtime.region.region import RegionResult, run_region
from graph_compiler.spark_runtime.region.region_evaluation import RegionEvaluation
from graph_compiler.spark_runtime.region.region_graph import Output as NodeOutput
from graph_compiler.spark_runtime.region.region_run import RegionRun
from graph_compiler.spark_runtime.region.seams import PRODUCTION, Seams
from graph_compiler.spark_runtime.region_metrics import RegionMetrics
from graph_compiler.spark_runtime.results.pinned_settings import pinned
from graph_compiler.spark_runtime.results.staging_area import StagingArea
from graph_compiler.spark_runtime.spark_internals.exact_schemas import with_not_null
from graph_compiler.spark_runtime.spark_internals.java import ChangingNumber, lit
from graph_compiler.spark_runtime.spark_internals.plan_leaves import StreamLeaf, is_same_object, stream_leaves
from graph_compiler.spark_runtime.streams.batch_inputs import BatchInputs, StreamSources
from graph_compiler.spark_runtime.streams.state_backend import StateBackend
from graph_compiler.spark_runtime.streams.stream_watch import StreamWatch
from graph_compiler.staging.attempts.run_marker import moment
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.streams.batch_log import (
    begin_flush,
    check_not_ended,
    last_begun,
    time_of,
    uncommitted_batch,
    watermark_of,
)
from graph_compiler.staging.streams.checkpoint import Checkpoint, CheckpointError, savepoint_of
from graph_compiler.staging.streams.savepoints import begin_with_savepoint

LOG = program_log.logger(__name__)
_NUMBER, _ROW = "graph_compiler_output", "graph_compiler_row_"
_LATE_AS_EACH_ROW = {
    "spark.sql.streaming.statefulOperator.allowMultiple": "true",
    "spark.sql.streaming.sessionWindow.merge.sessions.in.local.partition": "false",
}
"""Spark's defaults, with which rows are late by the watermark of the batch before, each by its own windows."""
_COMPUTED = "addBatch"
"""What Spark says of a batch that it has computed: how long that took."""
_AHEAD = timedelta(minutes=5)
"""By how much the clock of the scheduler may be ahead of the driver's."""
_MOST_BATCHES = 200
"""How many of its batches, and of their actions, a report names: the last ones."""
_SHOWN = 20
"""How many of them are shown while it runs."""


@dataclass(frozen=True, slots=True)
class _ArrivingRows(Connector):
    """What a source that never ends reads: another source of the same place may end."""

    node_id: int


@dataclass(frozen=True, slots=True)
class _BatchRows(Connector):
    """The rows of one output in a batch, which are given."""

    node_id: int
    tag: str | None


def run_stream(
    task: TaskDeploymentDescriptor,
    spark: SparkSession,
    store: StagingStore,
    metrics: RegionMetrics,
    seams: Seams = PRODUCTION,
) -> RegionResult:
    """Publish all that is new, batch by batch; return what was published.

    Raises CheckpointError if the query cannot continue its checkpoint, CheckpointTakenError if a later driver has it;
    else as `run_region`. What a batch has published stays.
    """
    query = task.region.stream
    assert query is not None, "its rows never end"
    area = StagingArea(
        spark=spark,
        log=ManifestLog(store=store, layout=task.layout),
        attempt=task.attempt,
        plan_id=task.region.plan_id,
        contracts=tuple,
    )
    sources = {
        each.node_id: seams.arriving(each.operator.connector, spark, str(each.node_id))
        for each in task.region.operators
        if isinstance(each.operator, Source) and each.operator.unbounded
    }
    passed = ChangingNumber(spark) if any(map(_late_tag, task.region.operators)) else None
    run = RegionRun(area=area, metrics=metrics, evaluation=_evaluation(task, spark, seams, sources, passed))
    initialize_on_master(task.region.vertices, spark, run.running)
    states = StateBackend.of(task.region, spark, store)
    if states.functions:
        check_states(spark)
    if task.region.savepoint is not None:
        layout = StreamLayout(root=task.staging_root, owner=task.identity.owner)
        begin_with_savepoint(store, layout, query, task.region.savepoint, states.rescale)
    checkpoint = Checkpoint.open(store, task.staging_root, task.identity, task.attempt.execution_id, query)
    watch = StreamWatch(
        spark=spark,
        checkpoint=checkpoint,
        identity=task.identity,
        execution_id=task.attempt.execution_id,
        continuous=task.region.continuous,
    )
    stream = _Stream(
        task=task,
        store=store,
        run=run,
        seams=seams,
        checkpoint=checkpoint,
        spark=spark,
        states=states,
        passed=passed,
        watch=watch,
    )
    metrics.published = stream.published
    with watch.signs_of_life(), run.evaluation.forgetting_cached():
        stream.publish_all(query, sources)
    return RegionResult(
        outputs=tuple(stream.outputs.values()),
        contracts=tuple(stream.contracts.values()),
        reads=(),
        recomputed=(),
        sources=(),
        uncompared=(),
        schemas=(*run.evaluation.source_schemas(), *stream.schemas),
    )


@dataclass(slots=True, kw_only=True)
class _Stream:
    """The batches of one execution."""

    task: TaskDeploymentDescriptor
    spark: SparkSession
    store: StagingStore
    run: RegionRun
    seams: Seams
    checkpoint: Checkpoint
    states: StateBackend
    passed: ChangingNumber | None
    """What the watermark has passed, in microseconds since 1970, if a side output has late rows."""
    watch: StreamWatch
    outputs: dict[str, Output] = field(default_factory=dict)
    contracts: dict[str, ContractCount] = field(default_factory=dict)
    batches: list[PublishedBatch] = field(default_factory=list)
    schemas: tuple[OperatorSchema, ...] = ()
    """The columns that sinks have written, in the last batch."""
    _region: RegionDescriptor = field(init=False)
    """That of each batch: its rows, and the sinks."""
    _origin: StreamOrigin | None = field(init=False)
    """The savepoint that the stream began with."""
    _sources: StreamSources = field(init=False)
    _repeated: int | None = None
    """The batch that an earlier execution has begun."""
    _failure: BaseException | None = None
    _query: StreamingQuery | None = None
    _late: dict[int, int] = field(default_factory=dict)
    _late_before: int = 0
    """Late rows of batches that a report does not name any more."""
    _progress: dict[int, StreamProgress] = field(default_factory=dict)
    _waited: dict[int, float | None] = field(default_factory=dict)
    """How many seconds the oldest file of a batch had been there."""

    def __post_init__(self) -> None:
        self._region = region_of_batch(self.task.region)
        self._origin = savepoint_of(self.store, self.checkpoint.layout, self.checkpoint.stream_id)

    def publish_all(self, query: StreamQuery, sources: Mapping[int, ArrivingSource]) -> None:
        """Publish until nothing is new; a continuous stream, until something asks it to end."""
        run, operators = self.run, self.run.evaluation.graph.operators
        behind = self.task.region.of_each_batch
        for operator in operators.values():
            if operator.node_id not in behind:
                run.evaluate(operator)
        *_, last = (each for each in operators.values() if isinstance(each.operator, Sink))
        self._repeated = uncommitted_batch(self.store, self.checkpoint.folder)
        begun = last_begun(self.store, self.checkpoint.folder)
        self._let_pass(-1 if begun is None else begun if self._repeated is None else begun - 1)
        settings = {**self.states.settings, **(_LATE_AS_EACH_ROW if self.passed else {})}
        self.states.compare(self.checkpoint.folder)
        while True:
            with run.running(last, Phase.PREPARE), pinned(self.spark, settings):
                started = self._query = self._start(query, sources)  # it has a copy of the session from now on
            try:
                self.watch.follow(started, self._progress_behind)
                self._note(started.recentProgress)
            except BaseException as error:
                failure, self._failure = self._failure, None
                if failure is not None:  # Spark has only its text
                    raise failure  # noqa: B904  # its cause is that of its operator
                self._sources.explain(error)
                raise
            finally:
                started.stop()
                self._query = None  # it has this object as its function, so neither would ever be freed
            if not self._flush():
                return

    def _flush(self) -> bool:
        """Whether a batch has begun that completes what waits for the watermark at which this run ends."""
        until, now = self.task.flushed_until, datetime.now(UTC)
        if until is None and self.task.region.flush is not Flush.NONE:
            LOG.warning("the run has no data interval, so its end completes no window (execution.flush)")
        if until is None or self.watch.end is not None:
            return False
        if until < END_OF_TIME_MS and moment(until / 1000) > now + _AHEAD:
            words = "the run's data interval ends at %s, which is to come, so its end completes no window: later rows "
            LOG.warning(words + "would be late (execution.flush)", moment(until / 1000).isoformat())
            return False
        self.checkpoint.check()
        self._repeated = begin_flush(self.store, self.checkpoint.folder, until, now)
        if self._repeated is None:
            return False
        end = "its end" if until == END_OF_TIME_MS else f"{moment(until / 1000):%Y-%m-%d %H:%M:%S} UTC"
        LOG.info("batch %s completes what waits for the watermark: the stream has come to %s", self._repeated, end)
        return True

    def published(self) -> tuple[PublishedBatch, ...]:
        """Return the last batches, each with its late rows; warn of those of all."""
        for line in late_words(self._late_before + sum(self._late.values())):
            LOG.warning(line)
        return self._known(_MOST_BATCHES)

    def _known(self, most: int) -> tuple[PublishedBatch, ...]:
        """Return the last batches, with what Spark has reported of them."""
        return tuple(
            replace(each, late=self._late.get(each.number, 0), progress=self._progress.get(each.number))
            for each in self.batches[-most:]
        )

    def _let_pass(self, number: int) -> None:
        """Let late rows of the next batch be those that the watermark of a batch has passed, as for Spark."""
        if self.passed is not None:
            self.passed.change(watermark_of(self.store, self.checkpoint.folder, number) * 1000)

    def _note(self, progress: Iterable[StreamingQueryProgress]) -> None:
        """Note what Spark says of batches, and how many late rows it has left out.

        What a task has put together for one window counts as one late row.
        """
        sets_all_aside = self._sets_all_aside
        for batch in progress:
            if _COMPUTED not in batch.durationMs:  # Spark says that nothing arrives, with the number of the next batch
                continue
            times_read = () if batch.batchId == self._repeated else self._sources.times_read
            self._progress[batch.batchId] = _progress_of(batch, times_read, self._waited.get(batch.batchId))
            for known in (self._progress, self._waited):
                known.pop(batch.batchId - _MOST_BATCHES, None)
            if not sets_all_aside:
                dropped = (state.numRowsDroppedByWatermark for state in batch.stateOperators)
                self._late[batch.batchId] = max(dropped, default=0)
                self._late_before += self._late.pop(batch.batchId - _MOST_BATCHES, 0)
        self.run.metrics.has_published(self._known(_SHOWN))

    def _progress_behind(self, number: int) -> StreamProgress | None:
        """Return where the stream is behind a batch, None if Spark has not reported that yet."""
        query = self._query
        if number not in self._progress and query is not None and (last := query.lastProgress) is not None:
            self._note([last])
        return self._progress.get(number)

    @property
    def _sets_all_aside(self) -> bool:
        """Whether side outputs have all late rows, and so their number, too."""
        region = self.task.region
        states = {each.operator_id for each in region.stream.state} if region.stream else set()
        stateful = (each for each in region.operators if each.operator_id in states)
        return all((each.node_id, _late_tag(each) or "") in self.run.evaluation.outputs for each in stateful)

    def _start(self, query: StreamQuery, sources: Mapping[int, ArrivingSource]) -> StreamingQuery:
        rows = self._rows_of_all()
        operators = self.run.evaluation.graph.operators
        read = [(operators[id], sources[id]) for id in (self._source_of(leaf, sources) for leaf in stream_leaves(rows))]
        uids = {each.node_id: each.uid for each in query.sources}
        found = list(dict.fromkeys(uids[operator.node_id] for operator, _ in read))
        if query.reads is None or found != list(dict.fromkeys(query.reads)):
            raise CheckpointError(f"Spark reads its sources as {found}, and the compiler has said {query.reads}")
        self._sources = StreamSources.of(read, self.checkpoint, query)
        self._sources.check_start()
        mode = "update" if query.updates else "append"
        writer = rows.writeStream.foreachBatch(self._publish).outputMode(mode).queryName(self.task.region.region_id)
        writer = writer.option("checkpointLocation", self.checkpoint.folder)
        if (continuous := self.task.region.continuous) is None:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=f"{continuous.interval_ms} milliseconds").start()

    def _source_of(self, leaf: StreamLeaf, sources: Mapping[int, ArrivingSource]) -> int:
        """Return the node of the source that a leaf of the query belongs to."""
        if (name := leaf.option(SOURCE)) is not None:
            return int(name)
        own = ((id, source.leaf) for id, source in sources.items())
        return next(id for id, one in own if one and is_same_object(self.spark, one.relation, leaf.relation))

    def _outputs_read(self) -> list[DataFrame]:
        """Return the outputs that the sources of a batch have, in their order."""
        return [self.run.evaluation.outputs[_output(source)] for source in _sources(self._region)]

    def _rows_of_all(self) -> DataFrame:
        """Return the rows of all outputs that sinks read, each in a column of its own if there are several."""
        rows = self._outputs_read()
        if len(rows) == 1:
            return rows[0]
        parts = [
            each.select(
                lit(number).alias(_NUMBER),
                *(
                    struct(*(col(quoted(name)) for name in each.columns)).alias(f"{_ROW}{other}")
                    if other == number
                    else lit(None).cast(rows[other].schema).alias(f"{_ROW}{other}")
                    for other in range(len(rows))
                ),
            )
            for number, each in enumerate(rows)
        ]
        return union(parts)

    def _publish(self, rows: DataFrame, number: int) -> None:
        *_, last = (each for each in self._region.operators if isinstance(each.operator, Sink))
        with program_log.about(self.task.log_fields), self.run.metrics.in_batch(last):
            try:
                self._publish_once(rows, number)
            except BaseException as error:  # it passes through Spark, which keeps only its text
                self._failure = self._attributed(error)
                raise RuntimeError(f"batch {number} failed") from error

    def _publish_once(self, rows: DataFrame, number: int) -> None:
        began = time.monotonic()
        self.watch.begins(number)
        self.checkpoint.check()
        inputs = self._checked_inputs(number)
        if self.task.region.stream is not None:
            check_not_ended(self.checkpoint, self.task.region.stream, number)
        sinks = [each for each in self._region.operators if isinstance(each.operator, Sink)]
        if len(sinks) > 1:
            rows.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            if number == self._repeated and self.task.region.stream and self.task.region.stream.state:
                # A sink that has the batch already may compute no row, and then its state would be lost.
                rows.write.format("noop").mode("overwrite").save()
            result = self._run_region(rows, number, inputs)
        finally:
            if len(sinks) > 1:
                rows.unpersist()
        written = {each.operator_id for each in sinks}
        self.schemas = tuple(each for each in result.schemas if each.operator_id in written)
        for output in result.outputs:
            before = self.outputs.get(output.name)
            self.outputs[output.name] = output if before is None else _added(before, output)
        for count in result.contracts:
            before_it = self.contracts.get(count.contract)
            self.contracts[count.contract] = count if before_it is None else before_it.with_later(count)
        self._let_pass(number)
        if self._query is not None and (last := self._query.lastProgress) is not None:
            self._note([last])  # that of the batch before: Spark remembers the last hundred
        published = sum(output.rows for output in result.outputs)
        batch = PublishedBatch(number=number, rows=published, seconds=round(time.monotonic() - began, 3))
        self.batches.append(batch)
        self.run.metrics.latest = self._known(_SHOWN)
        self.watch.ends(batch)
        del self.batches[:-_MOST_BATCHES]
        LOG.info("batch %s: %s published", number, counted(published, "row"))

    def _checked_inputs(self, number: int) -> BatchInputs:
        """Return what the sources have for a batch, of which nothing is computed yet."""
        inputs = self._sources.of_batch(number)
        try:
            inputs.check()
        except OperatorFailedError as error:
            if isinstance(error.__cause__, UnreadFilesError) and number != self._repeated:
                self._sources.withdraw(number)  # else no run could continue, whatever name the file has then
            raise
        self._waited[number] = inputs.waited(time_of(self.store, self.checkpoint.folder, number))
        return inputs

    def _run_region(self, rows: DataFrame, number: int, inputs: BatchInputs) -> RegionResult:
        origin = self._origin

        def look(run: RegionRun) -> None:
            self.seams.looks(run)
            inputs.check_unchanged()
            self.run.evaluation.check_sources()  # those that end: the region of a batch has only its rows
            self.checkpoint.check()

        session = rows.sparkSession
        metrics = RegionMetrics(session, self._region, self.seams.on_begin, is_brief=True)
        result = run_region(
            replace(self.task, region=self._region),
            session,
            self.store,
            metrics,
            replace(
                self.seams,
                given=_given(self._region, rows, [each.schema for each in self._outputs_read()]),
                looks=look,
                batch=self.checkpoint.batch(number),
                check_turn=self.checkpoint.check,
                now=partial(time_of, self.store, self.checkpoint.folder, number),
                restored=origin if origin is not None and number == origin.first_batch else None,
            ),
        )
        for output, count in metrics.committed.items():
            self.run.metrics.committed[output] = self.run.metrics.committed.get(output, 0) + count
        self.run.metrics.actions += metrics.actions
        del self.run.metrics.actions[:-_MOST_BATCHES]
        return result

    def _attributed(self, error: BaseException) -> BaseException:
        """Return a failure of a batch as one of the operators of the stream, all of which have run for it."""
        if not isinstance(error, OperatorFailedError):
            return error
        graph = self.run.evaluation.graph
        operator = graph.operators.get(error.chain[-1].node_id)
        if operator is None:  # the rows that a sink was given
            return error
        failed = OperatorFailedError(graph.chain_of(operator), self.run.evaluation.schemas, writes=error.writes)
        failed.__cause__ = error.__cause__
        return failed


def region_of_batch(region: RegionDescriptor) -> RegionDescriptor:
    """Return the region that publishes one batch: sources of its rows, one for each output, contracts and sinks."""
    behind = region.of_each_batch
    # In this order Spark numbers their sources and states: a checkpoint belongs to it.
    numbers: dict[NodeOutput, int] = {output: -1 - place for place, output in enumerate(region.batch_inputs)}
    by_node = {each.node_id: each for each in region.operators}
    sources = tuple(
        replace(by_node[id], node_id=number, operator=Source(_BatchRows(id, tag)), inputs=())
        for (id, tag), number in numbers.items()
    )

    def of_batch(edge: InputDescriptor) -> InputDescriptor:
        number = numbers.get((edge.node_id, edge.output_tag))
        return edge if number is None else replace(edge, node_id=number, output_tag=None)

    of_each = region.only(behind, ()).changed(lambda each: replace(each, inputs=tuple(map(of_batch, each.inputs))))
    # What is looked at before any data moves was looked at for the whole stream.
    vertices = tuple(replace(vertex, initialize_on_master=()) for vertex in of_each.vertices)
    given = replace(vertices[0], operators=sources, coordinators=())
    return replace(of_each, vertices=(given, *vertices), stream=None, computed_once=())


def _sources(region: RegionDescriptor) -> list[OperatorDescriptor]:
    return [each for each in region.operators if isinstance(each.operator, Source)]


def _output(source: OperatorDescriptor) -> NodeOutput:
    connector = source.operator.connector if isinstance(source.operator, Source) else None
    assert isinstance(connector, _BatchRows), "a batch has no other sources"
    return connector.node_id, connector.tag


def _given(region: RegionDescriptor, rows: DataFrame, schemas: Sequence[StructType]) -> Mapping[int, DataFrame]:
    """Return the rows of each source of a batch, by its node; a row has NULL in place of those of other sources."""
    sources = _sources(region)
    if len(sources) == 1:
        return {sources[0].node_id: rows}
    own = (rows.where(col(_NUMBER) == number).select(f"{_ROW}{number}.*") for number in range(len(sources)))
    return {
        source.node_id: each if all(field.nullable for field in schema) else with_not_null(each, schema)
        for source, each, schema in zip(sources, own, schemas, strict=True)
    }


def _late_tag(operator: OperatorDescriptor) -> str | None:
    """Return the side output of an operator's late rows."""
    return operator.operator.late_data if isinstance(operator.operator, WindowAggregate) else None


def _progress_of(batch: StreamingQueryProgress, times_read: Sequence[int], waited: float | None) -> StreamProgress:
    """Return what Spark has reported of a batch; `times_read` is how often its query reads each source.

    Spark adds the rows of each read. A batch that is repeated may be computed once more: then it is empty.
    """
    are_known = len(batch.sources) == len(times_read)
    rows = [-(-each.numInputRows // times) for each, times in zip(batch.sources, times_read, strict=False)]
    states, watermark = batch.stateOperators, batch.eventTime.get("watermark")
    behind = [found.get("maxOffsetsBehindLatest") for source in batch.sources if (found := source.metrics)]
    return StreamProgress(
        rows_in=sum(rows) if are_known else None,
        state_rows=sum(each.numRowsTotal for each in states) if states else None,
        state_bytes=sum(each.memoryUsedBytes for each in states) if states else None,
        watermark=None if watermark is None or watermark.startswith("1970-01-01T00:00:00") else watermark,
        behind=max((int(each) for each in behind if each is not None), default=None),
        waited=waited,
    )


def _added(before: Output, output: Output) -> Output:
    return replace(output, rows=before.rows + output.rows, bytes=before.bytes + output.bytes)


def _evaluation(
    task: TaskDeploymentDescriptor,
    spark: SparkSession,
    seams: Seams,
    sources: Mapping[int, ArrivingSource],
    passed: ChangingNumber | None,
) -> RegionEvaluation:
    def arrives(operator: OperatorDescriptor, connector: Connector) -> Connector:
        return _ArrivingRows(operator.node_id) if operator.node_id in sources else connector

    def read_source(connector: Connector, splits: int | None) -> DataFrame:
        if isinstance(connector, _ArrivingRows):
            return sources[connector.node_id].read()
        return seams.read_source(connector, spark, splits)

    def fix(operator: OperatorDescriptor, _name: str, _rows: DataFrame, _partitions: int | None = None) -> DataFrame:
        raise RepeatedReadError(
            "its rows could be different each time they are computed, and several operators read them: a stream "
            "computes them for each\n  allowed: on a stream, operators with the same result each time, or one reader"
        )

    states = task.region.stream.state if task.region.stream else ()
    whole = {each.operator_id for each in states if each.is_whole}
    return RegionEvaluation(
        region=task.region,
        spark=spark,
        parameters=dict(task.parameters),
        read_source=read_source,
        increment=arrives,
        read_staged=_no_staged,
        materialize=fix,
        stop_clock=lambda _operator, rows: rows,  # Spark's own is that of the batch, also when it is repeated
        contracts=[],
        passed=None if passed is None else passed.column,
        whole=frozenset(each.node_id for each in task.region.operators if each.operator_id in whole),
    )


def _no_staged(*_: object) -> DataFrame:
    raise AssertionError("a stream reads nothing that is staged")
