"""Where Spark keeps the states of a stream, and in how many partitions.

A new stream decides both: Spark notes them in the checkpoint, and ignores other settings later. States in RocksDB can
have another number of partitions behind a savepoint. Then Spark (since 4.2) adds a batch without rows to the copy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from graph_compiler import program_log
from graph_compiler.declaration.operators import KeyedProcess
from graph_compiler.declaration.operators.process_functions import StateBackendType
from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.deployment.documents.jvm_settings import SHUFFLE_PARTITIONS
from graph_compiler.identifiers import counted
from graph_compiler.spark_runtime.spark_internals.java import Py4JError, application_settings
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.streams.batch_log import STATE_PROVIDER, StatePlace, state_place
from graph_compiler.staging.streams.checkpoint import CheckpointError

LOG = program_log.logger(__name__)
_PROVIDERS = {
    StateBackendType.HASHMAP: "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
    StateBackendType.ROCKSDB: "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
}
_ONLY_BATCHES_WITH_ROWS = {"spark.sql.streaming.noDataMicroBatches.enabled": "false"}
"""With a time to live, Spark would run batches without rows one after the other, and no run would end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateBackend:
    """That of a query. `type` is None if Spark's own setting says where states are."""

    spark: SparkSession
    store: StagingStore
    type: StateBackendType | None
    has_state: bool
    functions: tuple[KeyedProcess, ...]
    """Those that keep state."""

    @classmethod
    def of(cls, region: RegionDescriptor, spark: SparkSession, store: StagingStore) -> StateBackend:
        """Return that of a region's query."""
        states = set() if region.stream is None else {each.operator_id for each in region.stream.state}
        kept = [each.operator for each in region.operators if each.operator_id in states]
        functions = tuple(operator for operator in kept if isinstance(operator, KeyedProcess))
        return cls(
            spark=spark,
            store=store,
            type=StateBackendType.ROCKSDB if functions else region.state_backend,
            has_state=bool(states),
            functions=functions,
        )

    @property
    def settings(self) -> Mapping[str, str]:
        """What a query is started with. Without an option, a new state has as many partitions as this host has cores.

        On a cluster, it has as many as Spark's own setting says.
        """
        settings = {} if self.type is None else {STATE_PROVIDER: _PROVIDERS[self.type]}
        if any(each.has_time_to_live for each in self.functions):
            settings |= _ONLY_BATCHES_WITH_ROWS
        is_here = str(self.spark.sparkContext.master).startswith("local")
        if is_here and self.has_state and asked_partitions(self.spark) is None:
            settings[SHUFFLE_PARTITIONS] = str(self.spark.sparkContext.defaultParallelism)
        return settings

    def compare(self, checkpoint: str) -> None:
        """Warn of settings that a checkpoint does not have, and that Spark ignores for it."""
        found = state_place(self.store, checkpoint)
        if (asked := self._other_partitions(found)) is not None:
            until = "a savepoint gives it another number" if self._can_rescale(found) else "it is reset"
            words = "%s is %s, and the state has %s partitions: that stays so until %s"
            LOG.warning(words, SHUFFLE_PARTITIONS, asked, found.partitions, until)
        if self.has_state and self.type and found.provider not in (None, _PROVIDERS[self.type]):
            words = "state.backend.type is %s, and the state is kept by %s: that stays so until it is reset"
            LOG.warning(words, self.type, str(found.provider).rpartition(".")[2])

    def rescale(self, checkpoint: str) -> None:
        """Move the states of a checkpoint that no query has to as many partitions as an option asks for, if Spark can.

        Raises CheckpointError if Spark has failed.
        """
        found = state_place(self.store, checkpoint)
        asked = self._other_partitions(found)
        if asked is None or not self._can_rescale(found):
            return
        try:
            self.spark._streamingCheckpointManager.repartition(checkpoint, asked)
        except (PySparkException, Py4JError) as error:
            raise CheckpointError(
                f"Spark could not give the states, which have {counted(found.partitions or 0, 'partition')}, {asked} "
                f"of them: {str(error).strip().splitlines()[0]}\n"
                f"  hint: with {SHUFFLE_PARTITIONS} (or parallelism.default) {found.partitions}, the stream continues "
                "as it was"
            ) from error
        LOG.info("the states had %s partitions, and have %s now", found.partitions, asked)

    def _other_partitions(self, found: StatePlace) -> int | None:
        """Return how many partitions an option asks for, None if the states have as many, or if there are none."""
        asked = asked_partitions(self.spark) if self.has_state and found.partitions is not None else None
        return None if asked == found.partitions else asked

    def _can_rescale(self, found: StatePlace) -> bool:
        has_manager = hasattr(self.spark, "_streamingCheckpointManager")  # 4.2 and 4.3
        return has_manager and found.provider == _PROVIDERS[StateBackendType.ROCKSDB]


def asked_partitions(spark: SparkSession) -> int | None:
    """Return how many partitions an option asks for, None if none does."""
    found = application_settings(spark).get(SHUFFLE_PARTITIONS)
    return None if found is None else int(found)
