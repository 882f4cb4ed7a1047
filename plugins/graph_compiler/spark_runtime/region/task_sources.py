"""Sources that several regions of one application read: their files are listed once, so all see the same rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.declaration.connectors import Connector, WhenReadTwice
from graph_compiler.declaration.operators import Source
from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.deployment.documents.report import ExecutionReport
from graph_compiler.errors import RepeatedReadError
from graph_compiler.spark_runtime.region.seams import ReadSource
from graph_compiler.spark_runtime.repeatability.source_files import are_held, digest_now, listings_of
from graph_compiler.spark_runtime.spark_internals.plan_leaves import plan_leaves


@dataclass(slots=True)
class TaskSources:
    """What has been read of `shared` sources; any other source is read whenever it is asked for."""

    shared: tuple[Connector, ...]
    reads: ReadSource
    _rows: list[tuple[Connector, DataFrame]] = field(default_factory=list)

    @classmethod
    def of(cls, regions: Iterable[RegionDescriptor], reads: ReadSource) -> TaskSources:
        """Find the sources that more than one of these regions has."""
        sources = [
            (operator.node_id, operator.operator.connector)
            for region in regions
            for operator in region.operators
            if isinstance(operator.operator, Source)
        ]
        times = Counter(node_id for node_id, _ in sources)
        return cls(tuple(connector for node_id, connector in dict(sources).items() if times[node_id] > 1), reads)

    def read(self, connector: Connector, spark: SparkSession, splits: int | None) -> DataFrame:
        """Return the rows of a source; raises as `reads` does, RepeatedReadError if Spark lists no files for them."""
        if connector not in self.shared:
            return self.reads(connector, spark, splits)
        for known, rows in self._rows:
            if known == connector:
                return rows
        rows = self.reads(connector, spark, splits)
        if not are_held(plan_leaves(rows), holds_given_rows=True):
            raise RepeatedReadError(
                "two regions of this task read it, and Spark lists no files for it that both would read\n"
                f"  hint: {type(connector).__name__}.when_read_twice must be '{WhenReadTwice.FIXED}'"
            )
        self._rows.append((connector, rows))
        return rows

    def why_changed(self, region: RegionDescriptor, report: ExecutionReport, spark: SparkSession) -> str | None:
        """Return why a region would read other rows than an earlier execution of it; None if it would read the same.

        Sources are listed as they are declared, with patterns and options of their own. What other regions share is
        listed once, so these read no file that came later. What SQL text and functions have read is listed again.
        """
        if report.uncompared:
            read = report.uncompared[0]
            return f"'{read.operator}' has read {read.what}, which may have changed since"
        known = {each.operator for each in report.sources if each.again is None}
        before: dict[str, set[str]] = {}
        now: dict[str, set[str | None]] = {}
        for each in report.sources:
            before.setdefault(each.operator, set()).add(each.digest)
            if each.again is not None:
                now.setdefault(each.operator, set()).add(digest_now(spark, each))
        for operator in region.operators:
            if not isinstance(operator.operator, Source):
                continue
            connector = operator.operator.connector
            if operator.name in known or connector in self.shared:
                rows = self.read(connector, spark, operator.settings.parallelism)
                if operator.name in known:
                    listings = listings_of(spark, plan_leaves(rows))
                    now[operator.name] = {listing.digest for listing in listings}
        changed = next((name for name in before if before[name] != now.get(name)), None)
        return None if changed is None else f"files that '{changed}' has read have changed since"
