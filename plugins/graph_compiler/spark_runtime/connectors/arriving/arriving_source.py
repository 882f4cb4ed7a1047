"""A source that never ends, as the query of a stream reads it: what Spark does not look at is looked at here.

read             once, before the query begins
check_start      before it begins: would Spark leave out rows, or read others with them?
of_batch         for each batch, before it runs; its `check_unchanged` is asked again before the batch is published
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime
from functools import singledispatch

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.declaration.connectors import Connector
from graph_compiler.errors import GraphCompilerError
from graph_compiler.extensions import load_spark_half
from graph_compiler.spark_runtime.spark_internals.plan_leaves import StreamLeaf
from graph_compiler.staging.store.staging_store import StagingStore

SOURCE = "graph_compiler.source"
"""An option that no reader of Spark has: by it, the sources that Spark numbers are known."""

BEGIN_AGAIN = (
    "`graph-compiler streams reset` begins a new stream, which reads all that is there: what is published stays"
)
"""The hint for a stream that cannot continue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLog:
    """What Spark has logged of a source: `folder` is its own in the checkpoint, `record` is for what we note of it."""

    store: StagingStore
    stream_id: str
    folder: str
    record: str


class BatchInput(ABC):
    """What a source has for one batch."""

    @abstractmethod
    def check(self) -> None:
        """Raise an error if it is not what the batch was to have, or does not fit what is declared."""

    @abstractmethod
    def check_unchanged(self) -> None:
        """Raise an error if it is not any more what the batch was to have."""

    def oldest(self) -> datetime | None:
        """Return when the first part of it was written, None if that is not known."""
        return None


class KeptByFormat(BatchInput):
    """Rows of a batch that only their format can look at."""

    def check(self) -> None:
        """Raise nothing."""

    def check_unchanged(self) -> None:
        """Raise nothing."""


class ArrivingSource(ABC):
    """A source that never ends, in one execution."""

    @abstractmethod
    def read(self) -> DataFrame:
        """Return its rows, as a stream, with the option SOURCE if that can be set."""

    @property
    def leaf(self) -> StreamLeaf | None:
        """What Spark reads for it, by which it is known in a plan; None if it is known by the option SOURCE."""
        return None

    @abstractmethod
    def check_start(self, log: SourceLog, last: str | None) -> None:
        """Raise an error if Spark would leave out rows that arrive, or read others with them.

        `last` is the source's offset of the last batch that was logged, in JSON.
        """

    def withdraw(self, log: SourceLog, before: str | None, until: str | None) -> None:  # noqa: B027  # most have no lists
        """Forget what Spark has listed for a batch that is not to begin: the next one lists it again."""

    def of_batch(self, log: SourceLog, before: str | None, until: str | None) -> BatchInput:  # noqa: ARG002  # of the format
        """Return what it has for a batch between two offsets: by default, rows that only its format can look at."""
        return KeptByFormat()

    def explained(self, words: str) -> GraphCompilerError | None:  # noqa: ARG002  # of those that Spark reads alone
        """Return what a failure of the query, in Spark's words, says of this source; None if it is about others."""
        return None


def arriving(connector: Connector, spark: SparkSession, name: str) -> ArrivingSource:
    """Return a source that never ends; `name` is the value of the option SOURCE.

    Raises ExtensionError for another package's connector whose Spark half is not installed.
    """
    load_spark_half(type(connector))
    return arriving_source(connector, spark, name)


@singledispatch
def arriving_source(connector: Connector, spark: SparkSession, name: str) -> ArrivingSource:  # of its kind
    """Return a source that never ends; each kind of connector that has one registers its function."""
    raise AssertionError(f"no stream of {type(connector).__name__}")
