"""Run one region: evaluate its operators, stage its results, publish its sinks.

see to inputs and targets ─▶ start coordinators ─▶
read gates ─▶ one DataFrame expression ─▶ stage results as they come up
                                      └─▶ prepare every sink, then publish every sink
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from operator import attrgetter

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.declaration.operators import Sink
from graph_compiler.declaration.pipeline import ParameterValue
from graph_compiler.deployment.descriptor import (
    InputDescriptor,
    OperatorDescriptor,
    ResultDescriptor,
    StagedInput,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.manifest import ContractCount, Manifest
from graph_compiler.deployment.report import Output
from graph_compiler.deployment.staging_layout import StagingLayout
from graph_compiler.identifiers import IntermediateDataSetId
from graph_compiler.spark_runtime.commit_store import CommitStore
from graph_compiler.spark_runtime.contracts import Contract, check_contracts
from graph_compiler.spark_runtime.coordination import make_coordinators
from graph_compiler.spark_runtime.evaluate import Scope, evaluate, evaluate_outputs, union
from graph_compiler.spark_runtime.exchange import distribute_all, partitions_read
from graph_compiler.spark_runtime.master_hooks import initialize_on_master
from graph_compiler.spark_runtime.partition_counts import with_exactly
from graph_compiler.spark_runtime.publication import Publisher
from graph_compiler.spark_runtime.shared_rows import FixedRows, is_deterministic
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
    """The outputs of a region's operators so far.

    `readers` counts who will read each output, `results` are those that are staged anyway; `unrepeatable` are those
    that computing again may change.
    """

    parameters: Mapping[str, ParameterValue]
    area: StagingArea
    fixed: FixedRows
    contracts: list[Contract]
    readers: Counter[_Output]
    results: frozenset[_Output]
    unrepeatable: set[_Output] = field(default_factory=set)
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
        fix = partial(self.fixed.fix, operator)
        scope = Scope(
            spark=self.area.spark, parameters=self.parameters, fix=fix, contracts=self.contracts
        )
        repeatable = self._reads_repeatable(operator)
        if any(self.readers[operator.node_id, tag] for tag in operator.operator.output_tags()):
            if not repeatable:  # its outputs are several readers of its inputs
                inputs = {
                    number: [fix(f"input-{number}", union(rows))] for number, rows in inputs.items()
                }
                repeatable = True
            outputs = evaluate_outputs(operator.operator, inputs, scope)
        else:
            outputs = {None: evaluate(operator.operator, inputs, scope)}
        repeatable = repeatable and operator.operator.why_unrepeatable() is None
        for tag, rows in outputs.items():
            exact = with_exactly(rows, operator.parallelism)
            self._keep(operator, tag, exact, repeatable=repeatable)

    def _keep(
        self, operator: OperatorDescriptor, tag: str | None, rows: DataFrame, *, repeatable: bool
    ) -> None:
        """Keep an output for its readers: fixed if there are several who would see different rows."""
        output = (operator.node_id, tag)
        if repeatable and is_deterministic(rows):
            self.outputs[output] = rows
        elif self.readers[output] > 1 and output not in self.results:
            name = f"shared-{tag or 'main'}"
            self.outputs[output] = self.fixed.fix(operator, name, rows, operator.parallelism)
        else:
            self.outputs[output] = rows
            self.unrepeatable.add(output)

    def _reads_repeatable(self, operator: OperatorDescriptor) -> bool:
        read = [(edge.node_id, edge.output_tag) for edge in operator.inputs if edge.staged is None]
        return not any(output in self.unrepeatable for output in read)

    def _rows(self, edge: InputDescriptor, partitions: int | None) -> DataFrame:
        if edge.staged is None:
            return self.outputs[edge.node_id, edge.output_tag]
        key = (edge.staged.id, partitions)
        if key not in self.staged:
            self.staged[key] = self.area.read(edge.staged, partitions=partitions)
        return self.staged[key]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionResult:
    """What came out of a region."""

    outputs: tuple[Output, ...]
    contracts: tuple[ContractCount, ...]


def run_region(
    task: TaskDeploymentDescriptor, spark: SparkSession, store: CommitStore
) -> RegionResult:
    """Run everything and give what was staged and published, and what contracts counted.

    Raises InitializeOnMasterError before any data moves, OperatorFailedError after. A failure before the last sink is
    prepared leaves every target as it was.
    """
    region, attempt = task.region, task.attempt
    layout = StagingLayout(root=task.staging_root, pipeline=region.pipeline, run_id=attempt.run_id)
    contracts: list[Contract] = []
    area = StagingArea(
        spark=spark,
        store=store,
        layout=layout,
        attempt=attempt,
        plan_id=region.plan_id,
        contracts=partial(check_contracts, contracts, spark),
    )
    publisher = Publisher(
        spark=spark, store=store, layout=layout, execution_id=attempt.execution_id
    )
    operators = [operator for vertex in region.vertices for operator in vertex.operators]
    evaluation = _Evaluation(
        dict(task.parameters),
        area,
        FixedRows(area),
        contracts,
        _readers(operators, region.results),
        frozenset((result.node_id, result.output_tag) for result in region.results),
    )

    blaming = partial(_blaming, evaluation=evaluation)

    initialize_on_master(region.vertices, spark, blaming)
    coordinators = make_coordinators(region.vertices, publisher, blaming)
    sinks = [operator for operator in operators if isinstance(operator.operator, Sink)]
    outputs: list[Output] = []
    with coordinators.attempt(attempt.attempt_number):
        for operator in operators:
            if operator not in sinks:
                outputs.extend(_run_operator(operator, region.results, evaluation))
        for sink in sinks:
            with blaming(sink):
                ((_, streams),) = evaluation.inputs(sink).items()
                rows = with_exactly(union(streams), sink.parallelism)
                coordinators.committer(sink).prepare(rows)
        counts = area.contracts()
        outputs.extend(coordinators.commit())
    return RegionResult(outputs=tuple(outputs), contracts=counts)


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
                    evaluation.unrepeatable.discard(output)
            yield _staged_output(operator, result, manifest)


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
