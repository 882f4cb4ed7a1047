"""One sink, from rows to a publication, without a pipeline around it."""

import itertools
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.declaration.connectors import Connector, SinkMode
from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.identifiers import OperatorId, RegionId
from graph_compiler.spark_runtime.connectors import OpenSink, PreparedSink, SinkContext, open_sink
from graph_compiler.staging.store.local_store import LocalStore
from graph_compiler.staging.store.staging_store import StagingStore

SINK = OperatorId("ab" * 16)


@dataclass
class Sinks:
    """Executions of one sink operator, numbered; their staging root is a folder, or at a `place` of a store."""

    spark: SparkSession
    root: Path
    store: StagingStore = field(default_factory=LocalStore)
    place: str | None = None
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    def open(
        self, connector: Connector, *, run: str | RunIdentity = "r1", operator_id: OperatorId = SINK, **settings: Any
    ) -> OpenSink:
        context = SinkContext(
            spark=self.spark,
            store=self.store,
            layout=StagingLayout(
                root=self.place or str(self.root), identity=RunIdentity.own("p", run) if isinstance(run, str) else run
            ),
            plan_id="plan",
            region_id=RegionId("writer"),
            execution_id=f"e{next(self.numbers)}",
        )
        settings["mode"] = SinkMode(str(settings.get("mode", "overwrite")))
        return open_sink(connector, operator_id, Sink(connector, **settings), context)

    def prepare(
        self, connector: Connector, rows: DataFrame, *, run: str | RunIdentity = "r1", **settings: Any
    ) -> PreparedSink:
        opened = self.open(connector, run=run, **settings)  # by name
        return opened.prepare(opened.check(rows))

    def write(
        self, connector: Connector, rows: DataFrame | str, *, run: str | RunIdentity = "r1", **settings: object
    ) -> PreparedSink:
        """Open, check, prepare and publish; rows may be a query."""
        rows = self.spark.sql(rows) if isinstance(rows, str) else rows
        prepared = self.prepare(connector, rows, run=run, **settings)
        prepared.publish()
        return prepared


def files_of(target: Path) -> list[str]:
    """List the files that readers see, by the parts of their names that do not change with each execution."""
    return sorted(
        str(path.relative_to(target)) for path in target.rglob("*") if path.is_file() and path.name[0] not in "._"
    )
