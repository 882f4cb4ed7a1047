"""The store of HDFS, over a client that keeps a tree in memory and loses requests and answers."""

from __future__ import annotations

import pytest

from graph_compiler.errors import DamagedDocumentError
from graph_compiler.staging.store import conditional_put, hdfs_store
from graph_compiler.staging.store.hdfs_store import HdfsStore
from graph_compiler.staging.store.root_probe import why_unsafe
from tests.harness.fake_hdfs import FakeHdfs

ROOT = "hdfs://nn/staging"
KEY = f"{ROOT}/flights/r/0.json"


@pytest.fixture
def hdfs() -> FakeHdfs:
    return FakeHdfs()


@pytest.fixture
def store(hdfs: FakeHdfs, monkeypatch: pytest.MonkeyPatch) -> HdfsStore:
    monkeypatch.setattr(conditional_put, "_PAUSE", 0)
    return HdfsStore(hdfs)


def test_a_document_is_written_beside_its_name_and_renamed(store: HdfsStore, hdfs: FakeHdfs) -> None:
    assert store.put_if_absent(KEY, b"1")
    assert hdfs.asked == ["create", "status", "rename"]
    assert not store.put_if_absent(KEY, b"2")
    assert {key: content for key, (_, content) in hdfs.files.items()} == {KEY: b"1"}
    store.put(KEY, b"3")
    assert store.get(KEY) == b"3"
    assert list(hdfs.files) == [KEY]


@pytest.mark.parametrize("fault", ["lost", "unanswered"])
@pytest.mark.parametrize("name", ["create", "status", "rename"])
@pytest.mark.parametrize("times", [1, 3])
def test_a_write_whose_answer_is_lost_counts_once(
    store: HdfsStore, hdfs: FakeHdfs, name: str, fault: str, times: int
) -> None:
    hdfs.faults += [(name, fault)] * times
    assert store.put_if_absent(KEY, b"mine")
    assert not store.put_if_absent(KEY, b"mine")
    assert store.get(KEY) == b"mine"
    assert [key for key in hdfs.files if not key.rpartition("/")[2].startswith(".")] == [KEY]


def test_another_write_between_a_lost_rename_and_the_next_has_won(store: HdfsStore, hdfs: FakeHdfs) -> None:
    def other(name: str) -> None:
        if hdfs.asked.count("rename") == 1 and name == "status" and KEY not in hdfs.files:
            hdfs.files[KEY] = (0, b"theirs")

    hdfs.before = other
    hdfs.faults.append(("rename", "lost"))
    assert not store.put_if_absent(KEY, b"mine")
    assert store.get(KEY) == b"theirs"
    assert list(hdfs.files) == [KEY]


def test_a_rename_that_arrives_late_brings_a_whole_document_or_nothing(store: HdfsStore, hdfs: FakeHdfs) -> None:
    hdfs.faults.append(("rename", "late"))
    hdfs.before = lambda name: hdfs.delayed.pop()() if name == "rename" and hdfs.delayed else None
    assert store.put_if_absent(KEY, b"mine")  # the second finds that the first has done it
    assert store.get(KEY) == b"mine"
    hdfs.faults += [("rename", "late")]
    other = f"{ROOT}/1.json"
    hdfs.before = lambda _: None
    assert store.put_if_absent(other, b"again")
    hdfs.delayed.pop()()
    assert store.get(other) == b"again"


def test_a_write_of_which_hdfs_has_a_part_is_begun_again(store: HdfsStore, hdfs: FakeHdfs) -> None:
    hdfs.faults.append(("create", "cut"))
    assert store.put_if_absent(KEY, b"whole")
    assert store.get(KEY) == b"whole"
    assert list(hdfs.files) == [KEY]


