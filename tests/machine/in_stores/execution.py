"""An execution of a sink whose target is in a store: the product's code from claiming the target to publishing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.declaration.connectors import Json, SinkMode
from graph_compiler.declaration.operators import RuntimeSettings, Sink
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.identifiers import OperatorId, RegionId
from graph_compiler.spark_runtime.connectors import SinkContext
from graph_compiler.spark_runtime.region.coordination import SinkCommitter
from graph_compiler.staging.attempts.run_marker import VERSION, RunMarker, mark_run, same_root
from graph_compiler.staging.store.staging_store import StagingStore
from tests.machine.faults import Died
from tests.machine.in_stores.rows import Rows, open_rows_sink
from tests.machine.in_stores.server import Ground
from tests.machine.in_stores.troubles import Line
from tests.machine.model import Row, Written
from tests.machine.process import Process

SINK, REGION = OperatorId("ab" * 16), RegionId("writer")


@dataclass
class Execution:
    """An execution of the sink, and what has happened since it began."""

    id: str
    written: Written
    ground: Ground
    is_partitioned: bool
    line: Line = field(init=False)
    process: Process = field(init=False)
    error: BaseException | None = None
    rows: int | None = None
    number: int | None = None
    """The number of its publication, once it is decided."""
    may_be_given_up: bool = False
    """Its files may have been removed before it decided: it had ended by then, or was silent while gc ran."""
    published_since: set[str] = field(default_factory=set)
    has_claimed: bool = False
    overtaken_by: list[Execution] = field(default_factory=list)
    """Those that have decided since it has claimed its number."""
    is_given_up: bool = False
    others_came: list[Row] = field(default_factory=list)

    @property
    def trace(self) -> str:
        return "\n".join([f"requests of {self.id}:", *(f"  {line}" for line in self.line.trace[-80:])])

    def work(self) -> None:
        """Do what a driver does with one sink."""
        try:
            committer = self._committer()
            self.rows = publish(committer, Rows(self.ground, self.written.rows), self._claimed, looks=lambda: None)
        except (Died, Exception) as error:
            self.error = error

    def _claimed(self) -> None:
        self.has_claimed = True

    def _committer(self) -> SinkCommitter:
        client = self.ground.client_of(self.line)
        layout = layout_of(self.ground, self.written.run)
        begin(client, layout, self.id)
        sink = Sink(
            connector=Json(self.ground.target),
            mode=SinkMode(self.written.mode),
            keys=self.written.keys if self.written.mode == "merge" else (),
            partition_by=("part",) if self.is_partitioned else (),
        )
        return committer_of(sink, context_of(client, layout, self.id))


def begin(client: StagingStore, layout: StagingLayout, execution_id: str) -> None:
    """Put what the task of an execution puts before its driver starts."""
    mark_run(client, _marker(layout))
    client.put_if_absent(layout.descriptor(REGION, execution_id), b"{}")


def context_of(client: StagingStore, layout: StagingLayout, execution_id: str) -> SinkContext:
    """Return what the sink of an execution knows of it."""
    return SinkContext(
        spark=cast("SparkSession", None),
        store=client,
        layout=layout,
        plan_id="plan",
        region_id=REGION,
        execution_id=execution_id,
        is_same_root=same_root(client, layout),
    )


def publish(committer: SinkCommitter, rows: Rows, claimed: Callable[[], None], looks: Callable[[], None]) -> int:
    """Publish rows, as `run_region` does; return their number. `looks` is called before the decision."""
    try:
        committer.start()
        claimed()
        written = committer.prepare(committer.check(cast("DataFrame", rows)))
        looks()
        committer.commit()
        committer.close()
    except Exception as error:
        try:
            committer.execution_attempt_failed(0, error)
        except Exception as second:
            second.__context__ = error
        raise
    return written


def committer_of(sink: Sink, context: SinkContext) -> SinkCommitter:
    """Return what publishes `Rows`."""
    operator = OperatorDescriptor(
        node_id=1, operator_id=SINK, name="out", operator=sink, settings=RuntimeSettings(), inputs=(), declared_at=None
    )
    return SinkCommitter(operator, context, open_rows_sink)


def layout_of(ground: Ground, run: str) -> StagingLayout:
    return StagingLayout(root=ground.root, identity=RunIdentity.own("p", run))


def _marker(layout: StagingLayout) -> RunMarker:
    return RunMarker(
        version=VERSION, root=layout.root, identity=layout.identity, host="host", time=0.0, plan_id="plan", ttl=86_400.0
    )
