"""A broker of Kafka for the tests: one JVM on free ports of loopback, in a separate folder, removed afterwards.

Its jars come from Maven (`make test-kafka`); tests talk to it with confluent-kafka, as a program of another team does.
"""

import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

JARS = Path(__file__).parents[1] / "kafka/jars"
CONNECTOR = JARS / "connector"
_JAVA = ("java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", f"{JARS}/broker/*")
_CLUSTER = "AAAAAAAAQACAAAAAAAAAAQ"
_PATIENCE = 60.0
"""Seconds until the broker answers."""
Record = tuple[str | None, str]
"""A key and a value."""


@dataclass(frozen=True)
class Broker:
    """A running broker."""

    servers: str
    admin: Any
    """An AdminClient: what is asked of one is never answered once it is gone."""

    def create(self, topic: str, partitions: int = 1, **settings: str) -> None:
        """Create a topic; one that was removed a moment ago is waited for."""
        from confluent_kafka.admin import NewTopic

        new = NewTopic(topic, partitions, 1, config=settings)
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                self.admin.create_topics([new])[topic].result(30)
                return
            except Exception:
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)

    def remove(self, topic: str) -> None:
        self.admin.delete_topics([topic], operation_timeout=30)[topic].result(30)

    def grow(self, topic: str, partitions: int) -> None:
        """Add partitions to a topic."""
        from confluent_kafka.admin import NewPartitions

        self.admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(30)

    def send(
        self, topic: str, *records: Record | Mapping[str, object], partition: int = 0, commits: bool | None = None
    ) -> None:
        """Send records, mappings as JSON. `commits`: in a transaction, which is committed or aborted."""
        from confluent_kafka import Producer

        settings = {"bootstrap.servers": self.servers}
        if commits is not None:
            settings["transactional.id"] = f"tests-{topic}"
        producer = Producer(settings)
        if commits is not None:
            producer.init_transactions(30)
            producer.begin_transaction()
        for record in records:
            key, value = (None, json.dumps(record)) if isinstance(record, Mapping) else record
            producer.produce(topic, value, key, partition=partition)
        producer.flush(30)
        if commits is not None:
            (producer.commit_transaction if commits else producer.abort_transaction)()

    def forget(self, topic: str, before: int, partition: int = 0) -> None:
        """Remove the records before an offset, as retention does."""
        from confluent_kafka import TopicPartition

        (done,) = self.admin.delete_records([TopicPartition(topic, partition, before)]).values()
        done.result(30)


def _free_ports(count: int) -> Sequence[int]:
    with suppress(OSError):
        found = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
        ports = [each.getsockname()[1] for each in found]
        for each in found:
            each.close()
        return ports
    raise AssertionError("no free port")


@contextmanager
def running_broker() -> Iterator[Broker]:
    """Start a broker, wait until it answers, and stop it."""
    if not list(JARS.glob("broker/kafka_*.jar")):
        pytest.skip("no jars of Kafka: make test-kafka fetches them")
    port, controller = _free_ports(2)
    with tempfile.TemporaryDirectory(prefix="kafka-") as folder:
        settings = Path(folder, "server.properties")
        own = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "log.dirs": f"{folder}/logs",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "2",
            "offsets.topic.num.partitions": "2",
            "group.initial.rebalance.delay.ms": "0",
            "auto.create.topics.enable": "false",
        }
        settings.write_text("".join(f"{name}={value}\n" for name, value in own.items()))
        with Path(folder, "log").open("w") as log:
            formatting = ("kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(settings))
            subprocess.run([*_JAVA, *formatting], check=True, stdout=log, stderr=log, timeout=_PATIENCE)
            process = subprocess.Popen(
                [*_JAVA, "kafka.Kafka", str(settings)], stdout=log, stderr=log, start_new_session=True
            )
            try:
                from confluent_kafka.admin import AdminClient

                servers = f"127.0.0.1:{port}"
                broker = Broker(servers, AdminClient({"bootstrap.servers": servers}))
                _wait(broker, process, Path(folder, "log"))
                yield broker
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait(10)


def _wait(broker: Broker, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end and process.poll() is None:
        with suppress(Exception):  # of its C library: it does not answer yet
            broker.admin.list_topics(timeout=2)
            return
    raise AssertionError(f"the broker does not answer: {log.read_text()[-2000:]}")
