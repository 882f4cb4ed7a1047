"""What a broker of Kafka knows of topics, by Kafka's own client, which comes with Spark's connector.

`Admin`, `OffsetSpec`, `ListOffsetsOptions` of kafka-clients 3.9, with the connector of Spark 4.1 to 4.3: public Java,
whose calls need the rights that readers have (DESCRIBE). The client is closed after each use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any

from pyspark.sql import SparkSession

from graph_compiler.spark_runtime.spark_internals.java import (
    Py4JJavaError,
    is_java_instance,
    jar_of,
    java_class,
    java_exceptions,
)

_KAFKA = "org.apache.kafka"
_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""What a broker older than 2.8 says of a topic's id."""
_MOST_WAITING = {"request.timeout.ms": "10000", "default.api.timeout.ms": "30000"}
"""Kafka's own bounds are a minute, and Spark asks again: with a wrong address it would wait for three."""

Offsets = dict[str, dict[int, int]]
"""An offset for each partition of each topic."""


class End(Enum):
    """An end of a partition: the first record that is there, or the one behind the last that is visible."""

    EARLIEST = "earliest"
    LATEST = "latest"


@dataclass(frozen=True, slots=True)
class KafkaAdmin:
    """A client of a broker."""

    spark: SparkSession
    java: Any

    @classmethod
    @contextmanager
    def connected(cls, spark: SparkSession, settings: Mapping[str, str]) -> Iterator[KafkaAdmin]:
        """Yield a client with the settings of Kafka's consumers; those that it does not know are ignored."""
        given = java_class(spark, "java.util.HashMap")()
        for name, value in {**_MOST_WAITING, **settings}.items():
            given.put(name, value)
        java = java_class(spark, f"{_KAFKA}.clients.admin.Admin").create(given)
        try:
            yield cls(spark, java)
        finally:
            java.close()

    def topic_ids(self, topics: Sequence[str]) -> dict[str, str | None]:
        """Return the id of each topic: one that is removed and created again has another; None if it has none."""
        found = self._described(topics)
        ids = {name: str(each.topicId().toString()) for name, each in found.items()}
        return {name: None if id == _NO_ID else id for name, id in ids.items()}

    def offsets(self, topics: Sequence[str], end: End, *, committed: bool) -> Offsets:
        """Return an end of all partitions. `committed`: transactions that are not committed are not visible."""
        spec = getattr(java_class(self.spark, f"{_KAFKA}.clients.admin.OffsetSpec"), end.value)()
        partition = java_class(self.spark, f"{_KAFKA}.common.TopicPartition")
        asked = java_class(self.spark, "java.util.HashMap")()
        for name, topic in self._described(topics).items():
            for each in topic.partitions():
                asked.put(partition(name, each.partition()), spec)
        levels = java_class(self.spark, f"{_KAFKA}.common.IsolationLevel")
        level = levels.READ_COMMITTED if committed else levels.READ_UNCOMMITTED
        options = java_class(self.spark, f"{_KAFKA}.clients.admin.ListOffsetsOptions")(level)
        found: Offsets = {}
        answer = self.java.listOffsets(asked, options).all().get()
        for entry in answer.entrySet():
            at = entry.getKey()
            found.setdefault(str(at.topic()), {})[int(at.partition())] = int(entry.getValue().offset())
        return found

    def _described(self, topics: Sequence[str]) -> dict[str, Any]:
        names = java_class(self.spark, "java.util.ArrayList")()
        for name in topics:
            names.add(name)
        return dict(self.java.describeTopics(names).allTopicNames().get())


def has_kafka(spark: SparkSession) -> bool:
    """Whether the driver has Spark's connector for Kafka."""
    return jar_of(spark, "org.apache.spark.sql.kafka010.KafkaSourceProvider") is not None


def kafka_words(error: Py4JJavaError) -> str:
    """Return Kafka's sentence of an error: `UnknownTopicOrPartitionException: This server does not host this …`."""
    of_kafka = [each for each in java_exceptions(error) if str(each.getClass().getName()).startswith(_KAFKA)]
    cause = next(iter(of_kafka), None)
    return str(error) if cause is None else f"{cause.getClass().getSimpleName()}: {cause.getMessage()}"


def is_unknown_topic(error: Py4JJavaError) -> bool:
    """Whether a broker does not know a topic, or does not show it."""
    unknown = f"{_KAFKA}.common.errors.UnknownTopicOrPartitionException"
    return any(is_java_instance(each, unknown) for each in java_exceptions(error))
