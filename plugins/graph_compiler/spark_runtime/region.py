"""Run one region: evaluate its operators, stage its results, publish its sinks.

read gates ─▶ one DataFrame expression ─▶ stage results as they come up
                                      └─▶ prepare every sink, then publish every sink
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.descriptor import (
    InputDescriptor,
    OperatorDescriptor,
    ResultDescriptor,
    StagedInput,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.manifest import Manifest
from graph_compiler.deployment.report import Output
from graph_compiler.deployment.staging_layout import StagingLayout
from graph_compiler.identifiers import IntermediateDataSetId
from graph_compiler.spark_runtime.commit_store import CommitStore
from graph_compiler.spark_runtime.connectors import (
    OpenSink,
    PreparedSink,
    SinkContext,
    open_sink,
)
from graph_compiler.spark_runtime.evaluate import Scope, evaluate, evaluate_outputs, union
from graph_compiler.spark_runtime.exchange import distribute
from graph_compiler.spark_runtime.shared_rows import settled
from graph_compiler.spark_runtime.staging import StagingArea

_Output = tuple[int, str | None]  # a node and the tag of its output, None for the main one


class OperatorFailedError(Exception):
    """An operator failed; the cause is its `__cause__`. `columns` are those of its inputs, as far as known."""

    def __init__(self, operator: OperatorDescriptor, columns: list[str]) -> None:
        super().__init__(operator.name)
        self.operator = operator
        self.columns = columns


@dataclass(slots=True)
class _Evaluation:
    """The outputs of a region's operators so far. `readers` counts who will read each output."""

    scope: Scope
    area: StagingArea
    readers: Counter[_Output]
    outputs: dict[_Output, DataFrame] = field(default_factory=dict)
    staged: dict[IntermediateDataSetId, DataFrame] = field(default_factory=dict)

    def inputs(self, operator: OperatorDescriptor) -> dict[int, list[DataFrame]]:
        """Give an operator's inputs by number, distributed as its edges say."""
        found: dict[int, list[DataFrame]] = {}
        for edge in operator.inputs:
            rows = distribute(edge.partitioner, self._rows(edge), edge, operator)
            found.setdefault(edge.type_number, []).append(rows)
        return found

    def columns(self, operator: OperatorDescriptor) -> list[str]:
        """Give the columns of an operator's inputs, as far as these are known."""
        known = [self.outputs.get((edge.node_id, edge.output_tag)) for edge in operator.inputs]
        known += [
            self.staged.get(edge.staged.id) for edge in operator.inputs if edge.staged is not None
        ]
        return list(
            dict.fromkeys(column for rows in known if rows is not None for column in rows.columns)
        )

    def run(self, operator: OperatorDescriptor) -> None:
        """Evaluate an operator with its side outputs; what several read and would differ is fixed first."""
        inputs = self.inputs(operator)

        def settle(rows: DataFrame) -> DataFrame:
            return settled(rows, operator, self.area)

        if any(self.readers[operator.node_id, tag] for tag in operator.operator.output_tags()):
            outputs = evaluate_outputs(operator.operator, inputs, self.scope, settle)
        else:
            scope = replace(self.scope, parallelism=operator.parallelism)
            rows = evaluate(operator.operator, inputs, scope)
            if operator.parallelism is not None and not operator.inputs:
                rows = rows.repartition(operator.parallelism)
            outputs = {None: settle(rows) if self.readers[operator.node_id, None] > 1 else rows}
        self.outputs |= {(operator.node_id, tag): rows for tag, rows in outputs.items()}

    def _rows(self, edge: InputDescriptor) -> DataFrame:
        if edge.staged is None:
            return self.outputs[edge.node_id, edge.output_tag]
        if edge.staged.id not in self.staged:
            self.staged[edge.staged.id] = self.area.read(edge.staged)
        return self.staged[edge.staged.id]


