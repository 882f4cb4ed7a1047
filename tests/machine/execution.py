"""One execution of one sink: the production code from claiming the target to publishing, in two halves.

    begin    claim, check, prepare
    finish   publish

Between the halves, and in the middle of any call, others may do anything.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.declaration.connectors import Connector, SinkMode
from graph_compiler.declaration.operators import RuntimeSettings, Sink
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.identifiers import OperatorId, RegionId
from graph_compiler.spark_runtime.connectors import SinkContext, open_sink
from graph_compiler.spark_runtime.region.coordination import SinkCommitter
from graph_compiler.staging.store.staging_store import StagingStore
from tests.machine.faults import Died, Fate
from tests.machine.seam import meeting
from tests.machine.store import FatefulStore

SINK = OperatorId("ab" * 16)


@dataclass(frozen=True)
class Place:
    """Where executions run: a Spark, a staging root, and the store of its documents."""

    spark: SparkSession
    root: Path
    store: StagingStore


@dataclass(frozen=True)
class Request:
    """What an execution writes, and as which run."""

    run: str
    connector: Connector
    mode: str
    rows: DataFrame
    keys: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    partitions: tuple[tuple[str, str | None], ...] = ()
    plan: str = "plan"
    operator: OperatorId = SINK


class Calls(Protocol):
    """Calls to what is not below a folder: a database, a table."""

    def meeting(self, fate: Fate, /) -> AbstractContextManager[None]:
        """Apply a fate to them within the block."""


@dataclass
class Execution:
    """An execution in progress; `error` is what ended it, including a death."""

    place: Place
    request: Request
    execution_id: str
    fate: Fate
    folders: tuple[Path, ...]
    proxy: Calls | None = None
    error: BaseException | None = None
    rows: int | None = None
    _committer: SinkCommitter = field(init=False)

    def __post_init__(self) -> None:
        request, place = self.request, self.place
        sink = Sink(
            connector=request.connector,
            mode=SinkMode(request.mode),
            keys=request.keys,
            partition_by=request.partition_by,
            partitions=request.partitions,
        )
        operator = OperatorDescriptor(
            node_id=1,
            operator_id=request.operator,
            name="out",
            operator=sink,
            settings=RuntimeSettings(),
            inputs=(),
            declared_at=None,
        )
        context = SinkContext(
            spark=place.spark,
            store=FatefulStore(place.store, self.fate),
            layout=StagingLayout(root=str(place.root), identity=RunIdentity.own("p", request.run)),
            plan_id=request.plan,
            region_id=RegionId("writer"),
            execution_id=self.execution_id,
        )
        self._committer = SinkCommitter(operator, context, open_sink)

    def begin(self) -> bool:
        """Claim the target, check the rows and prepare them; return whether it may continue."""

        def prepare() -> None:
            self._committer.start()
            rows = self._committer.check(self.request.rows)
            self.rows = self._committer.prepare(rows)

        return self._do(prepare)

    def finish(self) -> bool:
        """Publish; return whether it succeeded."""

        def commit() -> None:
            self._committer.commit()
            self._committer.close()

        return self._do(commit)

    def _do(self, work: Callable[[], None]) -> bool:
        with ExitStack() as stack:
            stack.enter_context(meeting(self.fate, *self.folders))
            if self.proxy is not None:
                stack.enter_context(self.proxy.meeting(self.fate))
            try:
                work()
            except Died as death:
                self.error = death
            except Exception as error:
                self.error = error
                try:
                    self._committer.execution_attempt_failed(0, error)
                except (Died, Exception) as second:
                    second.__context__ = error
                    self.error = second if isinstance(second, Died) else error
        return self.error is None
