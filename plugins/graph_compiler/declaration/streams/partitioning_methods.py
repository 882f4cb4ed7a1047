"""Methods that decide how rows move from one operator to the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from graph_compiler.declaration.call_checks import held_to_signatures
from graph_compiler.declaration.partitioners import (
    BroadcastPartitioner,
    CustomPartitioner,
    ForwardPartitioner,
    FunctionPartitioner,
    GlobalPartitioner,
    RebalancePartitioner,
    RescalePartitioner,
    ShufflePartitioner,
)
from graph_compiler.declaration.streams.stream import Stream
from graph_compiler.identifiers import listing, shown

if TYPE_CHECKING:
    from graph_compiler.declaration.streams.data_stream import DataStream


@held_to_signatures
class PartitioningMethods(Stream):
    """Flink's partitioners, and the cut between two tasks."""

    def stage(self, reason: str, same_task: bool = False) -> DataStream:
        """Commit these rows to durable storage before anything reads them: a cut between two Airflow tasks.

        With `same_task`, the task that stages them reads them back and continues: a retry repeats only what comes
        after. `reason` is shown with the cut. Only ALL_EXCHANGES_PIPELINED, which requests one task, overrides it.
        Under ALL_EXCHANGES_BLOCKING, and where tasks would wait for each other, `same_task` changes nothing.
        """
        if not reason.strip():
            self.refuse("stage() needs a reason", allowed="text that explains why the cut is there")
        return self._partition(None, staging_text=reason, same_task=same_task)

    def pipelined(self, reason: str) -> DataStream:
        """Run the readers of these rows in the task that computes them, even under ALL_EXCHANGES_BLOCKING.

        `reason` is shown with the edge. Refused if the rows must be staged on this edge: between two slot sharing
        groups, after a contract, if tasks would wait for each other, or together with `stage`.
        """
        if not reason.strip():
            self.refuse("pipelined() needs a reason", allowed="text that explains why the rows are not staged")
        return self._partition(None, pipelining_text=reason)

    def expensive(self) -> Self:
        """Declare that this operator is expensive, so that a later failure does not recompute it.

        Its result is staged as with `stage`, unless its only reader is one sink of files.
        """
        return self._set(expensive=True)

    def deterministic(self) -> Self:
        """Declare that this operator gives the same rows, or equivalent rows, whenever it is recomputed.

        If its staged result is lost and recomputed, tasks that have read the lost copy are not repeated, even if the
        two copies differ (sums of DOUBLE in another order) or cannot be compared. Also, rows are not staged for several
        readers because its order may have ties, or its source may change: this declares that they do not.
        """
        return self._set(deterministic=True)

    def rebalance(self) -> DataStream:
        """Spread the rows evenly over all partitions of the next operator."""
        return self._partition(RebalancePartitioner())

    def shuffle(self) -> DataStream:
        """Spread the rows evenly over all partitions of the next operator, like `rebalance`: in turn, not at random.

        A row then goes to the same partition when it is recomputed.
        """
        return self._partition(ShufflePartitioner())

    def global_(self) -> DataStream:
        """Send every row to the first partition of the next operator."""
        return self._partition(GlobalPartitioner())

    def partition_custom(self, partition: str | Callable[..., object], *keys: str) -> DataStream:
        """Send each row to the partition that an expression or a function returns.

        An expression counts modulo the next operator's partitions: `partition_custom("year - 1990")`. An importable
        function receives the value of the key column (a tuple if there are several) and the number of partitions, like
        Flink's Partitioner: `partition_custom(by_hub, "dest")`; a number out of range fails the task.
        """
        partitioner = self._custom_partitioner(partition, keys, self.environment.next_id())
        return self._partition(partitioner, id=partitioner.selector)

    def rescale(self) -> DataStream:
        """Spread each partition's rows over a share of the next operator's partitions."""
        return self._partition(RescalePartitioner())

    def forward(self) -> DataStream:
        """Keep every partition as it is; the next operator must have the same parallelism."""
        return self._partition(ForwardPartitioner())

    def broadcast(self) -> DataStream:
        """Send every row to every partition of the next operator, to be joined there with the rows of another stream.

        Spark gets it as a hint for a join: no row is repeated. Refused where Flink would repeat rows in every subtask:
        before an operator with no other input, and if all its inputs are broadcast.
        """
        return self._partition(BroadcastPartitioner())

    def _custom_partitioner(
        self, partition: str | Callable[..., object], keys: tuple[str, ...], selector: int
    ) -> CustomPartitioner | FunctionPartitioner:
        if isinstance(partition, str):
            if keys:
                self.refuse(
                    f"partition_custom was given an expression, and the columns {listing(keys)}",
                    allowed='an expression alone: partition_custom("year - 1990"); or a function and its key columns',
                )
            return CustomPartitioner(partition, selector)
        if not keys or not all(isinstance(key, str) for key in keys):
            self.refuse(
                f"partition_custom was given a function, and as its key columns {listing(map(shown, keys))}",
                allowed='names of columns whose values the function gets: partition_custom(by_hub, "dest")',
            )
        return FunctionPartitioner(self._function(partition, "partition_custom", 2), keys, selector)
