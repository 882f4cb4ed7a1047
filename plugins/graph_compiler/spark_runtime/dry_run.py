"""Analyze a whole pipeline as Spark would, without its data: `dry_run.py <request.json>`, one answer beside it.

Every source is empty, with its own columns; every staged result is empty, with its producer's columns. A finding is
anything that Spark cannot resolve (a column, a type, SQL), or that a target cannot store. Operators downstream of a
failed one are skipped, so that all independent findings are reported at once.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

if __name__ == "__main__":
    # A script's own folder is first on sys.path; the package that holds it is two levels up.
    sys.path[0] = str(Path(__file__).resolve().parents[2])
    gc.disable()  # until all modules are loaded

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from graph_compiler import program_log
from graph_compiler.declaration.connectors import Connector, FileConnector
from graph_compiler.declaration.operators import Join, JoinType, Sink, Source
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor, StagedInput, TaskDeploymentDescriptor
from graph_compiler.deployment.documents.dry_run import DryRunAnswer, DryRunRequest, InferredSchema, VertexPlan
from graph_compiler.deployment.documents.report import Failure, ThrowableType
from graph_compiler.deployment.documents.wire import from_json, to_json
from graph_compiler.identifiers import IntermediateDataSetId
from graph_compiler.spark_runtime.artifacts import add_artifacts
from graph_compiler.spark_runtime.columns.column_types import check_columns, check_names
from graph_compiler.spark_runtime.columns.declared_schema import ddl, parse_schema
from graph_compiler.spark_runtime.columns.exact_casts import failing_casts
from graph_compiler.spark_runtime.connectors import check_without_target, read_source
from graph_compiler.spark_runtime.connectors.source import MISFIT, source_schema, with_known_schema
from graph_compiler.spark_runtime.driver_process import begin_process, end_process
from graph_compiler.spark_runtime.failures.failures import OperatorFailedError, explain_failure
from graph_compiler.spark_runtime.main import session
from graph_compiler.spark_runtime.operators import ColumnsError
from graph_compiler.spark_runtime.region.region_evaluation import RegionEvaluation
from graph_compiler.spark_runtime.rehearsal.kept_schemas import KeptSchemas
from graph_compiler.spark_runtime.spark_internals.origins import OPERATOR, origin
from graph_compiler.spark_runtime.spark_internals.plans import physical_plan_text


@dataclass(slots=True)
class DryRun:
    """The analyzed regions of a pipeline. `schemas` are those of staged results."""

    spark: SparkSession
    shows_plans: bool
    schemas: dict[IntermediateDataSetId, StructType] = field(default_factory=dict)
    findings: list[Failure] = field(default_factory=list)
    warnings: list[Failure] = field(default_factory=list)
    plans: list[VertexPlan] = field(default_factory=list)
    infers: bool = False
    inferred: dict[Connector, StructType] = field(default_factory=dict)
    kept: KeptSchemas | None = None
    """What a repeated dry run has inferred before."""

    def region(self, task: TaskDeploymentDescriptor) -> None:
        """Analyze the next region; the producers of its inputs have been analyzed before."""
        evaluation = RegionEvaluation(
            region=task.region,
            spark=self.spark,
            parameters=dict(task.parameters),
            read_source=self._source,
            read_previous=self._previous,
            read_staged=self._staged,
            materialize=lambda _operator, _name, rows, _partitions: rows,
            stop_clock=lambda _operator, rows: rows,  # nothing is run
            contracts=[],
            is_dry=True,
        )
        for operator in evaluation.graph.operators.values():
            if self._can_be_asked(operator, evaluation):
                with origin(self.spark, OPERATOR, str(operator.node_id)):
                    self._findings(operator, evaluation)
        self.plans += _plans(evaluation) if self.shows_plans else ()

    def _findings(self, operator: OperatorDescriptor, evaluation: RegionEvaluation) -> None:
        """Add what an operator's analysis raises; a join whose columns collide is analyzed without them, too."""
        try:
            self._operator(operator, evaluation)
        except (Exception, SystemExit) as cause:  # any exception of Spark or a function
            self._found(operator, evaluation, cause)
            kind = operator.operator
            if isinstance(cause, ColumnsError) and isinstance(kind, Join):
                keys_only = replace(operator, operator=replace(kind, how=JoinType.SEMI))
                try:
                    evaluation.run(keys_only)
                except Exception as other:
                    self._found(keys_only, evaluation, other)
                evaluation.outputs.pop((operator.node_id, None), None)

    def _found(self, operator: OperatorDescriptor, evaluation: RegionEvaluation, cause: BaseException) -> None:
        error = OperatorFailedError((operator,), evaluation.schemas, writes=False)
        error.__cause__ = cause
        if (finding := explain_failure(error)) not in self.findings:
            self.findings.append(finding)

    def _operator(self, operator: OperatorDescriptor, evaluation: RegionEvaluation) -> None:
        if isinstance(operator.operator, Sink):
            rows = evaluation.rows_into(operator)
            check_without_target(operator.operator, rows)
            return
        evaluation.run(operator)
        for words in failing_casts(evaluation.outputs[operator.node_id, None], operator.node_id):
            self.warnings.append(_warning(operator, words))
        for result in evaluation.region.results:
            if result.node_id == operator.node_id:
                schema = evaluation.outputs[result.node_id, result.output_tag].schema
                self.schemas[result.id] = schema
                check_names(schema)
                check_columns(schema, "parquet", ())

    def _can_be_asked(self, operator: OperatorDescriptor, evaluation: RegionEvaluation) -> bool:
        return all(
            (edge.node_id, edge.output_tag) in evaluation.outputs
            if edge.staged is None
            else edge.staged.id in self.schemas
            for edge in operator.inputs
        )

    def _source(self, connector: Connector, parallelism: int | None) -> DataFrame:
        if self.infers and connector.schema is None and isinstance(connector, FileConnector):
            if connector not in self.inferred:
                rows = read_source(connector, self.spark, scans=False)
                self.inferred[connector] = rows.drop(MISFIT).schema
            connector = replace(connector, schema=ddl(self.inferred[connector]))
        if self.shows_plans:  # a plan over empty inputs would be optimized away
            known = with_known_schema(connector, self.spark)
            return read_source(known, self.spark, parallelism, scans=False)
        infer = partial(source_schema, connector, self.spark)
        return self.spark.createDataFrame([], infer() if self.kept is None else self.kept.of(connector, infer))

    def _previous(self, operator: OperatorDescriptor, _: int | None) -> DataFrame:
        """Return no rows: the target need not be there, and its columns are declared."""
        assert isinstance(operator.operator, Source), "it is read"
        return self.spark.createDataFrame([], parse_schema(operator.operator.connector.schema or ""))

    def _staged(self, staged: StagedInput, _partitions: int | None) -> DataFrame:
        schema = self.schemas[staged.id]
        rows = self.spark.createDataFrame(self.spark.sparkContext.emptyRDD(), schema)
        return rows if self.shows_plans else rows.limit(0)


