"""HDFS on loopback, as each side of the product reaches it: WebHDFS, and Hadoop's client in Spark's JVM.

Both go through a wire that breaks where a test decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from graph_compiler.staging.store import conditional_put
from graph_compiler.staging.store.hdfs_store import HdfsStore
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.testing.pytest_plugin import SHORT_LIVED
from graph_compiler.webhdfs.webhdfs_access import HdfsAccess
from graph_compiler.webhdfs.webhdfs_client import WebHdfsClient
from tests.harness.broken_wire import Wire, broken_wire
from tests.harness.hdfs_server import USER, HdfsServer, access_at, hdfs_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

StoreMaker = Callable[[], StagingStore]
PLAIN = str.maketrans("[]", "--")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HdfsServer]:
    with hdfs_server(tmp_path_factory.mktemp("hdfs")) as found:
        yield found


@pytest.fixture(scope="session")
def rpc(server: HdfsServer) -> Iterator[Wire]:
    """Return the wire between Spark's JVM and the NameNode."""
    with broken_wire(server.rpc, goodbye=b"") as wire:
        yield wire


@pytest.fixture(scope="session")
def http(server: HdfsServer) -> Iterator[Wire]:
    """Return the wire between WebHDFS's client and the NameNode."""
    with broken_wire(server.http, goodbye=b"") as wire:
        yield wire


@pytest.fixture(scope="session")
def place(server: HdfsServer, rpc: Wire) -> str:  # noqa: ARG001  # it starts the server
    """Return the root of the file system, as everybody names it."""
    return f"hdfs://127.0.0.1:{rpc.port}"


@pytest.fixture(scope="session")
def jvm(place: str) -> Iterator[None]:  # noqa: ARG001  # it starts the server
    """Start the JVM of this process as the user of the tests; the session of other tests uses it, too."""
    settings = {"spark.driver.extraJavaOptions": SHORT_LIVED, "spark.ui.enabled": "false"}
    words = [f'"{word}"' for pair in settings.items() for word in ("--conf", "=".join(pair))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_SUBMIT_ARGS", " ".join([*words, "pyspark-shell"]))
        patch.setenv("HADOOP_USER_NAME", USER)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        yield


@pytest.fixture(scope="session")
def spark(jvm: None, spark: SparkSession) -> SparkSession:  # noqa: ARG001  # it starts the JVM
    """Return the session of all tests, in a JVM of the user of the tests."""
    return spark


@pytest.fixture(scope="session")
def access(http: Wire) -> HdfsAccess:
    return access_at(http.port)


@pytest.fixture(params=["webhdfs", "jvm"])
def side(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def new_store(
    side: str, request: pytest.FixtureRequest, place: str, access: HdfsAccess, monkeypatch: pytest.MonkeyPatch
) -> StoreMaker:
    """Return a function that makes stores, as of several processes."""
    monkeypatch.setattr(conditional_put, "_PAUSE", 0.01)
    if side == "webhdfs":
        return lambda: HdfsStore(WebHdfsClient(place.removeprefix("hdfs://"), access))
    request.getfixturevalue("jvm")
    from graph_compiler.spark_runtime.stores.hdfs_client import JvmClient  # needs pyspark

    return lambda: HdfsStore(JvmClient(f"{place}/"))


@pytest.fixture
def store(new_store: StoreMaker) -> StagingStore:
    return new_store()


@pytest.fixture
def wire(side: str, rpc: Wire, http: Wire) -> Iterator[Wire]:
    """Return the wire of the store."""
    found = http if side == "webhdfs" else rpc
    yield found
    found.breaks(times=0)


@pytest.fixture
def root(request: pytest.FixtureRequest, place: str) -> str:
    """Return a staging root of this test."""
    return f"{place}/{request.node.name.translate(PLAIN)}"
