"""What a region meets at its ends: where rows come from and go to, who else looks at them, who follows it.

In production these are connectors, and nobody. A test gives rows in a source's place and keeps what a sink is given; a
preview looks at one operator's rows. Everything in between is the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.declaration.connectors import Connector
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor, RegionDescriptor
from graph_compiler.deployment.documents.report import Phase
from graph_compiler.spark_runtime.connectors import SinkOpener, open_sink, read_source
from graph_compiler.spark_runtime.region.region_graph import Output
from graph_compiler.spark_runtime.region.region_run import RegionRun

ReadSource = Callable[[Connector, SparkSession, int | None], DataFrame]
"""Gives the rows of a source, in as many splits as its parallelism where one is set."""
Begins = Callable[[RegionDescriptor, OperatorDescriptor, Phase], None]
"""Is told of what is done next."""
Looks = Callable[[RegionRun], None]
"""Is given a region whose operators are evaluated and whose sinks' rows are written, and not published yet."""


def _nobody(*_: object) -> None:
    """Let it pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seams:
    """Those of an application, unless told otherwise. `observed` are outputs that are read again from outside.

    `pins` is unset where rows are given in the place of sources.
    """

    read_source: ReadSource = read_source
    open_sink: SinkOpener = open_sink
    observed: Set[Output] = frozenset()
    pins: bool = True
    on_begin: Begins = _nobody
    looks: Looks = _nobody


PRODUCTION = Seams()
