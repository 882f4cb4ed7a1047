"""Run one region: evaluate its operators, stage its results, publish its sinks.

read gates ─▶ one DataFrame expression ─▶ stage results as they come up
                                      └─▶ prepare every sink, then publish every sink
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter

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
from graph_compiler.spark_runtime.evaluate import Scope, evaluate, evaluate_outputs, union
from graph_compiler.spark_runtime.exchange import distribute_all, partitions_read
from graph_compiler.spark_runtime.partition_counts import with_exactly
from graph_compiler.spark_runtime.publication import Intent, Publisher, Ticket
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
    staged: dict[tuple[IntermediateDataSetId, int | None], DataFrame] = field(default_factory=dict)

    def inputs(self, operator: OperatorDescriptor) -> dict[int, list[DataFrame]]:
        """Give an operator's inputs by number, distributed as its edges say."""
        found: dict[int, list[DataFrame]] = {}
        number_of = attrgetter("type_number")
        for number, edges in groupby(sorted(operator.inputs, key=number_of), key=number_of):
            streams = [(edge, self._rows(edge, partitions_read(edge, operator))) for edge in edges]
            found[number] = distribute_all(streams, operator)
        return found

    def columns(self, operator: OperatorDescriptor) -> list[str]:
        """Give the columns of an operator's inputs, as far as these are known."""
        known = [self.outputs.get((edge.node_id, edge.output_tag)) for edge in operator.inputs]
        staged = {edge.staged.id for edge in operator.inputs if edge.staged is not None}
        known += [rows for (id, _), rows in self.staged.items() if id in staged]
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
            outputs = {
                tag: with_exactly(rows, operator.parallelism) for tag, rows in outputs.items()
            }
        else:
            rows = with_exactly(
                evaluate(operator.operator, inputs, self.scope), operator.parallelism
            )
            outputs = {None: settle(rows) if self.readers[operator.node_id, None] > 1 else rows}
        self.outputs |= {(operator.node_id, tag): rows for tag, rows in outputs.items()}

    def _rows(self, edge: InputDescriptor, partitions: int | None) -> DataFrame:
        if edge.staged is None:
            return self.outputs[edge.node_id, edge.output_tag]
        key = (edge.staged.id, partitions)
        if key not in self.staged:
            self.staged[key] = self.area.read(edge.staged, partitions=partitions)
        return self.staged[key]


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
    operators = [operator for vertex in region.vertices for operator in vertex.operators]
    scope = Scope(spark=spark, parameters=dict(task.parameters))
    evaluation = _Evaluation(scope, area, _readers(operators, region.results))

    sinks = [operator for operator in operators if isinstance(operator.operator, Sink)]
    tickets = [_settle(sink, publisher, evaluation) for sink in sinks]
    outputs: list[Output] = []
    for operator in operators:
        if operator not in sinks:
            outputs.extend(_run_operator(operator, region.results, evaluation))
    intents = _prepare_all(sinks, tickets, publisher, evaluation)
    for intent in intents:
        publisher.publish(intent)
    outputs.extend(_sink_output(sink, intent) for sink, intent in zip(sinks, intents, strict=True))
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
                    evaluation.outputs[output] = evaluation.area.read(
                        committed, partitions=result.partitions
                    )
            yield _staged_output(operator, result, manifest)


def _settle(sink: OperatorDescriptor, publisher: Publisher, evaluation: _Evaluation) -> Ticket:
    assert isinstance(sink.operator, Sink)
    with _blaming(sink, evaluation):
        return publisher.settle(sink.operator_id, sink.operator.connector.path)


def _prepare_all(
    sinks: list[OperatorDescriptor],
    tickets: list[Ticket],
    publisher: Publisher,
    evaluation: _Evaluation,
) -> list[Intent]:
    """Write every sink's rows beside its target; where one fails, take all of them away again."""
    intents = []
    try:
        for sink, ticket in zip(sinks, tickets, strict=True):
            with _blaming(sink, evaluation):
                ((_, streams),) = evaluation.inputs(sink).items()
                rows = with_exactly(union(streams), sink.parallelism)
                intents.append(publisher.prepare(ticket, rows))
    except BaseException:
        for ticket in tickets:
            publisher.discard(ticket)
        raise
    return intents


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
