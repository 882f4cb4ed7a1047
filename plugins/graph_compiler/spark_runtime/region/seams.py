"""What can be replaced at the ends of a region: the origin and destination of rows, their readers, and observers.

In production these are connectors, without observers. A test supplies rows for a source and keeps a sink's rows; a
preview reads the rows of one operator. Everything in between is the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.coordination import EventOutput, RegionEventKind
from graph_compiler.declaration.operators import Sink
from graph_compiler.deployment.documents.descriptor import (
    OperatorDescriptor,
    RegionDescriptor,
    TaskDeploymentDescriptor,
)
from graph_compiler.deployment.documents.report import Phase
from graph_compiler.deployment.documents.stream import StreamOrigin
from graph_compiler.spark_runtime.connectors import SinkOpener, open_sink, read_source
from graph_compiler.spark_runtime.connectors.arriving.arriving_source import ArrivingSource, arriving
from graph_compiler.spark_runtime.region.region_evaluation import ReadPrevious
from graph_compiler.spark_runtime.region.region_graph import Output
from graph_compiler.spark_runtime.region.region_run import RegionRun

ReadSource = Callable[[Connector, SparkSession, int | None], DataFrame]
"""Returns the rows of a source, in as many splits as its parallelism if that is set."""
Arriving = Callable[[Connector, SparkSession, str], ArrivingSource]
"""Returns a source that never ends; the text is its node id, by which Spark's query knows it."""
Begins = Callable[[RegionDescriptor, OperatorDescriptor, Phase], None]
"""Receives each step before it begins."""
Looks = Callable[[RegionRun], None]
"""Receives a region when its operators are evaluated and its sinks' rows are prepared, but not yet published."""
Notify = Callable[[TaskDeploymentDescriptor, RegionEventKind, Iterable[EventOutput], str | None], None]
"""Receives the events of an attempt at a region, for listeners."""


def _ignore(*_: object) -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seams:
    """The defaults are an application's. `observed` are outputs that are read again from outside.

    `pins` is False if rows are given for sources; `read_previous` then reads previous versions. `gives_batches`: they
    are given batch by batch to `arriving`, for a stream. `given` has the rows of sources by their nodes: a batch of a
    stream is a region of its own.
    """

    read_source: ReadSource = read_source
    arriving: Arriving = arriving
    gives_batches: bool = False
    read_previous: ReadPrevious | None = None
    open_sink: SinkOpener = open_sink
    observed: Set[Output] = frozenset()
    given: Mapping[int, DataFrame] = field(default_factory=dict)
    pins: bool = True
    on_begin: Begins = _ignore
    looks: Looks = _ignore
    notify: Notify = _ignore
    batch: str | None = None
    """The batch of a stream that the rows are: whatever execution publishes it, it counts once."""
    now: Callable[[], datetime] | None = None
    """Returns the current time of that batch, which is the same when it is repeated; else it is the run's."""
    restored: StreamOrigin | None = None
    """The savepoint that it is the first batch behind."""
    check_turn: Callable[[], None] = lambda: None
    """Raises StagingError if the driver does not have the stream any more."""

    @property
    def writes_sinks(self) -> bool:
        """Whether rows of sinks are written; rows that a test keeps are computed when it looks at them."""
        return self.open_sink is open_sink

    def publishes(self, region: RegionDescriptor) -> bool:
        """Whether a stream is run batch by batch: a preview, and a test without batches, have all rows at once."""
        has_sinks = any(isinstance(each.operator, Sink) for each in region.operators)
        return has_sinks and (self.gives_batches or (self.pins and self.writes_sinks))


PRODUCTION = Seams()
