"""The stores of both sides against a real HDFS: what commits rely on, also if answers are lost."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from graph_compiler.errors import DamagedDocumentError
from graph_compiler.staging.store import conditional_put
from graph_compiler.staging.store.hdfs_store import HdfsStore
from graph_compiler.staging.store.root_probe import why_unsafe
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.webhdfs.webhdfs_access import HdfsAccess
from graph_compiler.webhdfs.webhdfs_client import WebHdfsClient
from tests.harness.broken_wire import Wire
from tests.hdfs.conftest import StoreMaker

pytestmark = pytest.mark.hdfs
ALWAYS = 10_000
RENAME = {"webhdfs": b"op=RENAME", "jvm": b"rename2"}
CREATE = {"webhdfs": b"op=CREATE", "jvm": b"create"}
STATUS = {"webhdfs": b"op=GETFILESTATUS", "jvm": b"getFileInfo"}


def break_at(wire: Wire, when: str, text: bytes) -> None:
    if when == "before":
        wire.breaks(before=text)
    else:
        wire.breaks(behind=text)


def test_of_eight_writers_at_once_one_wins(new_store: StoreMaker, root: str) -> None:
    stores = [new_store() for _ in range(8)]
    start = threading.Barrier(len(stores))

    def write(number: int) -> bool:
        start.wait()
        return stores[number].put_if_absent(f"{root}/{turn}.json", str(number).encode())

    with ThreadPoolExecutor(len(stores)) as pool:
        for turn in range(60):
            wins = list(pool.map(write, range(len(stores))))
            assert sum(wins) == 1
            assert stores[0].get(f"{root}/{turn}.json") == str(wins.index(True)).encode()
    assert len(list(stores[0].files(root))) == 60  # nothing hidden is left


def test_a_document_stays_what_its_first_writer_wrote(store: StagingStore, root: str) -> None:
    key = f"{root}/flights/m__2013-01-01T00%3A00%3A00/1.json"
    assert store.put_if_absent(key, b"1")
    assert not store.put_if_absent(key, b"1")
    assert not store.put_if_absent(key, b"22")
    assert store.get(key) == b"1"


def test_a_large_document_is_whole(store: StagingStore, root: str) -> None:
    assert store.put_if_absent(f"{root}/code.zip", b"0" * 20_000_000)
    store.put(f"{root}/again.zip", b"1" * 20_000_000)
    assert [file.bytes for file in store.files(root)] == [20_000_000] * 2
    assert store.get(f"{root}/again.zip") == b"1" * 20_000_000


@pytest.mark.parametrize("when", ["before", "behind"])
@pytest.mark.parametrize("request_", [CREATE, STATUS, RENAME], ids=["create", "status", "rename"])
def test_a_write_whose_answer_is_lost_counts_once(
    store: StagingStore, wire: Wire, side: str, root: str, request_: dict[str, bytes], when: str
) -> None:
    store.make_folder(root)
    cuts = wire.cuts
    break_at(wire, when, request_[side])
    assert store.put_if_absent(f"{root}/0.json", b"mine")
    assert wire.cuts == cuts + 1
    # Equal content of another write is not this one's.
    assert not store.put_if_absent(f"{root}/0.json", b"mine")
    assert store.get(f"{root}/0.json") == b"mine"


@pytest.mark.parametrize("when", ["before", "behind"])
def test_a_write_that_comes_after_anothers_whose_answer_was_lost_is_refused(
    new_store: StoreMaker, wire: Wire, side: str, root: str, when: str
) -> None:
    other, store = new_store(), new_store()
    assert other.put_if_absent(f"{root}/0.json", b"theirs")
    break_at(wire, when, RENAME[side])
    assert not store.put_if_absent(f"{root}/0.json", b"mine")
    assert store.get(f"{root}/0.json") == b"theirs"
    assert len(list(store.files(root))) == 1


def test_nothing_is_known_if_no_request_is_answered(store: StagingStore, wire: Wire, side: str, root: str) -> None:
    wire.breaks(behind=RENAME[side], times=ALWAYS)
    assert store.put_if_absent(f"{root}/0.json", b"mine")  # the first was carried out
    wire.breaks(before=RENAME[side], times=ALWAYS)
    with pytest.raises(OSError):  # noqa: PT011  # each side has its own words
        store.put_if_absent(f"{root}/1.json", b"mine")
    wire.breaks(before=STATUS[side], times=ALWAYS)
    with pytest.raises(OSError):  # noqa: PT011  # the same
        store.is_there(f"{root}/0.json")
    wire.breaks(before=STATUS[side], times=conditional_put.TURNS - 1)
    assert store.get(f"{root}/1.json") is None
    assert store.keys(root) == [f"{root}/0.json"]


def test_this_store_may_hold_a_staging_root(store: StagingStore, root: str) -> None:
    assert why_unsafe(store, root) is None
    assert list(store.files(root)) == []


def test_documents_and_folders_are_found_as_on_a_disk(store: StagingStore, root: str) -> None:
    nothing = (store.get(f"{root}/x"), store.written(f"{root}/x"), store.digest(f"{root}/x"))
    assert nothing == (None, None, None)
    assert (store.keys(root), store.folders(root), list(store.files(root))) == ([], [], [])
    assert not store.is_there(root)
    assert store.delete(f"{root}/x")
    for name in ("a/1.json", "a/b%3A/2.json", ".c/3.json", "4.json", ".5.json"):
        assert store.put_if_absent(f"{root}/{name}", name.encode())
    assert store.folders(root) == [".c", "a"]
    assert store.folders(f"{root}/a") == ["b%3A"]
    assert sorted(store.keys(root)) == [f"{root}/4.json", f"{root}/a"]
    assert store.keys(f"{root}/a/b%3A") == [f"{root}/a/b%3A/2.json"]
    assert (store.keys(f"{root}/4.json"), list(store.files(f"{root}/4.json"))) == ([], [])
    found = {file.key.removeprefix(f"{root}/"): file.bytes for file in store.files(root)}
    assert found == {"a/1.json": 8, "a/b%3A/2.json": 13, ".c/3.json": 9, "4.json": 6, ".5.json": 7}
    with pytest.raises(DamagedDocumentError, match="has more than 6 entries"):
        list(store.files(root, most=6))
    with pytest.raises(DamagedDocumentError, match="is a folder"):
        store.get(f"{root}/a")
    assert [store.is_there(f"{root}/{name}") for name in ("a", "a/1.json", "a/1")] == [True, True, False]
    assert not store.put_if_absent(f"{root}/a", b"a folder has this name")
    assert store.delete(f"{root}/a")
    assert store.folders(root) == [".c"]


def test_a_document_that_is_too_large_is_not_read(store: StagingStore, root: str) -> None:
    store.put_if_absent(f"{root}/x", b"12345")
    assert store.get(f"{root}/x", most=5) == b"12345"
    with pytest.raises(DamagedDocumentError, match="has 5 bytes, more than 4"):
        store.get(f"{root}/x", most=4)
    store.put(f"{root}/x", b"")
    assert store.get(f"{root}/x", most=4) == b""


def test_a_digest_changes_with_the_bytes(store: StagingStore, root: str) -> None:
    for name, content in (("a", b"rows"), ("b", b"rows"), ("c", b"rowz"), ("empty", b"")):
        store.put(f"{root}/{name}", content)
    a, b, c, empty = (store.digest(f"{root}/{name}") for name in ("a", "b", "c", "empty"))
    assert a == b
    assert len({a, c, empty, None}) == 4
    assert a is not None
    assert store.why_differs(f"{root}/a", a) is None
    assert store.why_differs(f"{root}/c", a) == f"its checksum is {c}, not {a}"


def test_a_folder_is_renamed_in_one_step_and_never_into_another(store: StagingStore, root: str) -> None:
    store.put(f"{root}/run/1.json", b"1")
    store.put(f"{root}/taken/2.json", b"2")
    with pytest.raises(FileExistsError):
        store.move(f"{root}/run", f"{root}/taken")
    assert store.move(f"{root}/run", f"{root}/.trash/x/run")
    assert not store.move(f"{root}/run", f"{root}/.trash/y")
    assert store.get(f"{root}/.trash/x/run/1.json") == b"1"
    store.discard_empty(f"{root}/.trash/x")
    assert store.is_there(f"{root}/.trash/x")
    store.make_folder(f"{root}/a/b")
    store.discard_empty(f"{root}/a/b")
    assert store.folders(f"{root}/a") == []


@pytest.mark.usefixtures("jvm")
def test_both_sides_see_the_same_file(place: str, access: HdfsAccess, root: str) -> None:
    from graph_compiler.spark_runtime.stores.hdfs_client import JvmClient

    airflow = HdfsStore(WebHdfsClient(place.removeprefix("hdfs://"), access))
    driver = HdfsStore(JvmClient(f"{place}/"))
    key = f"{root}/m__2013-01-01T00%3A00/a b+c=ü~/0.json"
    assert driver.put_if_absent(key, b"1")
    assert not airflow.put_if_absent(key, b"2")
    assert (airflow.get(key), airflow.digest(key)) == (b"1", driver.digest(key))
    assert airflow.written(key) == driver.written(key)
    seen = [{file.key for file in store.files(root)} for store in (airflow, driver)]
    assert seen == [{key}, {key}]
    assert airflow.delete(root)
    assert not driver.is_there(root)


def test_another_user_is_refused(place: str, access: HdfsAccess, root: str) -> None:
    authority = place.removeprefix("hdfs://")
    HdfsStore(WebHdfsClient(authority, access)).make_folder(root)
    eve = HdfsAccess(hosts=access.hosts, port=access.port, user="eve")
    other = HdfsStore(WebHdfsClient(authority, eve))
    with pytest.raises(PermissionError, match="Permission denied: user=eve"):
        other.put_if_absent(f"{root}/0.json", b"1")
    assert not other.delete(root)


def test_a_host_that_cannot_be_reached_is_passed_over(place: str, access: HdfsAccess, root: str) -> None:
    authority = place.removeprefix("hdfs://")
    two = HdfsAccess(hosts=("127.0.0.2", "127.0.0.1"), port=access.port, user=access.user)
    assert HdfsStore(WebHdfsClient(authority, two)).put_if_absent(f"{root}/0.json", b"1")
    with pytest.raises(OSError, match=r"127.0.0.2:\d+ cannot be reached: .* refused"):
        WebHdfsClient(authority, HdfsAccess(hosts=("127.0.0.2",), port=access.port)).status(root)


def test_a_forked_process_reaches_it(place: str, access: HdfsAccess, root: str) -> None:
    store = HdfsStore(WebHdfsClient(place.removeprefix("hdfs://"), access))
    store.put(f"{root}/0.json", b"1")
    child = os.fork()
    if child == 0:
        os._exit(0 if store.get(f"{root}/0.json") == b"1" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
