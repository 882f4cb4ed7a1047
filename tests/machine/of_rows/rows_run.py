"""Run a declared pipeline region by region, as its tasks do, in this session; its sinks keep their rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from graph_compiler import StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.describe.local_task import DeskRun, desk_task
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor, RegionDescriptor
from graph_compiler.deployment.documents.report import Failure, Phase
from graph_compiler.identifiers import OperatorId
from graph_compiler.spark_runtime.connectors import OpenSink, SinkContext
from graph_compiler.spark_runtime.main import execute
from graph_compiler.spark_runtime.region.region_run import RegionRun
from graph_compiler.spark_runtime.region.seams import Seams
from graph_compiler.spark_runtime.rehearsal.rehearsal import KeptSink, rehearsed
from graph_compiler.spark_runtime.results.pinned_settings import pinned

Cells = tuple[object, ...]


@dataclass(frozen=True)
class Change:
    """Something that happens once, before an action with this purpose; `number` counts those from 0."""

    phase: Phase
    number: int
    happens: Callable[[], object]


_NUMBERS = itertools.count()
_TEXTS = {"k": "CAST(k AS STRING) AS k"}
"""Of keys, the text: it shows which of several equal ones it is."""


@dataclass
class RowsRun:
    """One run. `varies` are the operators of which the product says that their rows may be others each time."""

    spark: SparkSession
    folder: Path
    change: Change | None = None
    rows: dict[str, list[Cells]] = field(default_factory=dict)
    varies: set[str] = field(default_factory=set)
    failure: Failure | None = None
    _names: dict[OperatorId, str] = field(default_factory=dict)
    _seen: int = 0

    def run(self, env: StreamExecutionEnvironment, settings: Mapping[str, str]) -> None:
        """Run all regions, with settings of Spark, until one fails."""
        regions = describe_regions(compile_pipeline(env.pipeline()))
        root, number = f"{self.folder}/staging", next(_NUMBERS)
        run = DeskRun(day="2024-03-31", params={}, run_id=f"r{number}", staging_root=root)
        seams = Seams(open_sink=self._opened, on_begin=self._begins, looks=self._look)
        for region in regions:
            self._names |= {each.operator_id: each.name for each in region.operators}
            placeless = rehearsed(region, (), writes_sinks=False)
            task = desk_task(placeless, run, execution_id=f"e{next(_NUMBERS)}")
            with pinned(self.spark, {**dict(region.session), **settings}):
                self.failure = execute(task, self.spark, seams).failure
            if self.failure is not None:
                return

    def _opened(self, _connector: Connector, operator_id: OperatorId, sink: Sink, _context: SinkContext) -> OpenSink:
        def keep(rows: DataFrame) -> int:
            found = rows.selectExpr(*(_TEXTS.get(name, name) for name in rows.columns)).collect()
            self.rows[self._names[operator_id]] = [tuple(row) for row in found]
            return len(found)

        return KeptSink(sink=sink, keep=keep)

    def _begins(self, _region: RegionDescriptor, _: OperatorDescriptor, phase: Phase) -> None:
        if self.change is None or phase is not self.change.phase:
            return
        if self._seen == self.change.number:
            self.change.happens()
        self._seen += 1

    def _look(self, run: RegionRun) -> None:
        for operator in run.evaluation.graph.operators.values():
            outputs = [(operator.node_id, tag) for tag in (None, *operator.operator.output_tags())]
            if any(map(run.evaluation.varies, outputs)):
                self.varies.add(operator.name)