def test_nothing_is_known_if_no_request_is_answered(store: HdfsStore, hdfs: FakeHdfs) -> None:
    hdfs.faults += [("rename", "lost")] * conditional_put.TURNS
    with pytest.raises(OSError, match="not answered"):
        store.put_if_absent(KEY, b"mine")
    assert not hdfs.files
    hdfs.faults += [("create", "lost")]
    with pytest.raises(OSError, match="not answered"):
        store.put(KEY, b"mine")
    hdfs.faults += [("list", "lost")] * conditional_put.TURNS
    with pytest.raises(OSError, match="not answered"):
        store.keys(ROOT)
    hdfs.faults += [("delete", "lost")] * conditional_put.TURNS
    assert not store.delete(ROOT)


def test_a_write_that_is_denied_is_not_repeated(store: HdfsStore, hdfs: FakeHdfs) -> None:
    def denied(name: str) -> None:
        if name == "create":
            raise PermissionError("not yours")

    hdfs.before = denied
    with pytest.raises(PermissionError):
        store.put_if_absent(KEY, b"mine")
    assert hdfs.asked.count("create") == 1


def test_it_may_hold_a_staging_root(store: HdfsStore, hdfs: FakeHdfs) -> None:
    assert why_unsafe(store, ROOT) is None
    assert not hdfs.files
    assert store.promises.atomic_move
    with pytest.raises(NotImplementedError):
        store.exchange(ROOT, KEY)
    assert not store.is_open_to_group(ROOT)


def test_folders_and_files_are_listed(store: HdfsStore) -> None:
    for name in ("a/1.json", "a/b/2.json", ".c/3.json", "4.json"):
        assert store.put_if_absent(f"{ROOT}/{name}", name.encode())
    assert store.folders(ROOT) == [".c", "a"]
    assert sorted(store.keys(ROOT)) == [f"{ROOT}/4.json", f"{ROOT}/a"]
    assert store.keys(f"{ROOT}/4.json") == store.keys(f"{ROOT}/none") == []
    assert sum(file.bytes for file in store.files(ROOT)) == 33
    with pytest.raises(DamagedDocumentError, match="has more than 5 entries"):
        list(store.files(ROOT, most=5))
    with pytest.raises(DamagedDocumentError, match="is a folder"):
        store.get(f"{ROOT}/a")
    with pytest.raises(DamagedDocumentError, match="has 6 bytes, more than 5"):
        store.get(f"{ROOT}/4.json", most=5)
    assert (store.written(f"{ROOT}/4.json"), store.written(f"{ROOT}/5.json")) == (1.5, None)
    assert store.get(f"{ROOT}/5.json") is None


def test_a_digest_is_hdfs_checksum(store: HdfsStore) -> None:
    store.put(KEY, b"1")
    assert store.digest(KEY) == "fake:31"
    assert store.why_differs(KEY, "fake:31") is None
    assert store.why_differs(KEY, "fake:32") == "its checksum is fake:31, not fake:32"
    assert store.digest(f"{ROOT}/none") is None
    assert store.why_damaged(KEY) is None


def test_a_folder_is_moved_and_an_empty_one_removed(store: HdfsStore, hdfs: FakeHdfs) -> None:
    store.put(f"{ROOT}/run/1.json", b"1")
    assert store.move(f"{ROOT}/run", f"{ROOT}/.trash/x")
    assert not store.move(f"{ROOT}/run", f"{ROOT}/.trash/y")
    assert store.get(f"{ROOT}/.trash/x/1.json") == b"1"
    store.discard_empty(f"{ROOT}/.trash/x")
    assert store.is_there(f"{ROOT}/.trash/x/1.json")
    store.make_folder(f"{ROOT}/e")
    store.discard_empty(f"{ROOT}/e")
    assert f"{ROOT}/e" not in hdfs.made
    assert store.delete(f"{ROOT}/.trash")
    assert not store.is_there(f"{ROOT}/.trash/x/1.json")


def test_a_folder_of_too_many_documents_is_damaged(store: HdfsStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdfs_store, "MOST_ENTRIES", 2)
    for number in range(3):
        store.put(f"{ROOT}/{number}", b"")
    with pytest.raises(DamagedDocumentError, match="has more than 2 entries"):
        store.keys(ROOT)
    with pytest.raises(DamagedDocumentError, match="has more than 2 entries"):
        store.folders(ROOT)
    assert len(list(store.files(ROOT))) == 3
