"""The end of a streaming query behind its batch: Spark's own `stop` cancels the batch in progress.

    TERMINATED is set before a batch's rows are computed    Spark interrupts it: the next driver has that batch again
    it is set in foreachBatch, or later                     Spark commits the batch, and begins no other one
    it is set between two batches                           none begins; `stop` ends the wait for the next trigger

`StreamingQueryWrapper.streamingQuery`, `StreamExecution.state` and `queryExecutionThread`,
`MicroBatchExecution.executeOneBatch`: read in 4.3.
"""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from graph_compiler.spark_runtime.spark_internals.java import scala_object


def begin_no_other_batch(query: StreamingQuery, spark: SparkSession) -> None:
    """Let a query end behind the batch in progress; this does not wait for it."""
    state = query._jsq.streamingQuery().state()
    package = str(state.get().getClass().getPackageName())
    state.set(scala_object(spark, f"{package}.TERMINATED"))


def has_ended(query: StreamingQuery) -> bool:
    """Whether a query does nothing more: `isActive` is False as soon as no other batch begins."""
    return not query._jsq.streamingQuery().queryExecutionThread().isAlive()


def is_between_batches(query: StreamingQuery) -> bool:
    """Whether a query waits for its next trigger."""
    return not query.status["isTriggerActive"]
