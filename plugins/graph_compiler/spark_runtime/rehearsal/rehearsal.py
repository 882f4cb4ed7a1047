"""Run a pipeline with given rows for its sources, and keep the rows of its sinks, for tests.

Regions run one after the other in one session, by the code that runs them in production (`main.execute`), with a
separate staging root. Every output may be read again, so nondeterministic rows are fixed, as for an output with several
readers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeAlias

import pyarrow
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.operators import Sink, Source
from graph_compiler.declaration.retention import Retention
from graph_compiler.deployment.documents.descriptor import (
    OperatorDescriptor,
    RegionDescriptor,
    TaskDeploymentDescriptor,
    VertexDescriptor,
)
from graph_compiler.deployment.documents.report import ExecutionReport, Failure, Phase
from graph_compiler.deployment.documents.stream import PublishedBatch
from graph_compiler.errors import GraphCompilerError
from graph_compiler.identifiers import OperatorId, listing, quoted
from graph_compiler.spark_runtime.connectors import (
    OpenSink,
    PreparedSink,
    SinkContext,
    check_without_target,
    open_sink,
    read_source,
)
from graph_compiler.spark_runtime.connectors.arriving.arriving_source import ArrivingSource, arriving
from graph_compiler.spark_runtime.connectors.source import Found, as_declared
from graph_compiler.spark_runtime.failures.failures import OperatorFailedError, explain_failure
from graph_compiler.spark_runtime.main import execute
from graph_compiler.spark_runtime.region.previous_version import read_target
from graph_compiler.spark_runtime.region.region_graph import Output
from graph_compiler.spark_runtime.region.region_run import RegionRun
from graph_compiler.spark_runtime.region.seams import Seams
from graph_compiler.spark_runtime.rehearsal.given_batches import GivenBatches, kept_batch, rows_of_all
from graph_compiler.spark_runtime.results.pinned_settings import pinned
from graph_compiler.spark_runtime.spark_internals.versions import arrow_type
from graph_compiler.staging.publications.folded_batches import batch_of
from graph_compiler.staging.publications.preparations import PreparedPlace

# Rows as Python values for assertions in tests: dicts by column, timestamps in UTC without a zone.
#
# Rows go through Arrow: PySpark's `collect` returns timestamps in the machine's zone. Types that Arrow does not have,
# such as intervals of months, are returned as Spark's text.

Row: TypeAlias = dict[str, object]


class SameNameError(GraphCompilerError):
    """Several columns have the same name, so a dict cannot hold them."""


def collect_rows(rows: DataFrame) -> list[Row]:
    """Return all rows, in Spark's order; raises SameNameError for duplicate column names."""
    names = rows.columns
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise SameNameError(
            f"several columns are called {listing(twice)}\n  hint: rename them in the pipeline: .rename(…), .select(…)"
        )
    kinds = [field.dataType for field in rows.schema]
    columns = [
        col(quoted(name)) if _has_arrow_type(kind) else col(quoted(name)).cast("string")
        for name, kind in zip(names, kinds, strict=True)
    ]
    table = rows.select(*columns).toArrow()
    return [dict(zip(names, cells, strict=True)) for cells in _cells(table, kinds)]


def _has_arrow_type(kind: DataType) -> bool:
    try:
        arrow_type(kind)
    except PySparkException:
        return False
    return True


def _cells(table: pyarrow.Table, kinds: list[DataType]) -> Iterator[tuple[object, ...]]:
    if not kinds:
        yield from [()] * table.num_rows
        return
    columns = [
        [_value(value, kind) for value in column.to_pylist()] for column, kind in zip(table.columns, kinds, strict=True)
    ]
    yield from zip(*columns, strict=True)


