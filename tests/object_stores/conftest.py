"""A store on loopback, as each side of the product reaches it: obstore, and S3A in Spark's JVM."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from graph_compiler.object_stores.s3_store import ObjectStore
from graph_compiler.staging.store import conditional_put
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.testing.pytest_plugin import SHORT_LIVED
from tests.harness.object_stores import CONNECTOR, JARS, ObjectServer, object_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

StoreMaker = Callable[[], StagingStore]
BUCKET = "lake"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectServer]:
    with object_server(tmp_path_factory.mktemp("server")) as found:
        found.make_bucket(BUCKET)
        yield found


@pytest.fixture(scope="session")
def jvm(server: ObjectServer) -> Iterator[None]:
    """Start the JVM of this process with S3A and the server's address; the session of other tests uses it, too."""
    assert JARS.is_dir(), "make test-objects brings the jars"
    settings = server.access.spark_settings() | {
        **CONNECTOR,
        "spark.driver.extraJavaOptions": SHORT_LIVED,
        "spark.hadoop.fs.s3a.attempts.maximum": "1",  # each fault is seen by us
        "spark.hadoop.fs.s3a.retry.limit": "1",
        "spark.hadoop.fs.s3a.retry.throttle.limit": "1",
        "spark.ui.enabled": "false",
    }
    words = [word for pair in settings.items() for word in ("--conf", "=".join(pair))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_SUBMIT_ARGS", " ".join([*map(_quoted, words), "pyspark-shell"]))
        for name, value in server.access.environment().items():
            patch.setenv(name, value)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        yield


@pytest.fixture(scope="session")
def spark(jvm: None, spark: SparkSession) -> SparkSession:  # noqa: ARG001  # it starts the JVM
    """Return the session of all tests, in a JVM that reaches the store."""
    return spark


def _quoted(word: str) -> str:
    return f'"{word}"'


@pytest.fixture(params=["obstore", "s3a"])
def new_store(request: pytest.FixtureRequest, server: ObjectServer, monkeypatch: pytest.MonkeyPatch) -> StoreMaker:
    """Return a function that makes stores, as of several processes."""
    monkeypatch.setattr(conditional_put, "_PAUSE", 0.01)
    if request.param == "obstore":
        return lambda: ObjectStore(BUCKET, server.access)
    request.getfixturevalue("jvm")
    from graph_compiler.spark_runtime.stores.s3a_store import S3aStore  # needs pyspark

    return lambda: S3aStore(f"s3a://{BUCKET}/")


@pytest.fixture
def store(new_store: StoreMaker) -> StagingStore:
    return new_store()


@pytest.fixture
def root(request: pytest.FixtureRequest) -> str:
    """Return a staging root of this test."""
    return f"s3a://{BUCKET}/{request.node.name.translate(PLAIN)}"


PLAIN = str.maketrans("[]", "--")
