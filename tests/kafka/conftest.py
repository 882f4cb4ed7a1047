"""A broker of Kafka, and a Spark with its connector."""

import itertools
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from graph_compiler.spark_runtime.rehearsal.local_session import local_session
from tests.harness.kafka_broker import Broker, running_broker
from tests.spark.conftest import _log_is_printed

__all__ = ["_log_is_printed"]
_TOPICS = itertools.count()


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    with running_broker() as found:
        yield found


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with local_session({"spark.sql.shuffle.partitions": "2"}) as session:
        yield session


@pytest.fixture
def topic(broker: Broker) -> str:
    """Return a new topic with one partition."""
    name = f"orders.{next(_TOPICS)}"
    broker.create(name)
    return name
