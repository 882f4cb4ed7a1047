"""Topics of Kafka: as a stream, or from one offset to another.

Spark's connector reads what is between two offsets, and fails if records are gone that were between them. It does not
know that a topic was removed and created again: it would read the new one from the old one's offset on, and leave out
what is before it. So the ids of topics are noted, and compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from graph_compiler import program_log
from graph_compiler.declaration.connectors.kafka import FAIL_ON_LOSS, ISOLATION, Kafka
from graph_compiler.deployment.documents.stream import TopicIds
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.errors import GraphCompilerError, SourceChangedError
from graph_compiler.identifiers import counted
from graph_compiler.spark_runtime.connectors.arriving.arriving_source import (
    BEGIN_AGAIN,
    SOURCE,
    ArrivingSource,
    BatchInput,
    SourceLog,
    arriving_source,
)
from graph_compiler.spark_runtime.connectors.source import Found, Reading, read
from graph_compiler.spark_runtime.secret_values import reveal_all
from graph_compiler.spark_runtime.spark_internals.java import Py4JJavaError
from graph_compiler.spark_runtime.spark_internals.kafka_admin import (
    End,
    KafkaAdmin,
    Offsets,
    has_kafka,
    is_unknown_topic,
    kafka_words,
)
from graph_compiler.staging.store.read_document import get_document

LOG = program_log.logger(__name__)
_CLIENT = "kafka."
_STARTS = ("startingoffsets", "startingoffsetsbytimestamp", "startingtimestamp")
_ENDS = ("endingoffsets", "endingoffsetsbytimestamp", "endingtimestamp")


class KafkaError(GraphCompilerError):
    """A driver cannot read topics of Kafka: it has no connector, or the broker refuses or does not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaTopics(ArrivingSource):
    """The topics of a source, in one execution. `options` are those of Spark's connector, with secret values."""

    connector: Kafka
    spark: SparkSession
    name: str
    options: Mapping[str, str] = field(repr=False)

    @classmethod
    def of(cls, connector: Kafka, spark: SparkSession, name: str = "") -> KafkaTopics:
        """Return those of a source; raises KafkaError if the driver has no connector."""
        if not has_kafka(spark):
            raise KafkaError(
                "the driver has no connector for Kafka\n"
                f"  hint: spark.jars.packages: org.apache.spark:spark-sql-kafka-0-10_2.13:{spark.version}"
            )
        return cls(connector=connector, spark=spark, name=name, options=reveal_all(connector.all_options()))

    def read(self) -> DataFrame:
        """Return the records that arrive; a new stream begins with the first ones, if no option says otherwise."""
        begin = {} if self._has(_STARTS) else {"startingOffsets": "earliest"}
        return self.spark.readStream.format("kafka").options(**self.options, **begin, **{SOURCE: self.name}).load()

    def read_once(self) -> DataFrame:
        """Return the records that are there now, from one offset to another."""
        ends: dict[str, str] = {}
        with self._admin() as admin:
            for option, known, end in (
                ("startingOffsets", _STARTS, End.EARLIEST),
                ("endingOffsets", _ENDS, End.LATEST),
            ):
                if not self._has(known):
                    ends[option] = json.dumps(self._offsets(admin, end))
        return self._records(ends)

    def plan(self) -> DataFrame:
        """Return the same columns, for a plan that is not run: no broker is asked."""
        return self._records({})

    def _records(self, ends: Mapping[str, str]) -> DataFrame:
        return self.spark.read.format("kafka").options(**self.options, **ends).load()

    def check_start(self, log: SourceLog, last: str | None) -> None:
        """Raise SourceChangedError for a topic that was created again, or has lost records that no run has read."""
        with self._admin() as admin:
            ids = self.compared_ids(admin, log)
            self.check_head(admin, last)
        log.store.put(log.record, to_json(ids).encode())

    def of_batch(self, log: SourceLog, before: str | None, until: str | None) -> BatchInput:
        """Return the records of a batch."""
        is_read = before is not None and before != until
        return BatchRecords(topics=self, log=log, before=before if is_read else None)

    def compared_ids(self, admin: KafkaAdmin, log: SourceLog) -> TopicIds:
        """Return the ids of all topics, with those that were noted before.

        Raises SourceChangedError if one of them has another id now.
        """
        noted = get_document(log.store, log.record, TopicIds) or TopicIds(ids=())
        known = dict(noted.ids)
        now = {name: id for name, id in admin.topic_ids(self.connector.names).items() if id is not None}
        if other := [name for name, id in now.items() if known.get(name, id) != id]:
            raise SourceChangedError(
                f"topic {other[0]} was removed and created again since the stream has begun: Spark would read it from "
                "the offset on that the old one had, and leave out what is before that\n"
                f"  hint: {BEGIN_AGAIN}"
            )
        return TopicIds(ids=tuple(sorted({**known, **now}.items())))

    def check_head(self, admin: KafkaAdmin, last: str | None) -> None:
        """Raise SourceChangedError if records behind an offset are gone.

        With failOnDataLoss=false, the log says so.
        """
        if last is None:
            return
        earliest = self._offsets(admin, End.EARLIEST)
        gone = [
            (f"{topic}-{partition}", int(offset), first)
            for topic, offsets in json.loads(last).items()
            for partition, offset in offsets.items()
            if (first := earliest.get(topic, {}).get(int(partition), 0)) > int(offset)
        ]
        if not gone:
            return
        partition, first, there = gone[0]
        others = f", and so are some of {counted(len(gone) - 1, 'other partition')}" if gone[1:] else ""
        what = f"offsets {first} to {there - 1} of {partition} are gone{others}: the topic's retention has removed them"
        if self.options[FAIL_ON_LOSS].lower() == "false":
            LOG.warning("%s, and no run has read them; failOnDataLoss is false, so the stream continues", what)
            return
        raise SourceChangedError(
            f"{what}, and no run has read them\n"
            "  allowed: a retention that is longer than the time between runs\n"
            '  hint: options={"failOnDataLoss": "false"}, until a run has succeeded, leaves them out, and its log says '
            "so"
        )

    @contextmanager
    def _admin(self) -> Iterator[KafkaAdmin]:
        settings = {n[len(_CLIENT) :]: v for n, v in self.options.items() if n.lower().startswith(_CLIENT)}
        try:
            with KafkaAdmin.connected(self.spark, settings) as admin:
                yield admin
        except Py4JJavaError as error:
            place, words = self.connector.place, kafka_words(error)
            if is_unknown_topic(error):
                raise KafkaError(
                    f"a topic of {place} does not exist, or its user may not see it ({words})\n"
                    "  allowed: topics that are there: Spark would wait for others, or read nothing"
                ) from error
            raise KafkaError(f"Kafka has not answered for {place}: {words}") from error

    def changed(self, log: SourceLog, before: str | None, *, looks_at_head: bool) -> None:
        """Raise SourceChangedError if a topic was created again, or has lost what is behind an offset."""
        with self._admin() as admin:
            self.compared_ids(admin, log)
            if looks_at_head:
                self.check_head(admin, before)

    def _offsets(self, admin: KafkaAdmin, end: End) -> Offsets:
        level = self.options[ISOLATION].lower()
        return admin.offsets(self.connector.names, end, committed=level == "read_committed")

    def _has(self, names: tuple[str, ...]) -> bool:
        return any(name.lower() in names for name in self.options)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRecords(BatchInput):
    """The records of a batch; `before` is the offset that it begins with, None if it has none of before."""

    topics: KafkaTopics
    log: SourceLog
    before: str | None

    def check(self) -> None:
        """Raise SourceChangedError if a topic was created again, or has lost records of the batch."""
        self.topics.changed(self.log, self.before, looks_at_head=True)

    def check_unchanged(self) -> None:
        """Raise SourceChangedError if a topic was created again."""
        self.topics.changed(self.log, self.before, looks_at_head=False)


@arriving_source.register
def _(connector: Kafka, spark: SparkSession, name: str) -> ArrivingSource:
    return KafkaTopics.of(connector, spark, name)


@read.register
def _(connector: Kafka, reading: Reading) -> Found:
    topics = KafkaTopics.of(connector, reading.spark)
    rows = topics.read_once() if reading.scans else topics.plan()
    return Found(rows=rows, schema=rows.schema)