def _value(value: object, kind: DataType) -> object:
    """Return Arrow's value as a test would write it."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    if isinstance(kind, ArrayType) and isinstance(value, list):
        return [_value(item, kind.elementType) for item in value]
    if isinstance(kind, MapType) and isinstance(value, list):
        return {key: _value(item, kind.valueType) for key, item in value}
    if isinstance(kind, StructType) and isinstance(value, dict):
        return {field.name: _value(value[field.name], field.dataType) for field in kind}
    return value


@dataclass(slots=True, weakref_slot=True, kw_only=True)
class Rehearsal:
    """What is known about a pipeline's regions so far.

    `root` is a separate staging root. `given` holds the rows of sources by node id, `batches` those of sources that
    never end, as many for each. `target` is an output whose rows are collected while its region runs.
    """

    spark: SparkSession
    root: str
    given: Mapping[int, DataFrame]
    batches: Mapping[int, Sequence[DataFrame]] = field(default_factory=dict)
    writes_sinks: bool = False
    target: Output | None = None
    reports: list[ExecutionReport] = field(default_factory=list)
    _runs: dict[int, RegionRun] = field(default_factory=dict)
    _kept: dict[OperatorId, DataFrame] = field(default_factory=dict)
    _rows: dict[Output, list[Row]] = field(default_factory=dict)
    _sink_rows: dict[OperatorId, list[Row]] = field(default_factory=dict)
    _streamed: set[int] = field(default_factory=set)
    """The operators that have run batch by batch."""
    _of_batches: dict[OperatorId, dict[int, DataFrame]] = field(default_factory=dict)

    def run(self, tasks: Sequence[TaskDeploymentDescriptor]) -> Failure | None:
        """Run regions in topological order; return the first failure, None if all succeeded."""
        for task in tasks:
            seams = self._surroundings(task.region)
            with pinned(self.spark, dict(task.region.session)):
                report = execute(task, self.spark, seams)
            self.reports.append(report)
            if report.failure is not None:
                return report.failure
            if task.region.stream is not None and seams.gives_batches:
                self._streamed |= {operator.node_id for operator in task.region.operators}
        return None

    def frame(self, output: Output) -> DataFrame:
        """Return an output as a DataFrame; for a sink, the rows it received: of a stream, what its target then has."""
        run = self._runs[output[0]]
        operator = run.evaluation.graph.operators[output[0]]
        if not isinstance(operator.operator, Sink):
            return run.evaluation.outputs[output]
        if (batches := self._of_batches.get(operator.operator_id)) is not None:
            return rows_of_all(operator.operator, [*batches.values()])
        return self._kept[operator.operator_id]

    def rows(self, output: Output) -> list[Row] | Failure:
        """Return an output's rows, or the failure that prevents it; they are computed once."""
        run = self._runs[output[0]]
        operator = run.evaluation.graph.operators[output[0]]
        if isinstance(operator.operator, Sink) and operator.operator_id in self._sink_rows:
            return self._sink_rows[operator.operator_id]
        if output not in self._rows:
            with pinned(self.spark, dict(run.evaluation.region.session)):
                try:
                    self._rows[output] = collect_rows(self.frame(output))
                except (Exception, SystemExit) as cause:  # any exception, as in production
                    chain = run.evaluation.graph.chain_of(operator)
                    error = OperatorFailedError(chain, run.evaluation.schemas, writes=True)
                    error.__cause__ = cause
                    return explain_failure(error)
        return self._rows[output]

    def was_run(self, node_id: int) -> bool:
        """Whether an operator was run."""
        return node_id in self._runs or node_id in self._streamed

    def is_streamed(self, node_id: int) -> bool:
        """Whether an operator was run batch by batch: then only rows of sinks are known."""
        return node_id in self._streamed

    def rows_of_batch(self, sink: int, number: int) -> list[Row]:
        """Return the rows that a sink was given in a batch."""
        evaluation = self._runs[sink].evaluation
        with pinned(self.spark, dict(evaluation.region.session)):
            return collect_rows(self._of_batches[evaluation.graph.operators[sink].operator_id][number])

    def published(self) -> Mapping[int, Sequence[PublishedBatch]]:
        """Return what was published in each batch, of each region that is a stream."""
        found: dict[int, list[PublishedBatch]] = {}
        for batch in (batch for report in self.reports for batch in report.batches):
            found.setdefault(batch.number, []).append(batch)
        return found

    def _surroundings(self, region: RegionDescriptor) -> Seams:
        given = {
            id(operator.operator.connector): self.given[operator.node_id]
            for operator in region.operators
            if isinstance(operator.operator, Source) and operator.node_id in self.given
        }

        def read(connector: Connector, spark: SparkSession, parallelism: int | None) -> DataFrame:
            rows = given.get(id(connector))
            if rows is None:
                return read_source(connector, spark, parallelism)
            return as_declared(connector, Found(rows=rows, schema=rows.schema))

        def read_previous(operator: OperatorDescriptor, splits: int | None) -> DataFrame:
            assert isinstance(operator.operator, Source), "it is read"
            connector = operator.operator.connector
            if id(connector) not in given:
                return read_target(connector, self.spark, splits)
            return read(connector, self.spark, splits)

        def arrives(connector: Connector, spark: SparkSession, name: str) -> ArrivingSource:
            batches = self.batches.get(int(name))
            if batches is None:
                return arriving(connector, spark, name)
            folder = Path(self.root, "given", name)
            return GivenBatches(connector=connector, spark=spark, name=name, batches=batches, folder=folder)

        return Seams(
            arriving=arrives,
            gives_batches=bool(self.batches),
            read_source=read,
            read_previous=read_previous,
            open_sink=self._open_sink,
            pins=False,
            observed=frozenset(
                (operator.node_id, tag)
                for operator in region.operators
                if not isinstance(operator.operator, Sink)
                for tag in (None, *operator.operator.output_tags())
            ),
            looks=self._look,
        )

    def _look(self, run: RegionRun) -> None:
        operators = run.evaluation.graph.operators
        self._runs.update(dict.fromkeys(operators, run))
        if self.target is not None and self.target in run.evaluation.outputs:
            with run.running(operators[self.target[0]], Phase.PREVIEW):
                self._rows[self.target] = collect_rows(run.evaluation.outputs[self.target])

    def _open_sink(self, connector: Connector, operator_id: OperatorId, sink: Sink, context: SinkContext) -> OpenSink:
        real = open_sink(connector, operator_id, sink, context) if self.writes_sinks else None
        keep = partial(self._keep, operator_id)
        if (batch := batch_of(context.batch)) is not None:
            keep = partial(self._keep_of_batch, operator_id, sink, batch[1])
        return KeptSink(sink=sink, keep=keep, real=real)

    def _keep(self, operator_id: OperatorId, rows: DataFrame) -> int:
        """Keep the rows of a sink; return their number."""
        self._kept[operator_id] = rows
        self._sink_rows[operator_id] = collect_rows(rows)
        return len(self._sink_rows[operator_id])

    def _keep_of_batch(self, operator_id: OperatorId, sink: Sink, number: int, rows: DataFrame) -> int:
        """Keep the rows that a sink was given in a batch; return their number."""
        kept = kept_batch(sink, rows)
        self._of_batches.setdefault(operator_id, {})[number] = kept
        return kept.count()