def dry_run(
    tasks: Sequence[TaskDeploymentDescriptor],
    spark: SparkSession,
    *,
    shows_plans: bool = False,
    infers: bool = False,
    kept: KeptSchemas | None = None,
) -> DryRunAnswer:
    """Analyze the regions of a pipeline in topological order."""
    run = DryRun(spark, shows_plans, infers=infers, kept=kept)
    for task in tasks:
        add_artifacts(task, spark)
        run.region(task)
    return DryRunAnswer(
        findings=tuple(sorted(run.findings, key=_line)),
        warnings=tuple(sorted(run.warnings, key=_line)),
        plans=tuple(run.plans),
        schemas=tuple(dict.fromkeys(_inferred_schemas(tasks, run.inferred))),
    )


def _inferred_schemas(
    tasks: Sequence[TaskDeploymentDescriptor], inferred: Mapping[Connector, StructType]
) -> Iterator[InferredSchema]:
    """Yield the columns of each source that declares none; one that several regions read, several times."""
    for operator in (operator for task in tasks for operator in task.region.operators):
        kind = operator.operator
        if isinstance(kind, Source) and (schema := inferred.get(kind.connector)):
            yield InferredSchema(operator=operator.name, declared_at=operator.declared_at, schema=ddl(schema))


def _line(failure: Failure) -> tuple[str, int]:
    """Return the line of the declaration, to sort findings as in the file."""
    place = failure.declared_at
    return (place.file, place.line) if place else ("", 0)


def _warning(operator: OperatorDescriptor, words: str) -> Failure:
    return Failure(
        throwable_type=ThrowableType.NON_RECOVERABLE_ERROR,
        operator=operator.name,
        declared_at=operator.declared_at,
        message=words,
    )


def _plans(evaluation: RegionEvaluation) -> Iterator[VertexPlan]:
    """Yield the physical plan from a vertex's input to its last operator."""
    for vertex in evaluation.region.vertices:
        evaluated = [operator for operator in vertex.operators if (operator.node_id, None) in evaluation.outputs]
        if evaluated:
            rows = evaluation.outputs[evaluated[-1].node_id, None]
            plan = physical_plan_text(rows)
            yield VertexPlan(region_id=evaluation.region.region_id, vertex=vertex.name, plan=plan)


def main(request_path: str) -> int:
    """Answer a request; return 0 if nothing was found, else 1."""
    program_log.show_logs()
    path = Path(request_path)
    request = from_json(DryRunRequest, path.read_text())
    spark = session(request.tasks[0])
    try:
        kept = KeptSchemas.of_repeated(path, request.tasks[0], os.environ, from_all_lines=False)
        answer = dry_run(request.tasks, spark, shows_plans=request.shows_plans, infers=request.infers, kept=kept)
    finally:
        spark.stop()
    path.with_name("answer.json").write_text(to_json(answer))
    return 1 if answer.findings else 0


if __name__ == "__main__":
    begin_process()
    end_process(main(sys.argv[1]))
