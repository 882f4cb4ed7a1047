"""A sink that keeps its rows, and writes nothing unless it wraps a real sink."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame

from graph_compiler.declaration.operators import Sink
from graph_compiler.spark_runtime.connectors import OpenSink, PreparedSink, check_without_target
from graph_compiler.staging.publications.preparations import PreparedPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptSink:
    """Passes rows to `keep`, which returns their number; `real` is the real sink if that is written, too."""

    sink: Sink
    keep: Callable[[DataFrame], int]
    real: OpenSink | None = None

    def check(self, rows: DataFrame) -> DataFrame:
        """Return the rows as the sink would write them."""
        return check_without_target(self.sink, rows) if self.real is None else self.real.check(rows)

    def prepares(self) -> PreparedPlace | None:
        """Return where the real sink will prepare rows."""
        return None if self.real is None else self.real.prepares()

    def prepare(self, rows: DataFrame, /) -> PreparedSink:
        """Keep the rows; a real sink then writes the kept rows, since recomputed ones could differ."""
        if self.real is None:
            return PreparedSink(
                location="", rows=self.keep(rows), bytes=0, publish=_publish_nothing
            )
        rows = rows.localCheckpoint()
        self.keep(rows)
        return self.real.prepare(rows)

    def discard(self) -> None:
        """Let the real sink remove what it prepared."""
        if self.real is not None:
            self.real.discard()


def _publish_nothing() -> None:
    """Publish nothing: kept rows have no readers."""
