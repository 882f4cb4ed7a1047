"""Sources that several regions of one application read: their files are listed once, so all see the same rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from graph_compiler import program_log
from graph_compiler.declaration.connectors import Connector, WhenReadTwice
from graph_compiler.declaration.operators import Source
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor, RegionDescriptor
from graph_compiler.deployment.documents.report import ExecutionReport
from graph_compiler.errors import RepeatedReadError
from graph_compiler.spark_runtime.region.seams import ReadSource
from graph_compiler.spark_runtime.repeatability.source_files import (
    are_held,
    digest_now,
    listings_of,
)
from graph_compiler.spark_runtime.spark_internals.plan_leaves import plan_leaves

LOG = program_log.logger(__name__)

_READS = re.compile(r"\b(select|from|table)\b", re.IGNORECASE)
"""A word of every query."""


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
        return cls(
            tuple(connector for node_id, connector in dict(sources).items() if times[node_id] > 1),
            reads,
        )

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

    def is_unchanged(
        self, region: RegionDescriptor, report: ExecutionReport, spark: SparkSession
    ) -> bool:
        """Whether what an earlier execution of a region has read is what it would read now; if not known, False.

        Sources are listed as they are declared, with patterns and options of their own. What other regions share is
        listed once, so these read no file that came later. What SQL text and functions have read is listed again.
        """
        if why := _why_not_comparable(region, report):
            LOG.info("%s is computed again: %s", region.region_id, why)
            return False
        sources = {
            operator.name: (operator, operator.operator.connector)
            for operator in region.operators
            if isinstance(operator.operator, Source)
        }
        before = {
            (each.operator, each.digest) for each in report.sources if each.operator in sources
        }
        known = {name for name, _ in before}
        now: set[tuple[str, str]] = set()
        for name, (operator, connector) in sources.items():
            if name in known or connector in self.shared:
                rows = self.read(connector, spark, operator.settings.parallelism)
                if name in known:
                    listings = listings_of(spark, plan_leaves(rows))
                    now.update((name, listing.digest) for listing in listings)
        return now == before and all(
            digest_now(spark, each) == each.digest
            for each in report.sources
            if each.again is not None
        )


def _why_not_comparable(region: RegionDescriptor, report: ExecutionReport) -> str | None:
    """Return why it is not known whether what a region has read is the same now; None if it can be found out."""
    if report.uncompared:
        read = report.uncompared[0]
        return f"'{read.operator}' has read {read.what}, which cannot be compared"
    if report.uncompared is not None:
        return None
    by_itself = next((each for each in region.operators if _may_read_more(each)), None)
    if by_itself is None:
        return None
    return f"an earlier version ran it, which did not record what '{by_itself.name}' has read"


def _may_read_more(operator: OperatorDescriptor) -> bool:
    """Whether a function or the SQL text of an operator may read something else than its inputs."""
    kind = operator.operator
    if isinstance(kind, Source):
        return kind.connector.when_read_twice is WhenReadTwice.FIXED
    return bool(kind.functions()) or any(_READS.search(text) for text in kind.expressions())
