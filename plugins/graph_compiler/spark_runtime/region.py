"""Run one region: evaluate its operators, stage its results, publish its sinks.

read gates ─▶ one DataFrame expression ─▶ stage results as they come up
                                      └─▶ prepare every sink, then publish every sink
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

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
from graph_compiler.deployment.report import Output, Phase
from graph_compiler.deployment.staging_layout import StagingLayout
from graph_compiler.identifiers import IntermediateDataSetId
from graph_compiler.spark_runtime.commit_store import CommitStore
from graph_compiler.spark_runtime.evaluate import Scope, evaluate, evaluate_outputs, union
from graph_compiler.spark_runtime.exchange import distribute
from graph_compiler.spark_runtime.failures import InputSchema, OperatorFailedError
from graph_compiler.spark_runtime.metrics import RegionMetrics
from graph_compiler.spark_runtime.origins import STAGED, origin
from graph_compiler.spark_runtime.publication import Intent, Publisher, Ticket
from graph_compiler.spark_runtime.region_graph import RegionGraph
from graph_compiler.spark_runtime.shared_rows import settled
from graph_compiler.spark_runtime.staging import StagingArea

_Output = tuple[int, str | None]  # a node and the tag of its output, None for the main one


@dataclass(slots=True)
class _Evaluation:
    """The outputs of a region's operators so far. `readers` counts who will read each output."""

    scope: Scope
    area: StagingArea
    metrics: RegionMetrics
    graph: RegionGraph
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

    def schemas(self, operator: OperatorDescriptor) -> tuple[InputSchema, ...]:
        """Give the schemas of an operator's inputs, as far as these are known."""
        known = [
            (edge, self.outputs.get((edge.node_id, edge.output_tag)))
            if edge.staged is None
            else (edge, self.staged.get(edge.staged.id))
            for edge in operator.inputs
        ]
        return tuple(
            InputSchema(producer=self.graph.name(edge), schema=rows.schema)
            for edge, rows in known
            if rows is not None
        )

    def run(self, operator: OperatorDescriptor) -> None:
        """Evaluate an operator with its side outputs; what several read and would differ is fixed first."""
        inputs = self.inputs(operator)

        def settle(rows: DataFrame) -> DataFrame:
            return settled(rows, operator, self.area, self.metrics)

        if any(self.readers[operator.node_id, tag] for tag in operator.operator.output_tags()):
            outputs = evaluate_outputs(operator.operator, inputs, self.scope, settle)
        else:
            rows = evaluate(operator.operator, inputs, self.scope)
            if operator.parallelism is not None and not operator.inputs:
                rows = rows.repartition(operator.parallelism)
            outputs = {None: settle(rows) if self.readers[operator.node_id, None] > 1 else rows}
        for tag, rows in outputs.items():
            self.outputs[operator.node_id, tag] = rows
            self.metrics.mark(rows, (operator.node_id, tag))

    def _rows(self, edge: InputDescriptor) -> DataFrame:
        if edge.staged is None:
            return self.outputs[edge.node_id, edge.output_tag]
        if edge.staged.id not in self.staged:
            # no operator of this application made them
            with origin(self.scope.spark, STAGED, edge.staged.id):
                self.staged[edge.staged.id] = self.area.read(edge.staged)
            self.metrics.staged[edge.staged.id] = self.area.rows(edge.staged)
        return self.staged[edge.staged.id]


def run_region(
    task: TaskDeploymentDescriptor, spark: SparkSession, store: CommitStore, metrics: RegionMetrics
) -> tuple[Output, ...]:
    """Run everything and give what was staged and published; `metrics` gathers what it took.

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
    graph = RegionGraph.of(region)
    evaluation = _Evaluation(scope, area, metrics, graph, _readers(operators, region.results))

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
    with _running(operator, Phase.EVALUATE, evaluation):
        evaluation.run(operator)
    for result in results:
        if result.node_id == operator.node_id:
            output = (result.node_id, result.output_tag)
            with _running(operator, Phase.STAGE, evaluation):
                manifest = evaluation.area.stage(result, evaluation.outputs[output])
            evaluation.metrics.committed[output] = manifest.rows
            with _running(operator, Phase.EVALUATE, evaluation):
                # Whoever reads it here too reads the committed rows: one result, however often it is read (D9).
                committed = StagedInput(id=result.id, fingerprint=result.fingerprint)
                if evaluation.readers[output] > 1:
                    evaluation.outputs[output] = evaluation.area.read(committed)
            yield _staged_output(operator, result, manifest)


def _settle(sink: OperatorDescriptor, publisher: Publisher, evaluation: _Evaluation) -> Ticket:
    assert isinstance(sink.operator, Sink)
    with _running(sink, Phase.EVALUATE, evaluation):
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
            with _running(sink, Phase.EVALUATE, evaluation):
                ((_, streams),) = evaluation.inputs(sink).items()
                rows = union(streams)
            with _running(sink, Phase.PREPARE, evaluation):
                intents.append(publisher.prepare(ticket, rows))
            evaluation.metrics.committed[sink.node_id, None] = intents[-1].rows
    except BaseException:
        for ticket in tickets:
            publisher.discard(ticket)
        raise
    return intents


@contextmanager
def _running(operator: OperatorDescriptor, phase: Phase, evaluation: _Evaluation) -> Iterator[None]:
    """Measure what is done for an operator, and let its failure point home."""
    try:
        with evaluation.metrics.running(operator, phase):
            yield
    except Exception as cause:
        chain = evaluation.graph.chain_of(operator)
        writes = phase is not Phase.EVALUATE
        raise OperatorFailedError(chain, evaluation.schemas, writes=writes) from cause


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
