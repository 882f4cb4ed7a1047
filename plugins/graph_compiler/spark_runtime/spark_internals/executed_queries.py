"""The queries that Spark has executed, as its listener interface reports them.

A write makes a separate query, so the DataFrame's own plan has no counts; a listener receives the executed one.
`QueryExecutionListener` is a developer API of Spark. A session's `listenerManager`, and pyspark's callback server: 4.3
classic.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import Observation, SparkSession

from graph_compiler.errors import PublicationError
from graph_compiler.spark_runtime.spark_internals.executed_plan import WriteMetrics, write_metrics
from graph_compiler.spark_runtime.spark_internals.java import wait_for_listeners
from graph_compiler.spark_runtime.spark_internals.origins import ACTION, with_names

_DELIVERY_MILLISECONDS = 10_000
_WRITE_DELIVERY_MILLISECONDS = 600_000
"""The wait for a count that is only displayed is shorter than for one that a publication depends on."""
_WRITE = "InsertIntoHadoopFsRelationCommand"


@dataclass(slots=True)
class ExecutedQueries:
    """Collects the queries that actions run, in `listening`, and the writes that are waited for.

    There is one for each application (`of`): Spark removes a listener only if it gets the same Java object, and py4j
    makes a new one for each call.
    """

    spark: SparkSession
    _is_listening: bool = False
    _queries: list[tuple[str, Any]] = field(default_factory=list)
    _sessions: set[str] = field(default_factory=set)
    _writes: dict[str, Any] = field(default_factory=dict)
    """The queries of writes, by their folder; None while a write is waited for."""

    class Java:
        """The Java interface, for py4j."""

        implements = ("org.apache.spark.sql.util.QueryExecutionListener",)

    @classmethod
    def of(cls, spark: SparkSession) -> ExecutedQueries:
        """Return the application's collector, which listens to this session.

        Spark calls back on a loopback port, with the secret of its gateway.
        """
        application_id = spark.sparkContext.applicationId
        if application_id not in _OF_APPLICATION:
            ensure_callback_server_started(  # type: ignore[no-untyped-call]  # pyspark's own
                spark.sparkContext._gateway
            )
            _OF_APPLICATION[application_id] = cls(spark)
        queries = _OF_APPLICATION[application_id]
        session = str(spark._jsparkSession.sessionUUID())
        if session not in queries._sessions:
            spark._jsparkSession.listenerManager().register(queries)
            queries._sessions.add(session)
        return queries

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Collect queries within the `with` block."""
        self._is_listening = True
        try:
            yield
        finally:
            self._is_listening = False
            self._queries.clear()

    @contextmanager
    def writing(self, folder: str) -> Iterator[Callable[[], WriteMetrics]]:
        """Write files into a folder within the block, then read its metrics; PublicationError if Spark lost them."""
        path = _path(folder)
        self._writes[path] = None
        try:
            yield lambda: write_metrics(self._written(path))
        finally:
            del self._writes[path]

    def onSuccess(self, _function: str, query: Any, _nanoseconds: int) -> None:  # noqa: N802  # Spark's name
        """Record a finished query if an action ran it, or its write is waited for."""
        if not (self._is_listening or self._writes):
            return
        logical = query.logical()
        if self._is_listening:
            action = with_names(logical.origin(), ACTION)
            if action is not None:
                self._queries.append((action, query))
        if self._writes and logical.productPrefix() == _WRITE:
            folder = str(logical.outputPath().toUri().getPath())
            if folder in self._writes:
                self._writes[folder] = query

    def onFailure(self, _function: str, _query: Any, _error: Any) -> None:  # noqa: N802  # Spark's name
        """Ignore a failed query: it has no row counts."""

    def of_action(self, name: str) -> tuple[Any, ...]:
        """Return the queries of an action, after Spark has delivered all events."""
        wait_for_listeners(self.spark, _DELIVERY_MILLISECONDS)
        mine = [query for action, query in self._queries if action == name]
        self._queries = [found for found in self._queries if found[0] != name]
        return tuple(mine)

    def _written(self, folder: str) -> Any:
        wait_for_listeners(self.spark, _WRITE_DELIVERY_MILLISECONDS)
        if (query := self._writes[folder]) is None:
            raise PublicationError(
                f"Spark does not say how many rows it has written to {folder}; nothing of it is visible\n"
                "  hint: its listener bus has dropped the event (spark.scheduler.listenerbus.eventqueue.capacity), "
                "or the format is not one of files"
            )
        return query


def _path(folder: str) -> str:
    """Return the path of a folder, without scheme and host, as Hadoop normalizes it: /data//x/ is /data/x."""
    if not folder.startswith("/"):
        folder = "/" + folder.partition("://")[2].partition("/")[2]
    return posixpath.normpath(folder)


_OF_APPLICATION: dict[str, ExecutedQueries] = {}


# The numbers that Spark's `observe` counted; only this module reads them.
#
# `Observation._jo`, with the JVM's `future` and `getAsJava`: 4.3 classic.


def is_complete(observation: Observation) -> bool:
    """Whether an action has computed the rows, according to the events that Spark has delivered."""
    return bool(_in_jvm(observation).future().isCompleted())


def observed_count(observation: Observation, name: str) -> int:
    """Return a count of an observation that is complete, or wait for its action to end."""
    return observed_numbers(observation).get(name) or 0


def observed_numbers(observation: Observation) -> dict[str, int | None]:
    """Return all numbers of an observation that is complete, or wait for its action to end.

    An empty result means no rows: the optimizer saw that there are none, and removed the counting, too. pyspark's own
    `get` fails in this case.
    """
    found = observed_values(observation)
    return {name: None if value is None else int(value) for name, value in found.items()}


def observed_values(observation: Observation) -> dict[str, Any]:
    """Return all values of an observation: numbers, texts and Booleans; in other respects as `observed_numbers`."""
    return {str(name): value for name, value in dict(_in_jvm(observation).getAsJava()).items()}


def _in_jvm(observation: Observation) -> Any:
    assert observation._jo is not None, "it was attached by `observe`"
    return observation._jo
