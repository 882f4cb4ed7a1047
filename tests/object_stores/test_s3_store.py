"""The stores of both sides against a real server: what commits rely on, also if answers are lost."""

from __future__ import annotations

import os

import pytest

from graph_compiler.errors import DamagedDocumentError, StagingError
from graph_compiler.object_stores.s3_store import ObjectStore
from graph_compiler.staging.store import conditional_put
from graph_compiler.staging.store.root_probe import why_unsafe
from graph_compiler.staging.store.staging_store import StagingStore
from tests.harness.object_stores import SECRET, ObjectServer
from tests.object_stores.conftest import BUCKET, StoreMaker

pytestmark = pytest.mark.objects
ALWAYS = 10_000


def test_a_document_is_written_by_one_request_and_read_by_one(
    store: StagingStore, server: ObjectServer, root: str
) -> None:
    key = f"{root}/flights/m__2013-01-01T00%3A00%3A00/1.json"
    with server.counting() as asked:
        assert store.put_if_absent(key, b"1")
    assert asked == ["PUT"]
    with server.counting() as asked:
        assert store.get(key) == b"1"
    assert asked in (["GET"], ["HEAD", "GET"])  # S3A looks for the size before it reads
    with server.counting() as asked:
        assert not store.put_if_absent(key, b"2")
    assert asked == ["PUT", "HEAD"]
    assert store.get(key) == b"1"


def test_a_large_document_is_written_by_one_request(store: StagingStore, server: ObjectServer, root: str) -> None:
    with server.counting() as asked:
        assert store.put_if_absent(f"{root}/code.zip", b"0" * 20_000_000)
        store.put(f"{root}/again.zip", b"0" * 20_000_000)
    assert asked == ["PUT", "PUT"]


@pytest.mark.parametrize("fault", ["lost", "dropped", "busy", "done-503"])
def test_a_write_whose_answer_is_lost_counts_once(
    store: StagingStore, server: ObjectServer, root: str, fault: str
) -> None:
    key = f"{root}/{fault}.json"
    server.breaks("PUT", fault, fault)
    assert store.put_if_absent(key, b"mine")
    assert not store.put_if_absent(key, b"mine")  # equal content of another write is not this one's
    assert store.get(key) == b"mine"


def test_a_write_that_comes_after_anothers_whose_answer_was_lost_is_refused(
    new_store: StoreMaker, server: ObjectServer, root: str
) -> None:
    other, store = new_store(), new_store()
    assert other.put_if_absent(f"{root}/0.json", b"theirs")
    server.breaks("PUT", "0.json", "dropped")
    assert not store.put_if_absent(f"{root}/0.json", b"mine")
    assert store.get(f"{root}/0.json") == b"theirs"


def test_nothing_is_known_if_no_request_is_answered(store: StagingStore, server: ObjectServer, root: str) -> None:
    server.breaks("PUT", "0.json", "busy", times=ALWAYS)
    with pytest.raises(OSError, match="503"):
        store.put_if_absent(f"{root}/0.json", b"mine")
    for method in ("GET", "HEAD"):
        server.breaks(method, "", "busy", times=ALWAYS)
        with pytest.raises(OSError, match="503"):
            list(store.files(root)) if method == "GET" else store.digest(f"{root}/0.json")
    server.breaks("GET", "", "busy", times=conditional_put.TURNS - 1)
    assert list(store.files(root)) == []
    assert store.get(f"{root}/0.json") is None


@pytest.mark.parametrize("fault", ["denied", "expired"])
def test_a_refused_identity_is_said_and_no_secret_with_it(
    store: StagingStore, server: ObjectServer, root: str, fault: str
) -> None:
    server.breaks("PUT", "0.json", fault, times=conditional_put.TURNS)
    with pytest.raises(OSError, match="AccessDenied|ExpiredToken|403|400") as refused:
        store.put_if_absent(f"{root}/0.json", b"1")
    assert SECRET not in str(refused.value) + repr(server.access)


def test_a_listing_of_which_a_page_is_not_answered_is_complete(
    store: StagingStore, server: ObjectServer, root: str
) -> None:
    for number in range(1005):
        store.put(f"{root}/{number}", b"")
    server.breaks("GET", "continuation-token", "dropped")
    assert len(list(store.files(root))) == 1005
    with pytest.raises(DamagedDocumentError, match="has more than 1,000 entries"):
        list(store.files(root, most=1000))
    assert store.delete(root)
    assert not store.is_there(root)


def test_this_store_may_hold_a_staging_root(store: StagingStore, root: str) -> None:
    assert why_unsafe(store, root) is None
    assert list(store.files(root)) == []


def test_a_forked_process_does_not_hang(server: ObjectServer, root: str) -> None:
    store = ObjectStore(BUCKET, server.access)
    assert store.get(f"{root}/0.json") is None
    child = os.fork()
    if child == 0:
        try:
            store.get(f"{root}/0.json")
        except StagingError:
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_documents_and_folders_are_found_as_on_a_disk(store: StagingStore, root: str) -> None:
    assert (store.get(f"{root}/x"), store.written(f"{root}/x"), store.digest(f"{root}/x")) == (None, None, None)
    assert (store.keys(root), store.folders(root), list(store.files(root))) == ([], [], [])
    assert not store.is_there(root)
    assert store.delete(f"{root}/x")
    for name in ("a/1.json", "a/b%3A/2.json", ".c/3.json", "4.json", ".5.json"):
        assert store.put_if_absent(f"{root}/{name}", name.encode())
    assert store.folders(root) == [".c", "a"]
    assert store.folders(f"{root}/a") == ["b%3A"]
    assert store.keys(root) == [f"{root}/4.json"]
    assert store.keys(f"{root}/a/b%3A") == [f"{root}/a/b%3A/2.json"]
    found = {file.key.removeprefix(f"{root}/"): file.bytes for file in store.files(root)}
    assert found == {"a/1.json": 8, "a/b%3A/2.json": 13, ".c/3.json": 9, "4.json": 6, ".5.json": 7}
    assert [file.digest for file in store.files(f"{root}/a/b%3A")] == [store.digest(f"{root}/a/b%3A/2.json")]
    assert store.why_differs(f"{root}/4.json", "0" * 32)
    assert [store.is_there(f"{root}/{name}") for name in ("a", "a/1.json", "a/1")] == [True, True, False]
    assert store.delete(f"{root}/a")
    assert store.folders(root) == [".c"]


def test_a_document_that_is_too_large_is_not_read(store: StagingStore, root: str) -> None:
    store.put_if_absent(f"{root}/x", b"12345")
    assert store.get(f"{root}/x", most=5) == b"12345"
    with pytest.raises(DamagedDocumentError, match="has 5 bytes, more than 4"):
        store.get(f"{root}/x", most=4)
    store.put(f"{root}/x", b"1")
    assert store.get(f"{root}/x", most=4) == b"1"


@pytest.mark.usefixtures("jvm")
def test_both_sides_see_the_same_object(server: ObjectServer, root: str) -> None:
    from graph_compiler.spark_runtime.stores.s3a_store import S3aStore

    airflow, driver = ObjectStore(BUCKET, server.access), S3aStore(f"s3a://{BUCKET}/")
    key = f"{root}/m__2013-01-01T00%3A00/a b+c=ü~/0.json"
    assert driver.put_if_absent(key, b"1")
    assert not airflow.put_if_absent(key, b"2")
    assert (airflow.get(key), airflow.digest(key)) == (b"1", driver.digest(key))
    assert {file.key for file in airflow.files(root)} == {file.key for file in driver.files(root)} == {key}
    assert airflow.delete(root)
    assert not driver.is_there(root)
