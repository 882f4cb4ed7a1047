"""Which access reaches which store, and how a process opens the store of a place."""

from collections.abc import Iterator

import pytest

from graph_compiler.errors import StagingError
from graph_compiler.object_stores.s3_access import S3Access
from graph_compiler.staging.store import stores
from graph_compiler.staging.store.in_memory_store import InMemoryStore
from graph_compiler.staging.store.local_store import LocalStore
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.store.store_access import RootAccess, StoreAccess, StoreConnection
from graph_compiler.stores.hdfs import HDFS
from graph_compiler.stores.s3a import S3A
from graph_compiler.stores.store_kind import StoreKind
from graph_compiler.webhdfs.webhdfs_access import HdfsAccess

CONNECTIONS = {
    "aws": StoreConnection(conn_id="c", type="aws", host=None, port=None, login="k", password="s", extra={}),
    "webhdfs": StoreConnection(conn_id="c", type="webhdfs", host="nn", port=None, login="etl", password=None, extra={}),
}
KEYS, ETL = S3Access(access_key="k", secret_key="s"), HdfsAccess(hosts=("nn",), user="etl")


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    before = dict(stores._OPENING)
    yield
    stores._OPENING.clear()
    stores._OPENING.update(before)


@pytest.mark.parametrize(
    ("root", "connection", "to_root", "to_s3", "to_hdfs"),
    [
        ("s3a://lake/staging", "aws", KEYS, KEYS, HdfsAccess()),
        ("s3a://lake/staging", None, S3Access(), S3Access(), HdfsAccess()),
        ("hdfs://nn:8020/staging", "webhdfs", ETL, S3Access(), ETL),
        ("hdfs://nn/staging", None, HdfsAccess(), S3Access(), HdfsAccess()),
        ("/staging", "aws", StoreAccess(), KEYS, HdfsAccess()),
        ("file:///staging", None, StoreAccess(), S3Access(), HdfsAccess()),
    ],
)
def test_the_connection_is_for_the_store_of_the_root(
    root: str, connection: str | None, to_root: StoreAccess, to_s3: StoreAccess, to_hdfs: StoreAccess
) -> None:
    access = RootAccess(root=lambda: root, connection=lambda: CONNECTIONS[connection] if connection else None)
    assert (access.to_root(), access.to(S3A), access.to(HDFS)) == (to_root, to_s3, to_hdfs)


def test_a_connection_is_not_read_for_a_place_on_a_disk() -> None:
    def refused() -> StoreConnection:
        raise AssertionError

    assert RootAccess(root=lambda: "/staging", connection=refused).to_root() == StoreAccess()


def test_only_keys_do_not_reach_drivers_elsewhere() -> None:
    assert [access.has_keys for access in (KEYS, S3Access(), ETL, HdfsAccess(), StoreAccess())] == [True, *[False] * 4]


def test_a_store_without_an_access_of_its_own_takes_no_connection() -> None:
    with pytest.raises(StagingError, match="connection 'c' of the staging root is not used by the root's store"):
        StoreAccess.of(CONNECTIONS["aws"])


def test_each_bucket_is_opened_with_the_access_of_its_kind() -> None:
    opened = []

    def opening(kind: StoreKind) -> stores.StoreOpener:
        def open_store(place: str) -> StagingStore:
            opened.append((kind.scheme, place))
            return InMemoryStore()

        return open_store

    stores.open_with(opening)
    for place in ("s3a://lake/x", "hdfs://nn/x", "/x"):
        stores.store_of(place)
    assert opened == [("s3a", "s3a://lake/x"), ("hdfs", "hdfs://nn/x")]


def test_a_document_of_a_root_on_a_disk_may_name_places_in_no_store() -> None:
    root = LocalStore()
    assert stores.store_beside(root, "/staging", "/elsewhere/x") is root
    with pytest.raises(StagingError, match="there is no store for 'gs:' yet"):
        stores.store_beside(root, "/staging", "gs://lake/x")


@pytest.mark.parametrize(
    ("root", "place", "is_beside"),
    [("s3a://lake/a", "s3a://lake/b", True), ("s3a://lake/a", "s3a://sea/a", False), ("hdfs://nn/a", "/a", False)],
)
def test_a_place_in_the_same_bucket_has_the_same_store(root: str, place: str, is_beside: bool) -> None:
    stores.open_with(lambda _: lambda _: InMemoryStore())
    own = InMemoryStore()
    assert (stores.store_beside(own, root, place) is own) is is_beside