def rehearsed(region: RegionDescriptor, given: Sequence[int], *, writes_sinks: bool) -> RegionDescriptor:
    """Return the region without the places of given sources, and of sinks whose rows are only kept.

    Nothing is released: a test may look at any result.
    """
    vertices = tuple(_without_places(vertex, set(given), writes_sinks=writes_sinks) for vertex in region.vertices)
    return replace(region, vertices=vertices, retention=Retention())


def _without_places(vertex: VertexDescriptor, given: set[int], *, writes_sinks: bool) -> VertexDescriptor:
    ids = {operator.node_id for operator in vertex.operators}
    kept = {
        operator.node_id for operator in vertex.operators if isinstance(operator.operator, Sink) and not writes_sinks
    }
    placeless = given | kept
    return replace(
        vertex,
        operators=tuple(
            _placeless(operator) if operator.node_id in placeless else operator for operator in vertex.operators
        ),
        initialize_on_master=vertex.only(ids - placeless).initialize_on_master,
        coordinators=vertex.only(ids - given).coordinators,
    )


def _placeless(operator: OperatorDescriptor) -> OperatorDescriptor:
    """Return the source or sink with a connector that names no place; its declared columns stay."""
    assert isinstance(operator.operator, Source | Sink)
    connector = operator.operator.connector
    placeless = connector.with_texts(dict.fromkeys(connector.texts(), ""))
    return replace(operator, operator=replace(operator.operator, connector=placeless))


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptSink:
    """Passes rows to `keep`, which returns their number; `real` is the real sink if that is written, too."""

    sink: Sink
    keep: Callable[[DataFrame], int]
    real: OpenSink | None = None

    @property
    def target(self) -> str | None:
        """Return the target of the real sink."""
        return None if self.real is None else self.real.target

    def check(self, rows: DataFrame) -> DataFrame:
        """Return the rows as the sink would write them."""
        return check_without_target(self.sink, rows) if self.real is None else self.real.check(rows)

    def prepares(self) -> PreparedPlace | None:
        """Return where the real sink will prepare rows."""
        return None if self.real is None else self.real.prepares()

    def prepare(self, rows: DataFrame, /) -> PreparedSink:
        """Keep the rows; a real sink then writes the kept rows, since recomputed ones could differ."""
        if self.real is None:
            return PreparedSink(location="", rows=self.keep(rows), bytes=0, publish=_publish_nothing)
        rows = rows.localCheckpoint()
        self.keep(rows)
        return self.real.prepare(rows)

    def discard(self) -> None:
        """Let the real sink remove what it prepared."""
        if self.real is not None:
            self.real.discard()


def _publish_nothing() -> None:
    """Publish nothing: kept rows have no readers."""
