"""Targets whose rows do not say who wrote them: what a run has appended once, it does not append again."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame

from graph_compiler import program_log
from graph_compiler.spark_runtime.connectors.sink import PreparedSink
from graph_compiler.staging.publications.publications import Publication

LOG = program_log.logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendedBefore:
    """A sink whose rows an earlier attempt of this run has appended: they stay as they are."""

    location: str
    earlier: Publication

    def check(self, rows: DataFrame) -> DataFrame:
        """Leave the rows alone: they are not written."""
        return rows

    def prepares(self) -> None:
        """Give nothing."""

    def prepare(self, _: DataFrame) -> PreparedSink:
        """Say what there is, in the report and in the log."""
        LOG.warning(
            "%s is left as it is: execution %s of this run has appended %s rows, and a run appends once",
            self.location,
            self.earlier.execution_id,
            self.earlier.rows,
        )
        return PreparedSink(
            location=self.location,
            rows=self.earlier.rows,
            bytes=self.earlier.bytes,
            publish=lambda: None,
        )

    def discard(self) -> None:
        """Leave everything."""
