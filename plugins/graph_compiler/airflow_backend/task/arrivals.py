"""Whether anything has arrived for the streams of a task: if nothing has, Spark is not started.

The worker looks at folders of its own host, and asks brokers of Kafka, if confluent-kafka is installed. What it cannot
be sure of is for Spark.
"""

from __future__ import annotations

from collections.abc import Callable

from graph_compiler import program_log
from graph_compiler.airflow_backend.task.task_try import TaskTry
from graph_compiler.declaration.connectors import Connector, FileConnector, Kafka
from graph_compiler.declaration.connectors.connector import as_pairs
from graph_compiler.declaration.connectors.kafka import ISOLATION
from graph_compiler.declaration.operators import Source
from graph_compiler.deployment.documents.report import ExecutionReport
from graph_compiler.deployment.documents.staging_layout import StreamLayout
from graph_compiler.identifiers import listing
from graph_compiler.staging.attempts.attempt_documents import AttemptDocuments
from graph_compiler.staging.streams.batch_log import ReadSoFar, is_folder_read, nothing_arrived

LOG = program_log.logger(__name__)
_PATIENCE = 5.0
"""Seconds for each answer of a broker."""
_SAME_HERE = frozenset({ISOLATION, "kafka.request.timeout.ms", "kafka.default.api.timeout.ms", "kafka.client.id"})
"""Options of Kafka's client in Java that a client of another kind may ignore."""


def end_without_spark(task: TaskTry) -> str | None:
    """Write the reports of a try with nothing to do, and return why: nothing has arrived for its streams.

    None if it has to be submitted, or if that is not sure.
    """
    places: list[str] = []
    for execution in task.executions:
        query, region = execution.region.stream, execution.region
        if query is None or region.continuous is not None:
            return None
        read = {each.node_id: each.operator.connector for each in region.operators if isinstance(each.operator, Source)}
        own = {each.uid: read[each.node_id] for each in query.sources}
        if not all(isinstance(connector, FileConnector | Kafka) for connector in own.values()):  # Spark can ask others
            return None
        are_read = {uid: _is_read(connector) for uid, connector in own.items()}
        layout = StreamLayout(root=execution.staging_root, owner=execution.identity.owner)
        until = execution.flushed_until
        if not nothing_arrived(task.store, layout, query, are_read, region.savepoint, until=until):
            return None
        places += (str(connector.place) for connector in own.values())
    for execution in task.executions:
        AttemptDocuments.of(execution, task.store).put_report(ExecutionReport.of_nothing())
    return f"nothing has arrived in {listing(places)}, so Spark is not started"


def _is_read(connector: Connector) -> Callable[[ReadSoFar], bool]:
    def is_read(known: ReadSoFar) -> bool:
        if isinstance(connector, Kafka):
            return are_topics_read(connector, known)
        return is_folder_read(str(connector.place), known)

    return is_read


def are_topics_read(connector: Kafka, known: ReadSoFar) -> bool:
    """Whether all records of all partitions were read; False if that is not sure.

    A broker says up to where a partition is written. What transactions hide is behind that, too, so equal offsets leave
    nothing to read. A broker that needs a login is for Spark.
    """
    options = {name.lower() for name, _ in as_pairs(connector.options) if name.lower().startswith("kafka.")}
    if not isinstance(connector.bootstrap_servers, str) or options - _SAME_HERE:
        return False
    try:
        import confluent_kafka  # noqa: F401  # an optional package
    except ImportError:
        return False
    return _are_same_topics(connector, known) and _are_at_end(connector, known)


def _are_at_end(connector: Kafka, known: ReadSoFar) -> bool:
    """Whether all partitions end where they were read to; False if that is not sure."""
    from confluent_kafka import Consumer, KafkaException, TopicPartition

    settings = {"bootstrap.servers": connector.bootstrap_servers, "group.id": "graph_compiler", "log_level": 0}
    try:
        consumer = Consumer(settings)
        try:
            for topic in connector.names:
                read = known.offsets.get(topic, {})
                found = consumer.list_topics(topic, timeout=_PATIENCE).topics[topic].partitions
                if not read or set(found) != set(read):  # a topic that is not there has no partitions, too
                    return False
                for partition, offset in read.items():
                    _, end = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=_PATIENCE)
                    if end != offset:
                        return False
        finally:
            consumer.close()
    except (KafkaException, LookupError) as error:
        LOG.info("it is not known whether %s has new records, so Spark is started: %s", connector.place, error)
        return False
    return True


def _are_same_topics(connector: Kafka, known: ReadSoFar) -> bool:
    """Whether no topic was created again since it was read, perhaps with as many records; False if that is not sure."""
    if not known.topic_ids:  # an earlier version has not noted them
        return True
    from confluent_kafka import KafkaException, TopicCollection
    from confluent_kafka.admin import AdminClient

    try:
        admin = AdminClient({"bootstrap.servers": connector.bootstrap_servers, "log_level": 0})
        asked = admin.describe_topics(TopicCollection([*connector.names]), request_timeout=_PATIENCE)
        now = {name: str(found.result(_PATIENCE).topic_id) for name, found in asked.items()}
    except (KafkaException, TimeoutError) as error:
        LOG.info("it is not known whether %s was created again, so Spark is started: %s", connector.place, error)
        return False
    return all(known.topic_ids.get(name, id) == id for name, id in now.items())
