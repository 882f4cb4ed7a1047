"""Run one region: evaluate its operators, stage its results, publish its sinks.

read gates ─▶ one DataFrame expression ─▶ stage results as they come up
                                      └─▶ prepare every sink, then publish every sink
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.descriptor import (
    InputDescriptor,
    OperatorDescriptor,
    ResultDescriptor,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.manifest import Manifest
from graph_compiler.deployment.report import Output
from graph_compiler.deployment.staging_layout import StagingLayout
from graph_compiler.identifiers import IntermediateDataSetId
from graph_compiler.spark_runtime.commit_store import CommitStore
from graph_compiler.spark_runtime.evaluate import Scope, evaluate, evaluate_side_output, union
from graph_compiler.spark_runtime.exchange import distribute
from graph_compiler.spark_runtime.publication import Intent, Publisher
from graph_compiler.spark_runtime.staging import StagingArea


class OperatorFailedError(Exception):
    """An operator failed; the cause is its `__cause__`. `columns` are those of its inputs, as far as known."""

    def __init__(self, operator: OperatorDescriptor, columns: list[str]) -> None:
        super().__init__(operator.name)
        self.operator = operator
        self.columns = columns


@dataclass(slots=True)
class _Evaluation:
    """The outputs of a region's operators so far, by node and side output tag."""

    scope: Scope
    area: StagingArea
    outputs: dict[tuple[int, str | None], DataFrame] = field(default_factory=dict)
    staged: dict[IntermediateDataSetId, DataFrame] = field(default_factory=dict)

    def inputs(self, operator: OperatorDescriptor) -> dict[int, list[DataFrame]]:
        """Give an operator's inputs by number, distributed as its edges say."""
        found: dict[int, list[DataFrame]] = {}
        for edge in operator.inputs:
            rows = distribute(edge.partitioner, self._rows(edge), operator)
            found.setdefault(edge.type_number, []).append(rows)
        return found

    def columns(self, operator: OperatorDescriptor) -> list[str]:
        """Give the columns of an operator's inputs, as far as these are known."""
        known = [self.outputs.get((edge.node_id, edge.output_tag)) for edge in operator.inputs]
        known += [
            self.staged[edge.staged_result]
            for edge in operator.inputs
            if edge.staged_result in self.staged
        ]
        return list(
            dict.fromkeys(column for rows in known if rows is not None for column in rows.columns)
        )

    def _rows(self, edge: InputDescriptor) -> DataFrame:
        if edge.staged_result is None:
            return self.outputs[edge.node_id, edge.output_tag]
        if edge.staged_result not in self.staged:
            self.staged[edge.staged_result] = self.area.read(edge.staged_result)
        return self.staged[edge.staged_result]


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
    publisher = Publisher(
        spark=spark, store=store, layout=layout, execution_id=attempt.execution_id
    )
    evaluation = _Evaluation(Scope(spark=spark, parameters=dict(task.parameters)), area)

    operators = [operator for vertex in region.vertices for operator in vertex.operators]
    sinks = [operator for operator in operators if isinstance(operator.operator, Sink)]
    for sink in sinks:
        publisher.finish_earlier(sink.operator_id)
    outputs: list[Output] = []
    for operator in operators:
        if operator not in sinks:
            outputs.extend(_run_operator(operator, region.results, evaluation))
    intents = [_prepare(sink, publisher, evaluation) for sink in sinks]
    for intent in intents:
        publisher.publish(intent)
    outputs.extend(_sink_output(sink, intent) for sink, intent in zip(sinks, intents, strict=True))
    return tuple(outputs)


def _run_operator(
    operator: OperatorDescriptor, results: tuple[ResultDescriptor, ...], evaluation: _Evaluation
) -> Iterator[Output]:
    """Evaluate one operator with its side outputs, and stage what it gives to other regions."""
    with _blaming(operator, evaluation):
        inputs = evaluation.inputs(operator)
        rows = evaluate(operator.operator, inputs, evaluation.scope)
        if operator.parallelism is not None and not operator.inputs:
            rows = rows.repartition(operator.parallelism)
        evaluation.outputs[operator.node_id, None] = rows
        for tag in operator.operator.output_tags():
            side = evaluate_side_output(operator.operator, tag, inputs, evaluation.scope)
            evaluation.outputs[operator.node_id, tag] = side
    for result in results:
        if result.node_id == operator.node_id:
            with _blaming(operator, evaluation):
                rows = evaluation.outputs[result.node_id, result.output_tag]
                yield _staged_output(operator, result, evaluation.area.stage(result, rows))


def _prepare(sink: OperatorDescriptor, publisher: Publisher, evaluation: _Evaluation) -> Intent:
    assert isinstance(sink.operator, Sink)
    with _blaming(sink, evaluation):
        ((_, streams),) = evaluation.inputs(sink).items()
        return publisher.prepare(sink.operator_id, sink.operator.connector.path, union(streams))


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


def _sink_output(sink: OperatorDescriptor, intent: Intent) -> Output:
    return Output(
        kind="sink", name=sink.name, location=intent.target, rows=intent.rows, bytes=intent.bytes
    )