def run_region(
    task: TaskDeploymentDescriptor, spark: SparkSession, store: CommitStore
) -> tuple[Output, ...]:
    """Run everything and give what was staged and published.

    Raises OperatorFailedError, or what staging and publication raise. A failure before the last sink is prepared
    leaves every target as it was.
    """
    region, attempt = task.region, task.attempt
    layout = StagingLayout(root=task.staging_root, pipeline=region.pipeline, run_id=attempt.run_id)
    area = StagingArea(
        spark=spark, store=store, layout=layout, attempt=attempt, plan_id=region.plan_id
    )
    context = SinkContext(
        spark=spark, store=store, layout=layout, execution_id=attempt.execution_id
    )
    operators = [operator for vertex in region.vertices for operator in vertex.operators]
    scope = Scope(spark=spark, parameters=dict(task.parameters))
    evaluation = _Evaluation(scope, area, _readers(operators, region.results))

    sinks = [operator for operator in operators if isinstance(operator.operator, Sink)]
    opened = [_open(sink, context, evaluation) for sink in sinks]
    outputs: list[Output] = []
    for operator in operators:
        if operator not in sinks:
            outputs.extend(_run_operator(operator, region.results, evaluation))
    prepared = _prepare_all(sinks, opened, evaluation)
    for sink, rows in zip(sinks, prepared, strict=True):
        with _blaming(sink, evaluation):
            rows.publish()
    outputs.extend(_sink_output(sink, rows) for sink, rows in zip(sinks, prepared, strict=True))
    return tuple(outputs)


def _readers(
    operators: list[OperatorDescriptor], results: tuple[ResultDescriptor, ...]
) -> Counter[_Output]:
    edges = [edge for operator in operators for edge in operator.inputs if edge.staged is None]
    return Counter(
        [(edge.node_id, edge.output_tag) for edge in edges]
        + [(result.node_id, result.output_tag) for result in results]
    )


def _run_operator(
    operator: OperatorDescriptor, results: tuple[ResultDescriptor, ...], evaluation: _Evaluation
) -> Iterator[Output]:
    """Evaluate one operator, and stage what it gives to other regions."""
    with _blaming(operator, evaluation):
        evaluation.run(operator)
    for result in results:
        if result.node_id == operator.node_id:
            with _blaming(operator, evaluation):
                output = (result.node_id, result.output_tag)
                manifest = evaluation.area.stage(result, evaluation.outputs[output])
                # Whoever reads it here too reads the committed rows: one result, however often it is read (D9).
                committed = StagedInput(id=result.id, fingerprint=result.fingerprint)
                if evaluation.readers[output] > 1:
                    evaluation.outputs[output] = evaluation.area.read(committed)
            yield _staged_output(operator, result, manifest)


def _open(sink: OperatorDescriptor, context: SinkContext, evaluation: _Evaluation) -> OpenSink:
    assert isinstance(sink.operator, Sink)
    with _blaming(sink, evaluation):
        return open_sink(sink.operator.connector, sink.operator_id, sink.operator, context)


def _prepare_all(
    sinks: list[OperatorDescriptor], opened: list[OpenSink], evaluation: _Evaluation
) -> list[PreparedSink]:
    """Check every sink's rows, then write them where nobody looks; where one fails, take all of them away again."""
    checked, prepared = [], []
    for sink, target in zip(sinks, opened, strict=True):
        with _blaming(sink, evaluation):
            ((_, streams),) = evaluation.inputs(sink).items()
            checked.append(target.check(union(streams)))
    try:
        for sink, target, rows in zip(sinks, opened, checked, strict=True):
            with _blaming(sink, evaluation):
                prepared.append(target.prepare(rows))
    except BaseException:
        for target in opened:
            target.discard()
        raise
    return prepared


@contextmanager
def _blaming(operator: OperatorDescriptor, evaluation: _Evaluation) -> Iterator[None]:
    try:
        yield
    except Exception as cause:
        raise OperatorFailedError(operator, evaluation.columns(operator)) from cause


def _staged_output(
    operator: OperatorDescriptor, result: ResultDescriptor, manifest: Manifest
) -> Output:
    name = operator.name if result.output_tag is None else f"{operator.name}.{result.output_tag}"
    return Output(
        kind="staged",
        name=name,
        location=manifest.location,
        rows=manifest.rows,
        bytes=manifest.bytes,
    )


def _sink_output(sink: OperatorDescriptor, prepared: PreparedSink) -> Output:
    return Output(
        kind="sink",
        name=sink.name,
        location=prepared.location,
        rows=prepared.rows,
        bytes=prepared.bytes,
    )
